"""Whether a cap that a disk reached holds I/Os back, and whose limit it is. Pure."""

from collections.abc import Mapping
from typing import Literal

from orchestrator.analysis.telemetry.use.node_values import (
    CapName,
    Evidence,
    largest,
)

# Multiple of the idle disk's latency: from there on I/Os queue for more than half of their time.
QUEUEING = 2.0
QUEUE_DEPTH = 2.0  # I/Os in flight: the same, if the idle latency is not known
# Multiple of the cap that the I/Os in flight would do without it. The gate lets a disk's latency be
# 15 % off, and the estimate with it. A cap that holds back less than this may hold back nothing.
BINDING = 1.25
# Share of the time of I/Os (emulated) or of the window (EBS), by a disk's own account. Below it no
# cap holds any back.
HELD_BACK_PCT = 10.0
# Share of the time in which the median second lies.
HALF_THE_TIME_PCT = 50.0
# A cap surely holds I/Os back from there on: it makes them take BINDING times as long.
SURELY_HELD_BACK_PCT = 100 * (1 - 1 / BINDING)
OTHER_CAPS: Mapping[CapName, CapName] = {"iops": "bandwidth", "bandwidth": "iops"}


def binds(cap: CapName, values: Evidence) -> bool:
    """Whether a cap that is reached holds I/Os back.

    The accounts of the disk and of the provider decide where they are clear. Otherwise I/Os must
    queue behind the cap, or those in flight would do more without it.
    """
    # What a disk counts itself outranks what its rates look like.
    counted_pct = values.counted_pct(cap)
    if counted_pct is not None and counted_pct < HELD_BACK_PCT:
        return False
    if counted_pct is not None and counted_pct >= SURELY_HELD_BACK_PCT:
        return True
    # A provider's minutes below the limit may have had seconds at it: they can only affirm.
    reach = values.reach(cap)
    if largest(reach.disk_pct, reach.machine_pct) >= SURELY_HELD_BACK_PCT:
        return True
    # No account is clear, so latency and rate decide.
    if _queues(values, QUEUEING):
        return True
    return _would_do_more_without(cap, values)


def _queues(values: Evidence, latency_multiple: float) -> bool:
    """Whether I/Os take so many times as long as on the idle disk, or, if its latency is not known,
    whether so many are in flight that some wait."""
    await_s = values.disk.disk_await_s
    idle_s = values.disk.idle_disk_latency_s
    if await_s is None or not idle_s:
        return (values.disk.disk_queue_depth or 0.0) >= QUEUE_DEPTH
    return await_s >= latency_multiple * idle_s


def _would_do_more_without(cap: CapName, values: Evidence) -> bool:
    """Whether the I/Os in flight would clearly exceed the cap if there was none.

    By Little's law: rate = I/Os in flight ÷ the time of one, which without a cap is the idle disk's
    latency. False if that latency or the rate is not known.
    """
    idle_s = values.disk.idle_disk_latency_s
    iops = values.disk.disk_iops
    if values.disk.disk_await_s is None or not idle_s or not iops:
        return False
    unlimited_iops = (values.disk.disk_queue_depth or 0.0) / idle_s
    speedup = unlimited_iops / iops
    # The cap may be one of bytes. I/Os are as large with it as without, so that the use of any cap
    # grows with their rate.
    unlimited_use_pct = speedup * (values.caps.of_cap_pct(cap) or 0.0)
    return unlimited_use_pct / 100 >= BINDING


def has_waiting(values: Evidence) -> bool:
    """Whether I/Os take longer than on the idle disk, or, if that is not known, queue."""
    return _queues(values, BINDING)


def reported_owner(cap: CapName, values: Evidence) -> Literal["disk", "machine"] | None:
    """Whose limit was reached, by an EBS volume's count or what a provider reports of minutes.

    None: that is not known of both, or it names both or neither."""
    reach = values.reach(cap)
    if reach.disk_pct is None or reach.machine_pct is None:
        return None
    if reach.disk_pct >= SURELY_HELD_BACK_PCT and reach.machine_pct < HELD_BACK_PCT:
        return "disk"
    if reach.machine_pct >= SURELY_HELD_BACK_PCT and reach.disk_pct < HELD_BACK_PCT:
        return "machine"
    return None


# ------------------------------------------------------------------ below every declared cap


def is_held_back_as_reported(cap: CapName, values: Evidence) -> bool:
    """Whether a limit below every declared cap is reached in the median second, as an EBS volume
    counts or a provider reports."""
    if is_held_back_by_machine(cap, values, HALF_THE_TIME_PCT):
        return True
    return is_held_back_by_disk(cap, values, HALF_THE_TIME_PCT)


def is_held_back_by_machine(cap: CapName, values: Evidence, least_pct: float) -> bool:
    """Whether the machine alone holds the disk back for that share of the time, by an EBS volume's
    count or what a provider reports of minutes."""
    if reported_owner(cap, values) != "machine":
        return False
    reach = values.reach(cap)
    # A volume counts for itself. A provider reports of all disks of a machine: its limit was
    # another one's if I/Os of this one did not wait.
    if reach.source == "provider" and not has_waiting(values):
        return False
    return (reach.machine_pct or 0.0) >= least_pct


def is_held_back_by_disk(cap: CapName, values: Evidence, least_pct: float) -> bool:
    """Whether the disk's own limit is reached for that share of the time, by what a provider
    reports of minutes, as `inside_causes` has it of the WAL's disk."""
    reach = values.reach(cap)
    # A volume counts moments of a second too, so that its count names no cap by itself.
    if reach.source != "provider":
        return False
    other = values.reach(OTHER_CAPS[cap])
    disk_pct = reach.disk_pct or 0.0
    # Another limit that was reached as long may have been the one.
    rival_pct = largest(
        reach.machine_pct,
        other.disk_pct,
        other.machine_pct,
        values.report.wal_iops_limit_reached_pct,
        values.report.wal_bandwidth_limit_reached_pct,
    )
    return disk_pct >= least_pct and disk_pct > rival_pct
