"""How much is read with less memory, or of more data: what a run read while its cache filled. Pure.

Nothing is cached above a disk that has just come up. Until memory is full each read is the first of
its block, so what was read is what is cached, and what a transaction still reads beside so much is
what it reads with a cache of that size: the growth of a working set is its miss rate (Denning and
Schwartz 1972). So a run from cold caches tells of caches that are smaller than its own; what a
larger one would hold was in none. No function is fitted to it.

Where keys are drawn over relative positions, d times the data look to a cache as one d times as
small: what is cached, and read until then, is d times what it was of the run's data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from orchestrator.analysis import conclusions, results
from orchestrator.analysis.prediction import demands, simulation
from orchestrator.analysis.telemetry.counters import READ_BYTES, READS
from orchestrator.errors import UsageError
from orchestrator.units import format_bytes

# What nine errors of reads in ten stay below, as a logarithm, down to that share of the memory
# (docs/PREDICTION.md, on real parts).
READ_ERROR = 0.13
LEAST = 0.5
BAND = 0.15  # of a size, on both sides: reads are taken over so much, as a second may fill a tenth
# Of the cache may be filled when the load begins: the server needs some of it.
COLD = 0.3
# Scripts that write nothing and draw tables alike and rows in them by sysbench's `--rand-type`, all
# of which are over relative positions in 1.0.20 (its src/sb_rand.c).
_RELATIVE = ("sysbench/point_select.lua", "oltp_point_select", "oltp_read_only")


def with_memory(
    run: results.RunData,
    memory_bytes: int,
    system: simulation.System,
    times: float = 1.0,
) -> tuple[simulation.System, float]:
    """The system of a run with so much memory of each node (0: what it had) and so many times the
    data, and the error that nine in ten of its reads stay below, as a logarithm.

    All else stays, writes among it. UsageError where the run does not tell it.
    """
    if times != 1:
        _refuse_other_data(run)
    filling = _filling(run, system)
    asked_bytes = memory_bytes or filling.memory_bytes
    _refuse_unseen(run.record.run.slug, filling, asked_bytes, times)
    taken_bytes = _taken_bytes(run, filling, asked_bytes, system.nodes)
    _refuse_unfilled(run.record.run.slug, filling, system.stages)
    reads_at = _reads_at(filling, (filling.cache_bytes - taken_bytes) / times)
    changed = _reading(system, max(system.stages[-1].reads, reads_at.mean), times)
    # Counted reads scatter by the root of their number (Poisson).
    scatter = conclusions.T90 * math.sqrt(1 / reads_at.counted)
    return changed, math.hypot(scatter, READ_ERROR)


@dataclass(frozen=True)
class _Filling:
    """How the caches of a run filled, all nodes together.

    memory_bytes, shared_bytes: of each node, and of its server's own cache in it. before_bytes: in
    caches when the load began. cache_bytes: read into them until it ended. done, read_bytes, reads:
    each second's transactions, bytes and I/Os since it began.
    """

    memory_bytes: int
    shared_bytes: float
    before_bytes: float
    cache_bytes: float
    done: np.ndarray
    read_bytes: np.ndarray
    reads: np.ndarray


def _filling(run: results.RunData, system: simulation.System) -> _Filling:
    """UsageError if memory or caches are not known."""
    rows = demands.counted(run, [READ_BYTES, READS, "memory_cache_bytes"])
    cached_bytes = rows[:, 3]
    memory_bytes = next(
        node.memory_bytes for node in run.record.nodes if node.role == "database"
    )
    shared_bytes = results.database(run.record).more.get("shared_buffers_bytes")
    if not (memory_bytes and shared_bytes and cached_bytes[-1]):
        raise _cache_unknown(run.record.run.slug)
    since = rows - rows[:1]
    # What is in the server's own cache is in the page cache too, through which it is read.
    shared_twice_bytes = system.nodes * shared_bytes
    return _Filling(
        memory_bytes=memory_bytes,
        shared_bytes=shared_bytes,
        before_bytes=cached_bytes[0],
        cache_bytes=cached_bytes[-1] - cached_bytes[0] - shared_twice_bytes,
        done=since[:, 0],
        read_bytes=since[:, 1],
        reads=since[:, 2],
    )


def _taken_bytes(
    run: results.RunData, filling: _Filling, asked_bytes: int, nodes: int
) -> float:
    """What less memory takes from the caches. Where nobody set the server's own cache it is a share
    of memory, and what it loses was counted twice."""
    fewer_bytes = nodes * (filling.memory_bytes - asked_bytes)
    if "shared_buffers" in run.record.profile.cluster.settings:
        return fewer_bytes
    return fewer_bytes * (1 - filling.shared_bytes / filling.memory_bytes)


@dataclass(frozen=True)
class _ReadsAt:
    """What a transaction reads with a cache of some size: the mean over a band around it, and how
    many reads were counted there."""

    mean: float
    counted: float


def _reads_at(filling: _Filling, size_bytes: float) -> _ReadsAt:
    band = [size_bytes * (1 - BAND), size_bytes * (1 + BAND)]
    first, last = np.interp(band, filling.read_bytes, filling.done)
    reads = np.interp([first, last], filling.done, filling.reads)
    counted = float(np.diff(reads)[0])
    return _ReadsAt(counted / (last - first), counted)


def _reading(
    system: simulation.System, reads: float, times: float
) -> simulation.System:
    """The system whose transactions read at least so much, each stage for so many times as long."""
    stages = tuple(
        simulation.Stage(times * stage.until, max(stage.reads, reads), stage.writes)
        for stage in system.stages
    )
    last = system.stages[-1]
    # CPU time of disks' programs goes with the I/Os.
    other_s = system.other_s * (reads + last.writes) / (last.reads + last.writes)
    return replace(system, stages=stages, other_s=other_s)


# ------------------------------------------------------------------ what is refused


def _refuse_other_data(run: results.RunData) -> None:
    """Reads of other data are told only where nothing is written and keys are relative."""
    load = run.record.workload
    if load.writes or load.script not in _RELATIVE:
        raise _other_data(run.record.run.slug, load.writes, load.script)


def _refuse_unseen(run: str, filling: _Filling, asked_bytes: int, times: float) -> None:
    """More memory for each byte of data than the run had was in no cache, and much less was never
    held against runs."""
    share = asked_bytes / filling.memory_bytes / times
    if LEAST <= share <= 1:
        return
    if times != 1:
        raise _data_not_seen(run, 100 * share)
    raise _memory_not_seen(run, asked_bytes, filling.memory_bytes)


def _refuse_unfilled(
    run: str, filling: _Filling, stages: Sequence[simulation.Stage]
) -> None:
    """A curve has a begin, at which caches are cold, and an end, at which they are full."""
    if filling.before_bytes > COLD * filling.cache_bytes:
        raise _caches_filled(run)
    # When the last stage begins, which is the one of a full cache.
    full_at = stages[-2].until
    read_bytes = np.interp(full_at, filling.done, filling.read_bytes)
    if read_bytes < filling.cache_bytes * (1 + BAND):
        raise _cache_not_full(run)


def _other_data(run: str, writes: bool, script: str) -> UsageError:
    if writes:
        why = (
            "it writes, and how much follows from how often a page is changed again "
            "before it is written"
        )
    else:
        why = (
            f"{script} is not known to read tables alike, and rows at places relative "
            "to their number"
        )
    return UsageError(
        f"{run} does not tell what is done with other data: {why}",
        advice="measure it: --vary data=…",
    )


def _cache_unknown(run: str) -> UsageError:
    return UsageError(
        f"{run} does not tell what it would read with other memory: only of PostgreSQL "
        "is it known what its caches hold, and where the memory of its nodes was sampled",
        advice="predict from a run of PostgreSQL whose telemetry has it",
    )


def _data_not_seen(run: str, asked_pct: float) -> UsageError:
    return UsageError(
        f"{run} does not tell what is read with {asked_pct:.0f} % of the memory that it had "
        f"for each byte of data, but with {100 * LEAST:.0f} % to 100 %: what more would hold "
        "was in no cache, and less was never held against runs",
        advice="measure with at least as much memory for each byte as you ask for, from "
        "cold caches",
    )


def _memory_not_seen(run: str, asked_bytes: int, seen_bytes: int) -> UsageError:
    asked = format_bytes(asked_bytes)
    least = format_bytes(LEAST * seen_bytes)
    most = format_bytes(seen_bytes)
    return UsageError(
        f"{run} does not tell what is read with {asked} of memory, but with {least} to "
        f"{most}: what more would hold was in no cache, and less was never held against "
        "runs",
        advice="measure with at least as much memory as you ask for, from cold caches",
    )


def _caches_filled(run: str) -> UsageError:
    return UsageError(
        f"the caches of {run} were filled before it, so it does not tell how they fill "
        "by its load alone",
        advice="predict from a run from cold caches: --vary cache=cold,warm or the "
        "workload's `warm: false`",
    )


def _cache_not_full(run: str) -> UsageError:
    return UsageError(
        f"{run} ended, or nearly, before its cache was full",
        advice="let it read for longer: --set measure=…",
    )
