"""How much a cache of another size would miss: what disks are asked for the first time. Pure.

Disks that come up have nothing cached above them. How fast what was ever read grows is then what a
cache that holds all of it so far still misses: the growth of a working set is its miss rate
(Denning and Schwartz 1972). So a run with cold caches says of every size up to all that it read how
many bytes a transaction reads, whatever memory it had. How large its own cache is, the curve says
too: where it has the reads that were measured in the end. No function is fitted to it.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from orchestrator.analysis.conclusions import T90
from orchestrator.analysis.prediction import simulation
from orchestrator.analysis.prediction.demands import counted
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.counters import FIRST_READ_BYTES
from orchestrator.errors import UsageError
from orchestrator.keys.messages import failure
from orchestrator.units import format_bytes

BAND = 0.05  # of a size, on both sides of it: growth is taken over so much
# What nine errors of reads in ten stay below, as logarithms, with less memory and with more
# (docs/PREDICTION.md, on real parts).
READ_ERRORS = 0.1, 0.5
Curve = tuple[np.ndarray, np.ndarray]  # sizes of a cache, rising, and bytes that are read with each


def with_memory(
    run: RunData, memory_bytes: int, system: simulation.System
) -> tuple[simulation.System, float]:
    """The system of a run with so much memory of each node, and the error that nine in ten of its
    reads stay below, as a logarithm. All else stays, writes among it. UsageError where the run does
    not tell it."""
    slug, (*_, (_, now, writes)) = run.record.run.slug, system.stages
    if run.record.workload.warm:
        raise failure(UsageError, "caches filled", run=slug)
    has_bytes = next(n.memory_bytes for n in run.record.nodes if n.role == "database") or 0
    held_bytes = counted(run, "database", ["memory_cache_bytes"])[-1, 1] / system.nodes
    grown = counted(run, "disk", [FIRST_READ_BYTES])
    sizes, reads = curve = curve_of(grown)
    cache_bytes = size_with(now * system.read_bytes, curve)
    begins = np.array([0.0, *(until for until, _, _ in system.stages)])
    at_last = np.interp(begins[-2], *grown.T)  # by when the cache must have been full
    if not (cache_bytes and cache_bytes < at_last and has_bytes and held_bytes):
        raise failure(UsageError, "no miss curve", run=slug)
    # Of what memory holds beside programs a part is there twice: in the database's own cache and
    # in that of the file system. Both grow alike.
    other_bytes = (1 + (memory_bytes - has_bytes) / held_bytes) * cache_bytes
    least, most = (has_bytes + (end / cache_bytes - 1) * held_bytes for end in sizes[[0, -1]])
    if not least <= memory_bytes <= most:
        asked, *ends = map(format_bytes, (memory_bytes, least, most))
        raise failure(UsageError, "beyond the miss curve", asked=asked, ends=" to ".join(ends))
    chance = sum(system.read_bytes / (2 * BAND * size) for size in (cache_bytes, other_bytes))
    error = math.hypot(T90 * math.sqrt(chance), READ_ERRORS[memory_bytes > has_bytes])
    # Until that cache is full, what is read is read for the first time.
    then = float(np.interp(other_bytes, sizes, reads)) / system.read_bytes
    firsts = np.diff(np.interp(begins, *grown.T)) / np.diff(begins) / system.read_bytes
    of_stages = zip(system.stages, np.maximum(firsts, then), strict=True)
    stages = tuple((until, float(read), wrote) for (until, _, wrote), read in of_stages)
    other_s = system.other_s * (then + writes) / (now + writes)  # of disks' programs
    return replace(system, stages=stages, other_s=other_s), error


def curve_of(grown: np.ndarray) -> Curve:
    """Rows: transactions done, and all bytes that had then been read for the first time. What grew
    too little has nothing to tell, of one size."""
    done, firsts = grown[np.diff(grown[:, 1], prepend=0.0) > 0].T
    least, most = (firsts[0] / (1 - BAND), firsts[-1] / (1 + BAND)) if len(firsts) else (1.0, 0.0)
    if least >= most:
        return np.ones(1), np.zeros(1)
    sizes = np.geomspace(least, most, 400)
    before, after = (np.interp(sizes * side, firsts, done) for side in (1 - BAND, 1 + BAND))
    return sizes, 2 * BAND * sizes / np.maximum(after - before, 1e-9)


def size_with(read_bytes: float, curve: Curve) -> float | None:
    """The cache with which so much is read: in the middle of all where the curve crosses it. None
    if it does not."""
    sizes, reads = curve
    more = reads > read_bytes
    if not more[0] or more[-1]:
        return None
    return math.sqrt(sizes[np.argmin(more)] * sizes[np.flatnonzero(more)[-1]])
