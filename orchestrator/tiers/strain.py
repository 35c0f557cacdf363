"""How hard the machine was pressed while a disk was measured: a busy one fails an honest disk.

Host CPU from /proc/stat; late wake-ups from the emulated disk's own counters (`device stats`):
`late_s` is how much later than asked a request was answered, `over` counts requests for which the
host alone took longer than the tier may.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.errors import TierbenchError
from orchestrator.model import Gate, Volume
from orchestrator.protocols import World
from orchestrator.tiers import served

BUSY_CPU_PCT = 90.0
LATE_S = 150e-6
OVER_PCT = 20.0


@dataclass(frozen=True)
class Reading:
    """Counters at one moment. `disk` is empty where no server of ours plays the disk."""

    busy: float
    total: float
    disk: Mapping[str, Any] = field(default_factory=dict)


def read(volume: Volume, world: World, root: Path = Path("/")) -> Reading:
    """The counters now. What cannot be read is left out: strain only explains, it decides
    nothing."""
    busy, total = cpu_ticks(root)
    disk: Mapping[str, Any] = {}
    if volume.server is not None and volume.server.container:
        with suppress(TierbenchError):
            disk = served.ask(volume.server.container, ("stats",), world)
    return Reading(busy, total, disk)


def cpu_ticks(root: Path = Path("/")) -> tuple[float, float]:
    """Busy and all ticks since boot, over all processors; (0, 0) where there is no /proc/stat."""
    with suppress(OSError, ValueError):
        first = (root / "proc/stat").read_text().split("\n", 1)[0].split()[1:9]
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


def _growth(before: Mapping[str, Any], after: Mapping[str, Any], key: str) -> float:
    ways = ("read", "write")
    if not all(way in side for way in ways for side in (before, after)):
        return 0.0
    return sum(float(after[way][key]) - float(before[way][key]) for way in ways)


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
