"""The 99th percentile of latencies: drawn ones are held against the table that they are drawn from,
a real disk's are shown.

Of a constant latency it is not looked at: what lies beyond is this machine's, not the tier's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.facts import GateQuantity, GateWord
from orchestrator.planning.latency_quantiles import mean_s, quantile_s
from orchestrator.tier import GateCheck, Tier
from orchestrator.tiers.common.gate import expected, fio_jobs

TOLERANCE_PCT = 20.0
FEWEST = 10_000  # requests of each direction: a hundred lie beyond the p99
_RESERVE = 1.2
_MOST_S = 300.0
# A real disk's is shown where so many requests of both directions can be timed in so long.
_FEWEST_SHOWN, _MOST_SHOWN_S = 2200, 7.0
_ASSUMED_S = 1e-3

_QUANTITIES: Mapping[expected.Way, GateQuantity] = {
    "read": "latency_p99_read",
    "write": "latency_p99_write",
}


def window_s(tier: Tier, thorough: bool) -> float:
    """How long single requests are timed until there are enough of them, as far as a gate may
    last; 0 if that is too long, or latencies are constant."""
    if tier.disk.is_real:
        needed_s = _FEWEST_SHOWN * (expected.pause_s(tier) + _ASSUMED_S)
        return needed_s if needed_s <= _MOST_SHOWN_S else 0.0
    model = tier.latency.model
    if model is None or not thorough:
        return 0.0
    one_s = expected.pause_s(tier) + (mean_s(model.read) + mean_s(model.write)) / 2
    return min(_MOST_S, _RESERVE * 2 * FEWEST * one_s)


def checks(tier: Tier, job: Mapping[str, Any]) -> Iterator[GateCheck]:
    """One check for reads and one for writes, of fio's result of single requests."""
    for way, quantity in _QUANTITIES.items():
        limit = f"p99 latency at queue depth 1, {way}"
        if tier.disk.is_real and (tail_s := fio_jobs.p99_s(job, way)):
            yield GateCheck(limit, "s", None, tail_s, None, "not declared", quantity)
        table = expected.quantiles(tier, way)
        if table is None:
            continue
        timed = job[way]["lat_ns"]
        declared_s = quantile_s(table, 0.99)
        measured_s = float(timed["percentile"]["99.000000"]) * 1e-9
        off_pct = (measured_s / declared_s - 1) * 100
        allowed_pct: float | None = TOLERANCE_PCT
        verdict: GateWord = "ok"
        if timed["N"] < FEWEST:
            verdict, allowed_pct = "too few requests", None
        elif abs(off_pct) > TOLERANCE_PCT:
            verdict = "slow" if off_pct > 0 else "faster than declared (cache or burst)"
        yield GateCheck(limit, "s", declared_s, measured_s, allowed_pct, verdict, quantity)
