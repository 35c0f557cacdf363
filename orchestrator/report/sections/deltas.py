"""Changes against the baseline: latency, then throughput, as tables and as dots with intervals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator import units
from orchestrator.analysis.answers.headline_figures import ComparedFigure
from orchestrator.analysis.conclusions import Delta
from orchestrator.design.slow_disks import SLOW_SCOPE
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Cell,
    Chart,
    Charts,
    Paragraph,
    Part,
    Row,
    Section,
    Table,
    table_of,
)
from orchestrator.report.charts import charts
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import caveats
from orchestrator.report.sections.summary import change_cell, levels


@dataclass(frozen=True)
class _Titled:
    """A figure that tiers are compared by. `metric` "": the throughput of the workload. `scope`:
    the time in the window; empty: all of it."""

    metric: str
    word: str
    scope: str = ""


_THROUGHPUT = _Titled("", "")
_AVERAGE = _Titled("latency_avg_s", "average")
_P99 = _Titled("latency_p99_s", "p99")
# Figures while the node was rebuilt.
_REBUILD = (
    _Titled("rebuild_s", "time to rebuild"),
    _Titled("latency_p99_s", "p99 meanwhile", "rebuild"),
    _Titled("throughput_per_s", "transactions/s meanwhile", "rebuild"),
)
# A disk was slow.
_SLOW_DISK = (
    _Titled("latency_avg_s", "average latency meanwhile", SLOW_SCOPE),
    _Titled("latency_p99_s", "p99 meanwhile", SLOW_SCOPE),
    _Titled("throughput_per_s", "transactions/s meanwhile", SLOW_SCOPE),
    _Titled("slow_share_pct", "throughput kept meanwhile, %"),
    _Titled("recovery_s", "time to recover"),
)


def section(index: ReportIndex) -> Section:
    """Tables, and why some comparisons are open."""
    baseline = index.verdict.baseline
    if not _compared_tiers(index):
        nothing = Paragraph(
            f"Only {baseline} was measured, so there are no differences to show. Compare it with "
            "another profile to get them."
        )
        return Section("deltas", "Against another tier", (Part("", (nothing,)),))
    return Section("deltas", f"Against {baseline}", tuple(_parts(index)))


def _parts(index: ReportIndex) -> Iterator[Part]:
    latencies = [_AVERAGE]
    # Short runs have too few transactions for a p99, and its rows would be gaps.
    if index.figures.has_metric("latency_p99_s"):
        latencies.append(_P99)
    yield Part("Latency (negative is better)", (_table(index, latencies),))
    yield Part("Throughput (positive is better)", (_table(index, [_THROUGHPUT]),))
    if index.figures.has_metric("rebuild_s"):
        rebuilt = _table(index, _REBUILD)
        yield Part("A lost node (less time is better)", (rebuilt,))
    if index.figures.has_metric("slow_share_pct"):
        slow_disk = _table(index, _SLOW_DISK)
        which = Paragraph(caveats.slow_disks_in_words(index))
        yield Part("A slow disk", (which, slow_disk))
    yield from _open_questions(index)


def _compared_tiers(index: ReportIndex) -> tuple[str, ...]:
    """All that is held against the baseline: other tiers, then its second name."""
    if index.twin:
        return (*index.contenders, index.twin)
    return index.contenders


# ------------------------------------------------------------------ tables


def _table(index: ReportIndex, figures: Sequence[_Titled]) -> Table:
    """Tiers down, workloads across."""
    rows: list[Row] = []
    for contender in _compared_tiers(index):
        for figure in figures:
            rows.append(_changes_row(index, contender, figure))
    return table_of(rows, ("Tier",))


def _changes_row(
    index: ReportIndex, contender: str, figure: _Titled
) -> dict[str, Cell]:
    row = {"Tier": Cell(contender, detail=figure.word, tier=contender)}
    for workload in index.workloads:
        by = _compared_by(index, figure, workload.name)
        row[workload.name] = change_cell(index, contender, workload.name, by)
    return row


def _compared_by(index: ReportIndex, figure: _Titled, workload: str) -> ComparedFigure:
    metric = figure.metric or index.figures.throughput_metric(workload)
    return ComparedFigure(metric, figure.scope)


def _open_questions(index: ReportIndex) -> Iterator[Part]:
    """Each reason for `inconclusive` once, with the comparisons it holds for."""
    rows: list[Row] = []
    for reason, deltas in _inconclusive_by_reason(index).items():
        comparisons = _comparisons_in_words(index, deltas)
        rows.append({"Comparison": comparisons, "Reason": wording.sentence(reason)})
    if rows:
        table = table_of(rows, ("Comparison", "Reason"))
        yield Part("Why inconclusive", (table,))


def _inconclusive_by_reason(index: ReportIndex) -> dict[str, list[Delta]]:
    by_reason: dict[str, list[Delta]] = {}
    for delta in index.verdict.deltas:
        if delta.verdict == "inconclusive":
            by_reason.setdefault(delta.reason, []).append(delta)
    return by_reason


def _comparisons_in_words(index: ReportIndex, deltas: Sequence[Delta]) -> str:
    """`ultra, insert (throughput, p99 latency)`, and so on; `all` if no comparison lacks."""
    metrics_of = _metrics_by_comparison(deltas)
    # The reason then lies in the campaign itself: nothing was repeated, for example.
    if metrics_of.keys() == {_comparison(delta) for delta in index.verdict.deltas}:
        return "all"
    texts: list[str] = []
    for comparison, words in metrics_of.items():
        # Scopes of one metric have one word.
        figures = ", ".join(dict.fromkeys(words))
        texts.append(f"{comparison} ({figures})")
    return "; ".join(texts)


def _metrics_by_comparison(deltas: Sequence[Delta]) -> dict[str, list[str]]:
    metrics_of: dict[str, list[str]] = {}
    for delta in deltas:
        word = wording.METRICS.get(delta.metric, delta.metric)
        metrics_of.setdefault(_comparison(delta), []).append(word)
    return metrics_of


def _comparison(delta: Delta) -> str:
    return f"{delta.contender}, {delta.workload}"


# ------------------------------------------------------------------ charts


def charts_of_changes(index: ReportIndex) -> tuple[Charts, ...]:
    """Each change as a dot with its interval; none if there is nothing to compare."""
    drawn = tuple(_drawn(index))
    if not drawn:
        return ()
    return (Charts(drawn, index.contenders, _caption(index)),)


def _caption(index: ReportIndex) -> str:
    plan = index.campaign.plan
    margins = wording.margins(plan.judging.margin_pct, plan.judging.p99_margin_pct)
    at_level = levels(index)
    if not at_level:
        return (
            "Dots: change, without an interval since nothing was repeated. "
            f"Shaded: {margins}."
        )
    return (
        f"Dots: change of the mean; bars: {at_level} interval, cut off if it is far wider than "
        f"the changes. Shaded: {margins}, within which a change does not matter."
    )


@dataclass(frozen=True)
class _ChangesDrawn:
    """A chart of changes. `name`: the end of its file's; `better`: to which side."""

    figure: _Titled
    name: str
    title: str
    better: str


_DRAWN = (
    _ChangesDrawn(_THROUGHPUT, "throughput", "Throughput", "right is better"),
    _ChangesDrawn(_AVERAGE, "latency", "Average latency", "left is better"),
)


def _drawn(index: ReportIndex) -> Iterator[Chart]:
    for drawn in _DRAWN:
        rows = [_change_row(delta) for delta in _deltas_drawn(index, drawn.figure)]
        if rows:
            yield _chart(index, drawn, rows)


def _deltas_drawn(index: ReportIndex, figure: _Titled) -> Iterator[Delta]:
    """The changes that are drawn. Those of overload are not, because they rest on no change."""
    for workload in index.workloads:
        by = _compared_by(index, figure, workload.name)
        for contender in index.contenders:
            delta = index.figures.delta(contender, workload.name, by)
            if delta is not None and not delta.overloaded:
                yield delta


def _chart(
    index: ReportIndex, drawn: _ChangesDrawn, rows: Sequence[Mapping[str, Any]]
) -> Chart:
    spec = _spec(index, drawn, rows)
    title = f"Change of {drawn.title.lower()} by tier"
    return charts.figure(f"changes-{drawn.name}", title, spec, {"changes": rows})


def _spec(
    index: ReportIndex, drawn: _ChangesDrawn, rows: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    # Throughput and average latency are drawn, which have the usual margin; p99 has its own.
    margin_pct = index.campaign.plan.judging.margin_pct
    workloads = list(dict.fromkeys(row["workload"] for row in rows))
    # "nice" would widen the axis to round numbers, and undo the cut.
    across = {"domain": _domain(rows, margin_pct), "nice": False}
    what = drawn.title.lower()
    return charts.drawing(
        "changes",
        index.tiers,
        title=drawn.title,
        better=drawn.better,
        what=what,
        workloads=workloads,
        below=-margin_pct,
        above=margin_pct,
        across=across,
    )


def _change_row(delta: Delta) -> dict[str, Any]:
    # The bar has no length if there is no interval.
    low_pct = delta.ci_low_pct
    if low_pct is None:
        low_pct = delta.change_pct
    high_pct = delta.ci_high_pct
    if high_pct is None:
        high_pct = delta.change_pct
    row: dict[str, Any] = {"tier": delta.contender, "workload": delta.workload}
    row["change"] = delta.change_pct
    row["low"] = low_pct
    row["high"] = high_pct
    row["told"] = units.format_change(delta.change_pct)
    row["interval"] = wording.interval(delta) or "none"
    row["verdict"] = delta.verdict
    return row


def _domain(rows: Sequence[Mapping[str, Any]], margin_pct: float) -> list[float]:
    """All dots and the margin; intervals too, but cut if they are much wider than both."""
    changes = [abs(row["change"]) for row in rows]
    # An interval of few repetitions may be hundreds of percent wide, and all dots would be one.
    reach = 2 * max(margin_pct, *changes)
    lowest = min(row["low"] for row in rows)
    # Nothing falls by more than 100 %.
    low = max(lowest, -reach, -100.0)
    # The shaded margin stays in sight, also where all changes are small.
    low = min(low, -margin_pct)
    high = min(max(row["high"] for row in rows), reach)
    high = max(high, margin_pct)
    # Room at either end lets no dot lie on the edge.
    room = (high - low) * 0.05
    return [low - room, high + room]
