"""The distribution of latency of each tier, from every transaction that was kept, thinned to what a
chart can show. Each point is an exact nearest-rank percentile: a latency that occurred."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator.analysis.figures.counted import Counted, together
from orchestrator.analysis.figures.transactions import Window
from orchestrator.analysis.metric_values import value_of
from orchestrator.analysis.results import RunData, measured_window
from orchestrator.analysis.statistics.stats import MIN_BEYOND
from orchestrator.metrics import NEW_ORDER
from orchestrator.report.blocks import Chart, Charts, Paragraph, Part, Section
from orchestrator.report.charts import charts
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.wording import sentence
from orchestrator.texts import prose

MAX_POINTS = 300
# Points between 90 and 99 %, and between 99 and 99.9 %.
_STEPS_PER_NINE = 50
_NAMED_PCT = (50.0, 95.0)  # stand between steps; 90, 99, 99.9, … are steps themselves
_P50 = -math.log10(0.5)
_LEAST_MS = 1e-3  # what generators write down
# What a whole number may lose to rounding, so that it is not taken for the one below it.
_LAST_DIGIT = 1e-9


_ABOUT = (
    "A curve shows every measured transaction of a tier, of all runs together. It ends where ten "
    "transactions are slower. Tables and verdicts use the mean of the runs' percentiles "
    "instead. The axis is stretched towards 100 %."
)


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
    parts = tuple(_parts(index))
    if not parts:
        return ()
    about = Part("", (Paragraph(_ABOUT),))
    return (Section("latency", "Latency of every transaction", (about, *parts)),)


def _parts(index: ReportIndex) -> Iterator[Part]:
    for workload in index.workloads:
        drawn = tuple(of_workload(index, workload.name))
        if drawn:
            counts = " ".join(chart.remark for chart in drawn)
            shown = Charts(drawn, index.tiers_with_figures, counts)
            yield Part(workload.name, (shown,))


# ------------------------------------------------------------------ charts


def of_workload(index: ReportIndex, workload: str) -> Iterator[Chart]:
    """A chart of all transactions, and before it one of New-Orders where they are counted apart."""
    titles = {"all": "transactions"}
    if index.figures.latency_scope(workload) == NEW_ORDER:
        # Delivery is 4 % of the mix and ten times slower, so it would draw the whole tail.
        titles = {NEW_ORDER: "New-Orders", "all": "all transactions but Delivery"}
    by_tier: dict[str, dict[str, Distribution]] = {}
    for tier in index.tiers:
        # The files of a run are read once for all of its curves, as they may be large.
        by_tier[tier] = of_runs(index.finished(tier, workload), titles)
    for scope, what in titles.items():
        curves = _curves(by_tier, scope)
        if curves:
            yield _chart(_name(workload, scope), what, curves, index.tiers)


def _curves(
    by_tier: Mapping[str, Mapping[str, Distribution]], scope: str
) -> dict[str, Distribution]:
    """Tier → its distribution of these transactions, where it has one."""
    curves: dict[str, Distribution] = {}
    for tier, distributions in by_tier.items():
        if scope in distributions:
            curves[tier] = distributions[scope]
    return curves


def _name(workload: str, scope: str) -> str:
    if scope == "all":
        return f"{workload}-latency-distribution"
    return f"{workload}-latency-distribution-new-order"


def _chart(
    name: str, what: str, curves: Mapping[str, Distribution], tiers: Sequence[str]
) -> Chart:
    spec = _spec(what, curves, tiers)
    reading = _reading(list(curves))
    tables = {"curves": list(_points(curves))}
    title = f"Latency of {what} by percentile, ms on a log scale"
    remark = _transactions_in_words(what, curves)
    return charts.figure(name, title, spec, tables, remark, [reading])


def _reading(tiers: Sequence[str]) -> dict[str, Any]:
    """The tiers' latencies at the percentile under the pointer."""
    shown_place = f"({_percent('datum.nines')}) + ' %'"
    zoom = [charts.drawing("zoom")]
    return charts.readings("curves", "nines", tiers, "ms", shown_place, more=zoom)


def _spec(
    what: str, curves: Mapping[str, Distribution], tiers: Sequence[str]
) -> dict[str, Any]:
    marks = _marks(curves.values())
    percent = _percent("datum.value")
    return charts.drawing("latency", tiers, what=what, marks=marks, percent=percent)


def _transactions_in_words(what: str, curves: Mapping[str, Distribution]) -> str:
    counts = "; ".join(_counts(curves))
    return sentence(f"{what}: {counts}")


def _marks(curves: Iterable[Distribution]) -> list[float]:
    """The marks of the axis: at the least, at p50, then at each further nine."""
    last = max(float(curve.nines[-1]) for curve in curves)
    whole_nines = math.floor(last + _LAST_DIGIT)
    return [0.0, _P50, *range(1, whole_nines + 1)]


def _points(curves: Mapping[str, Distribution]) -> Iterator[dict[str, Any]]:
    for tier, curve in curves.items():
        for nines, latency_s in zip(curve.nines, curve.latency_s, strict=True):
            # The axis is logarithmic, on which zero has no place.
            latency_ms = max(float(latency_s) * 1e3, _LEAST_MS)
            yield {"tier": tier, "nines": float(nines), "value": latency_ms}


def _counts(curves: Mapping[str, Distribution]) -> Iterator[str]:
    """`ultra 1,200,000 in 3 runs`."""
    for tier, curve in curves.items():
        runs = prose.counted(curve.runs, "run")
        yield f"{tier} {curve.transactions:,} in {runs}"


def _percent(nines: str) -> str:
    """An expression: 2 → `99`, 3 → `99.9`, with as many digits as tell it from its neighbours."""
    return f"format(100 - 100 * pow(10, -{nines}), '.' + max(0, ceil({nines} - 1.001)) + '~f')"


# ------------------------------------------------------------------ percentiles


def of_runs(runs: Iterable[RunData], scopes: Iterable[str]) -> dict[str, Distribution]:
    """Scope → the distribution of the measured windows of all runs together, without those of which
    too little was kept: a curve needs two points, hence 20 transactions."""
    windows = list(_windows(runs))
    by_scope: dict[str, Distribution] = {}
    for scope in scopes:
        distribution = _distribution([window.ranked(scope) for window in windows])
        if distribution is not None:
            by_scope[scope] = distribution
    return by_scope


def _windows(runs: Iterable[RunData]) -> Iterator[Window]:
    """The windows that were measured, with the latencies that were kept of each."""
    for run in runs:
        span_s = measured_window(run.record)
        if span_s is not None:
            # A transaction at a rate counts by when it was due, not by when it ended.
            is_at_a_rate = value_of(run.record, "offered_per_s") is not None
            window = Window(*span_s, run.record.workload.thinks, is_at_a_rate)
            # One table at a time: a long run has more transactions than memory holds.
            for table in run.transactions():
                window.add_latencies(table)
            yield window


def _distribution(latencies_of_runs: Sequence[Counted]) -> Distribution | None:
    # A run without this type of transactions is not counted among the runs of the curve.
    kept = [latencies for latencies in latencies_of_runs if latencies.total]
    latencies = together(kept)
    count = latencies.total
    # The median must have ten transactions beyond it, else a curve has no point but its begin.
    if count < 2 * MIN_BEYOND:
        return None
    # Ten transactions lie beyond 1 − 10 / count; as nines that is log10(count / 10).
    nines = _places(math.log10(count / MIN_BEYOND))
    share = -np.expm1(-nines * math.log(10.0))  # 1 − 10^−nines without losing digits
    # A whole p·n must not be rounded up because of its last digit.
    ranks = np.ceil(share * count - 1e-6).astype(int)
    # The nearest rank would be 0 at the place 0, and ranks count from 1: the least latency.
    ranks = np.maximum(ranks, 1)
    return Distribution(len(kept), count, nines, latencies.at_ranks(ranks))


def _places(last: float) -> np.ndarray:
    """Places up to `last`, the same for every tier, so that values can be read across."""
    # The one more is the place 0, with which a curve begins.
    most_steps = MAX_POINTS - 1 - len(_NAMED_PCT)
    steps = min(math.floor(last * _STEPS_PER_NINE + _LAST_DIGIT), most_steps)
    places = {step / _STEPS_PER_NINE for step in range(steps + 1)}
    for percent in _NAMED_PCT:
        nines = -math.log10(1 - percent / 100)
        if nines <= last:
            places.add(nines)
    return np.array(sorted(places))
