"""A limit of the observed disk that nobody declared shows as a heap of intervals. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from orchestrator.analysis.observed.demand import Demand
from orchestrator.analysis.observed.replay import Counted, RateCap


class _Heap(NamedTuple):
    """What a limit on it is called; lower limits than `lowest` are not sold, so nothing is held
    back there."""

    counted: Counted
    name: str
    lowest: float


_HEAPS = (_Heap("ios", "IOPS", 100.0), _Heap("bytes", "bytes/s", 1e7))
# A limit shows as a heap of intervals at the highest rate: so many, and so many times what is just
# below. Edges are shares of the highest.
_BELOW = (0.94, 0.96)
_AT_TOP = (0.98, np.inf)
_FEWEST = 20
_TIMES = 5


def seeming_caps(demands: Sequence[Demand]) -> Iterable[RateCap]:
    """Limits that seem to have held the observed disks back: of each name the lowest."""
    heaps = [cap for demand in demands for cap in _heaps(demand)]
    by_name: dict[str, RateCap] = {}
    for cap in sorted(heaps, key=attrgetter("base"), reverse=True):
        by_name[cap.name] = cap
    return by_name.values()


def _heaps(demand: Demand) -> Iterator[RateCap]:
    for heap in _HEAPS:
        amount = demand.ios
        if heap.counted == "bytes":
            amount = demand.bytes
        rate = amount / demand.step_s
        top = float(np.quantile(rate, 0.9999))
        edges = np.multiply((*_BELOW, *_AT_TOP), top or 1.0)
        (below, _, at_top), _ = np.histogram(rate, edges)
        is_heap = at_top >= max(_FEWEST, _TIMES * below)
        if top >= heap.lowest and is_heap:
            yield RateCap(heap.name, heap.counted, top, top)
