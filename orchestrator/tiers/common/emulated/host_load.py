"""How busy the machine was while a disk was measured: on a busy one an honest disk fails.

Late wake-ups are from the emulated disk's own counters (`device stats`): `late_s` is how much later
than due requests were answered, `over` counts those for which the host alone took longer than the
tier may. Its count of requests, and their time, are also compared with the kernel's."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from orchestrator import errors, model, powers
from orchestrator.kernel import block_devices, containers
from orchestrator.tier import Gate
from orchestrator.tiers.common.emulated import disk_server

BUSY_CPU_PCT = 90.0
LATE_S = 150e-6
OVER_PCT = 20.0
_LOAD = ("host_cpu_pct", "late_s", "over_pct")
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
            disk = disk_server.ask(volume.server.container, ("stats",), world)
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
    """One reading of now, or none: every machine has devices of the same names."""
    with suppress(OSError):
        machine.refresh()
        containers.groups(machine, server)  # OSError if it is not the server's machine
        counters = block_devices.counters_by_device(machine).get(device)
        if counters:
            return [counters]
        return []
    return []


def cpu_ticks(machine: powers.Machine) -> tuple[float, float]:
    """Busy and all ticks since boot, over all processors; (0, 0) without /proc/stat."""
    with suppress(OSError, ValueError):
        machine.refresh()
        first = machine.read("/proc/stat").split("\n", 1)[0].split()[1:9]
        ticks = [float(text) for text in first]
        idle = ticks[3] + ticks[4]
        return sum(ticks) - idle, sum(ticks)
    return 0.0, 0.0


def since(before: Reading, after: Reading) -> dict[str, float]:
    """`host_cpu_pct` of all processors; `late_s` on average and `over_pct` of requests."""
    load: dict[str, float] = {}
    ticks = after.total - before.total
    if ticks > 0:
        load["host_cpu_pct"] = round(100 * (after.busy - before.busy) / ticks, 1)
    late_s, over, ops = (
        _growth(before.disk, after.disk, key) for key in ("late_s", "over", "ops")
    )
    if ops > 0:
        load["late_s"] = round(late_s / ops, 7)
        load["over_pct"] = round(100 * over / ops, 2)
    return load


def counted_apart(before: Reading, after: Reading) -> dict[str, dict[str, float]]:
    """Of "read" and "write" the requests as `served` by the disk's server and as the `kernel`
    counted them (the middle of what that may have been), and `apart_pct`, their least difference in
    % of the server's; empty if one of both was not read. The kernel was read before and after the
    server's answer, so its count at that moment lies between; it counts a request when it ends, the
    server when it comes, so those under way may be missing."""
    if not (
        len(before.kernel) == len(after.kernel) == 2 and before.disk and after.disk
    ):
        return {}
    in_flight = max(side["disk_in_flight"] for side in (*before.kernel, *after.kernel))
    counts: dict[str, dict[str, float]] = {}
    for way in _WAYS:
        first, second, third, fourth = (
            side[f"disk_{way}s_total"] for side in (*before.kernel, *after.kernel)
        )
        most = fourth - first + in_flight
        least = third - second - in_flight
        own = float(after.disk[way]["ops"] - before.disk[way]["ops"])
        off_pct = round(100 * max(0.0, least - own, own - most) / max(own, 1.0), 2)
        counts[way] = {
            "served": own,
            "kernel": (most + least) / 2,
            "apart_pct": off_pct,
        }
    return counts


def overheads(before: Reading, after: Reading) -> dict[str, Any]:
    """`queue_depth`, the mean number of requests in flight between both readings; and of "read" and
    "write", if there were enough, means of `ios` requests: `device_us`, how long they took as the
    kernel's block layer saw them; `served_us`, from their coming to the disk's server to its
    answer; `overhead_us`, what loop device and FUSE cost, waiting in the loop device's queue for
    the server included. Empty if server or kernel was not read."""
    if not (before.kernel and after.kernel and before.disk and after.disk):
        return {}
    first = before.kernel[-1]
    last = after.kernel[-1]
    spent_s = 0.0
    of_way = dict[str, Any]()
    for way in _WAYS:
        ios = last[f"disk_{way}s_total"] - first[f"disk_{way}s_total"]
        device_s = (
            last[f"disk_{way}_seconds_total"] - first[f"disk_{way}_seconds_total"]
        )
        spent_s += device_s
        answered, took_s = (
            float(after.disk[way][key] - before.disk[way][key])
            for key in ("answered", "took_s")
        )
        if min(ios, answered) >= _LEAST_IOS:
            device_us = 1e6 * device_s / ios
            served_us = 1e6 * took_s / answered
            of_way[way] = {
                "ios": int(ios),
                "device_us": round(device_us, 1),
                "served_us": round(served_us, 1),
                "overhead_us": round(device_us - served_us, 1),
            }
    time_s = float(after.disk["time_s"] - before.disk["time_s"])
    if of_way:
        return {"queue_depth": round(spent_s / time_s, 2), **of_way}
    return {}


def _growth(before: Mapping[str, Any], after: Mapping[str, Any], key: str) -> float:
    if not all(way in side for way in _WAYS for side in (before, after)):
        return 0.0
    return sum(float(after[way][key]) - float(before[way][key]) for way in _WAYS)


def worst(devices: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The highest of each figure of `since`, of several gates."""
    known = list(devices)
    figures = {
        name: [device[name] for device in known if name in device] for name in _LOAD
    }
    return {name: max(values) for name, values in figures.items() if values}


def reasons(gate: Gate) -> tuple[str, ...]:
    """Why this machine, and not the disk, may have failed the gate. Empty if it was calm."""
    cpu_pct, late_s, over_pct = (gate.device.get(name, 0.0) for name in _LOAD)
    slower = (
        f"for {over_pct:.0f} % of requests the host itself was slower than the tier"
    )
    texts = (
        (cpu_pct > BUSY_CPU_PCT, f"its CPUs were {cpu_pct:.0f} % busy"),
        (
            late_s > LATE_S,
            f"the disk's answers woke {late_s * 1e6:.0f} µs late on average",
        ),
        (over_pct > OVER_PCT, slower),
    )
    return tuple(text for applies, text in texts if applies)
