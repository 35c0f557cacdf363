"""From the profile of a cluster that others run to its report, without any cluster.

Goal: the documented examples are true, a remote cluster needs nothing of this machine, and the
report says what was only declared. Method: the examples are read from docs/YUGABYTEDB.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orchestrator import report
from orchestrator.analysis import comparability, results
from orchestrator.analysis.doubts.kinds import find, of_run
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.telemetry import resources
from orchestrator.analysis.telemetry.counters import Samples
from orchestrator.analysis.verdicts import judge
from orchestrator.cli import campaign, plans
from orchestrator.cli.app import App
from orchestrator.cli.main import exit_code
from orchestrator.cli.options import Request
from orchestrator.collectors.dry import DryCollector
from orchestrator.databases.existing import ExistingCluster, declaration, probe
from orchestrator.errors import EXIT_DONE, UsageError
from orchestrator.facts import GeneratorFacts
from orchestrator.metrics import INTERVAL_COLUMNS, measured
from orchestrator.model import (
    DISK_DEVICE,
    NODE_EXPORTER,
    Cluster,
    Node,
    NodeSize,
    Phase,
    Plan,
    Profile,
    Record,
    Sample,
    Workload,
)
from orchestrator.parts import Parts, Result
from orchestrator.planning import project_files
from orchestrator.planning.plan import make_plan
from orchestrator.powers import Network, World
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import caveats
from orchestrator.run import checks, experiment
from orchestrator.system import sql, store
from orchestrator.tier import Gate
from orchestrator.tiers import tier_mechanisms
from tests import ROOT
from tests.apps import an_app
from tests.campaigns import build_campaign, with_tier
from tests.documented import documented_commands, examples, existing_profiles
from tests.fake_existing import POSTGRESQL, Server
from tests.fakes import FakeGenerator, Log, fake_world, this_machine_has
from tests.plans import a_workload
from tests.tiers import changed

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


def read(text: str, folder: Path, scale: str = "smoke", name: str = "theirs") -> Profile:
    file = folder / f"{name}.yaml"
    file.write_text(text)
    ((profile,), _) = project_files.read(ROOT, [str(file)], [], scale)
    return profile


def mistakes_of(text: str, folder: Path) -> dict[str, str]:
    with pytest.raises(UsageError) as raised:
        read(text, folder)
    return {mistake.where.split(": ")[-1]: mistake.what for mistake in raised.value.mistakes}


def plan_of(*profiles: Profile) -> Plan:
    return make_plan(
        "existing", profiles, [a_workload()], repetitions=1, seed=1, scale="smoke", margin_pct=5.0
    )


# ------------------------------------------------------------------ the documented examples


def test_there_is_an_example_for_each_database() -> None:
    first, second = existing_profiles()
    assert "masters:" in first and "masters:" not in second


@pytest.mark.parametrize("scale", ["smoke", "laptop", "study", "study-20"])
@pytest.mark.parametrize("text", existing_profiles())
def test_the_documented_examples_are_profiles(text: str, scale: str, tmp_path: Path) -> None:
    profile = read(text, tmp_path, scale)
    declared, mistakes = declaration.read(profile.cluster.settings)
    assert mistakes == ()
    assert (profile.cluster.database, profile.tier.disk.enforcement) == ("existing", "existing")
    assert profile.cluster.nodes == len(declared.servers)
    assert profile.cluster.node is None


def test_the_documented_examples_are_planned_with_any_workload_on_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    this_machine_has(monkeypatch, cpus=1)  # not where their nodes run
    for number, text in enumerate(existing_profiles()):
        file = tmp_path / f"theirs-{number}.yaml"
        file.write_text(text)
        request = Request(
            profiles=[str(file)], workloads=["point-select", "insert", "tpcc"], scale="smoke"
        )
        plan = plans.make_plan(an_app(NO_CACHE), request)
        assert len(plan.runs) == 3
        assert {note.kind for note in plan.notes} <= {"campaign cost"}


def test_the_profile_of_the_chart_is_planned_on_docker_and_on_kubernetes(tmp_path: Path) -> None:
    """There the load client is a pod, which knows the services' names."""
    (text,) = examples("YUGABYTEDB.md", "By its Helm chart")
    for platform in ("docker", "kubernetes"):
        file = tmp_path / f"{platform}.yaml"
        file.write_text(f"{text}platform: {platform}\n")
        request = Request(profiles=[str(file)], workloads=["tpcc"], scale="smoke")
        made = plans.make_plan(an_app(NO_CACHE), request)
        assert made.platform == platform
        (profile,) = made.profiles
        declared, mistakes = declaration.read(profile.cluster.settings)
        assert not mistakes and len(declared.servers) == profile.cluster.nodes == 3


def test_the_documented_commands_can_end_well() -> None:
    """A comparison of one profile never decides anything: it would end with 2 for ever."""
    commands = documented_commands("YUGABYTEDB.md", "A cluster that others run")
    assert [words[1] for words in commands] == ["run"]
    assert "--accept-inconclusive" not in commands[0]


# ------------------------------------------------------------------ what a profile may leave out


def test_the_number_of_nodes_is_that_of_the_hosts(tmp_path: Path) -> None:
    assert read(TWO_HOSTS, tmp_path).cluster.nodes == 2


def test_off_is_a_mode_of_tls_although_yaml_takes_it_for_a_truth_value(tmp_path: Path) -> None:
    declared, mistakes = declaration.read(read(SMALL, tmp_path).cluster.settings)
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


def test_what_is_assumed_of_an_emulated_disk_is_not_assumed_of_theirs(tmp_path: Path) -> None:
    text = SMALL.replace("{enforcement: existing}", "{type: azure/P15, enforcement: existing}")
    tier = read(text, tmp_path).tier
    assert tier.limits.iops == 1100
    assert (tier.latency.read_s, tier.latency.write_s) == (None, None)


# ------------------------------------------------------------------ arguments that do not fit


def request(folder: Path, **changes: Any) -> Request:
    file = folder / "theirs.yaml"
    file.write_text(SMALL)
    return replace(Request(profiles=[str(file)], workloads=["insert"], scale="smoke"), **changes)


def test_another_database_cannot_be_asked_of_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="theirs is a cluster that others run"):
        plans.make_plan(an_app(NO_CACHE), request(tmp_path, database="postgresql"))
    with pytest.raises(UsageError, match="premium names no running cluster to attach to"):
        plans.make_plan(
            an_app(NO_CACHE), request(tmp_path, database="existing", profiles=["premium"])
        )


@pytest.mark.parametrize("workloads", [["disk-matrix"], ["insert", "disk-matrix"]])
def test_its_disks_cannot_be_measured_by_themselves(workloads: list[str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"disk-matrix .*theirs"):
        plans.make_plan(an_app(NO_CACHE), request(tmp_path, workloads=workloads))


def test_calibrating_it_says_that_nothing_can_be_measured(tmp_path: Path) -> None:
    (name,) = request(tmp_path).profiles
    with pytest.raises(UsageError, match="others run"):
        campaign.calibrate(an_app(tmp_path), name, "smoke", False, False)


# ------------------------------------------------------------------ nothing is asked of us


def test_a_remote_cluster_needs_no_memory_or_disk_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    this_machine_has(monkeypatch, 0, 1)
    world = fake_world(Log(), tmp_path)
    for text in (SMALL, SIZED):
        checks.check_space(plan_of(read(text, tmp_path)), tier_mechanisms(), world)


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
    with ExistingCluster(connect).running(spec, (), network, fake_world()) as cluster:
        assert cluster.network == "host"
        assert cluster.endpoints[0].host == cluster.endpoints[0].local_host == "db.example"


def test_more_servers_than_the_profile_names_is_said(tmp_path: Path) -> None:
    observed = probe.Observation(
        declaration.YUGABYTEDB, "2.18.1.0-b84", "2.18.1.0", ("x",), 3, None, None, ()
    )
    (mistake,) = probe.mistakes(read(SMALL, tmp_path).cluster, observed)
    assert mistake.what.startswith("the cluster has 3, not 1")
    assert "existing.hosts" in mistake.what


class _Load(FakeGenerator):
    """Gives the second cluster a quarter more, and each run a little of its own."""

    def __init__(self) -> None:
        super().__init__(Log())
        self.hosts: list[str] = []

    def load(self, workload: Workload, cluster: Cluster, client: Node, world: World) -> None:
        self.hosts.append(cluster.endpoints[0].host)

    def run(
        self, workload: Workload, cluster: Cluster, client: Node, out: Path, world: World
    ) -> tuple[Phase, Phase]:
        start_s = world.clock.now()
        world.clock.sleep(120.0)
        return Phase("warm-up", start_s, start_s + 60), Phase(
            "measure", start_s + 60, start_s + 120
        )

    def read(self, workload: Workload, *_: Any) -> Result:
        rate = (100.0 if self.hosts[-1] == "a.example" else 125.0) + len(self.hosts) % 3 / 10
        latency_s = workload.threads / rate
        figures = (measured("throughput_per_s", rate), measured("latency_avg_s", latency_s))
        return Result(figures, pd.DataFrame(columns=list(INTERVAL_COLUMNS)), (), GeneratorFacts())


def test_two_clusters_of_others_are_compared_and_that_ends_with_a_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
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

    class Attached(App):
        def carry_out(self, plan: Plan, *_: Any) -> Path:
            return experiment.execute(plan, parts, outside, tmp_path / "results", {})

    words = ["compare", "--profiles", " ".join(map(str, files)), "--workloads", "insert"]
    words += ["--scale", "smoke", "--repeats", "5"]
    code = exit_code(words, Attached(**vars(an_app(tmp_path / "cache"))))
    assert code == EXIT_DONE, capsys.readouterr()
    assert sorted(load.hosts) == ["a.example"] * 5 + ["b.example"] * 5
    assert server.databases == {"yugabyte": set()}


# ------------------------------------------------------------------ the report


def attached(profile: Profile, **cluster: Any) -> Profile:
    tier = changed(profile.tier, enforcement="existing")
    shape = replace(profile.cluster, database="existing", node=None, **cluster)
    return replace(profile, tier=tier, cluster=shape)


def theirs(**cluster: Any) -> Results:
    """A finished campaign on a cluster that others run, as the flow leaves it."""

    def change(record: Record) -> Record:
        gate = Gate("premium", 1.0, ())
        return replace(record, gate=gate, profile=attached(record.profile, **cluster))

    results = one_cell(change)
    profiles = tuple(attached(profile, **cluster) for profile in results.plan.profiles)
    return replace(results, plan=replace(results.plan, profiles=profiles))


def one_cell(change: Callable[[Record], Record] = lambda record: record) -> Results:
    return build_campaign(profiles=["premium"], workloads=["insert"], repetitions=1, change=change)


def test_the_report_says_what_was_only_declared(tmp_path: Path) -> None:
    finished = theirs(nodes=1, replication_factor=1)
    paths = report.write(finished, judge(finished), tmp_path)
    text = paths.markdown.read_text()
    assert "not held to it: another's disk" in text
    assert "premium: not measured; its limits are only declared" in text
    assert "premium: passed" not in text
    assert "Nothing is replicated" not in text
    (row,) = [line for line in text.splitlines() if line.startswith("| premium | existing")]
    assert row.count("not declared") == 3
    assert paths.html.read_text().count("not declared") >= 3


def test_plan_and_record_without_a_size_of_node_are_read_back(tmp_path: Path) -> None:
    profile = read(SMALL, tmp_path)
    folder = store.create(tmp_path / "results", plan_of(profile), {}, 0.0)
    assert store.load(folder).plan.profiles == (profile,)


def test_nodes_of_unknown_size_are_alike_only_as_far_as_they_were_seen() -> None:
    def record(cpus: float | None, size: NodeSize | None = None) -> Record:
        node = Node("node-1", "database", cpus=cpus)
        theirs_record = theirs().runs[0].record
        profile = theirs_record.profile
        profile = replace(profile, cluster=replace(profile.cluster, node=size))
        return replace(theirs_record, nodes=(node,), profile=profile)

    assert comparability.differences(record(8.0), record(8.0)) == ()
    assert comparability.differences(record(None), record(8.0)) == ()
    assert comparability.differences(record(8.0), record(4.0)) == (
        "CPUs of the nodes, as seen, [8.0] against [4.0]",
    )
    assert comparability.differences(record(8.0), record(8.0, NodeSize(8.0, 1, 1))) == (
        "size of a node not declared against declared",
    )


SIZE = NodeSize(8.0, 2**35, 2**38)
GIB = 2**30


def observed(
    *nodes: tuple[float | None, int | None], role: Any = "database", **facts: Any
) -> Record:
    """A run on a cluster of declared size whose machines were seen to have these CPUs and bytes."""
    record = theirs().runs[0].record
    profile = replace(record.profile, cluster=replace(record.profile.cluster, node=SIZE))
    seen = (
        Node(f"node-{number}", role, cpus=cpus, memory_bytes=memory)
        for number, (cpus, memory) in enumerate(nodes)
    )
    said = {"version": "17.2", "settings": {"work_mem": "4MB"}, **facts}
    return replace(record, profile=profile, nodes=tuple(seen), facts={"database": said})


@pytest.mark.parametrize(
    ("one", "two", "phrase"),
    [
        (observed((8, 32 * GIB)), observed((8, 32 * GIB - 2**20)), None),
        (observed((8, 32 * GIB)), observed((8, 128 * GIB)),
         "memory of the nodes, as seen, 32 GiB against 128 GiB"),
        (observed((4, None)), observed((16, None)), "CPUs of the nodes, as seen, [4] against [16]"),
        (observed((8, GIB), (8, GIB)), observed((8, GIB), (4, GIB)),
         "CPUs of the nodes, as seen, [8, 8] against [4, 8]"),
        (observed((8, GIB), (8, GIB)), observed((8, GIB), (8, 2 * GIB)),
         "memory of the nodes, as seen, 1 GiB, 1 GiB against 1 GiB, 2 GiB"),
        (observed((8, GIB), role="host"), observed((8, GIB), (8, GIB), role="host"), None),
        (observed((8, GIB), role="host"), observed((8, GIB), (4, GIB), role="host"),
         "CPUs of the machines, as seen, [8, 8] against [4, 8]"),
        (observed(), observed(settings={"work_mem": "64MB"}),
         "running database's settings.work_mem 4MB against 64MB"),
        (observed(), observed(settings={"work_mem": "4MB", "jit": "off"}),
         "running database's settings.jit not given against off"),
        (observed(), observed(pooler="its own process 7, the server's 9"),
         "connection pooler not seen against seen"),
    ],
)  # fmt: skip
def test_every_machine_and_all_settings_of_clusters_of_others_are_compared(
    one: Record, two: Record, phrase: str | None
) -> None:
    assert comparability.differences(one, two) == (() if phrase is None else (phrase,))


def test_what_was_not_seen_of_a_cluster_is_no_difference_but_a_doubt() -> None:
    seen, blind = observed((8, GIB)), observed((None, None), settings={})
    assert comparability.differences(seen, blind) == ()
    assert comparability.not_known((seen, seen)) == ()
    assert comparability.not_known((seen, blind)) == ("CPUs and memory of the nodes", "settings")


def test_what_was_not_seen_and_what_is_in_the_way_is_doubted() -> None:
    def kinds(*facts: dict[str, Any]) -> dict[str, str]:
        campaign = theirs()
        run = campaign.runs[0]
        runs = tuple(replace(run, record=observed((8, GIB), **each)) for each in facts)
        found = find(replace(campaign, runs=runs))
        return {doubt.kind: doubt.text for doubt in found}

    new = {"not compared", "connection pooler", "disks not counted"}
    assert not new & set(kinds({}, {}))
    lost = {"node-0": "WAL at /wal is on nvme2n1"}
    found = kinds({}, {"settings": {}, "pooler": "process 7, not 9", "disks_not_counted": lost})
    assert new <= set(found)
    assert found["not compared"].endswith("not all of them told it: settings")
    assert "process 7, not 9" in found["connection pooler"]
    assert found["disks not counted"].startswith("node-0: WAL at /wal is on nvme2n1: figures")


def test_what_a_cluster_said_and_what_was_only_declared_stands_on_the_first_page() -> None:
    def stamps(tls: str, **sources: str) -> dict[str, str]:
        def change(record: Record) -> Record:
            facts = {"database": {"version": "17", "tls": tls, "durability": {"fsync": "on"}}}
            node = Node("node-1", "database", sources=sources, cpus=8.0 if sources else None)
            return replace(record, facts=facts, nodes=(node,), profile=attached(record.profile))

        finished = one_cell(change)
        profiles = tuple(attached(profile) for profile in finished.plan.profiles)
        finished = replace(finished, plan=replace(finished.plan, profiles=profiles))
        index = ReportIndex(finished, judge(finished))
        return {stamp.label: stamp.text for stamp in caveats.existing_clusters(index)}

    bare = stamps("verify-full")
    assert list(bare) == ["premium: others run it"]
    assert bare["premium: others run it"] == (
        "Read: release and settings of durability. Only declared: number of copies and limits of "
        "the disks. Not known: size of the nodes, CPU, memory and network of the nodes, load of "
        "the disks, time for which the nodes' tasks waited and counters of the storage engine."
    )
    seen = stamps("off", **{NODE_EXPORTER: "u", DISK_DEVICE: "sda", "yb-tserver": "u"})
    assert "Not known: time for which the nodes' tasks waited." in seen["premium: others run it"]
    assert seen["premium: not verified"] == (
        "With `tls: off` nothing proves that it was this cluster which answered and passwords and "
        "data went in the clear."
    )


def test_encrypted_sessions_are_not_compared_with_others() -> None:
    def record(tls: str) -> Record:
        found = theirs().runs[0].record
        return replace(found, facts={**found.facts, "database": {"version": "17", "tls": tls}})

    assert comparability.differences(record("verify-full"), record("require")) == ()
    (difference,) = comparability.differences(record("verify-full"), record("off"))
    assert difference == "`tls` of sessions verify-full against off"


def test_what_is_doubted_advises_nothing_that_only_the_owner_can_do() -> None:
    run = theirs().runs[0]
    facts = {**run.record.facts, "database": {"durable": False}}
    run = replace(run, record=replace(run.record, facts=facts))
    busy = {"host_cpu_pct": 100.0}
    found = {doubt.kind: doubt for doubt in of_run(run, busy)}
    assert found["host saturated"].text.endswith("100 % busy, with the load generator on it")
    assert "NODES" not in found["host saturated"].advice
    assert "owner" in found["commits not durable"].advice


def test_processors_of_nodes_elsewhere_are_not_this_machines() -> None:
    run = theirs().runs[0]
    here = resources.total(run, 8.0)
    nodes = tuple(
        replace(node, sources={NODE_EXPORTER: "http://db:9100"})
        if node.role == "database"
        else node
        for node in run.record.nodes
    )
    there = resources.total(replace(run, record=replace(run.record, nodes=nodes)), 8.0)
    assert "other_cpu_pct" in here and "other_cpu_pct" not in there
    assert there["client_cpu_pct"] == here["client_cpu_pct"]


def test_every_way_to_hold_a_tier_has_words_in_the_report(tmp_path: Path) -> None:
    """Judged with telemetry, and written without: no chart depends on how a tier is held."""
    cell: dict[str, Any] = {"profiles": ["premium"], "workloads": ["insert"], "repetitions": 1}
    sampled, bare = build_campaign(**cell), build_campaign(**cell, frames=False)
    for name in tier_mechanisms():
        verdict = judge(with_tier(sampled, enforcement=name))
        report.write(with_tier(bare, enforcement=name), verdict, tmp_path)


def with_disks(devices: str, log_bytes: float, wal_device: str | None = None) -> RunData:
    """A run on a PostgreSQL of others whose disks were written 1 MiB/s, as far as they count."""
    (run,) = theirs().runs
    facts = {**run.record.facts, "database": {
        "durable": True, "flavour": "postgresql", "since_reset": {"wal_bytes": log_bytes},
    }}  # fmt: skip
    nodes = tuple(
        replace(node, device=None, wal_device=wal_device, sources={DISK_DEVICE: devices})
        if node.role == "database"
        else node
        for node in run.record.nodes
    )
    record = replace(run.record, facts=facts, nodes=nodes)
    begin, end = results.measured_window(record) or (0.0, 0.0)
    rows = [
        Sample(float(at), "node-1", f"{prefix}disk_written_bytes_total", "bytes", at * 2.0**20)
        for at in np.linspace(begin, end, 20)
        for prefix in (("", "wal_") if wal_device else ("",))
    ]
    table = pd.DataFrame([vars(row) | {"phase": "measure"} for row in rows])
    return replace(run, record=record, sampled=Samples.held(table))


@pytest.mark.parametrize(
    ("log_mib_per_s", "wal_device", "doubted"),
    [(1.5, None, False), (3, None, True), (3, "b", False)],
)
def test_a_log_that_grows_faster_than_the_disks_are_written_is_elsewhere(
    log_mib_per_s: float, wal_device: str | None, doubted: bool
) -> None:
    record = theirs().runs[0].record
    begin, measure = record.phase("warm-up"), record.phase("measure")
    assert begin and measure
    log_bytes = log_mib_per_s * 2**20 * (measure.end_s - begin.start_s)
    run = with_disks("a", log_bytes, wal_device)
    found = [d.text for d in of_run(run, {}) if d.kind == "disks not counted"]
    assert (
        [text.partition(",")[0] for text in found] == ["node-1: the database's log grew by 3 MiB/s"]
    ) is doubted
    assert bool(found) is doubted


def test_a_sum_of_several_disks_is_not_held_to_the_limits_of_one() -> None:
    (run,) = theirs().runs

    def shares(devices: str) -> set[str]:
        nodes = tuple(replace(n, sources={DISK_DEVICE: devices}) for n in run.record.nodes)
        again = RunData(replace(run.record, nodes=nodes), run.intervals, run.sampled)
        values = next(iter(resources.gather(again, 8.0).values()))
        assert values["disk_iops"] > 0
        return {name for name in values if "of_cap" in name}

    assert "iops_of_cap_pct" in shares("nvme1n1") and shares("nvme1n1 nvme2n1") == set()
