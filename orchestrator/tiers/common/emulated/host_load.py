"""How busy the machine was while a disk was measured: on a busy one an honest disk fails.

Late wake-ups are from the emulated disk's own counters (`device stats`): `late_s` is how much later
than due requests were answered, `over` counts those for which the host alone took longer than the
tier may. Its count of requests, and their time, are also compared with the kernel's."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from orchestrator import errors, model, powers
from orchestrator.kernel import block_devices, containers
from orchestrator.tiers.common.emulated import running_disks

_WAYS = ("read", "write")
_LEAST_IOS = 100  # the kernel's sums are in ms: with so many the mean is known to 10 µs


@dataclass(frozen=True)
class Reading:
    """Counters at one moment. `disk` is empty if no server of ours plays the disk; `kernel`: those
    of /proc/diskstats just before and just after the server was asked."""

    busy: float
    total: float
    disk: Mapping[str, Any] = field(default_factory=dict)
    kernel: tuple[Mapping[str, float], ...] = ()


def read(volume: model.Volume, world: powers.World) -> Reading:
    """The counters now. What cannot be read is left out: it explains, and decides nothing."""
    machine = _machine(volume, world)
    if machine is None:
        return Reading(0.0, 0.0)
    disk: Mapping[str, Any] = {}
    kernel: list[Mapping[str, float]] = []
    if volume.server is not None and volume.server.container:
        device = volume.device.removeprefix("/dev/")
        kernel += _diskstats(device, volume.server, machine)
        with suppress(errors.TierbenchError, OSError):
            disk = running_disks.ask(volume.server.container, ("stats",), world)
        kernel += _diskstats(device, volume.server, machine)
    busy, total = cpu_ticks(machine)
    return Reading(busy, total, disk, tuple(kernel))


def _machine(volume: model.Volume, world: powers.World) -> powers.Machine | None:
    """The one that serves the disk. None if it is one of several and nobody says which."""
    with suppress(errors.TierbenchError, OSError):
        if volume.server is not None and volume.server.container:
            return world.platform.container(volume.server.container).find_machine()
    machines = world.platform.machines()
    if len(machines) == 1:
        return machines[0]
    return None


def _diskstats(
    device: str, server: model.Node, machine: powers.Machine
) -> list[dict[str, float]]:
    """One reading of now, or none."""
    with suppress(OSError):
        machine.refresh()
        # Every machine has devices of the same names: OSError if this is not the server's machine.
        containers.groups(machine, server)
        counters = block_devices.counters_by_device(machine).get(device)
        if counters:
            return [counters]
        return []
    return []


# Places of these fields in the line "cpu", behind its name (proc(5)).
_IDLE = 3
_WAITING_FOR_DISK = 4


def cpu_ticks(machine: powers.Machine) -> tuple[float, float]:
    """Busy and all ticks since boot, over all processors; (0, 0) without /proc/stat."""
    with suppress(OSError, ValueError):
        machine.refresh()
        all_processors, _, _ = machine.read("/proc/stat").partition("\n")
        # The first eight fields of the line "cpu" count. Guest time is already part of user and
        # nice (proc(5)).
        ticks = [float(text) for text in all_processors.split()[1:9]]
        # While it waits for a disk a processor could have worked too.
        idle = ticks[_IDLE] + ticks[_WAITING_FOR_DISK]
        return sum(ticks) - idle, sum(ticks)
    return 0.0, 0.0


def since(before: Reading, after: Reading) -> dict[str, float]:
    """`host_cpu_pct` of all processors; `late_s` on average and `over_pct` of requests."""
    load: dict[str, float] = {}
    ticks = after.total - before.total
    if ticks > 0:
        load["host_cpu_pct"] = round(100 * (after.busy - before.busy) / ticks, 1)
    late_s = _growth(before.disk, after.disk, "late_s")
    over = _growth(before.disk, after.disk, "over")
    ops = _growth(before.disk, after.disk, "ops")
    if ops > 0:
        load["late_s"] = round(late_s / ops, 7)
        load["over_pct"] = round(100 * over / ops, 2)
    return load


def counted_apart(before: Reading, after: Reading) -> dict[str, dict[str, float]]:
    """Requests of "read" and of "write", as the disk's server and as the kernel counted them.

    `served`: by the server. `kernel`: by the kernel, the middle of what it may have been.
    `apart_pct`: their least difference in % of the server's. Empty if one of both was not read.
    """
    both_read = len(before.kernel) == len(after.kernel) == 2
    if not (both_read and before.disk and after.disk):
        return {}
    return {way: _counted_apart(before, after, way) for way in _WAYS}


def _counted_apart(before: Reading, after: Reading, way: str) -> dict[str, float]:
    readings = (*before.kernel, *after.kernel)
    # The kernel counts a request when it ends, the server when it
    # comes. So those under way may be missing in one of the two counts.
    in_flight = max(counters["disk_in_flight"] for counters in readings)
    first, second, third, fourth = (
        counters[f"disk_{way}s_total"] for counters in readings
    )
    # It was read before and after the server's answer, so its count at that moment lies between.
    most = fourth - first + in_flight
    least = third - second - in_flight
    served = float(after.disk[way]["ops"] - before.disk[way]["ops"])
    apart = max(0.0, least - served, served - most)
    return {
        "served": served,
        "kernel": (most + least) / 2,
        "apart_pct": round(100 * apart / max(served, 1.0), 2),
    }


def overheads(before: Reading, after: Reading) -> dict[str, Any]:
    """`queue_depth`, the mean number of requests in flight between both readings; and of "read" and
    "write", if there were enough, means of `ios` requests: `device_us`, how long they took as the
    kernel's block layer saw them; `served_us`, from their coming to the disk's server to its
    answer; `overhead_us`, what loop device and FUSE cost, waiting in the loop device's queue for
    the server included. Empty if server or kernel was not read."""
    if not (before.kernel and after.kernel and before.disk and after.disk):
        return {}
    spent_s = 0.0
    by_way: dict[str, Any] = {}
    for way in _WAYS:
        spent_s += _kernel_growth(before, after, f"disk_{way}_seconds_total")
        means = _means(before, after, way)
        if means:
            by_way[way] = means
    if not by_way:
        return {}
    # Little's law: seconds spent in the block layer per second that passed.
    time_s = float(after.disk["time_s"] - before.disk["time_s"])
    return {"queue_depth": round(spent_s / time_s, 2), **by_way}


def _means(before: Reading, after: Reading, way: str) -> dict[str, float]:
    """The means of the requests of a direction; empty if there were too few."""
    ios = _kernel_growth(before, after, f"disk_{way}s_total")
    device_s = _kernel_growth(before, after, f"disk_{way}_seconds_total")
    served_before = before.disk[way]
    served_after = after.disk[way]
    answered = float(served_after["answered"] - served_before["answered"])
    took_s = float(served_after["took_s"] - served_before["took_s"])
    if min(ios, answered) < _LEAST_IOS:
        return {}
    device_us = 1e6 * device_s / ios
    served_us = 1e6 * took_s / answered
    return {
        "ios": int(ios),
        "device_us": round(device_us, 1),
        "served_us": round(served_us, 1),
        "overhead_us": round(device_us - served_us, 1),
    }


def _kernel_growth(before: Reading, after: Reading, counter: str) -> float:
    """Between the last looks at the kernel of both readings."""
    return after.kernel[-1][counter] - before.kernel[-1][counter]


def _growth(before: Mapping[str, Any], after: Mapping[str, Any], key: str) -> float:
    """By how much it grew, reads and writes together; 0 if one of both readings lacks them."""
    grown = 0.0
    for way in _WAYS:
        if way not in before or way not in after:
            return 0.0
        grown += float(after[way][key]) - float(before[way][key])
    return grown
