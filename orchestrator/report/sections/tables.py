"""The published study's tables: per workload the values of each tier, then the two of deltas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from orchestrator.analysis.conclusions import CellSummary
from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Paragraph, Part, Section, Table, numbers, texts
from orchestrator.report.report_index import ReportIndex, sentence
from orchestrator.report.sections import transaction_types
from orchestrator.report.sections.summary import change_cell, value_cell


@dataclass(frozen=True)
class _Shown:
    """A column of measured values. `busiest`: of the node that has most of it, not of all."""

    metric: str
    title: str
    busiest: bool = False

    def cell(self, index: ReportIndex, tier: str, workload: str) -> CellSummary | None:
        return (index.busiest if self.busiest else index.cell)(tier, workload, self.metric)


def measured(index: ReportIndex) -> Section:
    """One table per workload, tiers as rows."""
    about = Paragraph(" ".join(_about(index)))
    parts = [_workload_part(index, workload.name) for workload in index.workloads]
    return Section("measured", "Measured", (Part("", (about,)), *parts))


def _about(index: ReportIndex) -> Iterator[str]:
    """How to read the tables, as far as this campaign needs it."""
    if index.campaign.plan.repetitions > 1:
        yield (
            "Means over the repetitions; ± is half the 95 % interval of the mean, relative to it, "
            "and is given from two repetitions on."
        )
    if index.published:
        yield "Values as published, in our units; what no tier has is left out."
    elif _several_nodes(index):
        yield (
            "CPU is the mean of the database nodes, in percent of their limit. Disk figures are "
            "the sum of the nodes; the busiest disk is the one to hold against a tier's limit."
        )
    else:
        yield "CPU is the database node's, in percent of its limit."
    if index.footnotes:
        yield "Raised numbers are the doubts listed with the first table."


def _several_nodes(index: ReportIndex) -> bool:
    return any(profile.cluster.nodes > 1 for profile in index.profiles)


def _columns(index: ReportIndex, workload: str) -> tuple[_Shown, ...]:
    """Per-statement latency, NOPM and the busiest disk only if this workload has them."""
    new_order = index.latency_scope(workload) != "all"
    per_statement = "statement_latency_avg_s"
    statements = any(index.cell(tier, workload, per_statement) for tier in index.tiers)
    waits = any(index.cell(tier, workload, "connection_wait_avg_s") for tier in index.tiers)
    at_a_rate = any(index.cell(tier, workload, "offered_per_s") for tier in index.tiers)
    columns = (
        _Shown("latency_avg_s", "New-Order average latency" if new_order else "Average latency"),
        _Shown("latency_p95_s", "p95"),
        _Shown("latency_p99_s", "p99"),
        _Shown(per_statement, "Latency per statement") if statements else None,
        _Shown("connection_wait_avg_s", "Wait for a connection") if waits else None,
        _Shown("nopm", "NOPM") if index.is_tpcc_derived(workload) else None,
        _Shown("offered_per_s", "Offered") if at_a_rate else None,
        _Shown("served_per_s", "Served") if at_a_rate else None,
        _Shown("throughput_per_s", "Transactions/s"),
        _Shown("cpu_pct", "CPU"),
        *_disk_columns(index),
    )
    shown = (column for column in columns if column is not None)
    if not index.published:
        return tuple(shown)
    return tuple(one for one in shown if any(one.cell(index, t, workload) for t in index.tiers))


def _disk_columns(index: ReportIndex) -> Iterator[_Shown]:
    """Of all disks together, and of the busiest if there are several; published ones may be of a
    single disk alone."""
    if index.published:
        yield _Shown("disk_iops", "IOPS of a disk", busiest=True)
        yield _Shown("disk_bytes_per_s", "Bandwidth of a disk", busiest=True)
    yield _Shown("disk_iops", "Disk IOPS")
    if _several_nodes(index) and not index.published:
        yield _Shown("disk_iops", "Busiest disk IOPS", busiest=True)
    yield _Shown("disk_bytes_per_s", "Disk bandwidth")


def _workload_part(index: ReportIndex, workload: str) -> Part:
    columns = _columns(index, workload)
    rows = tuple(_tier_row(index, tier, workload, columns) for tier in index.tiers)
    heads = (*texts("Tier"), *numbers(*(shown.title for shown in columns)))
    table = Table(heads, rows, remarks=_remarks(index, workload))
    spec = index.campaign.plan.workload(workload)
    by_type = transaction_types.tables(index, workload)
    return Part(f"{workload}: {spec.title}", (table, *by_type))


def _remarks(index: ReportIndex, workload: str) -> tuple[str, ...]:
    runs = [run for run in index.campaign.plan.runs if run.workload == workload]
    statements = index.campaign.plan.workload(workload).statements_per_transaction
    size = (f"A transaction is {statements} statements.",) if statements and statements > 1 else ()
    return (*size, *index.losses(runs))


def _tier_row(
    index: ReportIndex, tier: str, workload: str, columns: tuple[_Shown, ...]
) -> tuple[Cell, ...]:
    done, planned = len(index.finished(tier, workload)), len(index.planned(tier, workload))
    n = f"n = {done}" if done == planned else f"n = {done} of {planned}"
    head = Cell(tier, detail=n, tier=tier, notes=index.notes(workload, tier))
    cells = (shown.cell(index, tier, workload) for shown in columns)
    return (head, *(value_cell(index, tier, workload, cell, wording.value) for cell in cells))


# ------------------------------------------------------------------ deltas


def deltas(index: ReportIndex) -> Section:
    """Latency, then throughput, against the baseline: tiers down, workloads across."""
    anchor, title = "deltas", f"Against {index.verdict.baseline}"
    if not index.contenders and not index.twin:
        nothing = Paragraph(
            f"Only {index.verdict.baseline} was measured, so there are no differences to show. "
            "Compare it with another profile to get them."
        )
        return Section(anchor, "Against another tier", (Part("", (nothing,)),))
    p99 = {"latency_p99_s": "p99"} if index.has("latency_p99_s") else {}
    latency = _delta_table(index, {"latency_avg_s": "average", **p99})
    parts = (
        Part("Latency (negative is better)", (latency,)),
        Part("Throughput (positive is better)", (_delta_table(index, {"": ""}),)),
    )
    return Section(anchor, title, parts)


_METRIC_WORDS = {
    "throughput_per_s": "transactions/s",
    "nopm": "NOPM",
    "latency_avg_s": "average latency",
    "latency_p99_s": "p99 latency",
}


def open_questions(index: ReportIndex) -> tuple[Part, ...]:
    """Each reason for `inconclusive` once, with the comparisons it holds for."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for delta in index.verdict.deltas:
        if delta.verdict == "inconclusive":
            cells = reasons.setdefault(delta.reason, {})
            metrics = cells.setdefault(f"{delta.contender}, {delta.workload}", [])
            word = _METRIC_WORDS.get(delta.metric, delta.metric)
            metrics.extend([word] * (word not in metrics))
    if not reasons:
        return ()
    every = {f"{delta.contender}, {delta.workload}" for delta in index.verdict.deltas}
    rows = tuple(
        (Cell("all" if cells.keys() == every else _named(cells)), Cell(sentence(reason)))
        for reason, cells in reasons.items()
    )
    return (Part("Why inconclusive", (Table(texts("Comparison", "Reason"), rows),)),)


def _named(cells: Mapping[str, list[str]]) -> str:
    return "; ".join(f"{cell} ({', '.join(metrics)})" for cell, metrics in cells.items())


def _delta_table(index: ReportIndex, metrics: Mapping[str, str]) -> Table:
    """`metrics`: metric → its word; an empty metric is the workload's own one of throughput."""
    heads = (*texts("Tier"), *numbers(*(w.name for w in index.workloads)))
    rows = tuple(
        (
            Cell(contender, detail=word, tier=contender),
            *(
                change_cell(index, contender, w.name, metric or index.throughput_metric(w.name))
                for w in index.workloads
            ),
        )
        for contender in (*index.contenders, *([index.twin] if index.twin else []))
        for metric, word in metrics.items()
    )
    return Table(heads, rows)
