"""What a tier lets through: the lowest of its caps, and what the requests in flight can reach. 128
requests in flight at 25 ms are 5,120 a second whatever its IOPS and bytes/s.

The 99th percentile of drawn latencies is held against the table that they are drawn from, that of
a real disk is shown. Of a constant latency it is not looked at: what lies beyond is this machine's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from orchestrator.design.latency_quantiles import mean_s, quantile_s
from orchestrator.facts import GateQuantity, GateWord
from orchestrator.tier import GateCheck, Quantiles, Tier, Way
from orchestrator.tiers.common.gate import fio_jobs
from orchestrator.units import format_bytes_per_s, format_seconds

MAX_DEPTH = 128  # the depth that a loop device queues
_DEPTH_RESERVE = 4  # factor of cap × latency: a queue that is never empty
_ALIKE = 0.01  # both caps bind at the same rate, and neither is worth a word
_UNHURRIED = 0.5  # share of the cap's rate: a lone request then never waits for the cap


def latency_s(tier: Tier, way: Way) -> float | None:
    """The latency to judge by; None for a real disk whose provider promises none."""
    # No provider promises the latency of a row, so no disk can break the promise.
    if tier.disk.is_real and way in tier.latency.assumed:
        return None
    if way == "read":
        return tier.latency.read_s
    return tier.latency.write_s


def quantiles(tier: Tier, way: Way) -> Quantiles | None:
    """What the latency of each request is drawn from; None if it is constant."""
    model = tier.latency.model
    if model is None:
        return None
    if way == "read":
        return model.read
    return model.write


def _average_s(tier: Tier, way: Way) -> float | None:
    """The mean latency: what Little's law is about. Of a constant one it is the same."""
    table = quantiles(tier, way)
    if table is None:
        return latency_s(tier, way)
    return mean_s(table)


def cap_per_s(tier: Tier, block_bytes: int) -> float | None:
    """Requests of this size a second that the caps let through; None without a cap. An I/O beyond
    the tier's unit counts as several."""
    # Rounded up: 257 KiB count as two I/Os where the unit is 256 KiB.
    per_request = -(-block_bytes // tier.limits.io_unit_bytes)
    caps: list[float] = []
    if tier.limits.iops:
        caps.append(tier.limits.iops / per_request)
    if tier.limits.bytes_per_s:
        caps.append(tier.limits.bytes_per_s / block_bytes)
    return min(caps, default=None)


def reach_per_s(tier: Tier, depth: int, read_share: float) -> float | None:
    """Requests a second that `depth` in flight can make by Little's law; None if not known."""
    request_s = 0.0
    shares: dict[Way, float] = {"read": read_share, "write": 1 - read_share}
    for way, share in shares.items():
        if share:
            average_s = _average_s(tier, way)
            if average_s is None:
                return None
            # Reads and writes take turns in the queue, so their mean counts by their shares.
            request_s += share * average_s
    if request_s:
        return depth / request_s
    return None


def at_peak(tier: Tier) -> Tier:
    """The tier while it has burst credit, if it bursts."""
    limits = tier.limits
    burst = tier.limits.burst
    if burst is None:
        return tier
    iops = burst.iops or limits.iops
    rate = burst.bytes_per_s or limits.bytes_per_s
    return replace(tier, limits=replace(limits, iops=iops, bytes_per_s=rate))


def depth(tier: Tier, block_bytes: int = 4096, least: int = 32) -> int:
    """The queue depth that reaches the caps through the latency, with reserve."""
    read_s = _average_s(tier, "read") or 0.0
    write_s = _average_s(tier, "write") or 0.0
    cap = cap_per_s(tier, block_bytes) or 0.0
    # The longer of both latencies: a job of either kind must reach the cap.
    needed = _DEPTH_RESERVE * cap * max(read_s, write_s)
    return int(min(MAX_DEPTH, max(least, needed)))


def pause_s(tier: Tier) -> float:
    """The pause between single requests in which no cap holds them up; 0 if latency is enough."""
    cap = cap_per_s(tier, 4096)
    if cap is None:
        return 0.0
    needed_s = 1 / (_UNHURRIED * cap)
    # No request waits for the cap if the disk takes longer for each than the cap asks for.
    alone_s = min(latency_s(tier, "read") or 0.0, latency_s(tier, "write") or 0.0)
    if alone_s >= needed_s:
        return 0.0
    return needed_s


def bound_by_depth(tier: Tier, depth: int, read_share: float) -> str:
    """The limit in a few words: `128 in flight at 25 ms`."""
    request_s = depth / (reach_per_s(tier, depth, read_share) or 1.0)
    return f"{depth} in flight at {format_seconds(request_s)}"


def bound_by_bytes(tier: Tier, block_bytes: int) -> str:
    """The limit in a few words if bytes/s and not IOPS are the cap at this size; else ""."""
    rate = tier.limits.bytes_per_s
    iops = tier.limits.iops
    if not rate or not iops:
        return ""
    if rate / block_bytes < (1 - _ALIKE) * iops:
        return f"{format_bytes_per_s(rate)} bind"
    return ""


def judged(
    quantity: GateQuantity,
    limit: str,
    unit: str,
    declared: float | None,
    measured: float,
    tolerance_pct: float,
) -> GateCheck:
    """What was measured held against what was declared. `unit`: "s" of a time."""
    if declared is None:
        return GateCheck(
            limit=limit,
            unit=unit,
            declared=None,
            measured=measured,
            tolerance_pct=None,
            verdict="not declared",
            quantity=quantity,
        )
    # Less time is faster.
    more_is_faster = unit != "s"
    is_more = measured > declared
    verdict: GateWord = "ok"
    # A quotient would be rounded, and then 5 % be more than 5 %.
    if 100 * abs(measured - declared) > tolerance_pct * declared:
        verdict = "slow"
        if is_more == more_is_faster:
            verdict = "faster than declared (cache or burst)"
    return GateCheck(limit, unit, declared, measured, tolerance_pct, verdict, quantity)


# ------------------------------------------------------------------ the tail of latencies

P99_TOLERANCE_PCT = 20.0
FEWEST_TIMED = 10_000  # requests of each direction: a hundred lie beyond the p99
_TAIL_RESERVE = 1.2  # factor of the time that so many requests take
_LONGEST_TAIL_S = 300.0
# A real disk's is shown where so many requests of both directions can be timed in so long.
_FEWEST_SHOWN = 2200
_MOST_SHOWN_S = 7.0
_ASSUMED_LATENCY_S = 1e-3

_QUANTITIES: Mapping[Way, GateQuantity] = {
    "read": "latency_p99_read",
    "write": "latency_p99_write",
}


def tail_window_s(tier: Tier, thorough: bool) -> float:
    """How long single requests are timed until there are enough of them, as far as a gate may
    last; 0 if that is too long, or latencies are constant."""
    if tier.disk.is_real:
        needed_s = _FEWEST_SHOWN * (pause_s(tier) + _ASSUMED_LATENCY_S)
        if needed_s <= _MOST_SHOWN_S:
            return needed_s
        return 0.0
    model = tier.latency.model
    if model is None or not thorough:
        return 0.0
    average_s = (mean_s(model.read) + mean_s(model.write)) / 2
    request_s = pause_s(tier) + average_s
    # Twice, because reads and writes take turns in one job.
    needed_s = _TAIL_RESERVE * 2 * FEWEST_TIMED * request_s
    return min(_LONGEST_TAIL_S, needed_s)


def tail_checks(tier: Tier, job: Mapping[str, Any]) -> Iterator[GateCheck]:
    """One check for reads and one for writes, of fio's result of single requests."""
    for way, quantity in _QUANTITIES.items():
        limit = f"p99 latency at queue depth 1, {way}"
        if tier.disk.is_real:
            tail_s = fio_jobs.p99_s(job, way)
            if tail_s:
                yield GateCheck(
                    limit=limit,
                    unit="s",
                    declared=None,
                    measured=tail_s,
                    tolerance_pct=None,
                    verdict="not declared",
                    quantity=quantity,
                )
        table = quantiles(tier, way)
        if table is not None:
            yield _tail_check(quantity, limit, table, job[way]["lat_ns"])


def _tail_check(
    quantity: GateQuantity, limit: str, table: Quantiles, timed: Mapping[str, Any]
) -> GateCheck:
    declared_s = quantile_s(table, 0.99)
    measured_s = float(timed["percentile"]["99.000000"]) * 1e-9
    check = judged(quantity, limit, "s", declared_s, measured_s, P99_TOLERANCE_PCT)
    if timed["N"] < FEWEST_TIMED:
        return replace(check, tolerance_pct=None, verdict="too few requests")
    return check
