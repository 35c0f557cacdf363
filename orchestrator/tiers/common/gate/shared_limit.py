"""Whether a limit that disks have together holds for two of them that work at once."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

from orchestrator import facts, parts, powers
from orchestrator.system import at_once
from orchestrator.tier import GateCheck, Tier
from orchestrator.tiers.common.gate import expected, fio_jobs

# They begin and end some 0.1 s apart, in which one has all by itself.
_RAMP = "1s"
_RUNTIME = "4s"
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
    settings = {"SIZE": "64m", "RAMP": _RAMP, "RUNTIME": _RUNTIME}
    shared = replace(
        tier, limits=replace(tier.shared, io_unit_bytes=tier.limits.io_unit_bytes)
    )
    with ExitStack() as up:
        fios = [
            up.enter_context(
                start(volume, replace(world, scope=f"{world.scope}-{number}"))
            )
            for number, volume in enumerate(disks.volumes, start=1)
        ]
        at_once.each(lambda fio: fio.run("prepare", settings), fios)
        for quantity, what, block in _SIZES:
            reads = fio_jobs.random_reads(expected.depth(tier, block), block)

            def read(
                fio: fio_jobs.FioContainer, reads: dict[str, str] = reads
            ) -> fio_jobs.Jobs:
                return fio.run("depth", {**settings, **reads})

            world.progress.step(f"truth gate of {tier.name}: {len(fios)} disks at once")
            rate = (
                sum(fio_jobs.bytes_per_s(jobs[0]) for jobs in at_once.each(read, fios))
                / block
            )
            unit, each = ("1/s", 1) if quantity == "shared_iops" else ("bytes/s", block)
            limit = f"{what}, {len(fios)} disks at once"
            cap = expected.cap_per_s(shared, block)
            own = expected.cap_per_s(tier, block)
            declared = None
            if cap is not None:
                declared = cap * each
            check = expected.judged(
                quantity, limit, unit, declared, rate * each, _TOLERANCE_PCT
            )
            if cap and own and len(fios) * own < cap:
                check = replace(check, tolerance_pct=None, verdict="not reachable")
            yield check
