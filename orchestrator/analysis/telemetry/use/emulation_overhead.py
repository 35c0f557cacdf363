"""How much longer an emulated disk's requests took for being emulated, in a window. Pure.

A request passes a loop device and FUSE. What that costs is counted by the disk's own server."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.analysis.telemetry.use.disk_cap_use import WAYS
from orchestrator.facts import ServedDiskFacts, group
from orchestrator.model import Record


@dataclass(frozen=True)
class Overhead:
    """What emulation cost the reads, or the writes, of one disk in a window.

    ios: how many requests there were. overhead_us: the mean time that loop device and FUSE took of
    each. taken_off_us: what the emulation takes off its latency for that; None if nothing.

    off_pct: by how much requests took longer (or shorter) than if the overhead had been just that,
    queueing included; None if nothing is taken off. queue_depth: mean number of requests in flight,
    reads and writes; 0 if it was not counted.
    """

    ios: int
    overhead_us: float
    taken_off_us: float | None
    off_pct: float | None
    queue_depth: float


def overheads(record: Record, disk: str) -> dict[str, Overhead]:
    """The overhead of "read" and of "write", as far as an emulated disk counted them."""
    # The overhead is the mean time of requests by the kernel, less the disk server's own.
    counted = record.read_facts.disks.get(disk, ServedDiskFacts()).overhead
    # The overhead at the device's start, without load, is taken off its latency
    # (docs/research/DISKS.md).
    at_start = group(record.read_facts.tier.overhead_us, disk)
    depth = float(counted.get("queue_depth", 0.0))
    overhead_by_way = {}
    for way in WAYS:
        window = group(counted, way)
        if window:
            overhead_by_way[way] = _overhead(window, at_start.get(way), depth)
    return overhead_by_way


def _overhead(
    window: Mapping[str, Any], taken_off_us: float | None, queue_depth: float
) -> Overhead:
    ios = int(window["ios"])
    overhead_us = float(window["overhead_us"])
    if taken_off_us is None:
        return Overhead(
            ios=ios,
            overhead_us=overhead_us,
            taken_off_us=None,
            off_pct=None,
            queue_depth=queue_depth,
        )
    beyond_us = overhead_us - taken_off_us
    # What requests would have taken if the overhead had been as it was without load.
    expected_us = float(window["device_us"]) - beyond_us
    off_pct = 100 * beyond_us / max(1.0, expected_us)
    return Overhead(ios, overhead_us, taken_off_us, off_pct, queue_depth)
