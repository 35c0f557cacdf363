"""Words and facts that records keep and that other parts read: closed sets, and typed groups.

A reader decides by one of these words or attributes, never by a sentence or by a key of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

# ------------------------------------------------------------------ words
# fmt: off
NoteKind = Literal[
    "fallback database", "preferred database", "fewer nodes", "nodes as asked", "other scale",
    "approximate limits", "burst scaled", "rehearsal", "other",
]
GateQuantity = Literal[
    "iops_read", "iops_write", "iops_mixed", "iops_at_depth", "depth_at_cap",
    "bandwidth_read", "bandwidth_write", "bandwidth_at_size",
    "latency_read", "latency_write", "fdatasync", "integrity",
]
GateWord = Literal[
    "ok", "slow", "faster than declared (cache or burst)", "failed",
    "bursting", "not reachable", "not declared", "assumed, not judged",
]
BottleneckCause = Literal[
    "iops_cap", "bandwidth_cap", "latency_bound", "burst_exhausted", "cpu_bound", "memory_bound",
    "client_bound", "machine_bound", "load_bound", "unattributed",
]
DoubtKind = Literal[
    # about the campaign
    "one repetition", "missing cell", "emulated tier", "cgroup tier", "none tier", "unlike disks",
    "VM caps the disk", "fewer nodes", "unlike runs", "rehearsal",
    # noted while it ran
    "leftovers", "teardown", "clock set",
    # about the disk of a run
    "no truth gate", "gate not passed", "old truth gate", "limits changed", "burst credit left",
    "limit not verified", "bursting disk", "counts differ", "host slower than the tier",
    "shared disk",
    # about its load, its database and its machine
    "unsteady throughput", "short window", "few checkpoints", "data fits in the cache",
    "client busy", "host saturated", "machine shared", "telemetry gaps", "failures", "retries",
    "few transactions", "overload", "Little's law", "think time's ceiling", "totals differ",
    "commits not durable", "another build",
]
# fmt: on

# ------------------------------------------------------------------ counters of a database

# Names in `DatabaseFacts.since_reset`: each database writes them, `analysis.resources` reads them.
# Other counters there are the database's own. The write-ahead log: how often it was synced, the
# time that took, and that of one sync. Sums over all logs of `WAL_NODES` nodes: one log of the
# primary with PostgreSQL, one for each tablet on every node with YugabyteDB. Time by nodes is a
# share of the time, or an upper bound of it.
WAL_SYNCS = "wal_syncs"
WAL_SYNC_S = "wal_sync_s"
WAL_SYNC_AVG_S = "wal_sync_avg_s"
WAL_NODES = "wal_nodes"
LOG = (WAL_SYNCS, WAL_SYNC_S, WAL_SYNC_AVG_S, WAL_NODES)

# Time that clients' sessions, and nobody else, spent in reading data files, summed over sessions.
READ_S = "blks_read_s"

# ------------------------------------------------------------------ typed groups of facts


@dataclass(frozen=True, kw_only=True)
class DatabaseFacts:
    """What a running database says of itself. `data_bytes` and `cache_bytes` are of one node.

    `version_asked`: the version that the profile asks for. `durable`: whether commits are on the
    disk before they are answered, by the settings in `durability`. `settings`: those given at its
    start. `execution`: what decides how statements run (isolation, planner, background work), as
    read back. `stand_in`: a program for tests plays the database. `since_reset`: counters since
    measuring began, by the names above. `more`: facts that are only kept and shown.
    """

    version: str | None = None
    version_asked: str | None = None
    image: str | None = None
    stand_in: bool | None = None
    durable: bool | None = None
    durability: Mapping[str, Any] | None = None
    settings: Mapping[str, Any] | None = None
    execution: Mapping[str, Any] | None = None
    data_bytes: float | None = None
    cache_bytes: float | None = None
    since_reset: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, recorded: object) -> DatabaseFacts:
        """From a group of a record's facts. What is absent or of another type is None."""
        group = _Group(recorded)
        return cls(
            version=group.text("version"),
            version_asked=group.text("version_asked"),
            image=group.text("image"),
            stand_in=group.truth("stand_in"),
            durable=group.truth("durable"),
            durability=group.mapping("durability"),
            settings=group.mapping("settings"),
            execution=group.mapping("execution"),
            data_bytes=group.number("data_bytes"),
            cache_bytes=group.number("cache_bytes"),
            since_reset=group.mapping("since_reset") or {},
            more=group.rest,
        )

    def recorded(self) -> dict[str, Any]:
        """One flat group, as a record keeps it."""
        return _flat(self)

    def counter(self, name: str) -> float | None:
        """A counter of `since_reset`, or None where the database does not count that."""
        return _number(self.since_reset.get(name))


@dataclass(frozen=True, kw_only=True)
class GeneratorFacts:
    """What a load generator's raw files say of a whole run, beside its figures.

    `recorded_…`: what was kept one by one. `sysbench_transactions`: its own total. `unstarted`:
    transactions that were due and had not begun at the end. `served_of_asked`: the share of
    `arrival_rate_per_s` that was served. `more`: facts that are only kept and shown.
    """

    version: str | None = None
    recorded_transactions: float | None = None
    recorded_failures: float | None = None
    sysbench_transactions: float | None = None
    unstarted: float | None = None
    arrival_rate_per_s: float | None = None
    served_of_asked: float | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, recorded: object) -> GeneratorFacts:
        """From a group of a record's facts. What is absent or of another type is None."""
        group = _Group(recorded)
        return cls(
            version=group.text("version"),
            recorded_transactions=group.number("recorded_transactions"),
            recorded_failures=group.number("recorded_failures"),
            sysbench_transactions=group.number("sysbench_transactions"),
            unstarted=group.number("unstarted"),
            arrival_rate_per_s=group.number("arrival_rate_per_s"),
            served_of_asked=group.number("served_of_asked"),
            more=group.rest,
        )

    def recorded(self) -> dict[str, Any]:
        """One flat group, as a record keeps it."""
        return _flat(self)


class _Group:
    """A recorded group of facts, taken out one by one by its type; `rest` is what is left."""

    def __init__(self, recorded: object) -> None:
        self.rest: dict[str, Any] = dict(recorded) if isinstance(recorded, Mapping) else {}

    def text(self, name: str) -> str | None:
        value = self.rest.pop(name, None)
        return value if isinstance(value, str) else None

    def truth(self, name: str) -> bool | None:
        value = self.rest.pop(name, None)
        return value if isinstance(value, bool) else None

    def number(self, name: str) -> float | None:
        return _number(self.rest.pop(name, None))

    def mapping(self, name: str) -> Mapping[str, Any] | None:
        value = self.rest.pop(name, None)
        return value if isinstance(value, Mapping) else None


def _number(value: object) -> float | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    return None


def _flat(facts: DatabaseFacts | GeneratorFacts) -> dict[str, Any]:
    named = {one.name: getattr(facts, one.name) for one in fields(facts) if one.name != "more"}
    return {
        **{name: value for name, value in named.items() if value not in (None, {})},
        **facts.more,
    }
