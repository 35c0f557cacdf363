"""Whether a limit that disks have together holds for two of them that work at once."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from orchestrator import facts, parts, powers
from orchestrator.model import Volume
from orchestrator.tier import BOTH_DISKS, GateCheck, Limits, Tier
from orchestrator.tiers.common.any_disk import fio_containers
from orchestrator.tiers.common.gate import expected, fio_jobs

_SETTINGS = {"SIZE": "64m", "RAMP": "1s", "RUNTIME": "4s"}
_TOLERANCE_PCT = 5.0


@dataclass(frozen=True)
class Checked:
    """One of the disks that are read at once, and the tier whose limits it has alone."""

    tier: Tier
    volume: Volume


@dataclass(frozen=True)
class _Reads:
    """Random reads of one size, whose rate is held against a limit of all disks."""

    quantity: facts.GateQuantity
    title: str
    block_bytes: int

    @property
    def unit(self) -> str:
        if self.quantity == "shared_iops":
            return "1/s"
        return "bytes/s"

    def in_unit(self, per_s: float) -> float:
        """So many of these reads a second, in the unit of the limit."""
        if self.quantity == "shared_iops":
            return per_s
        return per_s * self.block_bytes


_SIZES = (
    _Reads("shared_iops", "IOPS, 4 KiB random read", 4096),
    _Reads("shared_bandwidth", "bandwidth, 256 KiB random read", 262_144),
)


def of_all_disks(
    tier: Tier,
    disks: parts.Disks,
    world: powers.World,
    start: fio_jobs.StartFioOnTwo = fio_jobs.fio_on_two,
) -> Iterator[GateCheck]:
    """Reads from all `disks` at once, as deep as their caps need. GateError if fio cannot run."""
    if tier.shared is None:
        return
    checked = [Checked(tier, volume) for volume in disks.volumes]
    yield from _checks(tier.shared, checked, world, start)


def of_machine(
    tier: Tier,
    checked: Sequence[Checked],
    world: powers.World,
    start: fio_jobs.StartFioOnTwo = fio_jobs.fio_on_two,
) -> Iterator[GateCheck]:
    """Reads from the disks of a node's data and log at once, held against what the machine lets
    through. GateError if fio cannot run."""
    if tier.machine is None:
        return
    for check in _checks(tier.machine.limits, checked, world, start):
        yield replace(check, disk=BOTH_DISKS)


def _checks(
    shared: Limits,
    checked: Sequence[Checked],
    world: powers.World,
    start: fio_jobs.StartFioOnTwo,
) -> Iterator[GateCheck]:
    first, second = checked
    with start(first.volume, second.volume, world) as fio:
        fio.run("prepare", _SETTINGS)
        fio.run("prepare", {**_SETTINGS, "DIR": fio_containers.SECOND})
        for reads in _SIZES:
            world.progress.step(f"disk check of {first.tier.name}: 2 disks at once")
            per_s = _reads_per_s(reads, first.tier, second.tier, fio)
            yield _check(shared, checked, reads, per_s)


def _reads_per_s(
    reads: _Reads, first: Tier, second: Tier, fio: fio_jobs.FioContainer
) -> float:
    """How many of these reads both disks take a second together."""
    # As deep as its own cap needs: both ask for more together than their shared limit lets.
    first_depth = expected.depth(first, reads.block_bytes)
    second_depth = expected.depth(second, reads.block_bytes)
    settings = {
        **_SETTINGS,
        **fio_jobs.random_reads(first_depth, reads.block_bytes),
        "IODEPTH_2": str(second_depth),
    }
    jobs = fio.run("together", settings)
    return sum(fio_jobs.bytes_per_s(job) for job in jobs) / reads.block_bytes


def _check(
    shared: Limits, checked: Sequence[Checked], reads: _Reads, per_s: float
) -> GateCheck:
    """What the disks reached together, held against their shared limit, if their own let them."""
    first = checked[0].tier
    # A large I/O counts as several towards the shared limit too, in the disks' own unit.
    shared = replace(shared, io_unit_bytes=first.limits.io_unit_bytes)
    tier_of_all = replace(first, limits=shared)
    cap_per_s = expected.cap_per_s(tier_of_all, reads.block_bytes)
    declared = None
    if cap_per_s is not None:
        declared = reads.in_unit(cap_per_s)
    check = expected.judged(
        reads.quantity,
        f"{reads.title}, {len(checked)} disks at once",
        reads.unit,
        declared,
        reads.in_unit(per_s),
        _TOLERANCE_PCT,
    )
    # Two slow disks may not reach what a hundred share. Then the sum says nothing of the limit.
    if cap_per_s and _alone_per_s(checked, reads) < cap_per_s:
        return replace(check, tolerance_pct=None, verdict="not reachable")
    return check


def _alone_per_s(checked: Sequence[Checked], reads: _Reads) -> float:
    """What the disks' own caps let through together; without end if one of them has none."""
    total_per_s = 0.0
    for disk in checked:
        cap_per_s = expected.cap_per_s(disk.tier, reads.block_bytes)
        if not cap_per_s:
            return math.inf
        total_per_s += cap_per_s
    return total_per_s
