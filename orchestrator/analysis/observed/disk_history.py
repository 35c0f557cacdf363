"""A candidate's limits on what one disk was read to have been asked for: by its seconds, by seconds
drawn from pieces of it, or by the hard band alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from orchestrator.analysis.observed import bounds, calibration, replay
from orchestrator.analysis.observed.calibration import Band
from orchestrator.analysis.observed.demand import HOUR_S, Array, Demand, Flags
from orchestrator.analysis.observed.replay import Counted, RateCap, Together

CREDIT_STEPS = 10  # of T, that a bucket must last for its credit to be followed
_EMPTY = 1e-9  # of a full bucket
_OF_IOPS = 0.9  # of the tolerance, for the least IOPS; the rest is for the least bytes/s
_SOLD: tuple[tuple[Counted, float], ...] = (("ios", 1e6), ("bytes", 2e10))  # up to so much
_CLOSE = 1.005  # times the cap that does not do: the search ends


@dataclass(frozen=True)
class Hour:
    """Of one disk: the share of what was read of it at the cap, at most; and the least that was
    left of a full bucket, had it been full at first. None: it has none, or nothing is known."""

    begin_s: float
    upper: float
    credit: float | None = None


@dataclass(frozen=True)
class OnDisk:
    """A candidate in the place of one disk. asking: D; at_cap: S (`answer`). empty_s: seconds
    without credit, at least and at most. delay_s: the mean wait behind the caps, if all is done
    later. None: it has no credit, or T is too long to tell."""

    node: str
    device: str
    asking: Band
    at_cap: Band
    binding: str
    hours: tuple[Hour, ...] = ()
    empty_s: Band | None = None
    least_credit: float | None = None
    delay_s: Band | None = None


@dataclass(frozen=True)
class DiskHistory:
    """One disk's demand, and why seconds cannot be told from it, if they cannot."""

    demand: Demand
    refused: tuple[str, ...] = ()

    @property
    def is_blind(self) -> bool:
        """Whether not even bounds can be told: too little was read, or seconds at wrong times."""
        too_little = self.demand.coverage < calibration.LEAST_COVERAGE
        return too_little or (self.demand.is_fine and bool(self.refused))

    @classmethod
    def of(cls, demand: Demand) -> DiskHistory:
        return cls(demand, tuple(calibration.refusals(demand)))

    def forget(self) -> None:
        """Drops what was drawn: hundreds of megabytes, which are the same if drawn again."""
        self.__dict__.pop("seconds", None)

    @cached_property
    def seconds(self) -> Sequence[Demand]:
        """What the demand may have been second by second; empty if nothing is known of that."""
        if self.demand.is_fine:
            return (self.demand,)
        return () if self.refused else tuple(calibration.drawn(self.demand))

    def need(self, unit_bytes: int | None, tolerance: float) -> tuple[float, float]:
        """The least IOPS and bytes/s with which the most of S is within the tolerance."""
        needed = []
        for (counted, highest), part in zip(_SOLD, (_OF_IOPS, 1 - _OF_IOPS), strict=True):
            low, high = 1.0, highest
            while high > _CLOSE * low:
                rate = float(np.sqrt(low * high))
                cap = RateCap("", counted, rate, rate)
                fits = self._fits(cap, unit_bytes, part * tolerance)
                low, high = (low, rate) if fits else (rate, high)
            needed.append(high)
        return needed[0], needed[1]

    def _fits(self, cap: RateCap, unit_bytes: int | None, share: float) -> bool:
        """Draws are replayed only where sums alone do not settle it."""
        if not self.demand.is_fine:
            hard = self._hard((cap,), unit_bytes)[1]
            if hard.high <= share or hard.low > share:
                return hard.high <= share
        return self._at_cap((cap,), unit_bytes)[1].high <= share

    def _hard(self, caps: Sequence[RateCap], unit_bytes: int | None) -> tuple[Array, Band]:
        lower_s, upper = bounds.together(self.demand, caps, unit_bytes)
        total_s = float(self.demand.step_s.sum())
        return upper, Band(lower_s / total_s, float(upper.sum()) / total_s)

    def _at_cap(
        self, caps: Sequence[RateCap], unit_bytes: int | None
    ) -> tuple[Array, Band, list[Together]]:
        """Seconds at the cap at most, of each step of what `of_caps` looks at; S; and the high end
        of each replay."""
        highs = [replay.together(each, caps, unit_bytes, "high") for each in self.seconds]
        if self.demand.is_fine:
            share = _share(highs[0].at_cap, self.demand.step_s)
            return highs[0].at_cap * self.demand.step_s, Band(share, share), highs
        upper, hard = self._hard(caps, unit_bytes)
        if not highs:
            return upper, hard, highs
        step_s = self.seconds[0].step_s
        shares = [_share(high.at_cap, step_s) for high in highs]
        mean = np.mean([high.at_cap for high in highs], axis=0) * step_s
        return mean, calibration.band(shares, hard), highs

    def of_caps(self, caps: Sequence[RateCap], unit_bytes: int | None) -> OnDisk:
        """What these limits would have done."""
        upper, at_cap, highs = self._at_cap(caps, unit_bytes)
        own, basis = self.demand, (self.seconds or (self.demand,))
        lows = [replay.together(each, caps, unit_bytes, "low") for each in basis]
        highs = highs or [replay.together(own, caps, unit_bytes, "high")]
        asking, step_s, delay_s = at_cap, basis[0].step_s, None
        if self.seconds:
            least = [_share(low.asks, step_s) for low in lows]
            most = [_share(high.asks, step_s) for high in highs]
            reached = [_share(low.at_cap, step_s) for low in lows]
            if own.is_fine:
                asking, at_cap = Band(least[0], most[0]), Band(reached[0], at_cap.high)
            else:
                below = Band(0.0, at_cap.high)
                lower = calibration.band(least, below).low
                asking = Band(lower, calibration.band(most, below).high)
                at_cap = Band(min(at_cap.low, calibration.band(reached, at_cap).low), at_cap.high)
            least_s, most_s = (min(low.delay_s for low in lows), max(h.delay_s for h in highs))
            delay_s = Band(least_s, most_s)
        left = lows[0].credit if self._shows_credit(caps) else None
        disk = OnDisk(own.node, own.device, asking, at_cap, highs[0].binding)
        if left is not None and (gone := highs[0].credit) is not None:
            least_s, most_s = (float(step_s[each <= _EMPTY].sum()) for each in (left, gone))
            disk = replace(disk, empty_s=Band(least_s, most_s), least_credit=float(left.min()))
        return replace(disk, hours=tuple(_hours(basis[0], upper, left)), delay_s=delay_s)

    def _shows_credit(self, caps: Sequence[RateCap]) -> bool:
        """Averages show credit where the bucket lasts much longer than an interval."""
        lasting_s = [cap.bucket / (cap.top - cap.base) for cap in caps if cap.bucket]
        longest_s = min(lasting_s, default=0.0) / CREDIT_STEPS
        return bool(lasting_s) and (bool(self.seconds) or self.demand.resolution_s <= longest_s)


def _share(which: Flags, step_s: Array) -> float:
    return float(step_s[which].sum() / step_s.sum())


def _hours(basis: Demand, upper: Array, credit: Array | None) -> list[Hour]:
    number = np.floor(basis.begin_s / HOUR_S).astype(int)
    place = number - number[0]
    read_s = np.bincount(place, weights=basis.step_s)
    reached_s = np.bincount(place, weights=upper)
    least = np.ones(len(read_s))
    if credit is not None:
        np.minimum.at(least, place, credit)
    return [
        Hour(
            float((number[0] + hour) * HOUR_S),
            float(min(1.0, reached_s[hour] / read_s[hour])),
            None if credit is None else float(least[hour]),
        )
        for hour in np.flatnonzero(read_s)
    ]
