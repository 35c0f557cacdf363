"""From the profile of a cluster that others run to its report, without any cluster.

Goal: the documented examples are true, a remote cluster needs nothing of this machine, and the
report says what was only declared. Method: the examples are read from docs/YUGABYTEDB.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from orchestrator.cli.common.options import Request
from orchestrator.cli.main import exit_code
from orchestrator.cli.measure import calibrate, plans
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.collectors.dry import DryCollector
from orchestrator.databases.existing import (
    ExistingCluster,
    against_profile,
    declaration,
    probe,
)
from orchestrator.errors import EXIT_INCONCLUSIVE, UsageError
from orchestrator.facts import GeneratorFacts
from orchestrator.metrics import INTERVAL_COLUMNS, measured
from orchestrator.model import Cluster, Node, NodeSize, Phase, Plan, Profile, Workload
from orchestrator.parts import ClientLoad, Parts, Result
from orchestrator.planning import project_files
from orchestrator.powers import Network, World
from orchestrator.run import experiment
from orchestrator.run.beforehand import resource_needs
from orchestrator.system import campaign_writing, sql, store
from orchestrator.tiers import tier_mechanisms
from tests import ROOT
from tests.apps import an_app
from tests.documented import documented_commands, examples, existing_profiles
from tests.fake_existing import POSTGRESQL, Server
from tests.fake_parts import FakeGenerator
from tests.fakes import Log, fake_world, this_machine_has
from tests.plans import a_workload, planned

NO_CACHE = Path("/nonexistent")  # no database has been tried here before
SMALL = """
question: why?
title: theirs
tier: {enforcement: existing}
cluster:
  database: existing
  replication_factor: 1
  existing: {hosts: db.example, tls: off}
"""
TWO_HOSTS = SMALL.replace("db.example", "a.example b.example")
SIZED = SMALL + "  node: {smoke: {cpus: 8, memory: 32GiB, disk: 250GB}}\n"


def read(
    text: str, folder: Path, scale: str = "smoke", name: str = "theirs"
) -> Profile:
    file = folder / f"{name}.yaml"
    file.write_text(text)
    ((profile,), _) = project_files.read(ROOT, [str(file)], [], scale)
    return profile


def mistakes_of(text: str, folder: Path) -> dict[str, str]:
    with pytest.raises(UsageError) as raised:
        read(text, folder)
    return {
        mistake.where.split(": ")[-1]: mistake.what for mistake in raised.value.mistakes
    }


def plan_of(*profiles: Profile) -> Plan:
    return planned(profiles, [a_workload()])


# ------------------------------------------------------------------ the documented examples


def test_a_key_of_a_declaration_is_read_into_its_field_and_no_other() -> None:
    plain, _ = declaration.read_keys({})
    keys = [field.name for field in fields(plain)]
    for key in keys:
        declared, _ = declaration.read_keys({key: "7"})
        changed = [
            name for name in keys if getattr(declared, name) != getattr(plain, name)
        ]
        assert changed == [key]


def test_there_is_an_example_for_each_database() -> None:
    first, second = existing_profiles()
    assert "masters:" in first and "masters:" not in second


@pytest.mark.parametrize("scale", ["smoke", "laptop", "study", "study-20"])
@pytest.mark.parametrize("text", existing_profiles())
def test_the_documented_examples_are_profiles(
    text: str, scale: str, tmp_path: Path
) -> None:
    profile = read(text, tmp_path, scale)
    declared, mistakes = declaration.read(profile.cluster)
    assert mistakes == ()
    assert (profile.cluster.database, profile.tier.disk.enforcement) == (
        "existing",
        "existing",
    )
    assert profile.cluster.nodes == len(declared.servers)
    assert profile.cluster.node is None


def test_the_example_with_one_address_says_how_many_nodes_there_are(
    tmp_path: Path,
) -> None:
    (text,) = examples("YUGABYTEDB.md", "One address for several nodes")
    profile = read(text, tmp_path, "study")
    declared, mistakes = declaration.read(profile.cluster)
    assert mistakes == ()
    assert (profile.cluster.nodes, len(declared.servers)) == (3, 1)
    pages = (declared.masters, declared.tservers, declared.ysql)
    assert pages == ((), (), ())
    assert declared.node_exporters == declared.devices == ()


def test_the_documented_examples_are_planned_with_any_workload_on_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    this_machine_has(monkeypatch, cpus=1)  # not where their nodes run
    for number, text in enumerate(existing_profiles()):
        file = tmp_path / f"theirs-{number}.yaml"
        file.write_text(text)
        request = Request(
            profiles=[str(file)],
            workloads=["point-select", "insert", "tpcc"],
            scale="smoke",
        )
        plan = plans.make_plan(an_app(NO_CACHE), request)
        assert len(plan.runs) == 3
        assert {note.kind for note in plan.notes} <= {"campaign cost"}


def test_the_profile_of_the_chart_is_planned_on_docker_and_on_kubernetes(
    tmp_path: Path,
) -> None:
    """There the load client is a pod, which knows the services' names."""
    text, _ = examples("recipes/yugabytedb-cluster.md", "From YugabyteDB's Helm chart")
    for platform in ("docker", "kubernetes"):
        file = tmp_path / f"{platform}.yaml"
        file.write_text(f"{text}platform: {platform}\n")
        request = Request(profiles=[str(file)], workloads=["tpcc"], scale="smoke")
        made = plans.make_plan(an_app(NO_CACHE), request)
        assert made.platform == platform
        (profile,) = made.profiles
        declared, mistakes = declaration.read(profile.cluster)
        assert not mistakes and len(declared.servers) == profile.cluster.nodes == 3


def test_the_documented_commands_can_end_well() -> None:
    """A comparison of one profile never decides anything: it would end with 2 for ever."""
    commands = documented_commands("YUGABYTEDB.md", "A cluster that others run")
    assert [words[1] for words in commands] == ["run"]
    assert "--accept-inconclusive" not in commands[0]


# ------------------------------------------------------------------ what a profile may leave out


def test_the_number_of_nodes_is_that_of_the_hosts(tmp_path: Path) -> None:
    assert read(TWO_HOSTS, tmp_path).cluster.nodes == 2


def test_off_is_a_mode_of_tls_although_yaml_takes_it_for_a_truth_value(
    tmp_path: Path,
) -> None:
    declared, mistakes = declaration.read(read(SMALL, tmp_path).cluster)
    assert (declared.tls, mistakes) == ("off", ())


def test_a_declared_size_of_node_is_kept(tmp_path: Path) -> None:
    node = read(SIZED, tmp_path).cluster.node
    assert node == NodeSize(8.0, 32 * 2**30, 250 * 10**9)


def test_fewer_nodes_than_hosts_is_a_mistake(tmp_path: Path) -> None:
    text = TWO_HOSTS.replace("  replication_factor", "  nodes: 1\n  replication_factor")
    assert "2 hosts" in mistakes_of(text, tmp_path)["cluster"]


@pytest.mark.parametrize(
    ("tier", "cluster"),
    [
        ("tier: {iops: 500, throughput: 60MB/s}", ""),
        ("tier: {enforcement: existing}", "cluster: azure-d8s-v5"),
    ],
)
def test_disks_of_others_and_a_cluster_of_others_belong_together(
    tier: str, cluster: str, tmp_path: Path
) -> None:
    text = SMALL.replace("tier: {enforcement: existing}", tier)
    if cluster:
        text = f"question: why?\ntitle: ours\n{tier}\n{cluster}\n"
    mistakes = mistakes_of(text, tmp_path)
    assert "`database: existing` belong together" in mistakes["tier.enforcement"]


def test_a_cluster_that_is_started_needs_nodes_and_their_size(tmp_path: Path) -> None:
    text = "question: why?\ntitle: ours\ntier: {iops: 500, throughput: 60MB/s}\n"
    mistakes = mistakes_of(f"{text}cluster: {{replication_factor: 1}}\n", tmp_path)
    missing = "this key is missing"
    assert mistakes == {"cluster.nodes": missing, "cluster.node": missing}


def test_what_is_assumed_of_an_emulated_disk_is_not_assumed_of_theirs(
    tmp_path: Path,
) -> None:
    text = SMALL.replace(
        "{enforcement: existing}", "{type: azure/P15, enforcement: existing}"
    )
    tier = read(text, tmp_path).tier
    assert tier.limits.iops == 1100
    assert (tier.latency.read_s, tier.latency.write_s) == (None, None)


# ------------------------------------------------------------------ arguments that do not fit


def request(folder: Path, **changes: Any) -> Request:
    file = folder / "theirs.yaml"
    file.write_text(SMALL)
    return replace(
        Request(profiles=[str(file)], workloads=["insert"], scale="smoke"), **changes
    )


def test_another_database_cannot_be_asked_of_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="theirs is an existing cluster"):
        plans.make_plan(an_app(NO_CACHE), request(tmp_path, database="postgresql"))
    with pytest.raises(
        UsageError, match="premium does not name a running cluster to attach to"
    ):
        plans.make_plan(
            an_app(NO_CACHE),
            request(tmp_path, database="existing", profiles=["premium"]),
        )


@pytest.mark.parametrize("workloads", [["disk-matrix"], ["insert", "disk-matrix"]])
def test_its_disks_cannot_be_measured_by_themselves(
    workloads: list[str], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"disk-matrix .*theirs"):
        plans.make_plan(an_app(NO_CACHE), request(tmp_path, workloads=workloads))


def test_calibrating_it_says_that_nothing_can_be_measured(tmp_path: Path) -> None:
    (name,) = request(tmp_path).profiles
    with pytest.raises(UsageError, match="existing cluster"):
        calibrate.disk_check(an_app(tmp_path), name, "smoke", False, False)


# ------------------------------------------------------------------ nothing is asked of us


def test_a_remote_cluster_needs_no_memory_or_disk_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    this_machine_has(monkeypatch, 0, 1)
    world = fake_world(Log(), tmp_path)
    for text in (SMALL, SIZED):
        resource_needs.check_space(
            plan_of(read(text, tmp_path)), tier_mechanisms(), world
        )


class _Session:
    def rows(self, text: str) -> list[dict[str, Any]]:
        return [{"version": "PostgreSQL 17.2 on x86_64"}] if "version()" in text else []

    def copy(self, sql: str, text: str) -> None: ...


@contextmanager
def connect(_address: sql.Address, _timeout_s: float) -> Iterator[sql.Session]:
    yield _Session()


def test_the_client_is_on_this_machines_own_network(tmp_path: Path) -> None:
    """Else the client could not reach a database on `localhost`, or in another container, and
    packets to remote ones would be translated on their way."""
    spec, network = read(SMALL, tmp_path).cluster, Network("tierbench-1", ())
    database = ExistingCluster(Server().connect)
    with database.running(spec, (), network, fake_world()) as cluster:
        assert cluster.network == "host"
        assert (
            cluster.endpoints[0].host == cluster.endpoints[0].local_host == "db.example"
        )


def test_more_servers_than_the_profile_names_is_said(tmp_path: Path) -> None:
    version = ("2.18.1.0-b84", "2.18.1.0")
    observed = probe.Observation(
        declaration.YUGABYTEDB, *version, (probe.Host("x"),), nodes=3
    )
    (mistake,) = against_profile.mistakes(read(SMALL, tmp_path).cluster, observed)
    assert mistake.what.startswith("the cluster has 3, not 1")
    assert "existing.hosts" in mistake.what


class _Load(FakeGenerator):
    """Gives the second cluster a quarter more, and each run a little of its own."""

    def __init__(self) -> None:
        super().__init__(Log())
        self.hosts: list[str] = []

    def load(
        self, workload: Workload, cluster: Cluster, client: Node, world: World
    ) -> None:
        self.hosts.append(cluster.endpoints[0].host)

    def run(self, load: ClientLoad) -> tuple[Phase, Phase]:
        start_s = load.world.clock.now()
        load.world.clock.sleep(120.0)
        return Phase("warm-up", start_s, start_s + 60), Phase(
            "measure", start_s + 60, start_s + 120
        )

    def read(self, workload: Workload, *_: Any) -> Result:
        rate = (100.0 if self.hosts[-1] == "a.example" else 125.0) + len(
            self.hosts
        ) % 3 / 10
        latency_s = workload.threads / rate
        figures = (
            measured("throughput_per_s", rate),
            measured("latency_avg_s", latency_s),
        )
        return Result(
            figures, pd.DataFrame(columns=list(INTERVAL_COLUMNS)), (), GeneratorFacts()
        )


def test_two_clusters_of_others_are_compared_and_that_ends_with_a_decision(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for name, iops, monthly in (("a", 3000, 90), ("b", 9000, 190)):
        price = f"{{monthly: {monthly}, currency: USD, region: x, as_of: 2026-01-01, source: x}}"
        tier = f"{{enforcement: existing, iops: {iops}, throughput: 150MB/s, price: {price}}}"
        text = SMALL.replace("{enforcement: existing}", tier).replace("db.", f"{name}.")
        files.append(tmp_path / f"{name}.yaml")
        files[-1].write_text(text)
    load = _Load()
    server = Server(banner=POSTGRESQL, synchronous_commit="on")
    parts = Parts(
        databases={"existing": ExistingCluster(server.connect)},
        load_generators={"sysbench": load},
        tiers=tier_mechanisms(),
        collectors=(DryCollector(),),
    )
    outside = fake_world(cache=tmp_path / "cache")

    class Attached(CampaignApp):
        def carry_out(self, plan: Plan, *_: Any) -> Path:
            return experiment.execute(plan, parts, outside, tmp_path / "results", {})

    words = [
        "compare",
        "--profiles",
        " ".join(map(str, files)),
        "--workloads",
        "insert",
    ]
    words += ["--scale", "smoke", "--repeats", "5"]
    code = exit_code(words, Attached(**vars(an_app(tmp_path / "cache"))))
    shown = capsys.readouterr().out
    assert code == EXIT_INCONCLUSIVE, shown
    assert "enough for cached data only" in shown.splitlines()[0], "of smoke scale"
    assert sorted(load.hosts) == ["a.example"] * 5 + ["b.example"] * 5
    assert server.databases == {"yugabyte": set()}


def test_plan_and_record_without_a_size_of_node_are_read_back(tmp_path: Path) -> None:
    profile = read(SMALL, tmp_path)
    folder = campaign_writing.create(tmp_path / "results", plan_of(profile), {}, 0.0)
    assert store.load(folder).plan.profiles == (profile,)
