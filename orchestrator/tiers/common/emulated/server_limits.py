"""The limits of a tier by the names that our disk server has for them (docs/TIERS.md).

Rates are in 1/s and bytes/s, latencies in µs, a bucket's start in %; 0 is no limit.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.facts import TriedLimit
from orchestrator.tier import Limits, Tier
from orchestrator.tier.slow_disk import SlowDisk

BASES = ("iops", "bytes_per_s")
PEAKS = ("iops_burst", "bytes_burst")
# How long a full bucket holds the peak, in seconds.
LENGTHS = ("iops_burst_length", "bytes_burst_length")
_SHARED = ("shared_iops", "shared_bytes_per_s")
LATENCIES = ("read_latency_us", "write_latency_us")
CREDIT = "burst_start"
STALL = "stall_s"
# Limits that `tiers set` and `disk set` may change. A shared limit is left out: it is in force only
# where all its disks have the same.
CHANGEABLE = (
    *BASES,
    *LATENCIES,
    *PEAKS,
    *LENGTHS,
    CREDIT,
    STALL,
)


@dataclass(frozen=True)
class LimitsMoved:
    """Limits that `--confirm` moves together."""

    name: TriedLimit
    limits: tuple[str, ...]


# The peak goes with its base: else a burst would hide the change.
_LEVERS = (
    LimitsMoved("IOPS", ("iops", "iops_burst")),
    LimitsMoved("bandwidth", ("bytes_per_s", "bytes_burst")),
    LimitsMoved("disk latency", LATENCIES),
)
# The same of the disks of the WAL.
_NAMES_OF_LOG: Mapping[TriedLimit, TriedLimit] = {
    "IOPS": "WAL disk's IOPS",
    "bandwidth": "WAL disk's bandwidth",
    "disk latency": "WAL disk's latency",
}
_LEVERS_OF_SHARED = (
    LimitsMoved("shared IOPS", ("shared_iops",)),
    LimitsMoved("shared bandwidth", ("shared_bytes_per_s",)),
)
# The same where the disks share what their machine lets through.
_LEVERS_OF_MACHINE = (
    LimitsMoved("machine's IOPS", ("shared_iops",)),
    LimitsMoved("machine's bandwidth", ("shared_bytes_per_s",)),
)


def levers_of(tier: Tier) -> Iterator[LimitsMoved]:
    """What can be moved of a disk by itself; a limit that is not there cannot."""
    limits = limits_of(tier)
    for lever in _LEVERS:
        # Tables of drawn latencies cannot be changed on a running disk.
        if lever.limits == LATENCIES and tier.latency.model:
            continue
        names = tuple(name for name in lever.limits if limits.get(name))
        if names:
            yield LimitsMoved(lever.name, names)


def name_of_log(lever: LimitsMoved) -> TriedLimit:
    """The name of a lever that moves the disks of the WAL."""
    return _NAMES_OF_LOG[lever.name]


def shared_levers_of(tier: Tier) -> Iterator[LimitsMoved]:
    """What can be moved of all disks that share it."""
    levers = _LEVERS_OF_SHARED
    if tier.machine is not None:
        levers = _LEVERS_OF_MACHINE
    limits = limits_of(tier)
    for lever in levers:
        (name,) = lever.limits
        if limits.get(name):
            yield lever


def limits_of(tier: Tier) -> dict[str, int | float]:
    """What `device serve` is to enforce."""
    read_us = (tier.latency.read_s or 0) * 1e6
    write_us = (tier.latency.write_s or 0) * 1e6
    limits: dict[str, int | float] = {
        "iops": tier.limits.iops or 0,
        "bytes_per_s": tier.limits.bytes_per_s or 0,
        "io_unit": tier.limits.io_unit_bytes,
        "read_latency_us": round(read_us),
        "write_latency_us": round(write_us),
    }
    shared = shared_with_others(tier)
    if shared is not None:
        limits["shared_iops"] = shared.iops or 0
        limits["shared_bytes_per_s"] = shared.bytes_per_s or 0
    limits |= _burst_limits(tier)
    epochs = None
    if tier.latency.model:
        epochs = tier.latency.model.slow_epochs
    if epochs is not None:
        limits["slow_factor"] = epochs.factor
        limits["slow_dwell_s"] = epochs.slow_dwell_s
        limits["good_dwell_s"] = epochs.good_dwell_s
    return limits


def shared_with_others(tier: Tier) -> Limits | None:
    """What the tier's disks have together with others: of all nodes, or of their machine.

    None if each has its limits alone.
    """
    # A profile has one of both: `shared_limit` goes with no log's disk.
    if tier.machine is not None:
        return tier.machine.limits
    return tier.shared


def _burst_limits(tier: Tier) -> dict[str, int | float]:
    """The limits of a burst; none without one."""
    burst = tier.limits.burst
    # A bucket that starts empty is kept empty. It would fill while the database starts, and a short
    # run would then measure credit that a busy disk never has.
    if burst is None or burst.start_pct <= 0:
        return {}
    limits: dict[str, int | float] = {CREDIT: burst.start_pct}
    for name, peak in zip(PEAKS, (burst.iops, burst.bytes_per_s), strict=True):
        if peak:
            limits[name] = peak
            limits[f"{name}_length"] = burst.duration_s
    return limits


def liftable(tier: Tier) -> tuple[str, ...]:
    """The limits that are lifted while nothing is measured."""
    names = [*BASES, *PEAKS]
    if shared_with_others(tier):
        names += _SHARED
    names += constant_latencies(tier)
    return tuple(names)


def constant_latencies(tier: Tier) -> tuple[str, ...]:
    """The latencies of a tier that can be changed on a running disk."""
    # A latency that is drawn comes from tables, which the server reads only when it starts.
    if tier.latency.model:
        return ()
    return LATENCIES


def slow_limits(tier: Tier, slow: SlowDisk) -> dict[str, float]:
    """What the disk of a node is set to; a limit that the tier does not have stays so."""
    if slow.how == "stall":
        return {STALL: slow.lasts_s}
    if slow.how == "latency":
        return _times(slow.amount, LATENCIES, limits_of(tier))
    share = slow.amount / 100
    limits = limits_of(tier)
    slower = _times(share, (*BASES, *PEAKS), limits)
    # A bucket holds as many I/Os and bytes as before, so no credit is lost or given meanwhile.
    return slower | _times(1 / share, LENGTHS, limits)


def _times(
    factor: float, names: Sequence[str], limits: Mapping[str, float]
) -> dict[str, float]:
    """The limits of these names that the tier has, so many times as high."""
    changed: dict[str, float] = {}
    for name in names:
        # 0 would take the limit away: the disk would be faster, not slower.
        if limits.get(name):
            # A product has digits behind those that mean something: 110.00000000000001.
            changed[name] = float(f"{factor * limits[name]:.12g}")
    return changed


def declared(tier: Tier) -> dict[str, int | float]:
    """The limits that may have been lifted, as the tier declares them."""
    limits = limits_of(tier)
    settings: dict[str, int | float] = {}
    for name in liftable(tier):
        # A limit that is not named stays as it is, so a tier without one says 0.
        settings[name] = limits.get(name, 0)
    if CREDIT in limits:
        # Credit that was spent before the window is given back.
        settings[CREDIT] = limits[CREDIT]
    return settings
