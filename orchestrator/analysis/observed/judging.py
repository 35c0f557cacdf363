"""What each disk of the catalog would have done with the observed demand: shares of the time, and
one of three words. They are no words of proof: nothing was loaded, and no such disk was touched.

D: the share of the time that asks for 95 % of a cap or more: what users see who wait for each I/O.
S: the share at the cap if all that waits is done later: what queues of work see. Always D ≤ S. At
least: if commits that wait share a write, so that only reads are done later.
Words go by D of a demand that is smaller and S of one that is larger by SLACK: a database asks
another disk for another sum. Why a capped source bounds larger disks alone: docs/OBSERVE.md.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import Literal, NamedTuple, Self

import numpy as np
import pandas as pd

from orchestrator.analysis.observed import demand as read
from orchestrator.analysis.observed import replay
from orchestrator.analysis.observed.demand import HOUR_S, Array, Demand, by_second
from orchestrator.analysis.observed.replay import (
    ENDS,
    SAME,
    Counted,
    RateCap,
    Replay,
    Slack,
)
from orchestrator.tier import Limits
from orchestrator.tier_catalog.candidates import IO_BYTES, Purchase
from orchestrator.units import gathered

Band = tuple[float, float]
Word = Literal["would have carried", "would not", "cannot be told"]

SLACK = (
    0.3,
    0.1,
)  # of the demand, less and more: so PostgreSQL asked (docs/OBSERVE.md)
CREDIT_STEPS = 10  # of T, that a bucket must last for its credit to be followed
_EMPTY = 1e-9  # of a full bucket
# Up to so much is sold of each, and so much of the tolerance is for the least that is needed.
_SOLD: tuple[tuple[Counted, float, float], ...] = (
    ("ios", 1e6, 0.9),
    ("bytes", 2e10, 0.1),
)
_FINE = 4096  # rates between one and that, of which the least is sought
# A limit shows as a heap of intervals at the highest rate: so many, and five times what is just
# below. Lower limits than these are not sold, so nothing is held back there.
_HEAP = (0.94, 0.96, 0.98, np.inf)
_FEWEST = 20
_TIMES = 5
_LOWEST: dict[Counted, tuple[str, float]] = {
    "ios": ("IOPS", 100.0),
    "bytes": ("bytes/s", 1e7),
}


@dataclass(frozen=True)
class OnDisk:
    """A candidate in the place of one disk, or of the worst of several. waits, queues: D and S of
    the demand that was read, each at least and at most; NaN: nothing is known of seconds. less,
    more: D and S if less and more is asked by SLACK; binding: then. hours: begin_s, upper (S, at
    most), credit (least of a full bucket, had it been full at first; NaN: none, or not known),
    node, device. empty_s: seconds without credit, at least and at most."""

    waits: Band
    queues: Band
    less: float
    more: float
    binding: str
    hours: pd.DataFrame
    empty_s: Band | None

    @property
    def shares(self) -> tuple[Band, Band, Band]:
        return self.waits, self.queues, (self.less, self.more)


@dataclass(frozen=True)
class CandidateAnswer:
    """at_least: the observed disk held its load back, or seems to have, so that this one may have
    been asked for more. why: what keeps it from being told, or what its word is doubted for."""

    purchase: Purchase
    on: OnDisk
    word: Word
    why: str
    at_least: bool


@lru_cache(maxsize=256)
def judged(demand: Demand, caps: tuple[RateCap, ...], unit: int | None) -> OnDisk:
    """What these limits would have done: by its seconds, by seconds drawn from pieces of it, or by
    the hard band alone."""
    basis = by_second(demand) or (demand,)
    own, of_more = (_bounds(demand, caps, unit, slack) for slack in (SAME, SLACK))
    less, _ = of_more.waits
    least, more = of_more.queues
    if np.isnan(less):
        less = least
    else:
        less = less
    begin_s, first = _hours(basis[0])
    step_s = basis[0].step_s
    lasting_s = [cap.bucket / (cap.top - cap.base) for cap in caps if cap.bucket]
    credit = np.full(len(step_s), np.nan)
    empty_s = None
    if lasting_s and basis[0].resolution_s <= min(lasting_s) / CREDIT_STEPS:
        credit = own.low.credit
        without = (credit <= _EMPTY, own.high.credit <= _EMPTY)
        empty_s = (
            replay.seconds_of(step_s, without[0]),
            replay.seconds_of(step_s, without[1]),
        )
    upper = np.minimum(
        1, np.add.reduceat(own.reached_s, first) / np.add.reduceat(step_s, first)
    )
    of = {
        "begin_s": begin_s,
        "upper": upper,
        "credit": np.minimum.reduceat(credit, first),
    }
    hours = pd.DataFrame(of).assign(node=demand.node, device=demand.device)
    # Draws of more may come out lower: what holds with more or less asked holds without.
    waits, queues = np.clip((own.waits, own.queues), less, more).tolist()
    return OnDisk(
        tuple(waits), tuple(queues), less, more, of_more.high.binding, hours, empty_s
    )


@lru_cache(maxsize=8)  # of a disk, for all candidates
def _hours(demand: Demand) -> tuple[Array, replay.Numbers]:
    """When its hours begin, in s, and which step is the first of each."""
    begin_s = demand.begin_s // HOUR_S * HOUR_S
    first = np.flatnonzero(np.diff(begin_s, prepend=-np.inf))
    return begin_s[first], first


class _Bounds(NamedTuple):
    """waits, queues: D (NaN without seconds) and S, at least and at most. reached_s: the most of S
    in each step. low, high: replays of the two ends."""

    waits: Band
    queues: Band
    reached_s: Array
    low: Replay
    high: Replay


def _bounds(
    demand: Demand, caps: tuple[RateCap, ...], unit: int | None, slack: Slack
) -> _Bounds:
    seconds = by_second(demand)
    basis = seconds or (demand,)
    low, high = (
        [replay.together(each, caps, unit, end, slack) for each in basis]
        for end in ENDS
    )
    step_s = basis[0].step_s
    total_s = float(demand.step_s.sum())
    waits, queues = (
        [
            [replay.seconds_of(step_s, getattr(each, name)) / total_s for each in of]
            for of in (low, high)
        ]
        for name in ("asks", "at_cap")
    )
    reached_s = np.mean([each.at_cap for each in high], axis=0) * step_s
    d = (waits[0][0], waits[1][0])
    s = (queues[0][0], queues[1][0])
    if not demand.is_fine:
        least_s, most_s = replay.hard(demand, caps, unit, slack)
        hard = least_s / total_s, float(most_s.sum()) / total_s
        if seconds:
            s = read.band(queues[0], (0.0, hard[1]))[0], read.band(queues[1], hard)[1]
            own = (0.0, s[1]), read.SPREAD_OF_D if slack == SAME else read.SPREAD
            d = read.band(waits[0], *own)[0], read.band(waits[1], *own)[1]
        else:
            d = (np.nan, np.nan)
            s = hard
            reached_s = most_s
    return _Bounds(d, s, reached_s, low[0], high[0])


def _of_worst(disks: Sequence[OnDisk]) -> OnDisk:
    """Bounds of the disk that is asked most, and hours of whichever was worst in each."""
    worst = max(disks, key=lambda disk: disk.more)
    less = max(disk.less for disk in disks)
    waits, queues = np.max(
        [(disk.waits, disk.queues) for disk in disks], axis=0
    ).tolist()
    every = pd.concat([disk.hours for disk in disks]).sort_values(["begin_s", "upper"])
    hours = every.drop_duplicates("begin_s", keep="last")
    return replace(
        worst, waits=tuple(waits), queues=tuple(queues), less=less, hours=hours
    )


@dataclass(frozen=True)
class Observed:
    """All that was read. tolerance: the share of the time that may be at a cap. source: the caps of
    the observed disks that they may have reached, which nobody declared if it is `inferred`;
    held_back: the share of the time at them, at most. answers: of candidates, cheap to dear."""

    demands: tuple[Demand, ...]
    tolerance: float
    source: tuple[RateCap, ...] = ()
    inferred: bool = True
    held_back: float = 0.0
    answers: tuple[CandidateAnswer, ...] = ()

    @classmethod
    def of(
        cls, demands: Sequence[Demand], tolerance: float, source: Limits | None = None
    ) -> Self:
        """source: the limits of the observed disk, if they are known."""
        unit = None
        if source:
            unit = source.io_unit_bytes
        heaps = sorted(
            (h for each in demands for h in _heaps(each)), key=lambda heap: -heap.base
        )
        caps: Iterable[replay.RateCap] = {heap.name: heap for heap in heaps}.values()
        if source:
            caps = replay.caps(source)
        whole_s = sum(float(each.step_s.sum()) for each in demands)
        shares = dict.fromkeys(caps, 0.0)
        for each, cap in product(demands, shares):
            reached_s = judged(each, (cap,), unit).queues[1] * float(each.step_s.sum())
            shares[cap] += reached_s / whole_s
        reached = tuple(cap for cap in shares if shares[cap])
        held_back = sum(shares.values())
        return cls(
            tuple(demands), tolerance, reached, source is None, min(1.0, held_back)
        )

    @cached_property
    def refused(self) -> str:
        """Why seconds cannot be told, if so."""
        reasons = (why for demand in self.demands for why in read.refusals(demand))
        return "; ".join(dict.fromkeys(reasons))

    @property
    def needs(self) -> tuple[float, ...]:
        """The least IOPS, of I/Os of IO_BYTES at most, and bytes/s that carry every disk."""
        return tuple(
            max(
                _least(each, counted, most, part * self.tolerance)
                for each in self.demands
            )
            for counted, most, part in _SOLD
        )

    def against(self, purchases: Sequence[Purchase]) -> Observed:
        """With an answer for each."""
        caps = [tuple(replay.caps(each.tier.limits, each.vm)) for each in purchases]
        disks = [
            [
                judged(demand, of, each.unit_bytes)
                for each, of in zip(purchases, caps, strict=True)
            ]
            for demand in self.demands  # what is drawn for each is in memory once
        ]
        of_nodes = map(_of_worst, zip(*disks, strict=True))
        return replace(
            self, answers=tuple(map(self._answer, purchases, caps, of_nodes))
        )

    @property
    def worth(self) -> dict[str, Sequence[CandidateAnswer]]:
        """Of each provider what is worth measuring."""
        of_providers = gathered((each.purchase.provider, each) for each in self.answers)
        pairs = (
            (name, worth_measuring(of, self.tolerance))
            for name, of in of_providers.items()
        )
        return {name: pair for name, pair in pairs if pair}

    def _answer(
        self, purchase: Purchase, caps: Sequence[RateCap], on: OnDisk
    ) -> CandidateAnswer:
        # hidden: that none of its caps is as low as one that was reached
        hidden = not all(any(cap.within(own) for cap in caps) for own in self.source)
        held = hidden and on.more + self.held_back > self.tolerance
        little = min(each.coverage for each in self.demands) < read.LEAST_COVERAGE
        word: Word = "cannot be told"
        why = purchase.lacks or (self.refused if little else "")
        if why:
            pass
        elif on.less > self.tolerance:
            word = "would not"
        elif on.more > self.tolerance:
            why = self.refused or "the bounds are on both sides"
        elif held and not self.inferred:
            why = "the observed disk held its load back"
        elif purchase.unit_bytes is None:
            why = "how large an I/O counts as one is not documented"
        else:
            word = "would have carried"
            if held:
                why = (
                    "unless the observed disk held its load back, as its readings look"
                )
        return CandidateAnswer(purchase, on, word, why, hidden)


def _heaps(demand: Demand) -> Iterator[RateCap]:
    for counted, (name, lowest) in _LOWEST.items():
        rate = (demand.ios if counted == "ios" else demand.bytes) / demand.step_s
        top = float(np.quantile(rate, 0.9999))
        (below, _, at_top), _ = np.histogram(rate, np.multiply(_HEAP, top or 1.0))
        if top >= lowest and at_top >= max(_FEWEST, _TIMES * below):
            yield RateCap(name, counted, top, top)


def _least(demand: Demand, counted: Counted, most: float, share: float) -> float:
    """The least rate with which no more than this share is at the cap, or `most`."""
    rates = np.geomspace(1.0, most, _FINE).tolist()
    caps = [(RateCap("", counted, rate, rate),) for rate in rates]
    carries = bisect_left(
        caps, True, key=lambda cap: judged(demand, cap, IO_BYTES).more <= share
    )
    return float(rates[min(carries, _FINE - 1)])


def worth_measuring(
    answers: Sequence[CandidateAnswer], tolerance: float
) -> Sequence[CandidateAnswer]:
    """The two to rent, of answers from cheap to dear: the cheapest of which the most, and the
    cheapest of which the least is within the tolerance. If they are the same, it and that of the
    cheaper ones which is at its cap least. Fewer, if there are none."""
    sold = [
        each for each in answers if each.purchase.tier.price and not each.purchase.lacks
    ]
    may = next((n for n, each in enumerate(sold) if each.on.less <= tolerance), None)
    if may is None:
        return []
    dearer = [each for each in sold[may + 1 :] if each.on.more <= tolerance]
    if sold[may].on.more > tolerance and dearer:
        return [sold[may], dearer[0]]
    return [*sorted(sold[:may], key=lambda each: each.on.more)[:1], sold[may]]
