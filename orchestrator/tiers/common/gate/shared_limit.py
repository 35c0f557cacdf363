"""Whether a limit that disks have together holds for two of them that work at once."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

from orchestrator import facts, parts, powers
from orchestrator.system import at_once
from orchestrator.tier import GateCheck, Tier
from orchestrator.tiers.common.gate import expected, fio_jobs

# They begin and end some 0.1 s apart, in which one has all by itself.
_SETTINGS = {"SIZE": "64m", "RAMP": "1s", "RUNTIME": "4s"}
_TOLERANCE_PCT = 5.0
_SIZES: tuple[tuple[facts.GateQuantity, str, int], ...] = (
    ("shared_iops", "IOPS, 4 KiB random read", 4096),
    ("shared_bandwidth", "bandwidth, 256 KiB random read", 262_144),
)


def checks(
    tier: Tier,
    disks: parts.Disks,
    world: powers.World,
    start: fio_jobs.StartFio = fio_jobs.fio_on,
) -> Iterator[GateCheck]:
    """Reads from all `disks` at once, as deep as their caps need. GateError if fio cannot run."""
    if tier.shared is None:
        return
    with ExitStack() as up:
        fios: list[fio_jobs.FioContainer] = []
        for number, volume in enumerate(disks.volumes, start=1):
            # Each fio runs in a container, and two cannot have one name.
            apart = replace(world, scope=f"{world.scope}-{number}")
            fios.append(up.enter_context(start(volume, apart)))
        at_once.each(lambda fio: fio.run("prepare", _SETTINGS), fios)
        for quantity, title, block_bytes in _SIZES:
            world.progress.step(f"disk check of {tier.name}: {len(fios)} disks at once")
            per_s = _reads_per_s(tier, fios, block_bytes)
            limit = f"{title}, {len(fios)} disks at once"
            yield _check(tier, quantity, limit, len(fios), per_s, block_bytes)


def _reads_per_s(
    tier: Tier, fios: Sequence[fio_jobs.FioContainer], block_bytes: int
) -> float:
    """How many random reads of this size all disks take a second together."""
    # Each as deep as its own cap needs: together they then ask for more than the shared limit lets.
    depth = expected.depth(tier, block_bytes)
    settings = {**_SETTINGS, **fio_jobs.random_reads(depth, block_bytes)}
    jobs_of_all = at_once.each(lambda fio: fio.run("depth", settings), fios)
    bytes_per_s = sum(fio_jobs.bytes_per_s(jobs[0]) for jobs in jobs_of_all)
    return bytes_per_s / block_bytes


def _check(
    tier: Tier,
    quantity: facts.GateQuantity,
    limit: str,
    disks: int,
    per_s: float,
    block_bytes: int,
) -> GateCheck:
    """What the disks reached together, held against their shared limit, if their own let them."""
    unit = "bytes/s"
    factor = block_bytes
    if quantity == "shared_iops":
        unit = "1/s"
        factor = 1
    cap_per_s = expected.cap_per_s(_as_shared(tier), block_bytes)
    declared = None
    if cap_per_s is not None:
        declared = cap_per_s * factor
    check = expected.judged(
        quantity, limit, unit, declared, per_s * factor, _TOLERANCE_PCT
    )
    disk_per_s = expected.cap_per_s(tier, block_bytes)
    # Two slow disks may not reach what a hundred share. Then the sum says nothing of the limit.
    if cap_per_s and disk_per_s and disks * disk_per_s < cap_per_s:
        return replace(check, tolerance_pct=None, verdict="not reachable")
    return check


def _as_shared(tier: Tier) -> Tier:
    """The tier as if the limits that its disks have together were those of one."""
    assert tier.shared is not None
    # A large I/O counts as several towards the shared limit too, in the disk's own unit.
    limits = replace(tier.shared, io_unit_bytes=tier.limits.io_unit_bytes)
    return replace(tier, limits=limits)
