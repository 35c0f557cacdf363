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
from dataclasses import replace

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
COLD = (
    0.3  # of the cache may be filled when the load begins: the server needs some of it
)


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
    data, and the error that nine in ten of its reads stay below, as a logarithm. All else stays,
    writes among it. UsageError where the run does not tell it."""
    slug = run.record.run.slug
    *_, before, (_, now, writes) = system.stages
    load = run.record.workload
    data = times != 1
    if data and (load.writes or load.script not in _RELATIVE):
        raise _other_data(slug, load.writes, load.script)
    total = demands.counted(run, [READ_BYTES, READS, "memory_cache_bytes"])
    has_bytes = next(n.memory_bytes for n in run.record.nodes if n.role == "database")
    # What is in the server's own cache is in the page cache too, through which it is read.
    shared_bytes = results.database(run.record).more.get("shared_buffers_bytes")
    if not (has_bytes and shared_bytes and total[-1, 3]):
        raise _cache_unknown(slug)
    memory_bytes = memory_bytes or has_bytes
    if not LEAST <= (share := memory_bytes / has_bytes / times) <= 1:
        asked, least, most = map(
            format_bytes, (memory_bytes, LEAST * has_bytes, has_bytes)
        )
        if data:
            asked, least, most = (f"{100 * of:.0f} %" for of in (share, LEAST, 1.0))
            raise _data_not_seen(slug, asked, least, most)
        raise _memory_not_seen(slug, asked, least, most)
    own_bytes = total[-1, 3] - total[0, 3] - system.nodes * shared_bytes
    fewer_bytes = system.nodes * (has_bytes - memory_bytes)
    if "shared_buffers" not in run.record.profile.cluster.settings:  # a share of memory
        fewer_bytes *= 1 - shared_bytes / has_bytes
    done, read, ios, _ = (total - total[:1]).T
    if total[0, 3] > COLD * own_bytes:
        raise _caches_filled(slug)
    if np.interp(before[0], done, read) < own_bytes * (1 + BAND):
        raise _cache_not_full(slug)
    size = (own_bytes - fewer_bytes) / times
    first, last = np.interp([size * (1 - BAND), size * (1 + BAND)], read, done)
    ios_in = float(np.diff(np.interp([first, last], done, ios))[0])
    then = max(now, ios_in / (last - first))
    stages = tuple(
        (times * until, max(reads, then), wrote)
        for until, reads, wrote in system.stages
    )
    other_s = system.other_s * (then + writes) / (now + writes)  # of disks' programs
    error = math.hypot(conclusions.T90 * math.sqrt(1 / ios_in), READ_ERROR)
    return replace(system, stages=stages, other_s=other_s), error


# ------------------------------------------------------------------ what is refused


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


def _data_not_seen(run: str, asked: str, least: str, most: str) -> UsageError:
    return UsageError(
        f"{run} does not tell what is read with {asked} of the memory that it had for "
        f"each byte of data, but with {least} to {most}: what more would hold was in no "
        "cache, and less was never held against runs",
        advice="measure with at least as much memory for each byte as you ask for, from "
        "cold caches",
    )


def _memory_not_seen(run: str, asked: str, least: str, most: str) -> UsageError:
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
