"""For which share of the time a disk with given limits would have been at one of them. Pure.

An observed demand is replayed against the limits of a candidate, in the place of one disk or of the
worst of several. Two shares of the time come out:

- `waits`, in which the demand itself asks for 95 % of a cap or more: what users see who wait for
  each I/O. docs/research/OBSERVE.md calls it D.
- `queues`, at a cap if all that waits is done later: what queues of work see. That is S there, and
  never less than D. At least, commits that wait share a write, so that only reads are done later.

Where readings are in seconds both are known, but for the size of single I/Os. Where readings are
further apart they are bounds: from seconds that are drawn from pieces of the demand, or, without
pieces, from the sums alone (the "hard band").
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from orchestrator.extensions.observe.judging import replay
from orchestrator.extensions.observe.judging.demand import HOUR_S, Array, Demand
from orchestrator.extensions.observe.judging.demand_bounds import Bounds, bounds_of
from orchestrator.extensions.observe.judging.drawn_seconds import Band, by_second
from orchestrator.extensions.observe.judging.rate_caps import SAME, Caps, Slack

Texts = np.ndarray[Any, np.dtype[np.object_]]
# A database asks another disk for another sum: for so much less or more of the demand, as
# PostgreSQL did (docs/research/OBSERVE.md).
SLACK = Slack(less=0.3, more=0.1)
# Credit is followed only if a bucket lasts for so many times the resolution T.
CREDIT_STEPS = 10
_EMPTY = 1e-9  # share of a full bucket


# ------------------------------------------------------------------ one disk


class Hour(NamedTuple):
    """One of `Hours`."""

    begin_s: float
    upper: float
    credit: float
    node: str
    device: str


@dataclass(frozen=True)
class Hours:
    """Hours with readings, in their order.

    begin_s: Unix; upper: the most of `queues`; credit: the least of a full bucket, if it was full
    at first (NaN: none, or not known); node, device: the disk that was worst.

    Arrays, because a table takes longer to make than all its figures, and each candidate has one.
    """

    begin_s: Array
    upper: Array
    credit: Array
    node: Texts
    device: Texts

    def rows(self) -> Iterator[Hour]:
        columns: list[list[Any]] = []
        for values in vars(self).values():
            columns.append(values.tolist())
        for row in zip(*columns, strict=True):
            yield Hour(*row)

    def worst(self) -> Hour:
        """The hour with the most at the cap; of equal ones the first."""
        place = int(np.nanargmax(self.upper))
        return list(self.rows())[place]

    @property
    def least_credit(self) -> float:
        """NaN if it is not known of any hour."""
        # fmin passes over NaN.
        return float(np.fmin.reduce(self.credit, initial=np.nan))


@dataclass(frozen=True)
class OnDisk:
    """A candidate in the place of one disk, or of the worst of several.

    Each figure is a share of the time, from 0 to 1.

    waits: for which it is at a cap where users wait for each I/O, under the demand that was read;
        NaN where nothing is known of seconds.
    queues: for which it is at a cap where work queues, under the same demand.
    at_cap_least: the least of `waits` under a demand that is smaller by SLACK, or of `queues` where
        nothing is known of seconds.
    at_cap_most: the most of `queues` under a demand that is larger by SLACK.
    binding: the cap that the larger demand reaches in most of the time; "" for none.
    hours: what each hour would have been like.
    empty_s: seconds without credit; None where credit is not followed.
    """

    waits: Band
    queues: Band
    at_cap_least: float
    at_cap_most: float
    binding: str
    hours: Hours
    empty_s: Band | None

    @property
    def shares(self) -> tuple[Band, Band, Band]:
        return self.waits, self.queues, Band(self.at_cap_least, self.at_cap_most)


@lru_cache(maxsize=256)
def judged(demand: Demand, caps: Caps, unit: int | None) -> OnDisk:
    """What these limits would have done. unit: up to so many bytes an I/O counts as one."""
    bounds = bounds_of(demand, caps, unit, SAME)
    slackened = bounds_of(demand, caps, unit, SLACK)
    at_cap_least = slackened.waits.least
    if np.isnan(at_cap_least):
        # Nothing is known of seconds.
        at_cap_least = slackened.queues.least
    at_cap_most = slackened.queues.most
    credit = _credit(demand, caps, bounds)
    # Seconds are drawn anew for each, so by chance a larger demand may come out lower.
    return OnDisk(
        waits=bounds.waits.clipped(at_cap_least, at_cap_most),
        queues=bounds.queues.clipped(at_cap_least, at_cap_most),
        at_cap_least=at_cap_least,
        at_cap_most=at_cap_most,
        binding=slackened.high.binding,
        hours=_hourly(demand, bounds.reached_s, credit.left),
        empty_s=credit.empty_s,
    )


def forget(demands: Iterable[Demand]) -> None:
    """Frees what was computed of these, which of a week is more than memory should hold.

    What `judged` keeps is freed for all demands. What was drawn for the last of these stays.
    """
    judged.cache_clear()
    _steps_of_hours.cache_clear()
    for demand in demands:
        demand.forget()


class _CreditLeft(NamedTuple):
    """left: credit after each step, of a full bucket; NaN where it is not followed.
    empty_s: seconds without credit; None where it is not followed."""

    left: Array
    empty_s: Band | None


def _credit(demand: Demand, caps: Caps, bounds: Bounds) -> _CreditLeft:
    """Credit is followed where even the bucket that is soonest empty lasts for many steps."""
    # Nobody knows when in a step its I/Os came, and so not when the credit was gone.
    steps = _in_steps(demand)
    lasting_s: list[float] = []
    for cap in caps:
        if cap.bucket:
            lasting_s.append(cap.bucket / (cap.top - cap.base))
    if not lasting_s or steps.resolution_s > min(lasting_s) / CREDIT_STEPS:
        unknown = np.full(len(steps.step_s), np.nan)
        return _CreditLeft(unknown, None)
    least_empty_s = replay.seconds_of(steps.step_s, bounds.low.credit <= _EMPTY)
    most_empty_s = replay.seconds_of(steps.step_s, bounds.high.credit <= _EMPTY)
    empty_s = Band(least_empty_s, most_empty_s)
    return _CreditLeft(bounds.low.credit, empty_s)


def _hourly(demand: Demand, reached_s: Array, credit: Array) -> Hours:
    """reached_s: seconds of each step at the cap, at most."""
    steps = _in_steps(demand)
    hours = _steps_of_hours(steps)
    at_cap_s = np.add.reduceat(reached_s, hours.first)
    length_s = np.add.reduceat(steps.step_s, hours.first)
    share_at_cap = at_cap_s / length_s
    count = len(hours.first)
    return Hours(
        begin_s=hours.begin_s,
        upper=np.minimum(1, share_at_cap),
        credit=np.minimum.reduceat(credit, hours.first),
        node=np.full(count, demand.node, dtype=object),
        device=np.full(count, demand.device, dtype=object),
    )


class _StepsOfHours(NamedTuple):
    """begin_s: Unix, of each hour with readings. first: the number of its first step."""

    begin_s: Array
    first: replay.Numbers


@lru_cache(maxsize=8)  # the demands of a disk, for all candidates
def _steps_of_hours(demand: Demand) -> _StepsOfHours:
    begin_s = demand.begin_s // HOUR_S * HOUR_S
    first = np.flatnonzero(np.diff(begin_s, prepend=-np.inf))
    return _StepsOfHours(begin_s[first], first)


def _in_steps(demand: Demand) -> Demand:
    """The demand whose steps the bounds have: seconds drawn for it, or itself if none are."""
    seconds = by_second(demand)
    if seconds:
        return seconds[0]
    return demand


# ------------------------------------------------------------------ several disks


def of_worst(disks: Sequence[OnDisk]) -> OnDisk:
    """The bounds of the disk with the most at a cap, and for each hour the disk that was worst."""
    worst = max(disks, key=attrgetter("at_cap_most"))
    if len(disks) == 1:
        return worst
    waits = _highest([disk.waits for disk in disks])
    queues = _highest([disk.queues for disk in disks])
    at_cap_least = max(disk.at_cap_least for disk in disks)
    hours = _worst_hours([disk.hours for disk in disks])
    return replace(
        worst, waits=waits, queues=queues, at_cap_least=at_cap_least, hours=hours
    )


def _worst_hours(disks: Sequence[Hours]) -> Hours:
    """For each hour, the disk that was worst; of equal ones the last."""
    columns: dict[str, Any] = {}
    for field in fields(Hours):
        parts = [getattr(disk, field.name) for disk in disks]
        columns[field.name] = np.concatenate(parts)
    order = np.lexsort((columns["upper"], columns["begin_s"]))
    # The last of an hour in this order was worst.
    is_last = np.diff(columns["begin_s"][order], append=np.inf) > 0
    for name, values in columns.items():
        columns[name] = values[order[is_last]]
    return Hours(**columns)


def behind_machine(disks: OnDisk, machine: OnDisk) -> OnDisk:
    """The worst disk of a node, behind the caps of the machine that all its disks share."""
    worst = of_worst([disks, machine])
    return replace(
        worst,
        waits=_either(disks.waits, machine.waits),
        queues=_either(disks.queues, machine.queues),
        # This is the most: the disk is at its caps in other seconds than the machine is.
        at_cap_most=min(1.0, disks.at_cap_most + machine.at_cap_most),
        hours=_hours_of_either(worst.hours, disks.hours, machine.hours),
        empty_s=disks.empty_s,
    )


def _hours_of_either(worst: Hours, disks: Hours, machine: Hours) -> Hours:
    """The hours of the worst, with the most of each in which one of both is at a cap."""
    # The worst has all hours of both.
    begin_s = np.concatenate([disks.begin_s, machine.begin_s])
    upper = np.nan_to_num(np.concatenate([disks.upper, machine.upper]))
    hour = np.searchsorted(worst.begin_s, begin_s)
    # They may be at their caps in other seconds of an hour, as of the whole time.
    most = np.minimum(1.0, np.bincount(hour, upper, len(worst.begin_s)))
    return replace(worst, upper=most)


def _either(share: Band, other: Band) -> Band:
    least = float(np.maximum(share.least, other.least))
    most = float(np.minimum(1.0, share.most + other.most))
    return Band(least, most)


def _highest(bands: Sequence[Band]) -> Band:
    """The highest lower end and the highest upper end; NaN if one of them is not known."""
    least, most = np.max(bands, axis=0).tolist()
    return Band(least, most)
