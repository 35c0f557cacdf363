"""Causes within the system that no cap explains: rules, and sentences. Pure.

Where sessions were seen, what most of them wait for decides (`shares`); else thresholds do, in the
order of `RULES`. Order and thresholds: docs/METHOD.md.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from orchestrator import facts
from orchestrator.analysis.telemetry import cause_words as words
from orchestrator.analysis.telemetry import disk_demand, kept, shares
from orchestrator.analysis.telemetry.resources import Values
from orchestrator.analysis.telemetry.shares import FREE_PCT, RETRIED_PCT

CAP_PCT = 95.0  # median second, of the cap in force
THROTTLED_PCT = 50.0  # of the periods of its quota
MEMORY_OVER_DISK = 2.0  # times as long as the disk works: then tasks wait for memory, not for it
WAITING_PCT = 50.0  # of sessions' time in reads and log syncs
BUSY_PCT = 70.0  # of the time an I/O is under way, if the database does not count waits
IN_CACHE_PCT = 10.0  # of the time with an I/O under way


@dataclass(frozen=True)
class Cause:
    """Its name, and the sentences that a database administrator reads. `ahead_pct`: how much more
    of throughput follows it than the next."""

    name: facts.BottleneckCause
    text: str
    ahead_pct: float | None = None


Rules = Mapping[str, Callable[[Values], bool]]  # by the name of the sentences (`cause_words.said`)


def carried(rules: Rules, values: Values, node: str) -> Iterator[Cause]:
    return (told(name, values, node) for name, holds in rules.items() if holds(values))


def told(name: str, values: Values, node: str) -> Cause:
    """The cause whose sentences have that name, perhaps with a case of it in brackets."""
    cause = cast(facts.BottleneckCause, name.partition(" (")[0])
    return Cause(cause, words.said(name, values, node=node))


def _single_core(values: Values) -> bool:
    computing = values.get("seen_running_pct", 100.0) >= WAITING_PCT
    cores, busiest_pct = values.get("node_cores", 0.0), values.get("busiest_core_pct")
    alone = words.alone(values) or (computing and shares.one_core(cores, busiest_pct))
    return values.get("cpu_pct", 0.0) < kept.CPU_PCT and alone  # else it may use no more


def _memory_bound(values: Values) -> bool:
    pressure, busy = values.get("memory_pressure_pct", 0.0), values.get("disk_busy_pct", 100.0)
    return pressure >= max(words.MEMORY_PRESSURE_PCT, MEMORY_OVER_DISK * busy)


def _latency_bound(values: Values) -> bool:
    if values.get("cpu_pct", 100.0) >= FREE_PCT or shares.nearest_cap(values) >= CAP_PCT:
        return False
    await_s, idle_s = values.get("disk_await_s"), values.get("idle_disk_latency_s")
    waiting = shares.waiting_pct(values)
    # What a database counted is better evidence than a disk at work: then I/Os may queue a little.
    most = words.UNLOADED if waiting is None else disk_demand.QUEUEING
    if await_s is None or (idle_s and await_s >= most * idle_s):
        return False
    busy = values.get("disk_busy_pct", 0.0)
    return busy >= BUSY_PCT if waiting is None else waiting >= WAITING_PCT


def _at_wal_caps(values: Values) -> bool:
    most = max(values.get(f"wal_{of}_of_cap_pct", 0.0) for of in ("iops", "bandwidth"))
    return values.get("cpu_pct", 100.0) < FREE_PCT and most >= CAP_PCT


def _wal_disk_bound(values: Values) -> bool:
    syncing = values.get("wal_disk_syncing_pct", 0.0)  # there only if commits wait for it
    return values.get("cpu_pct", 100.0) < FREE_PCT and syncing >= WAITING_PCT


def in_cache(values: Values) -> bool:
    """Whether the disk has next to nothing to do."""
    waiting = shares.waiting_pct(values)
    idle = waiting is None or waiting < shares.IDLE_DISK_PCT
    return values.get("disk_busy_pct", 100.0) < IN_CACHE_PCT and idle


RULES: Rules = {
    "single_core": _single_core,
    "cpu_bound": lambda values: (
        values.get("cpu_pct", 0.0) >= kept.CPU_PCT
        or values.get("throttled_pct", 0.0) >= THROTTLED_PCT
    ),
    "latency_bound": _latency_bound,
    "wal_disk_bound (cap)": _at_wal_caps,
    "wal_disk_bound": _wal_disk_bound,
    "memory_bound": _memory_bound,
    "contention (retried)": lambda values: (
        "sessions" not in values and values.get("retried_pct", 0.0) >= RETRIED_PCT
    ),
    "in_cache": in_cache,
}
