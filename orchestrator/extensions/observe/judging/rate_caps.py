"""The limits of a disk and its machine, and what of a demand counts against each. Pure.

The rules are in docs/research/OBSERVE.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from orchestrator.extensions.observe.judging.demand import READS, WRITES, Array, Demand
from orchestrator.tier import Burst, Limits

Counted = Literal["ios", "reads", "writes", "bytes"]
End = Literal["low", "high"]


class Slack(NamedTuple):
    """By which share a demand is made smaller at its low end, and larger at its high one."""

    less: float
    more: float


SAME = Slack(0.0, 0.0)
OF_MACHINE = " of the VM"  # the end of the name of such a cap


@dataclass(frozen=True)
class RateCap:
    """One limit. base, top: I/Os or bytes per second, without and with burst credit; the same if it
    does not burst. bucket: what a full bucket holds, in I/Os or bytes. is_of_machine: whether
    all disks of a machine share it."""

    name: str
    counted: Counted
    base: float
    top: float
    bucket: float = 0.0
    is_of_machine: bool = False

    def within(self, other: RateCap) -> bool:
        """Whether the other cap lets through everything that this cap lets through."""
        if self.counted != other.counted or self.base > other.base:
            return False
        return self.top <= other.top and self.bucket <= other.bucket


Caps = tuple[RateCap, ...]

NO_BURST = Burst(None, None, 0.0)


def caps(disk: Limits, vm: Limits | None = None) -> Iterator[RateCap]:
    """The caps of a disk and of its VM."""
    yield from _caps(disk, "")
    if vm:
        yield from machine_caps(vm)


def machine_caps(vm: Limits) -> Iterator[RateCap]:
    """The caps of a VM, which hold for all of its disks together."""
    for cap in _caps(vm, OF_MACHINE):
        yield replace(cap, is_of_machine=True)


def _caps(limits: Limits, place: str) -> Iterator[RateCap]:
    burst = limits.burst
    # A burst that never ends is one on demand, which is billed apart.
    if not burst or not np.isfinite(burst.duration_s):
        burst = NO_BURST
    lasts_s = burst.duration_s
    if limits.write_iops is None:
        yield from _cap(f"IOPS{place}", "ios", limits.iops, burst.iops, lasts_s)
    else:
        yield from _cap(f"read IOPS{place}", "reads", limits.iops, burst.iops, lasts_s)
    # Nobody sells a burst of writes alone.
    yield from _cap(f"write IOPS{place}", "writes", limits.write_iops, None, lasts_s)
    most = burst.bytes_per_s
    yield from _cap(f"bytes/s{place}", "bytes", limits.bytes_per_s, most, lasts_s)


def _cap(
    name: str, counted: Counted, base: int | None, peak: int | None, lasts_s: float
) -> Iterator[RateCap]:
    """The cap, if there is a limit."""
    if base:
        top = max(base, peak or 0)
        yield RateCap(
            name=name,
            counted=counted,
            base=base,
            top=top,
            bucket=(top - base) * lasts_s,
        )


def asked(
    demand: Demand, cap: RateCap, unit: int | None, end: End, slack: Slack = SAME
) -> Array:
    """What of each step counts against the cap. `unit`: an I/O that is larger than so
    many bytes counts as several; None: each counts as one.
    """
    if cap.counted == "bytes":
        amount = demand.bytes
    else:
        count = _count(demand, cap.counted, end)
        units = _moved_bytes(demand, cap.counted) / (unit or np.inf)
        # Only the sum of bytes of n I/Os is known, and single ones may be below the unit. So max(n,
        # bytes ÷ unit) ≤ units < n + bytes ÷ unit.
        if end == "high":
            amount = count + units
        else:
            amount = np.maximum(count, units)
    if end == "high":
        return (1 + slack.more) * amount
    return (1 - slack.less) * amount


def _count(demand: Demand, counted: Counted, end: End) -> Array:
    """How many I/Os. Where reads and writes have one count, either may be all of it, or none."""
    if counted == "ios":
        return demand.ios
    together = demand.ios
    if end == "low":
        together = np.zeros(len(together))
    reads = demand.amounts[READS]
    apart = demand.amounts[_row(counted)]
    return np.where(np.isnan(reads), together, apart)


def _moved_bytes(demand: Demand, counted: Counted) -> Array:
    if counted == "ios":
        return demand.bytes
    return np.asarray(demand.amounts[2 + _row(counted)])


def _row(counted: Counted) -> int:
    """The row of a counted quantity in amounts. Bytes stand two rows below I/Os."""
    if counted == "reads":
        return READS
    return WRITES
