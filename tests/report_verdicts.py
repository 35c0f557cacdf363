"""A verdict written by hand, for tests of the report: every word, missing cells, one of each doubt.

It goes with `campaign()`: two repetitions of three tiers and three workloads, of which premium has
no insert at all and ultra lost one of its two. The figures are round, so that a reader of the
golden report can check each against this file.
"""

from __future__ import annotations

from dataclasses import replace

from orchestrator.analysis.conclusions import (
    Bottleneck,
    CellSummary,
    Change,
    ClusterDecision,
    Decision,
    Delta,
    NeighbourTier,
    Offer,
    ReasonParts,
    Verdict,
    VerdictWord,
    WithoutWorkload,
)
from orchestrator.analysis.results import Results
from orchestrator.metrics import METRICS
from orchestrator.model import Doubt, Note
from tests.campaigns import build_campaign

FAILED_RUN = 17  # ultra, insert, second repetition
_V2, _SELECT = "premium-v2", "point-select"

# profile, workload, scope of latency, n, throughput/s, NOPM, average s, p99 s, CPU %, IOPS, bytes/s
_Row = tuple[str, str, str, int, float, float | None, float, float, float, float, float]
_CELLS: tuple[_Row, ...] = (
    (
        "premium",
        "point-select",
        "all",
        2,
        1500.0,
        None,
        0.040,
        0.100,
        41.0,
        1098.0,
        18e6,
    ),
    (
        "premium-v2",
        "point-select",
        "all",
        2,
        4300.0,
        None,
        0.014,
        0.036,
        91.0,
        5375.0,
        88e6,
    ),
    (
        "ultra",
        "point-select",
        "all",
        2,
        4200.0,
        None,
        0.0143,
        0.037,
        92.0,
        5390.0,
        88.5e6,
    ),
    ("premium-v2", "insert", "all", 2, 600.0, None, 0.0401, 0.098, 91.0, 720.0, 11.8e6),
    ("ultra", "insert", "all", 1, 605.0, None, 0.0397, 0.095, 92.0, 725.0, 11.9e6),
    (
        "premium",
        "tpcc",
        "new_order",
        2,
        310.0,
        8370.0,
        0.108,
        0.260,
        52.0,
        1095.0,
        18e6,
    ),
    (
        "premium-v2",
        "tpcc",
        "new_order",
        2,
        315.0,
        8505.0,
        0.106,
        0.250,
        62.0,
        2400.0,
        39e6,
    ),
    ("ultra", "tpcc", "new_order", 2, 290.0, 7830.0, 0.116, 0.280, 66.0, 2600.0, 43e6),
)

_BETTER = "the whole interval lies on one side of no change"
_OPEN = "the interval includes no change and also more than ±5 %: needs about 3 more repetitions"

# contender, workload, metric, scope, change %, low %, high %, word, reason
_ROWS: tuple[tuple[str, str, str, str, float, float, float, VerdictWord, str], ...] = (
    (_V2, _SELECT, "throughput_per_s", "all", 187.0, 180.0, 194.0, "better", _BETTER),
    (_V2, _SELECT, "latency_avg_s", "all", -65.0, -66.1, -63.9, "better", _BETTER),
    (_V2, _SELECT, "latency_p99_s", "all", -64.0, -66.0, -62.0, "better", _BETTER),
    (
        "ultra",
        _SELECT,
        "throughput_per_s",
        "all",
        180.0,
        150.0,
        210.0,
        "better",
        _BETTER,
    ),
    ("ultra", _SELECT, "latency_avg_s", "all", -64.3, -70.0, -58.0, "better", _BETTER),
    ("ultra", _SELECT, "latency_p99_s", "all", -63.0, -71.0, -55.0, "better", _BETTER),
    (_V2, "tpcc", "nopm", "all", 1.6, -2.1, 4.9, "same", "within ±5 %"),
    (_V2, "tpcc", "latency_avg_s", "new_order", -1.9, -4.4, 0.6, "same", "within ±5 %"),
    (
        _V2,
        "tpcc",
        "latency_p99_s",
        "new_order",
        -3.8,
        -12.0,
        4.5,
        "inconclusive",
        _OPEN,
    ),
    ("ultra", "tpcc", "nopm", "all", -6.5, -8.5, -4.5, "worse", _BETTER),
    ("ultra", "tpcc", "latency_avg_s", "new_order", 7.4, 5.2, 9.6, "worse", _BETTER),
    (
        "ultra",
        "tpcc",
        "latency_p99_s",
        "new_order",
        7.7,
        -9.0,
        24.0,
        "inconclusive",
        _OPEN,
    ),
)
_DELTAS = tuple(
    Delta(
        "premium", contender, workload, name, scope, METRICS[name].unit, METRICS[name].direction,
        2, 2, change_pct, low_pct, high_pct, word, reason,
    )
    for contender, workload, name, scope, change_pct, low_pct, high_pct, word, reason in _ROWS
)  # fmt: skip

_FEWER_NODES = "1 database node instead of the profile's 3 (this machine has 2 cores)"
_NOTES = tuple(
    Note("fewer nodes", _FEWER_NODES, name)
    for name in ("premium", "premium-v2", "ultra")
)
_STAND_IN = Note(
    "fallback database",
    "PostgreSQL stands in for YugabyteDB: no image of it can be had here",
)


def reported_campaign(*, frames: bool = True) -> Results:
    return build_campaign(
        repetitions=2,
        nodes=1,
        warmup_s=5.0,
        measure_s=20.0,
        missing=[("premium", "insert")],
        failed=[FAILED_RUN],
        notes=(*_NOTES, _STAND_IN),
        frames=frames,
    )


def verdict() -> Verdict:
    return Verdict(
        schema_version=2,
        baseline="premium",
        cells=tuple(cell for row in _CELLS for cell in _cells(row)),
        deltas=_DELTAS,
        bottlenecks=_bottlenecks(),
        decisions=_decisions(),
        doubts=_doubts(),
        missing=("premium × insert: no finished run",),
        cluster=ClusterDecision(
            None,
            "no tier can be proven enough for all 3 workloads together: insert has no answer. "
            f"Without insert: {_V2}, 85.00 USD a month",
            (_SELECT, "insert", "tpcc"),
            {"premium": "open", _V2: "open", "ultra": "open"},
            reason_parts=ReasonParts(
                claims=("no tier can be proven enough for all 3 workloads together",),
                proofs=("insert has no answer",),
            ),
            without=(WithoutWorkload("insert", _V2, 85.0, "USD"),),
        ),
    )


def _cells(row: _Row) -> list[CellSummary]:
    (
        profile,
        workload,
        scope,
        n,
        throughput,
        nopm,
        average_s,
        p99_s,
        cpu_pct,
        iops,
        bytes_per_s,
    ) = row
    means = {
        ("throughput_per_s", "all"): throughput,
        ("nopm", "all"): nopm,
        ("latency_avg_s", scope): average_s,
        ("latency_p95_s", scope): p99_s * 0.7,
        ("latency_p99_s", scope): p99_s,
        ("statement_latency_avg_s", "all"): None if nopm else average_s / 10,
        ("cpu_pct", "all"): cpu_pct,
        ("disk_iops", "all"): iops,
        ("disk_iops", "node-1"): iops,
        ("disk_bytes_per_s", "all"): bytes_per_s,
        ("transactions", "all"): throughput * 20,
        ("retries", "all"): 12.0 if nopm else 0.0,
        ("failures", "all"): 0.0,
    }
    return [
        summary(profile, workload, metric, scope, mean, n)
        for (metric, scope), mean in means.items()
        if mean is not None
    ]


def summary(
    profile: str, workload: str, metric: str, scope: str, mean: float, n: int
) -> CellSummary:
    """With an interval of ± 2 % if there are two runs."""
    unit, direction = METRICS[metric].unit, METRICS[metric].direction
    low, high = (mean * 0.98, mean * 1.02) if n > 1 else (None, None)
    values = (mean,) * n
    return CellSummary(
        profile,
        workload,
        metric,
        scope,
        unit,
        direction,
        n,
        mean,
        mean,
        low,
        high,
        values,
    )


def _bottlenecks() -> tuple[Bottleneck, ...]:
    at_cap = {
        "iops_of_cap_pct": 99.8,
        "bandwidth_of_cap_pct": 14.4,
        "disk_await_s": 0.018,
        "idle_disk_latency_s": 0.002,
        "cpu_pct": 41.0,
    }
    busy = {"iops_of_cap_pct": 53.8, "disk_await_s": 0.0011, "cpu_pct": 91.0}
    capped = "At the IOPS cap 97 % of the time. A tier with more IOPS would help."
    cpu = "node-1 used 91 % of its CPU. A faster disk would not help; more CPU would."
    return (
        Bottleneck("premium", "point-select", "node-1", "iops_cap", capped, at_cap),
        Bottleneck("premium-v2", "point-select", "node-1", "cpu_bound", cpu, busy),
    )


def _decisions() -> tuple[Decision, ...]:
    cheapest = "the cheapest tier within 5 % of the best throughput"
    alone = "premium has no figures to compare with"
    within = "within 5 % of the best"
    worse = Change("throughput_per_s", "all", "throughput", _V2, -63.4, -66.0, -60.7)
    alike = replace(
        worse, against="premium", change_pct=173.0, ci_low_pct=154.0, ci_high_pct=194.0
    )
    said = (
        "1,000 transactions/s",
        "USD",
        True,
        "westus2",
        "2026-01-01",
        "example price list",
    )
    offers = (
        Offer("premium", "not enough", 34.56, 21.96, *said, (worse,), (), 66.0),
        Offer(_V2, "enough", 85.0, 19.74, *said, (alike,), (), 0.0),
    )
    step = NeighbourTier("premium", -50.44, (worse,))
    return (
        Decision(
            _SELECT,
            _V2,
            f"{_V2} is {cheapest}",
            85.0,
            "USD",
            ReasonParts(tier_is=cheapest),
            criterion="throughput",
            offers=offers,
            cheaper=step,
        ),
        Decision("insert", None, alone, reason_parts=ReasonParts(claims=(alone,))),
        Decision(
            "tpcc",
            "premium",
            f"premium is {within}",
            34.56,
            "USD",
            ReasonParts(tier_is=within),
        ),
    )


def _doubts() -> tuple[Doubt, ...]:
    drift = "measure longer, or warm up longer"
    fewer = "run on a machine with two cores per node"
    return (
        Doubt(
            "emulated tier",
            "the disks of premium, premium-v2, ultra are emulated on this machine",
            "for absolute figures run on the provider's disks (`enforcement: mounted`)",
        ),
        *(
            Doubt("fewer nodes", note.text, fewer, profile=note.profile)
            for note in _NOTES
        ),
        Doubt(
            "unsteady throughput",
            "throughput fell by 7 % over the measured window",
            drift,
            3,
        ),
        Doubt(
            "unsteady throughput",
            "throughput fell by 9 % over the measured window",
            drift,
            12,
        ),
        Doubt(
            "few transactions",
            "1,234 transactions are few for a p99",
            "measure at least 60 s",
            8,
        ),
    )
