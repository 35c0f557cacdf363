"""Doubts about the disks of a finished run: whether they were what they were taken for. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from orchestrator.analysis import disks_of_nodes
from orchestrator.analysis.disks_of_nodes import PlacedDisk
from orchestrator.analysis.doubts.effects import (
    forbids_a_conclusion,
    is_only_told,
    limits_the_answer,
)
from orchestrator.analysis.doubts.validity import Doubts, named
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.use import emulation_overhead
from orchestrator.analysis.telemetry.use.all_nodes import Totals
from orchestrator.design.nodes_by_role import nodes_of_role
from orchestrator.facts import ServedDiskFacts
from orchestrator.model import Doubt, Node, Record
from orchestrator.texts import prose
from orchestrator.units import format_change

# How far the counts of the kernel and of the disk may be apart.
APART_PCT = 2.0
# Share of an emulated disk's requests, and how late answers are on average. The kernel's sleeps end
# 50 to 150 µs late, for which the disk's server makes up (docs/research/DISKS.md).
OVER_PCT = 5.0
LATE_S = 150e-6
# How much longer the overhead in a window may make requests, beyond what is taken off: what a gate
# allows the latency. Each sum of the kernel is in ms, so a mean needs some requests.
OVERHEAD_PCT = 15.0
OVERHEAD_IOS = 1_000


def not_verified(run: RunData, _: Totals) -> Doubts:
    """Limits that its truth gate could not reach."""
    gate = run.record.gate
    if gate is None:
        return
    not_reached = [check for check in gate.checks if check.verdict == "not reachable"]
    if not_reached:
        limits = [named(check) for check in not_reached]
        yield _limit_not_verified(", ".join(limits))


def host_cache(run: RunData, _: Totals) -> Doubts:
    gate = run.record.gate
    if gate is None:
        return
    for path, disk in gate.facts_of_disks.items():
        # No disk reads faster than its cap; what does is a cache in front of it.
        if disk.host_cache == "shows":
            yield _host_cache(path)


# ------------------------------------------------------------------ emulated disks


def served(run: RunData, _: Totals) -> Doubts:
    """Doubts by what the servers of emulated disks counted."""
    for disk, counts in run.record.read_facts.disks.items():
        yield from _unlike_counts(disk, counts)
        over_pct = counts.over_pct or 0.0
        late_s = counts.late_s or 0.0
        if over_pct > OVER_PCT or late_s > LATE_S:
            yield _host_slower_than_the_tier(disk, over_pct, late_s)
        failed = counts.end.get("host_errors")
        if failed:
            yield _host_errors(disk, int(failed))
        yield from _overheads(run.record, disk)


def _unlike_counts(disk: str, counts: ServedDiskFacts) -> Doubts:
    # Telemetry's IOPS are the kernel's count; the tier charges what the disk served.
    for way in ("read", "write"):
        count = counts.counts(way)
        if count and count["apart_pct"] > APART_PCT:
            yield _counts_differ(
                disk,
                way,
                by_kernel=count["kernel"],
                by_disk=count["served"],
                apart_pct=count["apart_pct"],
            )


def _overheads(record: Record, disk: str) -> Doubts:
    # A disk in memory has no latency that the way to it is a part of.
    if record.profile.tier.disk.in_memory:
        return
    for way, cost in emulation_overhead.overheads(record, disk).items():
        off_pct = cost.off_pct or 0.0
        # The mean of a few requests is that of the kernel's rounding to milliseconds.
        if cost.ios >= OVERHEAD_IOS and abs(off_pct) > OVERHEAD_PCT:
            yield _overhead_differs(disk, way, cost)


# ------------------------------------------------------------------ disks with several users


@dataclass(frozen=True)
class _SharedDisk:
    """`users`: in words; `whom`: who should have a disk of its own."""

    users: str
    device: str
    whom: str


def shared(run: RunData, _: Totals) -> Doubts:
    for disk in (*_with_several_nodes(run), *_with_wal_and_more(run)):
        yield _shared_disk(disk.users, disk.device, disk.whom)


def _with_several_nodes(run: RunData) -> Iterator[_SharedDisk]:
    for disk, nodes in disks_of_nodes.by_disk(run.record.nodes).items():
        # Counters are of the whole disk, so what each node did on it is not known.
        if len(nodes) > 1:
            names = ", ".join([node.name for node in nodes])
            yield _SharedDisk(names, disk.device, "each node")


def _with_wal_and_more(run: RunData) -> Iterator[_SharedDisk]:
    for disk, uses in _wal_uses(run).items():
        if len(uses) > 1:
            yield _SharedDisk(prose.listed(uses), disk.device, "each")


def _wal_uses(run: RunData) -> Mapping[PlacedDisk, list[str]]:
    """Disks that hold WAL, with all that is on them."""
    nodes = nodes_of_role(run.record.nodes, "database")
    with_wal = [node for node in nodes if node.wal_device]
    wal_disks = {_disk(node, node.wal_device) for node in with_wal}
    uses: dict[PlacedDisk, list[str]] = {disk: [] for disk in sorted(wal_disks)}
    for node in nodes:
        data = _disk(node, node.device)
        wal = _disk(node, node.wal_device)
        if node.device and data in uses:
            uses[data].append(f"{node.name}'s data")
        if node.wal_device and wal in uses:
            uses[wal].append(f"{node.name}'s WAL")
    return uses


def _disk(node: Node, device: str | None) -> PlacedDisk:
    return PlacedDisk(disks_of_nodes.place(node), device or "")


# ------------------------------------------------------------------ in words


def _limit_not_verified(limits: str) -> Doubt:
    return limits_the_answer(
        "limit not verified",
        "the disk check could not reach a declared limit at any queue depth possible here: "
        f"{limits}",
        advice="no load here can reach it either; compare on a disk with a shorter latency",
    )


def _counts_differ(
    disk: str, way: str, by_kernel: float, by_disk: float, apart_pct: float
) -> Doubt:
    """`by_kernel`, `by_disk`: requests of this `way` ("read", "write") that each counted."""
    return is_only_told(
        "counts differ",
        f"{disk}: the kernel counted {by_kernel:,.0f} {way}s and the disk served "
        f"{by_disk:,.0f}, {apart_pct:.1f} % apart",
        advice="trust the disk's own count; see `disks` among the run's facts",
    )


def _host_slower_than_the_tier(disk: str, over_pct: float, late_s: float) -> Doubt:
    return limits_the_answer(
        "host slower than the tier",
        f"{disk}: this machine alone took longer than the tier's latency, for "
        f"{over_pct:.1f} % of requests. Answers came {late_s * 1e6:.0f} µs late on average",
        advice=(
            "stop other programs that use this machine's disk and CPU, or take a faster "
            "machine"
        ),
    )


def _host_errors(disk: str, requests: int) -> Doubt:
    failed = prose.counted(requests, "request")
    return forbids_a_conclusion(
        "host errors",
        f"{disk}: this machine could not store {failed} and answered with an error at once. "
        "The tier's disk would have written instead",
        advice="make room on the machine's disk that has the images, or look at its health",
    )


def _overhead_differs(disk: str, way: str, cost: emulation_overhead.Overhead) -> Doubt:
    """A doubt about a `cost` that the emulation takes off the latency."""
    return is_only_told(
        "overhead differs",
        f"{disk}: loop device and FUSE cost {cost.overhead_us:.0f} µs per {way} in the "
        f"window; {cost.taken_off_us or 0.0:.0f} µs are taken off. That changes the time "
        f"of a {way} by {format_change(cost.off_pct or 0.0)}",
        advice="repeat on a machine that does nothing else; each start measures the overhead "
        "again",
    )


def _shared_disk(names: str, disk: str, whom: str) -> Doubt:
    """`whom`: who should have a disk of its own: "each node" or "each"."""
    return limits_the_answer(
        "shared disk",
        f"{names} share the disk {disk}: the figures of each are the whole disk's",
        advice=f"give {whom} a disk of its own (`disks`, docs/TIERS.md)",
    )


def _host_cache(path: str) -> Doubt:
    return limits_the_answer(
        "host cache",
        f"a second read of the same region of {path} was faster than the disk's cap. A cache "
        "of the host answers for the disk",
        advice="turn host caching off for this disk, or read all figures as those of the "
        "cache",
    )
