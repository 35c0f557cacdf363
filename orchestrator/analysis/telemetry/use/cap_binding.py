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
QUEUE_DEPTH = 2.0  # the same, if the idle latency is not known
# Multiple of the cap that those in flight would do without it. The gate lets a disk's latency be 15
# % off, and the estimate with it. A cap that holds back less than this may hold back nothing.
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

    The disk's own account decides where it is clear. Otherwise I/Os must queue behind the cap, or
    the I/Os in flight would do more without the cap.
    """
    # The disk's own account outranks what rates look like; between the two bounds it is not clear.
    counted_pct = values.counted_pct(cap)
    if counted_pct is not None and counted_pct < HELD_BACK_PCT:
        return False
    if counted_pct is not None and counted_pct >= SURELY_HELD_BACK_PCT:
        return True
    # Minutes below a limit may have had seconds at it, so that they deny nothing.
    reach = values.reach(cap)
    if largest(reach.disk_pct, reach.machine_pct) >= SURELY_HELD_BACK_PCT:
        return True
    await_s = values.disk.disk_await_s
    idle_s = values.disk.idle_disk_latency_s
    in_flight = values.disk.disk_queue_depth or 0.0
    if await_s is None or not idle_s:
        return in_flight >= QUEUE_DEPTH
    if await_s >= QUEUEING * idle_s:
        return True
    iops = values.disk.disk_iops or 0.0
    if not iops:
        return False
    # Little's law: those in flight would do so many I/Os without a cap. The rate is in units of the
    # cap, since I/Os are alike with it and without.
    unlimited_iops = in_flight / idle_s
    use_pct = values.caps.of_cap_pct(cap) or 0.0
    times = unlimited_iops / iops * use_pct / 100
    return times >= BINDING


def has_waiting(values: Evidence) -> bool:
    """Whether I/Os take longer than on the idle disk, or, if that is not known, queue."""
    await_s = values.disk.disk_await_s
    idle_s = values.disk.idle_disk_latency_s
    if await_s is None or not idle_s:
        return (values.disk.disk_queue_depth or 0.0) >= QUEUE_DEPTH
    return await_s >= BINDING * idle_s


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
