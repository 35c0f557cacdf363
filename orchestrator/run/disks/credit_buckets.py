"""Bounds of what is in a disk's credit buckets, by its gates and by what its counters grew by.

At first a bucket holds anything between empty and full. Each second above the base rate takes away
what it used of it, each second below adds what it left, within the bucket's size.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

from orchestrator.facts import CreditState, GateQuantity
from orchestrator.tier import Gate, GateCheck, Tier, burst_credit

EMPTY_PCT = 5.0  # percentage of a full bucket: the rest lasts seconds
_AT_BASE = 0.99  # the least share of the base rate that a measurement at it shows
_OF_BUCKET: Mapping[str, tuple[GateQuantity, ...]] = {
    "iops": ("iops_read", "iops_write", "iops_mixed"),
    "bytes": ("bandwidth_read", "bandwidth_write"),
}


@dataclass(frozen=True)
class Seen:
    """Counters of a disk at one moment: I/Os and bytes since some beginning."""

    time_s: float
    ios: float
    moved_bytes: float


@dataclass(frozen=True)
class Bucket:
    """One credit bucket, in I/Os or bytes: its rates, and the bounds of what is in it."""

    base_per_s: float
    peak_per_s: float
    size: float
    least: float
    most: float
    # The disk was seen to burst, and cannot have used up its credit since.
    bursting: bool

    @property
    def least_pct(self) -> float:
        return 100 * self.least / self.size

    @property
    def most_pct(self) -> float:
        return 100 * self.most / self.size

    @property
    def state(self) -> CreditState:
        # The bound that is against it: even at most there is next to nothing left.
        if self.most_pct <= EMPTY_PCT:
            return "at base"
        if self.bursting or self.least_pct > EMPTY_PCT:
            return "bursting"
        return "unknown"

    def after(self, used: float, seconds: float) -> Self:
        """After `used` I/Os or bytes in so many seconds. A rate above the base shows credit."""
        # A bucket refills at the base rate while its disk is used.
        earned = self.base_per_s * seconds - used
        most = burst_credit.after(self.most, earned, self.size)
        least = burst_credit.after(self.least, earned, self.size)
        # The disk may by now have used up all that it could have had.
        bursting = self.bursting and 100 * most > EMPTY_PCT * self.size
        return replace(self, least=least, most=most, bursting=bursting)


Buckets = Mapping[str, Bucket]  # "iops", "bytes" → those that the tier has


def unknown(tier: Tier) -> dict[str, Bucket]:
    """The buckets of a real disk of which nothing was seen; none if the tier does not burst."""
    burst = tier.limits.burst
    if burst is None or not tier.disk.is_real:
        return {}
    buckets: dict[str, Bucket] = {}
    iops = _full_or_empty(tier.limits.iops, burst.iops, burst.duration_s)
    if iops:
        buckets["iops"] = iops
    rate = _full_or_empty(tier.limits.bytes_per_s, burst.bytes_per_s, burst.duration_s)
    if rate:
        buckets["bytes"] = rate
    return buckets


def _full_or_empty(
    base: int | None, peak: int | None, duration_s: float
) -> Bucket | None:
    """A bucket that may be anything from empty to full; None if the tier does not burst in it."""
    if not base or not peak or peak <= base:
        return None
    size = burst_credit.full_bucket(base, peak, duration_s)
    return Bucket(base, peak, size, least=0.0, most=size, bursting=False)


def by_gate(
    buckets: Buckets, gate: Gate, machine: str, device: str
) -> dict[str, Bucket]:
    """What the gate has found.

    A disk at its base rate under a load that would burst has no credit left, and by the
    end of the gate what it can have earned since; a disk above it has some.
    """
    judged = dict(buckets)
    disk = _gated_disk(gate, machine, device)
    for name, bucket in buckets.items():
        last = _last_check(disk.checks, _OF_BUCKET[name])
        if last is not None:
            # A gate that does not tell that time bounds nothing: the bucket may be full again.
            since_s = gate.taken_s - disk.checked_s.get(last.quantity, 0.0)
            judged[name] = _by_check(bucket, last, max(0.0, since_s))
    return judged


def _by_check(bucket: Bucket, check: GateCheck, since_s: float) -> Bucket:
    """What a check has shown of a bucket. `since_s`: how long before the gate's end."""
    if check.verdict == "bursting":
        return replace(bucket, least=0.0, bursting=True)
    # Credit would have shown only on a disk at the base rate of this bucket.
    at_base = (check.declared or 0.0) >= _AT_BASE * bucket.base_per_s
    if check.verdict != "ok" or not at_base:
        return bucket
    # The checks behind it may have used credit, so this is the most that it can have earned.
    most = min(bucket.size, bucket.base_per_s * since_s)
    return replace(bucket, least=0.0, most=most, bursting=False)


def _last_check(
    checks: Sequence[GateCheck], quantities: Sequence[GateQuantity]
) -> GateCheck | None:
    """A rate that another limit holds down says nothing of a bucket; the last check counts,
    because those before it may have used the credit up."""
    for check in reversed(checks):
        if check.quantity in quantities and check.declared is not None:
            return check
    return None


class _GatedDisk(NamedTuple):
    """One disk among those of a gate. `checked_s`: quantity → when it was measured."""

    checked_s: Mapping[Any, float]
    checks: Sequence[GateCheck]


def _gated_disk(gate: Gate, machine: str, device: str) -> _GatedDisk:
    """The disk with that name on that machine."""
    for key, facts in gate.facts_of_disks.items():
        if facts.device == device and (facts.machine or machine) == machine:
            checks: list[GateCheck] = []
            for check in gate.checks:
                if check.disk_key == key:
                    checks.append(check)
            return _GatedDisk(facts.checked_s, checks)
    # A gate of only one disk does not say which.
    checks = [check for check in gate.checks if not check.disk]
    return _GatedDisk(gate.facts.checked_s, checks)


def since(buckets: Buckets, before: Seen | None, now: Seen) -> Buckets:
    """After what the disk's counters grew by; unchanged if they did not grow in time."""
    if before is None or now.time_s <= before.time_s:
        return buckets
    seconds = now.time_s - before.time_s
    used = {
        # Counters that began anew would give a growth below zero.
        "iops": max(0.0, now.ios - before.ios),
        "bytes": max(0.0, now.moved_bytes - before.moved_bytes),
    }
    return {name: bucket.after(used[name], seconds) for name, bucket in buckets.items()}


def recorded(buckets: Buckets) -> dict[str, dict[str, float | str]]:
    """The buckets as a run's facts keep them."""
    facts: dict[str, dict[str, float | str]] = {}
    for name, bucket in buckets.items():
        least_pct = round(bucket.least_pct, 1)
        most_pct = round(bucket.most_pct, 1)
        facts[name] = {
            "state": bucket.state,
            "least_pct": least_pct,
            "most_pct": most_pct,
        }
    return facts
