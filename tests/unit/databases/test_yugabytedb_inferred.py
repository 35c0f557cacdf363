"""Pages and commands that differ from what was inferred about them: noted, never a refusal.

Goal: a first real cluster whose pages look otherwise is still measured, and doubted. Method: pages
that answer as told, made-up clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.databases.yugabytedb import settings
from orchestrator.databases.yugabytedb.flags_in_force import check_flags
from orchestrator.databases.yugabytedb.nodes import PATIENCE_S, Unread
from orchestrator.errors import NodeError, RunError
from orchestrator.model import ClusterSpec, Node, NodeSize
from orchestrator.powers import ContainerState, World
from orchestrator.yugabyte import counters, pages, server_facts
from tests.fakes import FakePlatform, Log, QuietProgress, fake_world
from tests.pages import FLAGS, listed, serving

SPEC = ClusterSpec("yugabytedb", 1, 1, NodeSize(2.0, 2 * 2**30, 2**30))
NODES = (Node("node-1", "database", sources={pages.TSERVER: "http://127.0.0.1:9"}),)


def raising(error: Exception) -> Callable[..., Any]:
    def reading(*_: object) -> Any:
        raise error

    return reading


@pytest.mark.parametrize(
    "page", ["{}", "[]", '{"flags": [{"name": "x"}]}', '{"flags": 1}', "<p>"]
)
def test_a_page_in_another_form_is_noted_once_and_doubted(page: str) -> None:
    world = fake_world()
    unread = Unread(world)
    with serving({FLAGS: page}) as url:
        for _ in range(2):
            unread.attempt(
                "the flags", lambda: pages.flags(url), dict[str, str](), NODES
            )
    assert FLAGS in str(unread.text())
    assert isinstance(world.progress, QuietProgress) and len(world.progress.said) == 1


def test_a_page_of_a_dead_node_is_still_an_error() -> None:
    platform = FakePlatform(Log())
    platform.states["node-1"] = ContainerState("exited (exit 1)", exit_code=1)
    with pytest.raises(NodeError, match="exited"):
        Unread(fake_world(platform=platform)).attempt(
            "x", raising(OSError("gone")), 0, NODES
        )


def test_a_page_that_stays_unreadable_is_waited_for_only_a_while() -> None:
    world = fake_world()
    unread = Unread(world)
    missing = unread.patiently("the copies", raising(OSError("no JSON")))
    assert missing() == "no JSON"
    world.clock.sleep(PATIENCE_S)
    assert missing() == "" and unread.text() == "the copies: no JSON"


def test_what_a_page_says_is_waited_for_as_long_as_it_says_it() -> None:
    world = fake_world()
    missing = Unread(world).patiently("the copies", lambda: "1 of 3")
    assert missing() == "1 of 3"
    world.clock.sleep(10 * PATIENCE_S)
    assert missing() == "1 of 3"


def test_a_command_that_fails_is_noted_and_a_death_is_not() -> None:
    unread = Unread(fake_world())
    unread.attempt("flushing", raising(RunError("yb-ts-cli failed (exit 1)")), None, ())
    assert unread.text() == "flushing: yb-ts-cli failed (exit 1)"
    with pytest.raises(NodeError):
        unread.attempt("flushing", raising(NodeError("it died")), None, ())


def served_at(url: str) -> Node:
    return replace(NODES[0], sources={pages.TSERVER: url})


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ({}, "durable_wal_write: it is not among the flags of node-1"),
        ({"durable_wal_write": "false"}, None),
    ],
)
def test_durability_that_cannot_be_read_is_no_refusal(
    flags: dict[str, str], text: str | None
) -> None:
    unread = Unread(fake_world())
    with serving({FLAGS: listed(flags)}) as url:
        check_flags([served_at(url)], settings.read(SPEC)[0], unread, 1)
    assert unread.text() == text


def test_durability_that_is_read_and_wrong_is_refused() -> None:
    with (
        serving({FLAGS: listed({"durable_wal_write": "true"})}) as url,
        pytest.raises(NodeError, match="durable_wal_write=true"),
    ):
        check_flags([served_at(url)], settings.read(SPEC)[0], Unread(fake_world()), 1)


def test_counters_that_stay_unreadable_keep_nobody_waiting() -> None:
    world: World = fake_world()
    begun_s = world.clock.monotonic()
    with serving({counters.PATH.split("?")[0]: '"not a list of entities"'}) as url:
        counters.await_quiet([served_at(url)], world)
    assert world.clock.monotonic() - begun_s == 60.0


# ------------------------------------------------------------------ isolation and planner


class Release:
    """A session of a release that has the settings `known` and, if `tells`, the function that
    tells the isolation level."""

    def __init__(self, tells: bool, **known: str) -> None:
        self._tells, self._known = tells, known

    def rows(self, sql: str) -> list[dict[str, Any]]:
        if "yb_get_effective" in sql and not self._tells:
            raise RunError("function does not exist")
        if "AS level" in sql:
            name = "yb_effective_transaction_isolation_level"
            return [{"level": self._known.get(name)}]
        assert "current_setting(name, true)" in sql
        names = server_facts.names_of("session")
        return [{"name": name, "value": self._known.get(name)} for name in names]

    def copy(self, sql: str, text: str) -> None:
        raise AssertionError(sql)


@pytest.mark.parametrize("tells", [True, False])
def test_what_decides_how_statements_run_is_read_back(tells: bool) -> None:
    level = {"yb_effective_transaction_isolation_level": "read committed"}
    session = Release(
        tells, **level, transaction_isolation="read committed", yb_enable_cbo="on"
    )
    servers = {
        "node-1": {"ysql_enable_auto_analyze": "false", "enable_wait_queues": "true"},
        "node-2": {"ysql_enable_auto_analyze": "true", "enable_wait_queues": "true"},
    }
    assert server_facts.execution(session, servers) == {
        "isolation": "read committed",
        "transaction_isolation": "read committed",
        "yb_enable_cbo": "on",
        "enable_wait_queues": "true",
        "ysql_enable_auto_analyze": "false, true",
    }


@pytest.mark.parametrize(
    "flag",
    [
        "ysql_enable_write_pipelining",
        "ysql_yb_ddl_transaction_block_enabled",
        "skip_prefix_locks",
        "yb_enable_read_committed_isolation",
    ],
)
def test_flags_that_change_what_a_commit_asks_of_the_disk_tell_runs_apart(
    flag: str,
) -> None:
    off, on = (
        server_facts.execution(Release(False), {"node-1": {flag: value}})
        for value in ("false", "true")
    )
    assert (off[flag], on[flag]) == ("false", "true")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("yb_pg_stat_plans_track", "all"),
        ("yb_enable_pg_stat_statements_rpc_stats", "on"),
        ("yb_enable_pg_stat_statements_docdb_metrics", "on"),
        ("yb_enable_parallel_append", "on"),
    ],
)
def test_work_beside_each_statement_tells_runs_apart(setting: str, value: str) -> None:
    """2026.1 turned these on."""
    session = Release(False, **{setting: value})
    assert server_facts.execution(session, {})[setting] == value


def test_a_release_that_tells_nothing_of_it_is_no_error() -> None:
    assert server_facts.execution(Release(False), {}) == {"isolation": None}
