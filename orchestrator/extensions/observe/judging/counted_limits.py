"""What a disk itself counts of its limits settles what sums of minutes leave open. Pure.

A sum hides how much of it came within a few seconds. A disk that counts for how long more was asked
for than it lets through tells two things of other disks:

- A larger one serves what this one served without being at its cap: what was served never came
  faster than this one lets through. What it would have been asked for besides is from the time that
  was counted, and from no other.
- A smaller one would have been asked for more than its cap for that time at least.

How far larger or smaller: users of another disk ask for more or less, by SLACK.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from orchestrator.analysis.telemetry.use.disk_seconds import AT_CAP
from orchestrator.extensions.observe.judging import rate_caps
from orchestrator.extensions.observe.judging.demand import Demand
from orchestrator.extensions.observe.judging.rate_caps import Caps, RateCap
from orchestrator.extensions.observe.judging.reported_throttle import (
    Limited,
    Owner,
    ReportedThrottle,
    Shares,
)
from orchestrator.extensions.observe.judging.share_bounds import SLACK, OnDisk
from orchestrator.tier import Limits

_LIMITED: tuple[Limited, ...] = ("ios", "bytes")
_OWNERS: tuple[Owner, ...] = ("disk", "machine")
# A mean above what the disk is said to let through shows that it is another disk.
_ROUNDED = 1.02


@dataclass(frozen=True)
class CountedLimits:
    """What the observed disks counted, if each counted all of its limits in all of the time.

    source: the limits of each disk.
    share: the largest share of the time of all disks for which a limit of a disk or of its machine
        may have held it back.
    of_limit: limit of the disks themselves → the share of the time above it, of the disk that was
        above it for longest.
    """

    source: Limits
    share: float
    of_limit: Mapping[Limited, float]

    @classmethod
    def of(cls, demands: Sequence[Demand], source: Limits | None) -> Self | None:
        """The count of these disks. None unless limits are known and all of it was counted."""
        # Nobody counts for a disk whose reads and writes are limited apart.
        if source is None or source.write_iops is not None:
            return None
        of_limit: dict[Limited, float] = dict.fromkeys(_LIMITED, 0.0)
        for demand in demands:
            if not _is_counted(demand, source):
                return None
            for limited in _LIMITED:
                share = _share(demand, limited)
                of_limit[limited] = max(of_limit[limited], share)
        return cls(
            source, _share_over(demands, _OWNERS, is_counted=True) or 0.0, of_limit
        )

    @property
    def reached(self) -> Caps:
        """The disks' own limits that were exceeded."""
        return tuple(filter(self._is_exceeded, rate_caps.caps(self.source)))

    def _is_exceeded(self, cap: RateCap) -> bool:
        if cap.counted == "bytes":
            return self.of_limit["bytes"] > 0
        return self.of_limit["ios"] > 0

    def settled(self, on: OnDisk, caps: Caps, unit_bytes: int | None) -> OnDisk:
        """The bounds `on` of a candidate with these caps, narrowed by what the disks counted."""
        if self._serves_all(caps, unit_bytes):
            return _at_most(on, 0.0)
        return _at_least(on, self._least_of(caps))

    def _serves_all(self, caps: Caps, unit_bytes: int | None) -> bool:
        """Whether no cap is reached by what the observed disk lets through, and users ask more."""
        # A smaller unit would count as several what this disk counted as one.
        if unit_bytes is None or unit_bytes < self.source.io_unit_bytes:
            return False
        most = _most(self.source)
        for cap in caps:
            limited: Limited = "ios"
            if cap.counted == "bytes":
                limited = "bytes"
            served = most[limited]
            if served is None or (1 + SLACK.more) * served >= AT_CAP * cap.base:
                return False
        return True

    def _least_of(self, caps: Caps) -> float:
        """The least share of the time for which more than a cap is asked for.

        It is 0 unless a cap is lower than the observed disk's limit, by SLACK or more.
        """
        base: dict[Limited, int | None] = {
            "ios": self.source.iops,
            "bytes": self.source.bytes_per_s,
        }
        least = 0.0
        for cap in caps:
            # Users who wait ask less: what exceeds this disk's limit exceeds so much of it all the
            # same.
            for limited, share in self.of_limit.items():
                limit = base[limited]
                is_smaller = limit is not None and cap.top <= (1 - SLACK.less) * limit
                if cap.counted == limited and is_smaller:
                    least = max(least, share)
        return least


def _most(source: Limits) -> dict[Limited, float | None]:
    """The most that a disk lets through in any second, burst included; None: not known."""
    most: dict[Limited, float | None] = dict.fromkeys(_LIMITED)
    for cap in rate_caps.caps(source):
        if cap.counted in ("ios", "bytes"):
            most[cap.counted] = cap.top
    return most


def _is_counted(demand: Demand, source: Limits) -> bool:
    """Whether the disk counted both of its limits all the time, and did no more than `source`."""
    counted: set[Limited] = set()
    for throttle in _counts(demand):
        if throttle.owner == "disk" and throttle.is_of_all:
            counted.add(throttle.limited)
    if counted != set(_LIMITED) or demand.devices != 1:
        return False
    most = _most(source)
    ios = most["ios"] or np.inf
    bytes_per_s = most["bytes"] or np.inf
    is_within = demand.ios <= _ROUNDED * ios * demand.step_s
    is_within &= demand.bytes <= _ROUNDED * bytes_per_s * demand.step_s
    return bool(is_within.all())


def _counts(demand: Demand) -> Iterator[ReportedThrottle]:
    for throttle in demand.reported:
        if throttle.is_counted:
            yield throttle


def _share(demand: Demand, limited: Limited) -> float:
    """The share of the time for which the disk was above this limit of its own."""
    over_s = 0.0
    for throttle in _counts(demand):
        if (throttle.limited, throttle.owner) == (limited, "disk"):
            over_s += float(np.nansum(throttle.share * demand.step_s))
    return over_s / float(demand.step_s.sum())


def machine_share(demands: Sequence[Demand]) -> float | None:
    """The largest share of the time for which the machine's limits may have held back a disk.

    From 0 to 1, of the intervals that the disk counted. If the disk counted none, of the intervals
    that the provider reports. Minutes of a report count whole. None if no disk has either.

    An EBS volume counts how long it was above what its machine lets through. Volumes of a stripe
    may be above at the same time, so their sum is the most.
    """
    shares: list[float] = []
    for demand in demands:
        share = _share_over([demand], ("machine",), is_counted=True)
        if share is None:
            share = _share_over([demand], ("machine",), is_counted=False)
        if share is not None:
            shares.append(share)
    return max(shares, default=None)


def _share_over(
    demands: Sequence[Demand], owners: Sequence[Owner], is_counted: bool
) -> float | None:
    """The largest share of the time for which a limit of these owners may have been exceeded.

    The time is that of all disks together, without intervals of which nobody says whether one was.
    None if no interval is left.
    """
    most = _share_of_any(demands, owners, _LIMITED, is_counted)
    # Where another limit is not known, one that was exceeded for a part of the interval still was.
    for owner in owners:
        for limited in _LIMITED:
            share = _share_of_any(demands, (owner,), (limited,), is_counted)
            if share is not None:
                most = max(share, most or 0.0)
    return most


def _share_of_any(
    demands: Sequence[Demand],
    owners: Sequence[Owner],
    limits: Sequence[Limited],
    is_counted: bool,
) -> float | None:
    """The share of the intervals in which all of these limits together are known; None: of none."""
    over_s = 0.0
    known_s = 0.0
    for demand in demands:
        of_limits: list[Shares] = []
        for throttle in demand.reported:
            is_asked = throttle.owner in owners and throttle.limited in limits
            if is_asked and throttle.is_counted == is_counted:
                of_limits.append(throttle.share)
        if not of_limits:
            continue
        # Two limits may be exceeded in unlike seconds of an interval.
        share = np.minimum(1.0, np.nansum(of_limits, axis=0))
        # One that is not known may have been exceeded, unless others were all of the time.
        is_known = ~np.isnan(of_limits).any(axis=0) | (share >= 1.0)
        over_s += float((share * demand.step_s)[is_known].sum())
        known_s += float(demand.step_s[is_known].sum())
    if not known_s:
        return None
    return over_s / known_s


def _at_most(on: OnDisk, most: float) -> OnDisk:
    """Bounds that are no higher."""
    return replace(
        on,
        waits=on.waits.clipped(0.0, most),
        queues=on.queues.clipped(0.0, most),
        at_cap_least=min(on.at_cap_least, most),
        at_cap_most=min(on.at_cap_most, most),
    )


def _at_least(on: OnDisk, least: float) -> OnDisk:
    """Bounds that are no lower."""
    return replace(
        on,
        waits=on.waits.clipped(least, 1.0),
        queues=on.queues.clipped(least, 1.0),
        at_cap_least=max(on.at_cap_least, least),
        at_cap_most=max(on.at_cap_most, least),
    )
