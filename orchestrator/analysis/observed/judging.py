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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Literal, NamedTuple, Self

import numpy as np
import pandas as pd

from orchestrator.analysis.observed import demand as read
from orchestrator.analysis.observed import replay, together
from orchestrator.analysis.observed.demand import (
    HOUR_S,
    Array,
    Band,
    Demand,
    by_second,
)
from orchestrator.analysis.observed.heaps import seeming_caps
from orchestrator.analysis.observed.replay import (
    SAME,
    Counted,
    End,
    Flags,
    RateCap,
    Replay,
    Slack,
)
from orchestrator.tier import Limits
from orchestrator.tier_catalog.candidates import IO_BYTES, Purchase
from orchestrator.units import gathered

Word = Literal["would have carried", "would not", "cannot be told"]
Caps = tuple[RateCap, ...]

# Of the demand, less and more: so PostgreSQL asked (docs/OBSERVE.md).
SLACK = (0.3, 0.1)
CREDIT_STEPS = 10  # of T, that a bucket must last for its credit to be followed
_EMPTY = 1e-9  # of a full bucket
_NOT_KNOWN = Band(np.nan, np.nan)


class _Sold(NamedTuple):
    """Up to `most` is sold, and so much of the tolerance is for the least that is needed."""

    counted: Counted
    most: float
    part: float


_SOLD = (_Sold("ios", 1e6, 0.9), _Sold("bytes", 2e10, 0.1))
_FINE = 4096  # rates between one and the most, of which the least is sought


# ------------------------------------------------------------------ one disk


@dataclass(frozen=True)
class OnDisk:
    """A candidate in the place of one disk, or of the worst of several.

    waits, queues: D and S of the demand that was read; NaN: nothing is known of seconds.
    less, more: D and S if less and more is asked by SLACK; binding: the cap that is reached then.
    hours: begin_s, upper (S, at most), credit (least of a full bucket, had it been full at first;
        NaN: none, or not known), node, device.
    empty_s: seconds without credit.
    """

    waits: Band
    queues: Band
    less: float
    more: float
    binding: str
    hours: pd.DataFrame
    empty_s: Band | None

    @property
    def shares(self) -> tuple[Band, Band, Band]:
        return self.waits, self.queues, Band(self.less, self.more)


@lru_cache(maxsize=256)
def judged(demand: Demand, caps: Caps, unit: int | None) -> OnDisk:
    """What these limits would have done: by its seconds, by seconds drawn from pieces of it, or by
    the hard band alone. unit: up to so many bytes an I/O counts as one."""
    bounds = _bounds(demand, caps, unit, SAME)
    slackened = _bounds(demand, caps, unit, SLACK)
    less = slackened.waits.least
    if np.isnan(less):
        less = slackened.queues.least
    more = slackened.queues.most
    credit = _credit(demand, caps, bounds)
    return OnDisk(
        waits=_clipped(bounds.waits, less, more),
        queues=_clipped(bounds.queues, less, more),
        less=less,
        more=more,
        binding=slackened.high.binding,
        hours=_hourly(demand, bounds.reached_s, credit.left),
        empty_s=credit.empty_s,
    )


def _clipped(band: Band, less: float, more: float) -> Band:
    """Draws of more may come out lower: what holds with more or less asked holds without."""
    least, most = np.clip(band, less, more).tolist()
    return Band(least, most)


class _CreditLeft(NamedTuple):
    """Of each step the credit that is left, NaN where it is not followed, and seconds without."""

    left: Array
    empty_s: Band | None


def _credit(demand: Demand, caps: Caps, bounds: _Bounds) -> _CreditLeft:
    """Followed where even the bucket that is soonest empty lasts for many steps."""
    steps = _in_steps(demand)
    lasting_s = [cap.bucket / (cap.top - cap.base) for cap in caps if cap.bucket]
    if not lasting_s or steps.resolution_s > min(lasting_s) / CREDIT_STEPS:
        return _CreditLeft(np.full(len(steps.step_s), np.nan), None)
    empty_s = Band(
        least=replay.seconds_of(steps.step_s, bounds.low.credit <= _EMPTY),
        most=replay.seconds_of(steps.step_s, bounds.high.credit <= _EMPTY),
    )
    return _CreditLeft(bounds.low.credit, empty_s)


def _hourly(demand: Demand, reached_s: Array, credit: Array) -> pd.DataFrame:
    """The table `hours` of OnDisk. reached_s: seconds of each step at the cap, at most."""
    steps = _in_steps(demand)
    hours = _hours(steps)
    at_cap_s = np.add.reduceat(reached_s, hours.first)
    length_s = np.add.reduceat(steps.step_s, hours.first)
    columns = {
        "begin_s": hours.begin_s,
        "upper": np.minimum(1, at_cap_s / length_s),
        "credit": np.minimum.reduceat(credit, hours.first),
    }
    return pd.DataFrame(columns).assign(node=demand.node, device=demand.device)


class _Hours(NamedTuple):
    """When hours begin, in s, and which step is the first of each."""

    begin_s: Array
    first: replay.Numbers


@lru_cache(maxsize=8)  # of a disk, for all candidates
def _hours(demand: Demand) -> _Hours:
    begin_s = demand.begin_s // HOUR_S * HOUR_S
    first = np.flatnonzero(np.diff(begin_s, prepend=-np.inf))
    return _Hours(begin_s[first], first)


def _in_steps(demand: Demand) -> Demand:
    """The demand by whose steps the bounds are told: its own, or those of seconds drawn for it."""
    seconds = by_second(demand)
    if seconds:
        return seconds[0]
    return demand


# ------------------------------------------------------------------ bounds


@dataclass(frozen=True)
class _Bounds:
    """waits, queues: D (not known without seconds) and S. reached_s: the most of S in each step.
    low, high: replays of the two ends."""

    waits: Band
    queues: Band
    reached_s: Array
    low: Replay
    high: Replay


@dataclass(frozen=True)
class _Draws:
    """Replays of each draw, which is the demand itself where nothing is drawn. step_s: of each;
    whole_s: that was read."""

    low: Sequence[Replay]
    high: Sequence[Replay]
    step_s: Array
    whole_s: float

    def share(self, flags: Flags) -> float:
        return replay.seconds_of(self.step_s, flags) / self.whole_s

    @property
    def reached_s(self) -> Array:
        """The most of S in each step, as the mean of all draws."""
        at_cap = np.mean([drawn.at_cap for drawn in self.high], axis=0)
        return np.asarray(at_cap * self.step_s)


def _bounds(demand: Demand, caps: Caps, unit: int | None, slack: Slack) -> _Bounds:
    seconds = by_second(demand)
    basis = seconds or (demand,)
    draws = _Draws(
        low=_replays(basis, caps, unit, "low", slack),
        high=_replays(basis, caps, unit, "high", slack),
        step_s=basis[0].step_s,
        whole_s=float(demand.step_s.sum()),
    )
    if demand.is_fine:
        return _by_seconds(draws)
    hard = replay.hard(demand, caps, unit, slack)
    least = hard.least_s / draws.whole_s
    within = Band(least, float(hard.most_s.sum()) / draws.whole_s)
    if seconds:
        return _by_draws(draws, within, slack)
    return _Bounds(_NOT_KNOWN, within, hard.most_s, draws.low[0], draws.high[0])


def _replays(
    basis: Iterable[Demand], caps: Caps, unit: int | None, end: End, slack: Slack
) -> list[Replay]:
    return [replay.together(drawn, caps, unit, end, slack) for drawn in basis]


def _by_seconds(draws: _Draws) -> _Bounds:
    """Of a demand that was read in seconds its ends alone are bounds."""
    (low,) = draws.low
    (high,) = draws.high
    waits = Band(draws.share(low.asks), draws.share(high.asks))
    queues = Band(draws.share(low.at_cap), draws.share(high.at_cap))
    return _Bounds(waits, queues, draws.reached_s, low, high)


def _by_draws(draws: _Draws, hard: Band, slack: Slack) -> _Bounds:
    """Of drawn seconds each end has a band of its own. What is least is not held to the hard band,
    which sees more at the cap where it knows less."""
    low_queues = [draws.share(drawn.at_cap) for drawn in draws.low]
    high_queues = [draws.share(drawn.at_cap) for drawn in draws.high]
    queues = Band(
        least=read.band(low_queues, (0.0, hard.most)).least,
        most=read.band(high_queues, hard).most,
    )
    spread = read.SPREAD
    if slack == SAME:
        spread = read.SPREAD_OF_D
    # D ≤ S, whatever was drawn.
    within = Band(0.0, queues.most)
    low_waits = [draws.share(drawn.asks) for drawn in draws.low]
    high_waits = [draws.share(drawn.asks) for drawn in draws.high]
    waits = Band(
        least=read.band(low_waits, within, spread).least,
        most=read.band(high_waits, within, spread).most,
    )
    return _Bounds(waits, queues, draws.reached_s, draws.low[0], draws.high[0])


def _of_worst(disks: Sequence[OnDisk]) -> OnDisk:
    """Bounds of the disk that is asked most, and hours of whichever was worst in each."""
    worst = max(disks, key=attrgetter("more"))
    tables = pd.concat([disk.hours for disk in disks])
    by_hour = tables.sort_values(["begin_s", "upper"])
    return replace(
        worst,
        waits=_highest([disk.waits for disk in disks]),
        queues=_highest([disk.queues for disk in disks]),
        less=max(disk.less for disk in disks),
        hours=by_hour.drop_duplicates("begin_s", keep="last"),
    )


def _behind_machine(disks: OnDisk, machine: OnDisk) -> OnDisk:
    """The worst disk of a node, behind the caps of the machine that all of them share. At most it
    is at its own in other seconds than the machine is at one."""
    worst = _of_worst([disks, machine])
    return replace(
        worst,
        waits=_either(disks.waits, machine.waits),
        queues=_either(disks.queues, machine.queues),
        more=min(1.0, disks.more + machine.more),
        empty_s=disks.empty_s,
    )


def _either(band: Band, other: Band) -> Band:
    least = float(np.maximum(band.least, other.least))
    most = float(np.minimum(1.0, band.most + other.most))
    return Band(least, most)


def _highest(bands: Sequence[Band]) -> Band:
    """Not known if one of them is not."""
    least, most = np.max(bands, axis=0).tolist()
    return Band(least, most)


# ------------------------------------------------------------------ an observation


@dataclass(frozen=True)
class CandidateAnswer:
    """at_least: the observed disk held its load back, or seems to have, so that this one may have
    been asked for more. why: what keeps it from being told, or what its word is doubted for."""

    purchase: Purchase
    on: OnDisk
    word: Word
    why: str
    at_least: bool


@dataclass(frozen=True)
class Observed:
    """All that was read.

    tolerance: the share of the time that may be at a cap.
    source: the caps of the observed disks that they may have reached, which nobody declared if it
        is `inferred`; held_back: the share of the time at them, at most.
    answers: of candidates, cheap to dear.
    """

    demands: tuple[Demand, ...]
    tolerance: float
    source: Caps = ()
    inferred: bool = True
    held_back: float = 0.0
    answers: tuple[CandidateAnswer, ...] = ()

    @classmethod
    def of(
        cls, demands: Sequence[Demand], tolerance: float, source: Limits | None = None
    ) -> Self:
        """source: the limits of the observed disk, if they are known."""
        if source:
            caps: Iterable[RateCap] = replay.caps(source)
            unit: int | None = source.io_unit_bytes
        else:
            caps = seeming_caps(demands)
            unit = None
        shares = _shares_at(caps, demands, unit)
        return cls(
            tuple(demands),
            tolerance,
            source=tuple(cap for cap, share in shares.items() if share),
            inferred=source is None,
            held_back=min(1.0, sum(shares.values())),
        )

    @cached_property
    def refused(self) -> str:
        """Why seconds cannot be told, if so."""
        reasons: dict[str, None] = {}
        for demand in self.demands:
            reasons.update(dict.fromkeys(read.refusals(demand)))
        return "; ".join(reasons)

    @property
    def needs(self) -> tuple[float, ...]:
        """The least IOPS, of I/Os of IO_BYTES at most, and bytes/s that carry every disk."""
        needs = []
        for sold in _SOLD:
            share = sold.part * self.tolerance
            needs.append(max(_least(demand, sold, share) for demand in self.demands))
        return tuple(needs)

    def against(self, purchases: Sequence[Purchase]) -> Observed:
        """With an answer for each."""
        # Node by node, because what is drawn for each is in memory once.
        by_node = [_on_node(disks, purchases) for disks in self._nodes]
        answers = []
        for place, purchase in enumerate(purchases):
            worst = _of_worst([on_disks[place] for on_disks in by_node])
            limits = tuple(replay.caps(purchase.tier.limits, purchase.vm))
            answers.append(self._answer(purchase, limits, worst))
        return replace(self, answers=tuple(answers))

    @property
    def _nodes(self) -> Sequence[Sequence[Demand]]:
        """The disks of each node."""
        by_node = gathered((demand.node, demand) for demand in self.demands)
        return [list(disks) for disks in by_node.values()]

    @property
    def worth(self) -> Mapping[str, Sequence[CandidateAnswer]]:
        """Of each provider what is worth measuring; none without any."""
        by_provider = gathered(
            (answer.purchase.provider, answer) for answer in self.answers
        )
        worth = {}
        for provider, answers in by_provider.items():
            pair = worth_measuring(answers, self.tolerance)
            if pair:
                worth[provider] = pair
        return worth

    def _answer(
        self, purchase: Purchase, caps: Sequence[RateCap], on: OnDisk
    ) -> CandidateAnswer:
        is_hidden = self._is_hidden(caps)
        word, why = self._word(purchase, on, is_hidden)
        return CandidateAnswer(purchase, on, word, why, is_hidden)

    def _is_hidden(self, caps: Sequence[RateCap]) -> bool:
        """Whether none of these is as low as one that was reached, so that what they would have
        been asked for was not seen."""
        return not all(_limit_as_low(caps, reached) for reached in self.source)

    def _word(
        self, purchase: Purchase, on: OnDisk, is_hidden: bool
    ) -> tuple[Word, str]:
        """With why it is so, or is doubted."""
        coverage = min(demand.coverage for demand in self.demands)
        if purchase.lacks:
            return "cannot be told", purchase.lacks
        if coverage < read.LEAST_COVERAGE and self.refused:
            return "cannot be told", self.refused
        if on.less > self.tolerance:
            return "would not", ""
        if on.more > self.tolerance:
            why = self.refused or "the bounds are on both sides"
            return "cannot be told", why
        was_held_back = is_hidden and on.more + self.held_back > self.tolerance
        if was_held_back and not self.inferred:
            return "cannot be told", "the observed disk held its load back"
        if purchase.unit_bytes is None:
            why = "how large an I/O counts as one is not documented"
            return "cannot be told", why
        if was_held_back:
            why = "unless the observed disk held its load back, as its readings look"
            return "would have carried", why
        return "would have carried", ""


def _on_node(
    disks: Sequence[Demand], purchases: Sequence[Purchase]
) -> Sequence[OnDisk]:
    """What each purchase would have done in the place of each disk of a node, of which several
    share their machine's caps."""
    if len(disks) == 1:
        (alone,) = disks
        return [_in_place_of(alone, purchase, purchase.vm) for purchase in purchases]
    sums = together.of_nodes(disks)
    answers = []
    for purchase in purchases:
        each = [_in_place_of(disk, purchase, None) for disk in disks]
        worst = _of_worst(each)
        machine = tuple(replay.machine_caps(purchase.vm))
        if machine:
            behind = [judged(demand, machine, purchase.unit_bytes) for demand in sums]
            worst = _behind_machine(worst, _of_worst(behind))
        answers.append(worst)
    return answers


def _in_place_of(disk: Demand, purchase: Purchase, vm: Limits | None) -> OnDisk:
    limits = tuple(replay.caps(purchase.tier.limits, vm))
    return judged(disk, limits, purchase.unit_bytes)


def _limit_as_low(caps: Iterable[RateCap], reached: RateCap) -> bool:
    return any(cap.within(reached) for cap in caps)


def _shares_at(
    caps: Iterable[RateCap], demands: Sequence[Demand], unit: int | None
) -> dict[RateCap, float]:
    """The share of all disks' time at each cap, at most."""
    shares = dict.fromkeys(caps, 0.0)
    whole_s = sum(float(demand.step_s.sum()) for demand in demands)
    for demand in demands:
        for cap in shares:
            at_most = judged(demand, (cap,), unit).queues.most
            reached_s = at_most * float(demand.step_s.sum())
            shares[cap] += reached_s / whole_s
    return shares


# ------------------------------------------------------------------ what is needed, and worth it


def _least(demand: Demand, sold: _Sold, share: float) -> float:
    """The least rate with which no more than this share is at the cap, or `most`."""
    rates = np.geomspace(1.0, sold.most, _FINE).tolist()

    def carries(rate: float) -> bool:
        cap = RateCap("", sold.counted, rate, rate)
        return judged(demand, (cap,), IO_BYTES).more <= share

    place = bisect_left(rates, True, key=carries)
    return float(rates[min(place, _FINE - 1)])


def worth_measuring(
    answers: Sequence[CandidateAnswer], tolerance: float
) -> Sequence[CandidateAnswer]:
    """The two to rent, of answers from cheap to dear: the cheapest of which the most, and the
    cheapest of which the least is within the tolerance. If they are the same, it and that of the
    cheaper ones which is at its cap least. Fewer, if there are none."""
    sold = [answer for answer in answers if _is_sold(answer.purchase)]
    less = [answer.on.less <= tolerance for answer in sold]
    if not any(less):
        return []
    place = less.index(True)
    may_carry = sold[place]
    carrying = [answer for answer in sold[place + 1 :] if answer.on.more <= tolerance]
    if may_carry.on.more > tolerance and carrying:
        return [may_carry, carrying[0]]
    if not place:
        return [may_carry]
    return [min(sold[:place], key=attrgetter("on.more")), may_carry]


def _is_sold(purchase: Purchase) -> bool:
    """With a price, and all that must be known."""
    return bool(purchase.tier.price) and not purchase.lacks
