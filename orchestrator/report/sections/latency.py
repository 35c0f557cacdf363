"""The distribution of latency of each tier, from every transaction that was kept, thinned to what a
chart can show. Each point is an exact nearest-rank percentile: a latency that occurred."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator import units
from orchestrator.analysis.figures.counted import Counted, together
from orchestrator.analysis.figures.transactions import Window
from orchestrator.analysis.results import RunData, measured_window, value_of
from orchestrator.analysis.statistics.stats import MIN_BEYOND
from orchestrator.report.blocks import Chart, Charts, Paragraph, Part, Section
from orchestrator.report.charts import charts
from orchestrator.report.prose import said
from orchestrator.report.report_index import NEW_ORDER, ReportIndex
from orchestrator.report.wording import sentence

MAX_POINTS = 300
_STEPS_PER_NINE = 50
_NAMED_PCT = (50.0, 95.0)  # stand between steps; 90, 99, 99.9, … are steps themselves
_P50 = -math.log10(0.5)
_LEAST_MS = 1e-3  # what generators write down


@dataclass(frozen=True)
class Distribution:
    """Latency by percentile of `transactions` from `runs` runs together. nines: −log10(1 − p/100),
    the axis on which 90, 99 and 99.9 % stand equally far apart; the last place has ten transactions
    beyond it, since single ones would draw the rest. latency_s: of the same places."""

    runs: int
    transactions: int
    nines: np.ndarray
    latency_s: np.ndarray


def section(index: ReportIndex) -> tuple[Section, ...]:
    """Empty if no run kept its transactions."""
    parts = []
    for workload in index.workloads:
        drawn = tuple(of_workload(index, workload.name))
        if drawn:
            counted = " ".join(chart.remark for chart in drawn)
            parts.append(
                Part(workload.name, (Charts(drawn, index.tiers_with_figures, counted),))
            )
    about = Part("", (Paragraph(said("latency.about")),))
    title = "Latency of every transaction"
    if parts:
        return (Section("latency", title, (about, *parts)),)
    return ()


def of_workload(index: ReportIndex, workload: str) -> Iterator[Chart]:
    """A chart of all transactions, and before it one of New-Orders where they are counted apart."""
    scopes = {"all": "transactions"}
    if index.latency_scope(workload) == NEW_ORDER:
        scopes = {NEW_ORDER: "New-Orders", "all": "all transactions but Delivery"}
    by_tier = {
        tier: of_runs(index.finished(tier, workload), scopes) for tier in index.tiers
    }
    for scope, what in scopes.items():
        curves = {
            tier: of_tier[scope]
            for tier, of_tier in by_tier.items()
            if scope in of_tier
        }
        if curves:
            suffix = "-new-order"
            if scope == "all":
                suffix = ""
            yield _chart(
                f"{workload}-latency-distribution{suffix}", what, curves, index.tiers
            )


def _chart(
    name: str, what: str, curves: Mapping[str, Distribution], tiers: Sequence[str]
) -> Chart:
    last = max(float(curve.nines[-1]) for curve in curves.values())
    spec = charts.drawing(
        "latency",
        tiers,
        what=what,
        marks=[0.0, _P50, *range(1, math.floor(last + 1e-9) + 1)],
        percent=_percent("datum.value"),
    )
    shown = f"({_percent('datum.nines')}) + ' %'"
    zoom = [charts.drawing("zoom")]
    reading = charts.readings("curves", "nines", list(curves), "ms", shown, more=zoom)
    tables = {
        "curves": [
            {
                "tier": tier,
                "nines": float(nines),
                "value": max(float(slow_s) * 1e3, _LEAST_MS),
            }
            for tier, curve in curves.items()
            for nines, slow_s in zip(curve.nines, curve.latency_s, strict=True)
        ]
    }
    told = f"Latency of {what} by percentile, ms on a log scale"
    counted = "; ".join(
        f"{tier} {curve.transactions:,} in {units.counted(curve.runs, 'run')}"
        for tier, curve in curves.items()
    )
    return charts.figure(
        name, told, spec, tables, sentence(f"{what}: {counted}"), [reading]
    )


def _percent(nines: str) -> str:
    """An expression: 2 → `99`, 3 → `99.9`, with as many digits as tell it from its neighbours."""
    return f"format(100 - 100 * pow(10, -{nines}), '.' + max(0, ceil({nines} - 1.001)) + '~f')"


def of_runs(runs: Iterable[RunData], scopes: Iterable[str]) -> dict[str, Distribution]:
    """Scope → the distribution of the measured windows of all runs together, without those of which
    too little was kept: a curve needs two points, hence 20 transactions."""
    windows: list[Window] = []
    for run in runs:
        window = measured_window(run.record)
        if window is not None:
            at_a_rate = value_of(run.record, "offered_per_s") is not None
            windows.append(Window(*window, run.record.workload.thinks, at_a_rate))
            for table in run.transactions():
                windows[-1].add_latencies(table)
    drawn = {
        scope: _distribution([window.ranked(scope) for window in windows])
        for scope in scopes
    }
    return {scope: curve for scope, curve in drawn.items() if curve is not None}


def _distribution(pieces: Sequence[Counted]) -> Distribution | None:
    pieces = [piece for piece in pieces if piece.total]
    every = together(pieces)
    count = every.total
    if count < 2 * MIN_BEYOND:
        return None
    nines = _places(math.log10(count / MIN_BEYOND))
    share = -np.expm1(-nines * math.log(10.0))  # 1 − 10^−nines without losing digits
    # A whole p·n must not be rounded up because of its last digit.
    rank = np.maximum(np.ceil(share * count - 1e-6).astype(int), 1)
    return Distribution(len(pieces), count, nines, every.at_ranks(rank))


def _places(last: float) -> np.ndarray:
    """The same places for every tier, so that values can be read across; up to `last`."""
    steps = min(
        math.floor(last * _STEPS_PER_NINE + 1e-9), MAX_POINTS - 1 - len(_NAMED_PCT)
    )
    named = [-math.log10(1 - percent / 100) for percent in _NAMED_PCT]
    places = [step / _STEPS_PER_NINE for step in range(steps + 1)]
    return np.array(sorted({*places, *(nines for nines in named if nines <= last)}))
