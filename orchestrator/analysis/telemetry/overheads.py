"""What loop device and FUSE cost in the window of a run, beside what the disk takes off. Pure.

The overhead of an emulated disk is measured when its device starts, without load, and taken off its
latency (docs/DISKS.md). In the window it is the mean time of requests as the kernel saw them, less
the mean that the disk's server needed for them.
"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.analysis.results import RunData
from orchestrator.facts import group


@dataclass(frozen=True)
class Overhead:
    """Of `ios` reads or writes of one disk. `off_pct`: by how much it made them take longer (or
    shorter) than if it had been what is taken off, queueing included; None if nothing is."""

    ios: int
    overhead_us: float
    taken_off_us: float | None
    off_pct: float | None


def overheads(run: RunData, disk: str) -> dict[str, Overhead]:
    """Of "read" and "write", as far as a disk of ours counted them."""
    counted = group(run.record.facts, "disks", disk, "overhead")
    at_start = group(run.record.facts, "tier", "overhead_us", disk)
    found = {}
    for way in ("read", "write"):
        if not (one := group(counted, way)):
            continue
        overhead_us, taken_off_us, off_pct = float(one["overhead_us"]), at_start.get(way), None
        if taken_off_us is not None:
            beyond_us = overhead_us - taken_off_us
            off_pct = 100 * beyond_us / max(1.0, float(one["device_us"]) - beyond_us)
        found[way] = Overhead(int(one["ios"]), overhead_us, taken_off_us, off_pct)
    return found


def queue_depth(run: RunData, disk: str) -> float:
    """The mean number of its requests in flight; 0 if it was not counted."""
    counted = group(run.record.facts, "disks", disk, "overhead")
    return float(counted.get("queue_depth", 0.0))
