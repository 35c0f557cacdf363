"""Kinds of doubt about the disks of a finished run: limits that were not verified, counters of
emulated disks that disagree with the run, nodes on one disk. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from orchestrator.analysis import results
from orchestrator.analysis.results import RunData
from orchestrator.facts import DoubtKind, GateWord
from orchestrator.model import GateCheck

APART_PCT = 2.0
OVER_PCT = 5.0  # of requests; a gate, of seconds, allows more
LATE_S = 150e-6


def _out_of_reach(run: RunData) -> Iterator[tuple[str, str]]:
    if limits := ", ".join(check.limit for check in _checks(run, "not reachable")):
        yield (
            f"no queue depth that can be had here reaches the declared limit: {limits}",
            "nothing that runs here can reach it either; compare on a disk that answers sooner",
        )


def _bursting(run: RunData) -> Iterator[tuple[str, str]]:
    if _checks(run, "bursting"):
        yield (
            "the disk was above its base rate when it was checked, on burst credit of unknown "
            "size: its figures may be the burst's, not what the tier sustains",
            "load it until it falls to its base rate, or measure for longer than the burst lasts",
        )


def _checks(run: RunData, verdict: GateWord) -> list[GateCheck]:
    gate = run.record.gate
    return [check for check in gate.checks if check.verdict == verdict] if gate else []


def _counts(run: RunData) -> Iterator[tuple[str, str]]:
    """Telemetry's IOPS are the kernel's count; the tier charges what the disk served."""
    for disk, own in _disks(run).items():
        for way in ("read", "write"):
            count = own.get(way)
            if isinstance(count, Mapping) and count["apart_pct"] > APART_PCT:
                yield (
                    f"{disk}: the kernel counted {count['kernel']:,.0f} {way}s and the disk served "
                    f"{count['served']:,.0f}, {count['apart_pct']:.1f} % apart",
                    "trust the disk's own count; see `disks` among the run's facts",
                )


def _slow_host(run: RunData) -> Iterator[tuple[str, str]]:
    for disk, own in _disks(run).items():
        over_pct, late_s = own.get("over_pct", 0.0), own.get("late_s", 0.0)
        if over_pct <= OVER_PCT and late_s <= LATE_S:
            continue
        yield (
            f"{disk}: for {over_pct:.1f} % of requests this machine alone took longer than the "
            f"tier's latency, and answers woke {late_s * 1e6:.0f} µs late on average",
            "stop what else uses this machine's disk and CPU, or take a faster machine",
        )


def _shared(run: RunData) -> Iterator[tuple[str, str]]:
    for device, nodes in results.by_disk(run.record.nodes).items():
        if len(nodes) > 1:
            names = ", ".join(node.name for node in nodes)
            yield (
                f"{names} share the disk {device[-1]}: the figures of each are the whole disk's",
                "give each node a disk of its own (`paths`, docs/TIERS.md)",
            )


def _shared_blocks(run: RunData) -> Iterator[tuple[str, str]]:
    if _restored(run).get("way") == "reflink":
        yield (
            "the data were restored as reflinks: the first write to each block finds it shared and "
            "takes another, so a run that writes asks more of the disk than the database does",
            "say `snapshots: copy` for runs that write (docs/TIERS.md)",
        )


def _not_quiet(run: RunData) -> Iterator[tuple[str, str]]:
    if _restored(run).get("quiet") is False:
        yield (
            "when the run began, the disk was still busy with something else",
            "see what else uses it, such as a trim or a check of a RAID",
        )


def _restored(run: RunData) -> Mapping[str, Any]:
    """How the data of this run came to its real disk."""
    tier = run.record.facts.get("tier")
    restored = tier.get("restored") if isinstance(tier, Mapping) else None
    return restored if isinstance(restored, Mapping) else {}


def _disks(run: RunData) -> Mapping[str, Mapping[str, Any]]:
    disks = run.record.facts.get("disks")
    return disks if isinstance(disks, Mapping) else {}


DISK_CHECKS: dict[DoubtKind, Callable[[RunData], Iterator[tuple[str, str]]]] = {
    "limit not verified": _out_of_reach,
    "bursting disk": _bursting,
    "counts differ": _counts,
    "host slower than the tier": _slow_host,
    "shared disk": _shared,
    "shared blocks": _shared_blocks,
    "disk not quiet": _not_quiet,
}
