"""Whether a dry run asks what it plans on: closed ports of loopback, and fakes that answer."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator import platforms
from orchestrator.cli.common.options import Request
from orchestrator.cli.measure import plans, reaching
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.databases import databases
from orchestrator.databases.existing import ExistingCluster
from orchestrator.errors import (
    EXIT_DONE,
    EXIT_UNAVAILABLE,
    EXIT_USAGE,
    UnavailableError,
)
from orchestrator.model import Placing
from tests.apps import an_app, tierbench, with_parts
from tests.fake_existing import POSTGRESQL, Server
from tests.fakes import QuietProgress, this_machine_has

TIB = 2**40
CLOSED = "127.0.0.1:1"  # nobody listens below 1024 on a computer of tests
OURS = (
    "{database: postgresql, nodes: 3, replication_factor: 3, "
    "node: {smoke: {cpus: 1, memory: 1GiB, disk: 8GiB}}}"
)
THEIRS = (
    "{database: existing, nodes: 2, replication_factor: 1, existing: {hosts: HOSTS, "
    "user: bench, tls: off, maintenance_database: yugabyte}}"
)
TIER = "{type: azure/P15, enforcement: emulated}"


@pytest.fixture(autouse=True)
def _alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("DOCKER_CONTEXT", raising=False)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    this_machine_has(monkeypatch, free_bytes=TIB, memory_bytes=TIB, cpus=8)


def profile(folder: Path, tier: str, cluster: str, more: str = "") -> str:
    file = folder / "mine.yaml"
    file.write_text(
        f"question: q\ntitle: A disk\ntier: {tier}\ncluster: {cluster}\n{more}"
    )
    return str(file)


def of_others(folder: Path, *hosts: str) -> str:
    cluster = THEIRS.replace("HOSTS", f'"{" ".join(hosts)}"')
    return profile(folder, "{type: azure/P15, enforcement: existing}", cluster)


def real(folder: Path) -> CampaignApp:
    """The program with its own platforms, which really connect."""
    return replace(an_app(folder / "cache"), platforms=platforms.platforms)


# Else planning asks the platform too, for its processors and its checklist.
PLANNED = ("--nodes", "3", "--db", "postgresql")


def dry(app: CampaignApp, file: str, *more: str) -> int:
    words = ("run", "--profile", file, "--workload", "insert", "--scale", "smoke")
    return tierbench(app, *words, *more, "--dry-run")


def text_of(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_an_engine_elsewhere_that_does_not_answer_is_a_problem_below_the_plan(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"tcp://{CLOSED}")
    assert dry(real(tmp_path), profile(tmp_path, TIER, OURS)) == EXIT_UNAVAILABLE
    text = text_of(capsys)
    assert "insert: mine" in text and "Nothing was started." in text
    assert f"problem connecting to tcp://{CLOSED}: the Docker engine does not" in text
    assert "→" in text
    assert dry(real(tmp_path), profile(tmp_path, TIER, OURS), "--offline") == EXIT_DONE
    assert "not checked --offline: no engine, machine or" in text_of(capsys)


def test_where_no_docker_is_a_dry_run_ends_well_and_says_what_only_a_run_can_tell(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert dry(real(tmp_path), profile(tmp_path, TIER, OURS)) == EXIT_DONE
    text = text_of(capsys)
    assert "not checked connecting to unix:///nowhere/docker.sock" in text
    assert "problem" not in text
    assert "only a run tells whether disks are as fast as declared" in text


def test_each_machine_that_does_not_answer_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engines = [f"tcp://127.0.0.{number}:1" for number in (1, 2, 3)]
    more = f"machines: [{', '.join(engines)}]\nclient_machine: tcp://127.0.0.4:1\n"
    tier = "{type: azure/P15, enforcement: mounted, path: /mnt/a}"
    file = profile(tmp_path, tier, OURS, more)
    assert dry(real(tmp_path), file, "--output=json", *PLANNED) in (
        EXIT_UNAVAILABLE,
        EXIT_USAGE,
    )
    problems = json.loads(capsys.readouterr().out)["problems"]
    for number in (1, 2, 3, 4):
        assert f"connecting to tcp://127.0.0.{number}:1" in json.dumps(problems)


def test_machines_are_asked_at_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    all_asked = threading.Barrier(4)  # three nodes, and the client's own engine

    def connect(_clock: Any, placing: Placing) -> None:
        all_asked.wait(timeout=20)

    more = "machines: [tcp://vm1:2376, tcp://vm2:2376, tcp://vm3:2376]\n"
    tier = "{type: azure/P15, enforcement: mounted, path: /mnt/a}"
    app = an_app(tmp_path / "cache", connect=connect)
    dry(app, profile(tmp_path, tier, OURS, more), "--output=json", *PLANNED)
    answered = json.loads(capsys.readouterr().out)["answered"]
    nodes = [f"the Docker engine of vm{number}" for number in (1, 2, 3)]
    assert answered == [*nodes, "the Docker engine"]


def test_a_cluster_of_kubernetes_is_asked_without_patience(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"https://{CLOSED}"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    (tmp_path / "config").write_text(json.dumps(config))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    file = profile(tmp_path, TIER, OURS)
    code = dry(real(tmp_path), file, "--platform", "kubernetes", "--db", "postgresql")
    text = text_of(capsys)
    assert code == EXIT_UNAVAILABLE
    assert f"connecting to https://{CLOSED}: the Kubernetes cluster does not" in text
    assert "kubectl cluster-info" in text and "Nothing was started." in text


def test_each_host_of_others_that_does_not_answer_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = of_others(tmp_path, CLOSED, "127.0.0.2:1")
    assert dry(real(tmp_path), file) == EXIT_UNAVAILABLE
    text = text_of(capsys)
    for host in (CLOSED, "127.0.0.2:1"):
        assert f"problem the existing cluster does not answer: {host}:" in text
    assert "database existing: a preview does not connect to the cluster" in text
    assert dry(real(tmp_path), file, "--offline") == EXIT_DONE


class LoadedWhenAsked(dict[str, Any]):
    """Databases by name, and the names that were asked for: each loads its code then."""

    def __init__(self) -> None:
        super().__init__(databases())
        self.asked: list[str] = []

    def __getitem__(self, name: str) -> Any:
        self.asked.append(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.append(name)
        return super().get(name, default)


@pytest.mark.parametrize("has_such", [True, False])
def test_code_for_clusters_of_others_is_loaded_for_a_plan_that_has_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, has_such: bool
) -> None:
    known = LoadedWhenAsked()
    app = real(tmp_path)
    app = with_parts(app, replace(app.parts(None), databases=known))
    if has_such:
        dry(app, of_others(tmp_path, CLOSED))
    else:
        dry(app, profile(tmp_path, TIER, OURS), *PLANNED)
    assert text_of(capsys)
    assert ("existing" in known.asked) is has_such


def with_server(app: CampaignApp, server: Server) -> CampaignApp:
    existing = ExistingCluster(connect=server.connect)
    known: Any = {**databases(), "existing": existing}
    return with_parts(app, replace(app.parts(None), databases=known))


@pytest.mark.parametrize(
    ("version", "code", "said"),
    [
        (
            "16.4",
            EXIT_DONE,
            "answered: the database at 10.0.0.11:5433 and the database at",
        ),
        ("15.1", EXIT_USAGE, "the cluster runs 16.4, not 15.1"),
    ],
)
def test_a_cluster_that_answers_is_held_against_its_profile(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    version: str,
    code: int,
    said: str,
) -> None:
    file = of_others(tmp_path, "10.0.0.11", "10.0.0.12")
    text = Path(file).read_text().replace("nodes: 2", f'nodes: 2, version: "{version}"')
    Path(file).write_text(text)
    server = Server(banner=POSTGRESQL)
    assert dry(with_server(an_app(tmp_path / "cache"), server), file) == code
    assert said in text_of(capsys)
    assert {address.host for address in server.addresses} >= {"10.0.0.11", "10.0.0.12"}
    assert not [text for text in server.statements if "DATABASE" in text.split()]


def test_a_database_of_our_name_is_noted_and_nobody_is_asked(tmp_path: Path) -> None:
    server = Server(banner=POSTGRESQL)
    server.databases["tierbench"] = {"theirs"}
    progress = QuietProgress()
    app = with_server(an_app(tmp_path / "cache", progress=progress), server)
    assert dry(app, of_others(tmp_path, "10.0.0.11", "10.0.0.12")) == EXIT_DONE
    assert any("a run asks first, on a terminal: The" in line for line in progress.said)


class Telling(QuietProgress):
    """Keeps the steps too."""

    def step(self, text: str, expected_s: float | None = None) -> None:
        self.said.append(text)


def test_what_stays_silent_is_told_while_it_is_waited_for_and_given_up(
    tmp_path: Path,
) -> None:
    released = threading.Event()
    progress = Telling()

    def connect(_clock: Any, _placing: Placing) -> None:
        released.wait(60)

    app = an_app(tmp_path / "cache", connect=connect, progress=progress)
    request = Request(
        profiles=[profile(tmp_path, TIER, OURS)],
        workloads=["insert"],
        scale="smoke",
        nodes=3,
        database="postgresql",
        dry_run=True,
    )
    plan = plans.make_plan(app, request)
    try:
        reached = reaching.reach(app, plan, limit_s=0.05)
        connected = reaching.briefly(app, "docker", None, False, limit_s=0.05)
        for _ in range(2):
            with pytest.raises(UnavailableError, match="no answer within"):
                connected()
    finally:
        released.set()
    assert reached.answered == () and reached.problems == ()
    (silent,) = reached.unchecked  # this computer's engine need not answer
    assert "the Docker engine: no answer within 0.05 s" in silent
    assert progress.said == [
        "asking whether it answers: the Docker engine",
        "asking whether it answers: the platform docker",
    ]
