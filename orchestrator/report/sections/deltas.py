"""Changes against the baseline: latency, then throughput, as tables and as dots with intervals."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator import units
from orchestrator.analysis.conclusions import Delta
from orchestrator.report import blocks, prose, report_index, wording
from orchestrator.report.blocks import (
    Cell,
    Chart,
    Charts,
    Paragraph,
    Part,
    Section,
    Table,
    table_of,
)
from orchestrator.report.charts import charts
from orchestrator.report.sections.summary import change_cell, levels


def section(index: report_index.ReportIndex) -> Section:
    """Tables, and why some comparisons are open."""
    baseline = index.verdict.baseline
    if not index.contenders and not index.twin:
        nothing = Paragraph(prose.said("deltas.alone", baseline=baseline))
        return Section("deltas", "Against another tier", (Part("", (nothing,)),))
    if index.has("latency_p99_s"):
        p99 = {"latency_p99_s": "p99"}
    else:
        p99 = {}
    latency = _table(index, {"latency_avg_s": "average", **p99})
    lost: tuple[Table, ...] = ()
    if index.has("rebuild_s"):
        lost = (_table(index, prose.words("deltas.rebuild")),)
    tables = (
        Part("Latency (negative is better)", (latency,)),
        Part("Throughput (positive is better)", (_table(index, {"": ""}),)),
        *(Part("A lost node (less time is better)", (table,)) for table in lost),
    )
    return Section("deltas", f"Against {baseline}", (*tables, *_open_questions(index)))


def _table(index: report_index.ReportIndex, metrics: Mapping[str, str]) -> blocks.Table:
    """Tiers down, workloads across. `metrics`: metric → its word; "": the rate of the workload."""
    loads = [workload.name for workload in index.workloads]
    rows = [
        {"Tier": Cell(contender, detail=word, tier=contender)}
        | {
            load: change_cell(
                index, contender, load, metric or index.throughput_metric(load)
            )
            for load in loads
        }
        for contender in (*index.contenders, *([index.twin] if index.twin else []))
        for metric, word in metrics.items()
    ]
    return table_of(rows, ("Tier",))


def _open_questions(index: report_index.ReportIndex) -> tuple[Part, ...]:
    """Each reason for `inconclusive` once, with the comparisons it holds for."""
    deltas = index.verdict.deltas
    titles = {id(delta): f"{delta.contender}, {delta.workload}" for delta in deltas}
    reasons = units.gathered(
        (of.reason, of) for of in deltas if of.verdict == "inconclusive"
    )
    rows = []
    for reason, every in reasons.items():
        cells = units.gathered(
            (titles[id(of)], wording.METRICS.get(of.metric, of.metric)) for of in every
        )
        named = "; ".join(
            f"{of} ({', '.join(dict.fromkeys(cells[of]))})" for of in cells
        )
        which = named
        if cells.keys() == {*titles.values()}:
            which = "all"
        rows.append({"Comparison": which, "Reason": wording.sentence(reason)})
    table = table_of(rows, ("Comparison", "Reason"))
    if rows:
        return (Part("Why inconclusive", (table,)),)
    return ()


def charts_of_changes(index: report_index.ReportIndex) -> tuple[Charts, ...]:
    """Each change as a dot with its interval; none if there is nothing to compare."""
    drawn = tuple(_drawn(index))
    if not drawn:
        return ()
    plan = index.campaign.plan
    margin = f"Shaded: {wording.margins(plan.margin_pct, plan.p99_margin_pct)}"
    at = levels(index)
    caption = prose.said(
        "deltas.dots" if at else "deltas.dots_alone", levels=at, margin=margin
    )
    return (Charts(drawn, index.contenders, caption),)


def _drawn(index: report_index.ReportIndex) -> Iterator[Chart]:
    for metric, name, title, better in (
        ("", "throughput", "Throughput", "right is better"),
        ("latency_avg_s", "latency", "Average latency", "left is better"),
    ):
        deltas = [
            delta
            for load in (workload.name for workload in index.workloads)
            for contender in index.contenders
            if (
                delta := index.delta(
                    contender, load, metric or index.throughput_metric(load)
                )
            )
            and not delta.overloaded
        ]
        if deltas:
            rows = [_change_row(delta) for delta in deltas]
            told = f"Change of {title.lower()} by tier"
            margin_pct = index.campaign.plan.margin_pct
            spec = charts.drawing(
                "changes",
                index.tiers,
                title=title,
                better=better,
                what=title.lower(),
                workloads=list(dict.fromkeys(row["workload"] for row in rows)),
                below=-margin_pct,
                above=margin_pct,
                across={"domain": _domain(rows, margin_pct), "nice": False},
            )
            yield charts.figure(f"changes-{name}", told, spec, {"changes": rows})


def _change_row(delta: Delta) -> dict[str, Any]:
    return {
        "tier": delta.contender,
        "workload": delta.workload,
        "change": delta.change_pct,
        "low": delta.change_pct if delta.ci_low_pct is None else delta.ci_low_pct,
        "high": delta.change_pct if delta.ci_high_pct is None else delta.ci_high_pct,
        "told": units.format_change(delta.change_pct),
        "interval": wording.interval(delta) or "none",
        "verdict": delta.verdict,
    }


def _domain(rows: Sequence[Mapping[str, Any]], margin_pct: float) -> list[float]:
    """All dots and the margin; intervals too, but cut if they are much wider than both."""
    reach = max(margin_pct, *(abs(row["change"]) for row in rows)) * 2
    low = max(min(row["low"] for row in rows), -reach, -100.0)
    high = min(max(row["high"] for row in rows), reach)
    low = min(low, -margin_pct)
    high = max(high, margin_pct)
    room = (high - low) * 0.05
    return [low - room, high + room]
