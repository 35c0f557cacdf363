"""What fio measured, held against what a tier declares: the checks of a truth gate. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.facts import GateQuantity
from orchestrator.tier import GateCheck, Tier, Way
from orchestrator.tiers.common.gate import expected, fio_jobs
from orchestrator.tiers.common.gate.fio_jobs import Jobs

# Emulated disks on a quiet machine were within 0.8 % in rates and 8 % in latency
# (docs/research/DISKS.md).
RATE_TOLERANCE_PCT = 5.0
LATENCY_TOLERANCE_PCT = 15.0
IOPS_BLOCK_BYTES = 4096
LARGE_BYTES = 262_144  # the largest request that providers count as one I/O
# Share of the cap, which is then what limits: within the tolerance of a rate.
_REACHED = 0.95


@dataclass(frozen=True)
class MeasuredRate:
    """A rate that is measured: its title, and which share of its requests are reads."""

    quantity: GateQuantity
    title: str
    read_share: float

    @property
    def counts_bytes(self) -> bool:
        return self.quantity in _BANDWIDTHS


_BANDWIDTHS: frozenset[GateQuantity] = frozenset(
    {"bandwidth_read", "bandwidth_write", "bandwidth_at_size"}
)
_OF_JOB: Mapping[str, MeasuredRate] = {
    "iops-read": MeasuredRate("iops_read", "IOPS, 4 KiB random read", 1.0),
    "iops-write": MeasuredRate("iops_write", "IOPS, 4 KiB random write", 0.0),
    "iops-mixed": MeasuredRate("iops_mixed", "IOPS, 4 KiB random mixed", 0.5),
    "bytes-read": MeasuredRate(
        "bandwidth_read", "bandwidth, 256 KiB sequential read", 1.0
    ),
    "bytes-write": MeasuredRate(
        "bandwidth_write", "bandwidth, 256 KiB sequential write", 0.0
    ),
}


def rates(tier: Tier, jobs: Jobs, depth: int) -> Iterator[GateCheck]:
    for job in jobs:
        rate = _OF_JOB[job["jobname"]]
        bytes_per_s = fio_jobs.bytes_per_s(job)
        if rate.counts_bytes:
            yield rate_check(tier, rate, bytes_per_s, LARGE_BYTES, depth)
            continue
        iops = bytes_per_s / IOPS_BLOCK_BYTES
        yield rate_check(tier, rate, iops, IOPS_BLOCK_BYTES, depth)


def latencies(tier: Tier, jobs: Jobs) -> Iterator[GateCheck]:
    yield _median(tier, "read", "latency_read", tier.latency.read_s, jobs[0])
    yield _median(tier, "write", "latency_write", tier.latency.write_s, jobs[0])


def _median(
    tier: Tier,
    way: Way,
    quantity: GateQuantity,
    assumed_s: float | None,
    job: Mapping[str, Any],
) -> GateCheck:
    """The median latency, judged unless its provider promises none: then it is only assumed."""
    judged_s = expected.latency_s(tier, way)
    check = expected.judged(
        quantity,
        f"median latency at queue depth 1, {way}",
        "s",
        judged_s,
        fio_jobs.median_s(job, way),
        LATENCY_TOLERANCE_PCT,
    )
    if judged_s is None and assumed_s is not None:
        return replace(check, declared=assumed_s, verdict="assumed, not judged")
    return check


def ladder(tier: Tier, steps: Sequence[tuple[int, Jobs]]) -> Iterator[GateCheck]:
    """IOPS at each depth, for information, and the depth where the cap is reached."""
    rates: dict[int, float] = {}
    for depth, jobs in steps:
        rates[depth] = fio_jobs.bytes_per_s(jobs[0]) / IOPS_BLOCK_BYTES
    for depth, rate in rates.items():
        limit = f"IOPS, 4 KiB random read at queue depth {depth}"
        yield GateCheck(
            limit=limit,
            unit="1/s",
            declared=None,
            measured=rate,
            tolerance_pct=None,
            verdict="not declared",
            quantity="iops_at_depth",
        )
    if rates:
        yield _knee(tier, rates)


def _knee(tier: Tier, rates: Mapping[int, float]) -> GateCheck:
    """The depth where the cap is reached. Below the cap, IOPS = depth / latency; so the cap is
    reached at cap × latency (Little's law). A failed check if no depth reaches it."""
    # A tier without a cap has its knee at the highest rate that was seen.
    cap = expected.cap_per_s(tier, IOPS_BLOCK_BYTES) or max(rates.values())
    reaching = [depth for depth, rate in rates.items() if rate >= _REACHED * cap]
    if not reaching:
        deepest = max(rates)
        limit = f"IOPS at queue depth {deepest}, where the cap should be reached"
        rate = MeasuredRate("iops_at_depth", limit, read_share=1.0)
        return rate_check(tier, rate, rates[deepest], IOPS_BLOCK_BYTES, deepest)
    latency_s = expected.latency_s(tier, "read")
    by_law = ""
    if latency_s:
        by_law = f" (cap × latency: {cap * latency_s:.1f})"
    return GateCheck(
        f"queue depth at which reads reach the cap{by_law}",
        "",
        declared=None,
        measured=float(reaching[0]),
        tolerance_pct=None,
        verdict="not declared",
        quantity="depth_at_cap",
    )


def rate_check(
    tier: Tier, rate: MeasuredRate, measured: float, block_bytes: int, depth: int
) -> GateCheck:
    """A rate held against the lowest of the tier's caps and what `depth` requests can reach."""
    cap = expected.cap_per_s(tier, block_bytes)
    reach = expected.reach_per_s(tier, depth, rate.read_share)
    # Few I/Os in flight cannot reach the cap, however fast the disk: the cap is not judged.
    if cap is not None and reach is not None and reach < _REACHED * cap:
        return _out_of_reach(tier, rate, measured, block_bytes, depth)
    limit = rate.title
    unit = "bytes/s"
    factor = block_bytes
    if not rate.counts_bytes:
        unit = "1/s"
        factor = 1
        why = expected.bound_by_bytes(tier, block_bytes)
        if why:
            limit = f"{limit} ({why})"
    declared = None
    if cap is not None:
        declared = cap * factor
    check = expected.judged(
        rate.quantity, limit, unit, declared, measured, RATE_TOLERANCE_PCT
    )
    # A real disk may have burst credit, with which it is as fast as its peak.
    peak_per_s = expected.cap_per_s(expected.at_peak(tier), block_bytes) or 0.0
    most = peak_per_s * factor * (1 + RATE_TOLERANCE_PCT / 100)
    # An emulated disk is checked without its burst, so "faster" is a fault there.
    bursts = tier.disk.is_real and tier.limits.burst is not None
    if (
        bursts
        and check.verdict == "faster than declared (cache or burst)"
        and measured <= most
    ):
        return replace(check, verdict="bursting")
    return check


def _out_of_reach(
    tier: Tier, rate: MeasuredRate, measured: float, block_bytes: int, depth: int
) -> GateCheck:
    """A rate whose cap so many requests in flight cannot reach: it is held against what they can,
    by the tolerance of the latency that this follows from."""
    unit = "1/s"
    factor = 1
    if rate.counts_bytes:
        unit = "bytes/s"
        factor = block_bytes
    cap = expected.cap_per_s(tier, block_bytes) or 0.0
    reach = expected.reach_per_s(tier, depth, rate.read_share) or 0.0
    why = expected.bound_by_depth(tier, depth, rate.read_share)
    limit = f"{rate.title} ({why})"
    check = expected.judged(
        rate.quantity, limit, unit, reach * factor, measured, LATENCY_TOLERANCE_PCT
    )
    # Slower or faster than its latency allows is a fault of the disk, whatever the cap.
    if check.verdict != "ok":
        return check
    return replace(
        check, declared=cap * factor, tolerance_pct=None, verdict="not reachable"
    )
