"""A limit of the observed disk that nobody declared shows as a heap of seconds. Pure.

Seconds at a limit are alike: what real disks do there varies by up to 3 %. Next to nothing is above
them, and there are more of them than of seconds just below. A load that asks for one rate all the
time looks so too, if its chance spread is as small: independent I/Os vary by 1 ÷ √rate, so that
counts tell the two apart below some 800 IOPS. Above that `queues` may. docs/research/OBSERVE.md has
how often this is right.
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from orchestrator.extensions.observe.judging.demand import READ_BYTES, Array, Demand
from orchestrator.extensions.observe.judging.rate_caps import Counted, RateCap


class _Quantity(NamedTuple):
    """What a limit on it is called; lower limits than `lowest` are not sold, so nothing is held
    back there."""

    counted: Counted
    name: str
    lowest: float


class _Width(NamedTuple):
    """Half of how wide a heap is, as a share of its rate, and how many times as many seconds it has
    as the band of the same width just below."""

    half: float
    times: float


_QUANTITIES = (_Quantity("ios", "IOPS", 100.0), _Quantity("bytes", "bytes/s", 1e7))
# Seconds at a limit vary by up to 3 %, hence the wide band. With 2.5 times as many seconds, 9 % of
# limits of the worst kind were missed (docs/research/OBSERVE.md).
_WIDTHS = (_Width(0.02, 5.0), _Width(0.06, 2.0))
# Where it is known what was in flight: `queues` takes the doubt away from loads that look so.
_WIDTHS_WITH_QUEUES = (_Width(0.02, 5.0), _Width(0.06, 1.5))
_MOST_INTERVALS = 0.95
_FEWEST = 20  # seconds of a heap
# Shares of seconds above a heap: of the heap's seconds, and of all of them.
_ABOVE_OF_HEAP = 0.005
_ABOVE_OF_ALL = 1e-4
_RATES = 400  # rates that are tried as a limit
# A steady load's seconds are near their median on either side, and spread by more than those of a
# disk at its limit.
_QUANTILES = (0.16, 0.5, 0.84)  # a standard deviation below and above
_STEADY = 0.06
_MORE_THAN_A_LIMITS = 0.035


def seeming_caps(demands: Sequence[Demand]) -> Iterable[RateCap]:
    """Limits that seem to have held the observed disks back: of each name the lowest."""
    heaps: list[RateCap] = []
    for demand in demands:
        heaps += _heaps(demand)
        demand.forget()
    by_name: dict[str, RateCap] = {}
    # Heaps go from high to low, so that the lowest of a name stays.
    for cap in sorted(heaps, key=attrgetter("base"), reverse=True):
        by_name[cap.name] = cap
    return by_name.values()


def _heaps(demand: Demand) -> Iterator[RateCap]:
    widths = _WIDTHS
    if np.isfinite(demand.in_flight).mean() >= _MOST_INTERVALS:
        widths = _WIDTHS_WITH_QUEUES
    for quantity in _QUANTITIES:
        rates = np.sort(_rates(demand, quantity.counted))
        limit = _heaped_at(rates, widths)
        if limit is not None and limit >= quantity.lowest:
            yield RateCap(quantity.name, quantity.counted, limit, limit)


def _rates(demand: Demand, counted: Counted) -> Array:
    """The rates of single seconds if there are any, because longer means hide how they vary."""
    if demand.pieces:
        amounts = np.concatenate(demand.pieces).T
        part = amounts[:READ_BYTES]
        if counted == "bytes":
            part = amounts[READ_BYTES:]
        return np.asarray(np.nansum(part, axis=0))
    amount = demand.ios
    if counted == "bytes":
        amount = demand.bytes
    return amount / demand.step_s


def _heaped_at(rates: Array, widths: Sequence[_Width]) -> float | None:
    """The rate at which the largest heap is, of rates in rising order; None without any."""
    if _is_steady_load(rates):
        return None
    # A limit is where many seconds are, so rates are tried where seconds are dense.
    tried = np.unique(np.quantile(rates, np.linspace(0.01, 1.0, _RATES)))
    tried = tried[tried > 0]
    largest = _Heap(0, 0.0)
    for width in widths:
        heap = _largest_heap(rates, tried, width)
        if heap is not None and heap.seconds > largest.seconds:
            largest = heap
    if not largest.seconds:
        return None
    return largest.rate


class _Heap(NamedTuple):
    """How many seconds it has, and the median rate of these."""

    seconds: int
    rate: float


def _largest_heap(rates: Array, tried: Array, width: _Width) -> _Heap | None:
    """The heap with most seconds, of those around the rates tried."""
    begins = np.searchsorted(rates, tried * (1 - width.half), "left")
    ends = np.searchsorted(rates, tried * (1 + width.half), "right")
    inside = ends - begins
    below = begins - np.searchsorted(rates, tried * (1 - 3 * width.half), "left")
    # A quarter of its width further up: a heap's own upper tail is not held against it.
    far_above = tried * (1 + 1.5 * width.half)
    above = len(rates) - np.searchsorted(rates, far_above, "right")
    few = np.maximum(_ABOVE_OF_HEAP * inside, _ABOVE_OF_ALL * len(rates))
    is_heap = (inside >= _FEWEST) & (inside >= width.times * below) & (above <= few)
    if not is_heap.any():
        return None
    place = int(np.argmax(np.where(is_heap, inside, 0)))
    heaped = rates[begins[place] : ends[place]]
    return _Heap(int(inside[place]), float(np.median(heaped)))


def _is_steady_load(rates: Array) -> bool:
    """Whether it asks for one rate all the time, and varies by more than a limit does."""
    low, middle, high = np.quantile(rates, _QUANTILES).tolist()
    is_steady = middle - low < _STEADY * middle
    return bool(is_steady and high - middle >= _MORE_THAN_A_LIMITS * middle)
