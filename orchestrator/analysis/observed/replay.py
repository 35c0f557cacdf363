"""A demand held against one limit with its burst credit and backlog, step by step.

Of a step Δ with the demand a, a backlog q and a credit b in a bucket of (top − base) × duration:
    y = min(q + a, top·Δ, base·Δ + b);  q ← q + a − y;  b ← min(bucket, max(0, b − (y − base·Δ)))
This is a peak limit followed by a bucket, and each of them is a queue that is known in closed form
(Lindley: v ← max(0, v + x) is the walk of x less its lowest point so far), so that a week is a few
passes over its steps. What is in the second queue up to the size of the bucket is credit spent,
and what is beyond it waits.

All limits are replayed side by side on the same demand; a second is at the cap if any of them is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from orchestrator.analysis.observed.demand import READS, WRITES, Array, Demand, Flags
from orchestrator.analysis.telemetry.disk_demand import AT_CAP
from orchestrator.tier import Burst, Limits

Counted = Literal["ios", "reads", "writes", "bytes"]
End = Literal["low", "high"]
ENDS: tuple[End, End] = ("low", "high")


@dataclass(frozen=True)
class RateCap:
    """One limit per second: `base`, `top` while there is credit (the base if it does not burst),
    and what a full bucket holds, in I/Os or bytes."""

    name: str
    counted: Counted
    base: float
    top: float
    bucket: float = 0.0


def caps(limits: Limits, of: str = "") -> tuple[RateCap, ...]:
    """Those that a disk declares, or a VM (`of`: what is added to their names). Burst on demand is
    not part of them: it is billed apart."""
    burst = limits.burst if limits.burst and np.isfinite(limits.burst.duration_s) else None
    peak = burst or Burst(None, None, 0.0)
    apart = limits.write_iops is not None
    values: list[tuple[str, Counted, int | None, int | None]] = [
        ("read IOPS" if apart else "IOPS", "reads" if apart else "ios", limits.iops, peak.iops),
        ("write IOPS", "writes", limits.write_iops, None),
        ("bytes/s", "bytes", limits.bytes_per_s, peak.bytes_per_s),
    ]
    known = []
    for name, counted, base, top in values:
        if base is not None:
            highest = max(base, top or base)
            bucket = (highest - base) * peak.duration_s
            known.append(RateCap(f"{name}{of}", counted, base, highest, bucket))
    return tuple(known)


def asked(demand: Demand, cap: RateCap, unit_bytes: int | None, end: End) -> Array:
    """What counts against the cap. A disk counts an I/O larger than its unit as several, and sums
    bound that: max(n, bytes ÷ unit) ≤ units < n + bytes ÷ unit. Without a unit, n."""
    if cap.counted == "bytes":
        return demand.bytes
    count, moved = demand.ios, demand.bytes
    if cap.counted != "ios":
        which = READS if cap.counted == "reads" else WRITES
        count, moved = demand.amounts[which], demand.amounts[2 + which]
    if unit_bytes is None:
        return count
    more = moved / unit_bytes
    return count + more if end == "high" else np.maximum(count, more)


@dataclass(frozen=True)
class Replay:
    """Of each step: asks: it asks for the cap; at_cap: it is at the cap if all work is done later;
    credit: left of a full bucket, 0 to 1, None without; backlog after it. An asking step is at the
    cap too, so the share of `asks` is never the larger one."""

    asks: Flags
    at_cap: Flags
    backlog: Array
    credit: Array | None = None


def queue(grows: Array, start: float = 0.0) -> Array:
    """v ← max(0, v + x) for each x of `grows`, from `start`."""
    walk = np.cumsum(grows)
    walk += start
    return np.asarray(walk - np.minimum(np.minimum.accumulate(walk), 0.0))


def _before(values: Array, start: float = 0.0) -> Array:
    return np.concatenate(([start], values[:-1]))


def replayed(asks: Array, step_s: Array, cap: RateCap, full: bool) -> Replay:
    """One stretch without gaps. asks: what each step asks for; full: the bucket at the begin, else
    it is empty."""
    spent = 0.0 if full else cap.bucket
    if not cap.bucket and bool((asks < AT_CAP * cap.base * step_s).all()):
        nothing = np.zeros(len(asks))
        return Replay(nothing.astype(bool), nothing.astype(bool), nothing)
    waiting = queue(asks - cap.top * step_s)
    through = asks + _before(waiting) - waiting
    if not cap.bucket:
        limit = cap.base * step_s
        return Replay(asks >= AT_CAP * limit, through >= AT_CAP * limit, waiting)
    debt = queue(through - cap.base * step_s, spent)
    left = np.maximum(0.0, cap.bucket - debt)
    limit = np.minimum(cap.top * step_s, cap.base * step_s + _before(left, cap.bucket - spent))
    backlog = waiting + np.maximum(0.0, debt - cap.bucket)
    served = asks + _before(backlog) - backlog
    credit = left / cap.bucket
    return Replay(asks >= AT_CAP * limit, served >= AT_CAP * limit, backlog, credit)


def over_gaps(demand: Demand, cap: RateCap, unit_bytes: int | None, end: End) -> Replay:
    """The whole demand. Of what a gap did to credit and backlog nothing is known: after each the
    bucket is taken as full for the low end and as empty for the high one, without backlog."""
    wanted, step_s = asked(demand, cap, unit_bytes, end), demand.step_s
    parts = [replayed(wanted[cut], step_s[cut], cap, end == "low") for cut in demand.stretches]
    if len(parts) == 1:
        return parts[0]
    credits = [part.credit for part in parts if part.credit is not None]
    return Replay(
        np.concatenate([part.asks for part in parts]),
        np.concatenate([part.at_cap for part in parts]),
        np.concatenate([part.backlog for part in parts]),
        np.concatenate(credits) if credits else None,
    )


@dataclass(frozen=True)
class Together:
    """All caps of a candidate on one demand, one end: as of `Replay`, of any cap. credit: of the
    bucket with least. binding: the cap that is reached in most of the time, and "" if none is.
    delay_s: the longest mean wait behind one of them, of what was asked."""

    asks: Flags
    at_cap: Flags
    credit: Array | None
    binding: str
    delay_s: float


def together(
    demand: Demand, limits: Sequence[RateCap], unit_bytes: int | None, end: End
) -> Together:
    asks = at_cap = np.zeros(len(demand.begin_s), dtype=bool)
    credit: Array | None = None
    most_s, binding, delay_s, step_s = 0.0, "", 0.0, demand.step_s
    for cap in limits:
        result = over_gaps(demand, cap, unit_bytes, end)
        asks, at_cap = asks | result.asks, at_cap | result.at_cap
        if result.credit is not None:
            credit = result.credit if credit is None else np.minimum(credit, result.credit)
        if (reached_s := float(step_s[result.at_cap].sum())) > most_s:
            most_s, binding = reached_s, cap.name
        if (total := float(asked(demand, cap, unit_bytes, end).sum())) > 0:
            delay_s = max(delay_s, float((result.backlog * step_s).sum()) / total)
    return Together(asks, at_cap, credit, binding, delay_s)
