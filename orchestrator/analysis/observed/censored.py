"""Whether the observed disk held its own load back: then it does not show what was asked for.

A smaller disk would have had the same load, since what passes the larger limit first and the
smaller one after it leaves as if it had passed the smaller one alone. For a larger disk all that
was seen is the least that it would have been asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.analysis.observed.demand import Array, Demand
from orchestrator.analysis.observed.replay import RateCap, over_gaps

_BINS, _HEAP = 0.02, 5.0  # the heap at the top: within 2 %, five times what is below it
_FEWEST = 20  # intervals in the heap
_LOWEST = {"ios": 100.0, "bytes": 1e7}  # limits that are sold: below them nothing is held back


@dataclass(frozen=True)
class Censored:
    """caps: those of the observed disk that it reached. seconds: at one of them, of all disks."""

    caps: tuple[RateCap, ...] = ()
    seconds: float = 0.0
    share: float = 0.0
    inferred: bool = False  # nobody declared them

    def hides(self, candidate: Sequence[RateCap]) -> bool:
        """Whether a candidate would have been asked for more than was seen: it has no limit that is
        as low as the one that was reached, in base, peak and bucket."""
        return any(
            not any(
                cap.counted == own.counted
                and (cap.base <= own.base and cap.top <= own.top and cap.bucket <= own.bucket)
                for cap in candidate
            )
            for own in self.caps
        )


def held_back(
    demands: Sequence[Demand], caps: Sequence[RateCap], unit_bytes: int | None
) -> Censored:
    """By the declared caps of the observed disk; without any, by what heaps up at a maximum."""
    inferred = not caps
    if inferred:
        heaps = [cap for demand in demands for cap in _heaps(demand)]
        least: dict[str, RateCap] = {}
        for cap in heaps:
            least[cap.counted] = min(cap, least.get(cap.counted, cap), key=lambda c: c.base)
        caps, unit_bytes = tuple(least.values()), None
    seconds = total = 0.0
    reached_caps = dict[RateCap, None]()
    for demand in demands:
        reached = np.zeros(len(demand.begin_s), dtype=bool)
        for cap in caps:
            if (at_cap := over_gaps(demand, cap, unit_bytes, "high").at_cap).any():
                reached |= at_cap
                reached_caps[cap] = None
        seconds += float(demand.step_s[reached].sum())
        total += float(demand.step_s.sum())
    return Censored(tuple(reached_caps), seconds, seconds / total if total else 0.0, inferred)


def _heaps(demand: Demand) -> list[RateCap]:
    """A limit shows as a heap of intervals at the highest rate, with few just below it."""
    heaps = []
    rates: list[tuple[str, Array]] = [("ios", demand.ios), ("bytes", demand.bytes)]
    for counted, amount in rates:
        rate = amount / demand.step_s
        top = float(np.quantile(rate, 0.9999)) if len(rate) else 0.0
        at_top = int((rate >= (1 - _BINS) * top).sum())
        below = int(((rate >= (1 - 3 * _BINS) * top) & (rate < (1 - 2 * _BINS) * top)).sum())
        if top >= _LOWEST[counted] and at_top >= _FEWEST and at_top >= _HEAP * max(1, below):
            name = "IOPS" if counted == "ios" else "bytes/s"
            heaps.append(RateCap(name, "ios" if counted == "ios" else "bytes", top, top))
    return heaps
