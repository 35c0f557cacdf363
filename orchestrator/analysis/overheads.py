"""What loop device and FUSE cost in the window of a run, beside what the disk takes off. Pure.

The overhead of an emulated disk is measured when its device starts, without load, and taken off its
latency (docs/TIERS.md). In the window it is the mean time of requests as the kernel saw them, less
the mean that the disk's server needed for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.analysis.results import RunData


@dataclass(frozen=True)
class Overhead:
    """Of `ios` reads or writes of one disk. `off_pct`: how far the mean latency was from the tier's
    by it, in % of that; None if the tier declares none, or nothing was taken off."""

    ios: int
    overhead_us: float
    taken_off_us: float | None
    off_pct: float | None


def overheads(run: RunData, disk: str) -> dict[str, Overhead]:
    """Of "read" and "write", as far as a disk of ours counted them."""
    counted = _group(_group(_group(run.record.facts, "disks"), disk), "overhead")
    at_start = _group(_group(_group(run.record.facts, "tier"), "overhead_us"), disk)
    tier, found = run.record.profile.tier, {}
    for way, latency_s in (("read", tier.read_latency_s), ("write", tier.write_latency_s)):
        if not (one := _group(counted, way)):
            continue
        overhead_us, taken_off_us, off_pct = float(one["overhead_us"]), at_start.get(way), None
        if taken_off_us is not None and latency_s:
            off_pct = 100 * (overhead_us - taken_off_us) / (latency_s * 1e6)
        found[way] = Overhead(int(one["ios"]), overhead_us, taken_off_us, off_pct)
    return found


def queue_depth(run: RunData, disk: str) -> float:
    """The mean number of its requests in flight; 0 if it was not counted."""
    counted = _group(_group(_group(run.record.facts, "disks"), disk), "overhead")
    return float(counted.get("queue_depth", 0.0))


def _group(facts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    group = facts.get(name)
    return group if isinstance(group, Mapping) else {}
