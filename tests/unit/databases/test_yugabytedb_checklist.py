"""The first-run checklist: what each line expects of a release, and what follows from the lines.

Goal: a line that fails ends no list, and says what was seen. Method: lines looked at one by one on
a made-up cluster whose answers are given.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.databases.yugabytedb import checklist, checklist_kept, flags
from orchestrator.databases.yugabytedb.checks import FACTS, Fact, Probe
from orchestrator.databases.yugabytedb.read_checks import ClaimSeen
from orchestrator.errors import NodeError, RunError
from orchestrator.keys.shipped_yaml import shipped
from orchestrator.model import Cluster, Endpoint, Node
from orchestrator.parts import CheckedFact
from orchestrator.system import sql
from orchestrator.yugabyte import pages, versions
from tests.fakes import FakePlatform, LeapingClock, QuietProgress, fake_world
from tests.pages import FLAGS, Server, listed

PASSWORD = "0123abcd"
HOSTS = ("10.0.0.11", "10.0.0.12", "10.0.0.13")


class Session:
    """Answers the first part of a statement that it knows with one row of one column."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._answers = answers

    def rows(self, sql: str) -> list[dict[str, Any]]:
        for part, answer in self._answers.items():
            if part in sql:
                if isinstance(answer, Exception):
                    raise answer
                if isinstance(answer, list):
                    return answer
                return [answer if isinstance(answer, dict) else {"value": answer}]
        return [{"value": None}]

    def copy(self, sql: str, text: str) -> None:
        self.rows(sql)


def probe(
    answers: Mapping[str, Any] | None = None, release: str = versions.STUDY
) -> Probe:
    @contextmanager
    def connect(_address: sql.Address, _timeout_s: float) -> Iterator[sql.Session]:
        yield Session(answers or {})

    nodes = tuple(Node(f"node-{number}", "database") for number in (1, 2, 3))
    endpoints = tuple(Endpoint(host, 5433, 5433, "u", PASSWORD, "d") for host in HOSTS)
    cluster = Cluster("yugabytedb", release, nodes, endpoints, "net", None)
    return Probe(cluster, connect, release, fake_world())


def looked_at(name: str, cluster: Probe) -> CheckedFact:
    fact = next(fact for fact in FACTS if fact.name == name)
    return checklist.finding(fact, cluster)


@pytest.mark.parametrize(
    ("release", "level", "state"),
    [
        (versions.STUDY, "repeatable read", "confirmed"),
        (versions.STUDY, "read committed", "not confirmed"),
        (versions.DEFAULT, "read committed", "confirmed"),
        (versions.DEFAULT, "repeatable read", "not confirmed"),
    ],
)
def test_the_isolation_expected_is_the_releases_own(
    release: str, level: str, state: str
) -> None:
    found = looked_at(
        "isolation", probe({"yb_get_effective": {"level": level}}, release)
    )
    assert found.state == state
    assert level in found.seen


@pytest.mark.parametrize(
    ("value", "state"), [(str(flags.HISTORY_S), "confirmed"), ("900", "not confirmed")]
)
def test_history_that_is_kept_is_looked_at(value: str, state: str) -> None:
    with closing(Server()) as servers:
        servers.otherwise = (
            200,
            listed({"timestamp_history_retention_interval_sec": value}),
        )
        assert looked_at("history", served_at(f"{servers.url}/")).state == state


@pytest.mark.parametrize(
    ("hosts", "state"), [(3, "confirmed"), (1, "not confirmed"), (2, "not confirmed")]
)
def test_an_address_for_several_nodes_is_seen(hosts: int, state: str) -> None:
    """Of a cluster that others run, through a load balancer."""
    rows = [{"host": host} for host in HOSTS]
    cluster = probe({"yb_servers()": rows})
    endpoints = cluster.cluster.endpoints[:hosts]
    reading = replace(cluster, cluster=replace(cluster.cluster, endpoints=endpoints))
    (found,) = [
        each for each in checklist.read_only(reading) if each.name == "addresses"
    ]
    assert found.state == state
    assert found.seen.startswith(f"3 nodes, {hosts} host")
    assert ("the server there spreads the sessions" in found.seen) is (hosts < 3)


@pytest.mark.parametrize(
    ("server", "flag", "value", "state"),
    [
        ("node-1/yb-tserver", "another_flag", "true", "confirmed"),
        ("node-1/yb-tserver", "ysql_enable_auto_analyze", "false", "confirmed"),
        ("node-1/yb-tserver", "ysql_enable_auto_analyze", "true", "not confirmed"),
        ("node-3/yb-tserver", "ysql_enable_auto_analyze", "true", "not confirmed"),
        (
            "node-1/yb-master",
            "ysql_enable_auto_analyze_service",
            "true",
            "not confirmed",
        ),
        (
            "node-3/yb-master",
            "ysql_enable_auto_analyze_service",
            "true",
            "not confirmed",
        ),
    ],
)
def test_background_analysis_is_looked_at(
    server: str, flag: str, value: str, state: str
) -> None:
    """Of masters too: in 2.18 it is theirs; any may come to lead. The others have it off."""
    with closing(Server()) as servers:
        servers.otherwise = (200, listed({}))
        servers.pages[f"/{server}{FLAGS}"] = (200, listed({flag: value}))
        assert looked_at("auto-analyze", served_at(f"{servers.url}/")).state == state


@pytest.mark.parametrize(("third", "state"), [(1, "confirmed"), (0, "not confirmed")])
def test_a_node_that_leads_no_tablet_is_seen(third: int, state: str) -> None:
    led = dict(zip(HOSTS, (2, 2, third), strict=True))
    rows = {}
    for host, tablets in led.items():
        rows[f"{host}:9000"] = {"status": "ALIVE", "user_tablets_leaders": tablets}
    with closing(Server()) as servers:
        servers.otherwise = (200, json.dumps({"": rows}))
        cluster = served_at(f"{servers.url}/")
        world = fake_world(clock=LeapingClock())
        found = looked_at("leaders", replace(cluster, world=world))
    assert (found.state, found.seen) == (state, str(led))


@pytest.mark.parametrize(
    ("files", "state"),
    [
        ("unlimited", "confirmed"),
        ("1048576", "confirmed"),
        ("1048575", "not confirmed"),
    ],
)
def test_a_limit_of_open_files_below_what_is_asked_for_is_seen(
    files: str, state: str
) -> None:
    platform = FakePlatform(answer=lambda _node, _argv: f"{files}\nunknown\n")
    world = fake_world(platform=platform)
    found = looked_at("ulimits", replace(probe(), world=world))
    assert found.state == state
    assert found.seen == f"open files {files}, processes unknown"


def served_at(url: str) -> Probe:
    """The probe of a cluster each of whose servers is at a path of `url` by node and kind."""
    cluster = probe()
    kinds = (pages.TSERVER, pages.MASTER)
    nodes = tuple(
        replace(node, sources={kind: f"{url}{node.name}/{kind}" for kind in kinds})
        for node in cluster.nodes
    )
    return replace(cluster, cluster=replace(cluster.cluster, nodes=nodes))


@pytest.mark.parametrize(
    ("second", "state"),
    [(40, "confirmed"), (39, "not confirmed")],
    ids=["whole", "torn"],
)
def test_a_batch_that_was_done_in_part_is_seen(second: int, state: str) -> None:
    cluster = replace(
        probe({"a = 1": 40, "a = 2": second}), batch=lambda _address, _statements: None
    )
    found = looked_at("batches", cluster)
    assert found.state == state and f"40 and {second} times" in found.seen


def test_tables_that_cannot_be_analysed_at_once_are_seen() -> None:
    conflict = RunError("40001: catalog version mismatch")
    found = looked_at("analyze", probe({"ANALYZE": conflict}))
    assert (found.state, found.seen) == ("not confirmed", conflict.what)


def test_an_error_of_any_kind_is_one_of_its_line_and_says_no_password() -> None:
    def look(_: Probe) -> ClaimSeen:
        raise ZeroDivisionError(f"with {PASSWORD}")

    found = checklist.finding(Fact("x", "a claim", look), probe())
    assert found.state == "could not be looked at"
    assert found.seen == "ZeroDivisionError: with ***"
    assert found.inferred


class Platform(FakePlatform):
    def __init__(self) -> None:
        super().__init__(images={"yugabytedb/yugabyte:2025.2.6.0-b111": "sha256:84"})

    def facts(self) -> dict[str, str]:
        return {"ID": "this-machine"}


def test_a_cluster_that_does_not_come_up_leaves_a_whole_list() -> None:
    class Broken:
        def check(self, *_: Any) -> None: ...

        @contextmanager
        def running(self, *_: Any) -> Iterator[Cluster]:
            raise NodeError("not ready within 300 s", evidence="the last lines")
            yield

    database: Any = Broken()
    world = fake_world(platform=Platform())
    found = list(checklist.first_run(checklist.spec(), world, database=database))
    assert [line.name for line in found] == [fact.name for fact in checklist.lines()]
    assert found[0].state == "not confirmed" and "the last lines" in found[0].seen
    assert {line.state for line in found[1:-3]} == {"could not be looked at"}
    again = [(line.name, line.state) for line in found[-3:]]
    assert again == [
        (name, "not confirmed") for name in ("cold-copy", "second-copy", "tls")
    ]


def test_nodes_start_twice_from_their_disks_and_one_starts_with_tls() -> None:
    """A second start found what a first had left, in reports of containers that stayed stuck."""
    starts: list[tuple[int, bool, str]] = []

    class Noting:
        def check(self, *_: Any) -> None: ...

        @contextmanager
        def running(self, asked: Any, volumes: Any, *_: Any) -> Iterator[Cluster]:
            restored = volumes[0].restored
            starts.append((len(volumes), restored, asked.settings.get("tls", "off")))
            yield probe().cluster

    database: Any = Noting()
    world = fake_world(platform=Platform())
    list(checklist.first_run(checklist.spec(), world, database=database, facts=()))
    three = [(3, restored, "off") for restored in (False, True, True)]
    assert starts == [*three, (1, False, "on")]


def test_the_list_ends_with_a_count_and_a_file_to_attach(tmp_path: Path) -> None:
    made = [
        CheckedFact("banner", "a claim", "confirmed", "2.18.1.0", False),
        CheckedFact(
            "memory", "a claim", "not confirmed", "password=hunter2 and more", True
        ),
    ]
    progress = QuietProgress()
    world = replace(fake_world(platform=Platform(), cache=tmp_path), progress=progress)
    list(checklist_kept.kept(made, checklist.spec(), world, tmp_path / "results"))
    assert progress.said[0] == "1 of 2 confirmed, these differ: memory"
    (file,) = (tmp_path / "results").iterdir()
    assert str(file) in progress.said[1]
    text = file.read_text()
    assert "banner (inferred)" not in text
    assert "not confirmed memory (inferred): a claim" in text and "sha256:84" in text
    assert "hunter2" not in text


@pytest.mark.parametrize("lacking", [0, 1])
def test_db_auto_takes_a_cluster_of_which_all_that_it_needs_is_confirmed(
    lacking: int, tmp_path: Path
) -> None:
    made = []
    for name in sorted(checklist.needed())[lacking:]:
        made.append(CheckedFact(name, "a claim", "confirmed", "", False))
    world = fake_world(platform=Platform(), cache=tmp_path)
    list(checklist_kept.kept(made, checklist.spec(), world))
    passed = checklist_kept.passed(checklist.spec(), world.platform, tmp_path)
    assert bool(passed) is (lacking == 0)


def test_what_the_program_does_not_need_keeps_db_auto_from_nothing() -> None:
    names = {fact.name for fact in checklist.lines()}
    assert names - checklist.needed() == {
        "addresses", "analyze", "batches", "tls", "ulimits",
    }  # fmt: skip


def test_each_line_is_looked_at_in_its_order() -> None:
    described = shipped("orchestrator.databases.yugabytedb", "checklist.yaml")
    assert [fact.name for fact in checklist.lines()] == list(described)
