"""How much a cache of another size would miss: what disks are asked for the first time. Pure.

Disks that come up have nothing cached above them. How fast what was ever read grows is then what a
cache that holds all of it so far still misses: the growth of a working set is its miss rate
(Denning and Schwartz 1972). So one run with cold caches says of every size up to all that it read
how many bytes a transaction reads, whatever memory it had. How large the cache of the measured run
is, the curve says too: where it has the reads that were measured. No function is fitted to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orchestrator.analysis.conclusions import T90
from orchestrator.analysis.prediction import simulation
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.telemetry import counters
from orchestrator.errors import UsageError
from orchestrator.keys.messages import failure
from orchestrator.units import format_bytes

BAND = 0.05  # of a size, on both sides of it: growth is taken over so much
# What nine errors in ten of the size of another cache stay below, as a logarithm
# (docs/PREDICTION.md, on real parts).
SIZE_ERROR = 0.1
_SIZES = 400  # at which the measured reads are looked for


@dataclass(frozen=True)
class MissCurve:
    """What all disks of a run had been read for the first time, in bytes, rising, and how many
    transactions had then been done."""

    sizes: np.ndarray
    done: np.ndarray

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest cache of which it tells."""
        return self.sizes[0] / (1 - BAND), self.sizes[-1] / (1 + BAND)

    def read_bytes(self, cache_bytes: float) -> float:
        """That a transaction reads beside a cache of that size."""
        ends = cache_bytes * (1 - BAND), cache_bytes * (1 + BAND)
        before, after = np.interp(ends, self.sizes, self.done)
        return 2 * BAND * cache_bytes / max(float(after - before), 1e-9)

    def cache_bytes(self, read_bytes: float) -> float | None:
        """The cache beside which a transaction reads so much: in the middle of all where the curve
        crosses it. None if it does not."""
        sizes = np.geomspace(*self.ends, _SIZES)
        more = np.array([self.read_bytes(size) for size in sizes]) > read_bytes
        if not more[0] or more[-1]:
            return None
        return math.sqrt(sizes[np.argmin(more)] * sizes[np.flatnonzero(more)[-1]])


@dataclass(frozen=True)
class Misses:
    """Reads of a transaction with other memory, in those that were measured; `error`: what nine in
    ten stay below, as a logarithm."""

    share: float
    error: float


def with_memory(
    campaign: Results, run: RunData, memory_bytes: int, system: simulation.System
) -> Misses:
    """Of each node; `system`: as measured. UsageError where no run of the campaign tells it."""
    database = [node for node in run.record.nodes if node.role == "database"]
    has_bytes, cached_bytes = database[0].memory_bytes, _cached_bytes(run)
    curve = max(_curves(campaign, run), key=lambda c: c.ends[1] / c.ends[0], default=None)
    if not (curve and has_bytes and cached_bytes):
        raise failure(UsageError, "no miss curve", run=run.record.run.slug)
    read_bytes = system.stages[-1][1] * system.read_bytes
    cache_bytes = curve.cache_bytes(read_bytes)
    if cache_bytes is None:
        raise failure(UsageError, "not on the miss curve", run=run.record.run.slug)
    # Of what memory holds beside programs a part is there twice: in the database's own cache and
    # in that of the file system. Both grow alike.
    of_caches = (1 + (memory_bytes - has_bytes) * len(database) / cached_bytes) * cache_bytes
    least, most = curve.ends
    if not least <= of_caches <= most:
        told = [
            format_bytes(has_bytes + (end / cache_bytes - 1) * cached_bytes / len(database))
            for end in curve.ends
        ]
        asked = format_bytes(memory_bytes)
        raise failure(UsageError, "beyond the miss curve", asked=asked, least=told[0], most=told[1])
    chance = sum(system.read_bytes / (2 * BAND * size) for size in (cache_bytes, of_caches))
    smaller, larger = (
        curve.read_bytes(min(max(of_caches * math.exp(off), least), most))
        for off in (-SIZE_ERROR, SIZE_ERROR)
    )
    share = curve.read_bytes(of_caches) / read_bytes
    return Misses(share, math.hypot(T90 * math.sqrt(chance), math.log(smaller / larger) / 2))


def _cached_bytes(run: RunData) -> float:
    """That the nodes' memory held of files in the window, all together."""
    nodes = {node.name for node in run.record.nodes if node.role == "database"}
    total = 0.0
    for samples in run.sampled.by_nodes():
        of = samples[samples["node"].isin(nodes) & (samples["phase"] == "measure")]
        of = of[of["metric"] == "memory_cache_bytes"]
        total += float(of.groupby("node", observed=True)["value"].mean().sum())
    return total


def _curves(campaign: Results, run: RunData) -> Iterator[MissCurve]:
    """Of all runs of the same load and data on as many nodes, on whichever tier."""
    own, nodes = run.record.workload, run.record.profile.cluster.nodes
    for other in campaign.done:
        load = other.record.workload
        same = (load.script, load.dataset, load.options) == (own.script, own.dataset, own.options)
        if same and other.record.profile.cluster.nodes == nodes:
            yield from _curve(other)


def _curve(run: RunData) -> Iterator[MissCurve]:
    """Nothing if its disks did not say what was read for the first time, or it was nothing."""
    begins_s = run.intervals["time_s"].to_numpy()
    done = np.cumsum(run.intervals["throughput_per_s"].to_numpy())
    sizes = np.zeros(len(begins_s))
    for samples in run.sampled.by_nodes():
        firsts = samples[samples["metric"] == counters.FIRST_READ_BYTES]
        for _, of in firsts.groupby("node", observed=True):
            sizes += np.interp(begins_s + 1, of["time_s"], of["value"])
    rises = np.flatnonzero(np.diff(sizes, prepend=0.0) > 0)
    if len(rises) > 1:
        yield MissCurve(sizes[rises], done[rises])
