"""How hard the machine was pressed while a disk was measured: a busy one fails an honest disk.

Host CPU from /proc/stat; late wake-ups from the emulated disk's own counters (`device stats`):
`late_s` is how much later than asked a request was answered, `over` counts requests for which the
host alone took longer than the tier may.

The disk's own count of requests is also what the kernel's (/proc/diskstats) is held against: what
telemetry shows as IOPS must be what the disk was asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from orchestrator.collectors.disk import DiskCollector
from orchestrator.errors import TierbenchError
from orchestrator.model import Gate, Node, Volume
from orchestrator.powers import Machine, World
from orchestrator.tiers.common import disk_server

BUSY_CPU_PCT = 90.0
LATE_S = 150e-6
OVER_PCT = 20.0
_WAYS = ("read", "write")


@dataclass(frozen=True)
class Reading:
    """Counters at one moment. `disk` is empty where no server of ours plays the disk; `kernel` is
    what /proc/diskstats said of the device just before and just after the server was asked."""

    busy: float
    total: float
    disk: Mapping[str, Any] = field(default_factory=dict)
    kernel: tuple[Mapping[str, float], ...] = ()


def read(volume: Volume, world: World) -> Reading:
    """The counters now. What cannot be read is left out: it only explains and decides
    nothing."""
    busy, total = cpu_ticks(world.machine)
    disk: Mapping[str, Any] = {}
    kernel: list[Mapping[str, float]] = []
    if volume.server is not None and volume.server.container:
        device = replace(volume.server, device=volume.device.removeprefix("/dev/"))
        kernel += _diskstats(device, world.machine)
        with suppress(TierbenchError, OSError):
            disk = disk_server.ask(volume.server.container, ("stats",), world)
        kernel += _diskstats(device, world.machine)
    return Reading(busy, total, disk, tuple(kernel))


def _diskstats(device: Node, machine: Machine) -> list[dict[str, float]]:
    """One reading, or none."""
    with suppress(OSError):
        return [{one.metric: one.value for one in DiskCollector(machine).read([device], 0.0)}]
    return []


def cpu_ticks(machine: Machine) -> tuple[float, float]:
    """Busy and all ticks since boot, over all processors; (0, 0) where there is no /proc/stat."""
    with suppress(OSError, ValueError):
        first = machine.read("/proc/stat").split("\n", 1)[0].split()[1:9]
        ticks = [float(text) for text in first]
        idle = ticks[3] + ticks[4]
        return sum(ticks) - idle, sum(ticks)
    return 0.0, 0.0


def since(before: Reading, after: Reading) -> dict[str, float]:
    """`host_cpu_pct` of all processors; `late_s` on average and `over_pct` of requests."""
    found: dict[str, float] = {}
    passed = after.total - before.total
    if passed > 0:
        found["host_cpu_pct"] = round(100 * (after.busy - before.busy) / passed, 1)
    late_s, over, ops = (_growth(before.disk, after.disk, key) for key in ("late_s", "over", "ops"))
    if ops > 0:
        found["late_s"] = round(late_s / ops, 7)
        found["over_pct"] = round(100 * over / ops, 2)
    return found


@contextmanager
def watched(volumes: Sequence[Volume], world: World) -> Iterator[dict[str, dict[str, Any]]]:
    """What happened meanwhile to each disk that a server of ours plays, by the server's name.

    Filled at the end: `late_s`, `over_pct`, and of reads and writes how many were `served`, and how
    many the `kernel` counted.
    """
    found: dict[str, dict[str, Any]] = {}
    before = [(one, one.server, read(one, world)) for one in volumes if one.server]
    yield found
    for volume, server, first in before:
        last = read(volume, world)
        own = {name: value for name, value in since(first, last).items() if name != "host_cpu_pct"}
        counts = {way: asdict(count) for way, count in counted_apart(first, last).items()}
        if own or counts:
            found[server.name] = {**own, **counts}


@dataclass(frozen=True)
class Counts:
    """Requests of one kind in a run: by the disk's server, and by the kernel (the middle of what it
    may have been). `apart_pct`: how far they are apart for certain, of the server's."""

    served: float
    kernel: float
    apart_pct: float


def counted_apart(before: Reading, after: Reading) -> dict[str, Counts]:
    """By "read" and "write"; empty where either was not read.

    The kernel was read on both sides of the server's answer, so its count at that moment lies
    between; it counts a request when it ends, and the server when it comes, so those under way
    may be missing.
    """
    if not (len(before.kernel) == len(after.kernel) == 2 and before.disk and after.disk):
        return {}
    flying = max(side["disk_in_flight"] for one in (before, after) for side in one.kernel)
    found: dict[str, Counts] = {}
    for way in _WAYS:
        metric = f"disk_{way}s_total"
        (first, second), (third, fourth) = (
            [side[metric] for side in one.kernel] for one in (before, after)
        )
        most, least = fourth - first + flying, third - second - flying
        own = float(after.disk[way]["ops"] - before.disk[way]["ops"])
        off = max(0.0, least - own, own - most)
        found[way] = Counts(own, (most + least) / 2, round(100 * off / max(own, 1.0), 2))
    return found


def _growth(before: Mapping[str, Any], after: Mapping[str, Any], key: str) -> float:
    if not all(way in side for way in _WAYS for side in (before, after)):
        return 0.0
    return sum(float(after[way][key]) - float(before[way][key]) for way in _WAYS)


def reasons(gate: Gate) -> tuple[str, ...]:
    """Why this machine, and not the disk, may have failed the gate. Empty where it was calm."""
    return tuple(_reasons(gate.device))


def _reasons(device: Mapping[str, Any]) -> Iterator[str]:
    cpu_pct, late_s = device.get("host_cpu_pct", 0.0), device.get("late_s", 0.0)
    over_pct = device.get("over_pct", 0.0)
    if cpu_pct > BUSY_CPU_PCT:
        yield f"its CPUs were {cpu_pct:.0f} % busy"
    if late_s > LATE_S:
        yield f"the disk's answers woke {late_s * 1e6:.0f} µs late on average"
    if over_pct > OVER_PCT:
        yield f"for {over_pct:.0f} % of requests the host itself was slower than the tier"
