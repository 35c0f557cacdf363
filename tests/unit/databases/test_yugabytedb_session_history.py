"""What a YugabyteDB's sessions waited for, by its own samples, and what is concluded from it.

Method: the rows that its documents print of a real cluster with conflicts on one row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.analysis.telemetry.causes import signs, throughput_shares
from orchestrator.analysis.telemetry.causes.node_cause import judge
from orchestrator.analysis.telemetry.use import load_and_sessions
from orchestrator.analysis.telemetry.use.node_values import Evidence, of_figures
from orchestrator.databases.yugabytedb.session_history import session_history
from orchestrator.errors import RunError
from orchestrator.model import Cluster, Endpoint, Node
from orchestrator.system.sql import Address
from orchestrator.yugabyte import waits
from tests.campaigns import build_campaign, build_tier
from tests.evidence import entries
from tests.seen import but

HOSTS = ("10.0.0.11", "10.0.0.12")
CLUSTER = Cluster(
    "yugabytedb",
    "2025.2.1.0-b141",
    tuple(Node(f"node-{number}", "database") for number in (1, 2)),
    tuple(Endpoint(host, 5433, 5433, "bench", "secret", "bench") for host in HOSTS),
    "net",
)


def documented() -> list[dict[str, Any]]:
    """Rows of a cluster on which many sessions change the same row."""
    (entry,) = [e for e in entries() if e["id"] == "history-of-a-hot-row"]
    names = ("component", "event", "type", "samples")
    return [dict(zip(names, row, strict=True)) for row in entry["fact"]]


class Server:
    """Of each node, with this history. `known`: the wait events that it lists; `kept_s`: the age of
    each node's oldest sample, None: it has none."""

    def __init__(
        self,
        *known: str,
        has: bool = True,
        kept_s: tuple[float | None, ...] = (900.0, 900.0),
    ) -> None:
        self.known, self.has = known, has
        self.kept_s = list(kept_s)
        self.asked: list[str] = []

    @contextmanager
    def session(self, at: Address, _timeout_s: float) -> Iterator[Server]:
        self.asked.append(at.host)
        yield self

    def rows(self, statement: str) -> list[dict[str, Any]]:
        if "AS has" in statement:
            return [{"has": self.has}]
        if "yb_wait_event_desc" in statement:
            return [{"event": event} for event in self.known]
        if "AS kept_s" in statement:
            return [{"kept_s": self.kept_s.pop(0)}]
        self.asked.append(statement)
        return documented()


LOCKS = ("LockedBatchEntry_Lock", "ConflictResolution_WaitOnConflictingTxns")


def test_locks_are_seen_among_requests_and_their_share_is_of_sessions() -> None:
    """1,359 and 141 samples of requests that wait for locks, of 1,929 of sessions."""
    server = Server(*LOCKS)
    sampled = session_history(CLUSTER, 30.4, server.session)  # type: ignore[arg-type]
    assert sampled["locked_pct"] == pytest.approx(100 * 1500 / 1929, abs=0.01)
    assert sampled["samples"] == 2 * 1929
    assert sampled["events"][0]["event"] == "OnCpu_Active"
    assert sampled["events"][1]["event"] == LOCKS[1]
    assert "covered_s" not in sampled
    first, second, statement, _ = server.asked
    hosts = [endpoint.local_host for endpoint in CLUSTER.endpoints]
    assert [first, second] == hosts, "each node is asked"
    assert "interval '30 seconds'" in statement and "datname = 'bench'" in statement


@pytest.mark.parametrize(
    ("kept_s", "covered_s"),
    [
        ((900.0, 120.5), 120.5),
        ((297.0, 80.0), 80.0),
        ((299.0, 298.0), None),
        ((299.0, 297.9), 297.9),
        ((900.0, None), None),
        ((None, 200.0), 200.0),
    ],
)
def test_a_history_that_is_shorter_than_the_window_says_how_much_it_covers(
    kept_s: tuple[float | None, ...], covered_s: float | None
) -> None:
    """Of all nodes the part that each has; a sample or two may be missing at the begin."""
    server = Server(*LOCKS, kept_s=kept_s)
    sampled = session_history(CLUSTER, 300.0, server.session)  # type: ignore[arg-type]
    assert sampled.get("covered_s") == covered_s
    seconds = int(covered_s or 300.0)
    statements = server.asked[2:]
    assert len(statements) == 2
    for statement in statements:
        assert f"interval '{seconds} seconds'" in statement, "the same part of each"


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (Server(has=False), "keeps no history"),
        (Server(LOCKS[0]), f"lacks {LOCKS[1]}"),
        (Server(), "lacks Conflict"),
    ],
)
def test_without_a_history_that_knows_locks_nothing_is_said(
    server: Server, said: str
) -> None:
    with pytest.raises(RunError, match=said):
        session_history(CLUSTER, 30.0, server.session)  # type: ignore[arg-type]


def test_other_databases_are_not_asked() -> None:
    other = replace(CLUSTER, database="postgresql")
    assert session_history(other, 30.0, None) == {}  # type: ignore[arg-type]


def test_a_share_of_locks_is_no_more_than_all() -> None:
    rows = [
        {"component": "YSQL", "type": "RPCWait", "event": "TableWrite", "samples": 5},
        {"component": "TServer", "type": "Lock", "event": LOCKS[0], "samples": 9},
    ]
    assert waits.shares(rows)["locked_pct"] == 100.0
    assert waits.shares(rows[1:]) == {}
    rows.append({"component": "YSQL", "type": "Lock", "event": "tuple", "samples": 5})
    rows[1]["samples"] = 0
    assert waits.shares(rows)["locked_pct"] == 50.0


def test_a_share_of_requests_is_no_more_than_all_of_sessions_time() -> None:
    """90 requests at a time of one session are 9000 % of its time."""
    rows = [
        {"component": "YSQL", "type": "RPCWait", "event": "TableRead", "samples": 10},
        {"component": "TServer", "type": "Cpu", "event": "OnCpu", "samples": 900},
    ]
    shares_pct = {}
    for event in waits.shares(rows)["events"]:
        shares_pct[event["event"]] = event["share_pct"]
    assert shares_pct == {"OnCpu": 100.0, "TableRead": 100.0}


# ------------------------------------------------------------------ what is concluded


def of_run(locked_pct: float | None, **more: float) -> Evidence:
    made = build_campaign(profiles=["premium"], workloads=["insert"])
    record = made.runs[0].record
    if locked_pct is not None:
        sampled = {"waits": {"window_s": 30.0, "locked_pct": locked_pct, **more}}
        record = replace(record, facts={**record.facts, **sampled})
    return Evidence(load=load_and_sessions.of_load(record, {}))


def test_locks_are_counted_where_the_database_sampled_them() -> None:
    assert not signs.locks_are_counted(of_run(None))
    assert signs.locks_are_counted(of_run(0.0))
    free = but(of_run(0.0), cpu_pct=10.0, client_cpu_pct=10.0, retried_pct=0.0)
    assert signs.has_room_for_sessions(free)
    assert not signs.has_room_for_sessions(but(free, seen_locked_pct=5.0))
    assert throughput_shares.follows(free) == {}, (
        "the other kinds of waits were not seen"
    )


@pytest.mark.parametrize(
    ("figures", "shares"),
    [
        # Ten sessions: six in an I/O that takes as long as on the idle disk, four at a lock.
        (
            {"seen_reading_pct": 60.0, "seen_locked_pct": 40.0},
            {"contention", "latency_bound"},
        ),
        # Whoever holds a lock waits for CPU as all do, from 85 % of the node's on.
        (
            {"seen_running_pct": 60.0, "seen_locked_pct": 40.0, "cpu_pct": 84.9},
            {"contention", "cpu_bound"},
        ),
        (
            {"seen_running_pct": 60.0, "seen_locked_pct": 40.0, "cpu_pct": 85.0},
            {"cpu_bound"},
        ),
        ({"seen_idle_pct": 100.0}, {"network_bound"}),
        ({"seen_idle_pct": 100.0, "client_cores": 10.0}, {"client_bound"}),
        (
            {"seen_syncing_pct": 100.0, "wal_disk_syncing_pct": 100.0},
            {"wal_disk_bound"},
        ),
    ],
)
def test_what_throughput_follows_where_sessions_were_seen(
    figures: dict[str, float], shares: set[str]
) -> None:
    values = of_figures({"sessions": 10.0, "node_cores": 6.0, **figures})
    found = throughput_shares.follows(values)
    assert {name for name, share in found.items() if share > 0} == shares
    assert sum(found.values()) == pytest.approx(100.0)
    assert "contention" not in found or figures.get("cpu_pct", 0.0) < 85.0


@pytest.mark.parametrize(
    ("covered_s", "locked_pct"), [(14.9, None), (15.0, 78.0), (29.0, 78.0)]
)
def test_locks_are_known_where_at_least_half_of_the_window_was_covered(
    covered_s: float, locked_pct: float | None
) -> None:
    values = of_run(78.0, covered_s=covered_s)
    assert values.load.seen_locked_pct == locked_pct
    assert signs.locks_are_counted(values) == (locked_pct is not None)


@pytest.mark.parametrize(
    ("locked_pct", "cause"), [(78.0, "contention"), (49.0, "unattributed")]
)
def test_locks_that_most_of_the_time_is_waited_for_are_named(
    locked_pct: float, cause: str
) -> None:
    values = of_figures(
        {
            "seen_locked_pct": locked_pct,
            "cpu_pct": 40.0,
            "client_cpu_pct": 10.0,
            "host_cpu_pct": 50.0,
            "disk_busy_pct": 5.0,
            "iops_of_cap_pct": 5.0,
            "bandwidth_of_cap_pct": 5.0,
        }
    )
    judged = judge(values, build_tier("premium"), "node-1")
    assert judged.name == cause
    assert "more sessions" not in judged.text.lower().replace(
        "more sessions would not", ""
    )
    assert "was not sampled" not in judged.text
