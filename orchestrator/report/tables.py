"""The published study's tables: per workload the figures of each tier, then the two of deltas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Column, Paragraph, Part, Section, Table
from orchestrator.report.findings import Findings, sentence
from orchestrator.report.summary import change_cell, figure_cell


@dataclass(frozen=True)
class _Shown:
    """A column of the measured figures. `busiest`: of the node where it is highest, not of all."""

    metric: str
    title: str
    busiest: bool = False


def measured(findings: Findings) -> Section:
    """One table per workload, tiers as rows."""
    about = Paragraph(" ".join(_about(findings)))
    parts = [_workload_part(findings, workload.name) for workload in findings.workloads]
    return Section("measured", "Measured", (Part("", (about,)), *parts))


def _about(findings: Findings) -> Iterator[str]:
    """How to read the tables, as far as this campaign needs it."""
    if findings.campaign.plan.repetitions > 1:
        yield (
            "Means over the repetitions; ± is half the 95 % interval of the mean, relative to it, "
            "and stands where there are two repetitions or more."
        )
    if _several_nodes(findings):
        yield (
            "CPU is the mean of the database nodes, in percent of their limit. Disk figures are "
            "the sum of the nodes; the busiest disk is the one to hold against a tier's limit."
        )
    else:
        yield "CPU is the database node's, in percent of its limit."
    if findings.footnotes:
        yield "Raised numbers are the doubts listed with the first table."


def _several_nodes(findings: Findings) -> bool:
    return any(profile.cluster.nodes > 1 for profile in findings.profiles)


def _columns(findings: Findings, workload: str) -> tuple[_Shown, ...]:
    """What this workload has: per-statement latency, NOPM and the busiest disk only where apt."""
    new_order = findings.latency_scope(workload) != "all"
    per_statement = "statement_latency_avg_s"
    statements = any(findings.cell(tier, workload, per_statement) for tier in findings.tiers)
    waits = any(findings.cell(tier, workload, "connection_wait_avg_s") for tier in findings.tiers)
    columns = (
        _Shown("latency_avg_s", "New-Order average latency" if new_order else "Average latency"),
        _Shown("latency_p95_s", "p95"),
        _Shown("latency_p99_s", "p99"),
        _Shown(per_statement, "Latency per statement") if statements else None,
        _Shown("connection_wait_avg_s", "Wait for a connection") if waits else None,
        _Shown("nopm", "NOPM") if findings.is_tpcc_derived(workload) else None,
        _Shown("throughput_per_s", "Transactions/s"),
        _Shown("cpu_pct", "CPU"),
        _Shown("disk_iops", "Disk IOPS"),
        _Shown("disk_iops", "Busiest disk IOPS", busiest=True)
        if _several_nodes(findings)
        else None,
        _Shown("disk_bytes_per_s", "Disk bandwidth"),
    )
    return tuple(column for column in columns if column is not None)


def _workload_part(findings: Findings, workload: str) -> Part:
    columns = _columns(findings, workload)
    rows = tuple(_tier_row(findings, tier, workload, columns) for tier in findings.tiers)
    heads = (Column("Tier"), *(Column(shown.title, numeric=True) for shown in columns))
    table = Table(heads, rows, remarks=_remarks(findings, workload))
    spec = findings.campaign.plan.workload(workload)
    return Part(f"{workload}: {spec.title}", (table,))


def _remarks(findings: Findings, workload: str) -> tuple[str, ...]:
    runs = [run for run in findings.campaign.plan.runs if run.workload == workload]
    statements = findings.campaign.plan.workload(workload).statements_per_transaction
    size = (f"A transaction is {statements} statements.",) if statements and statements > 1 else ()
    return (*size, *findings.losses(runs))


def _tier_row(
    findings: Findings, tier: str, workload: str, columns: tuple[_Shown, ...]
) -> tuple[Cell, ...]:
    done, planned = len(findings.finished(tier, workload)), len(findings.planned(tier, workload))
    n = f"n = {done}" if done == planned else f"n = {done} of {planned}"
    head = Cell(tier, detail=n, tier=tier, notes=findings.notes(workload, tier))
    cells = (
        (findings.busiest if shown.busiest else findings.cell)(tier, workload, shown.metric)
        for shown in columns
    )
    figures = (figure_cell(findings, tier, workload, cell, wording.figure) for cell in cells)
    return (head, *figures)


# ------------------------------------------------------------------ deltas


def deltas(findings: Findings) -> Section:
    """Latency, then throughput, against the baseline: tiers down, workloads across."""
    anchor, title = "deltas", f"Against {findings.verdict.baseline}"
    if not findings.contenders:
        nothing = Paragraph(
            f"Only {findings.verdict.baseline} was measured, so there are no differences to show. "
            "Compare it with another profile to get them."
        )
        return Section(anchor, "Against another tier", (Part("", (nothing,)),))
    latency = _delta_table(findings, ("latency_avg_s", "latency_p99_s"))
    throughput = _delta_table(findings, ("",))
    parts = (
        Part("Latency (negative is better)", (latency,)),
        Part("Throughput (positive is better)", (throughput,)),
    )
    return Section(anchor, title, parts)


_METRIC_WORDS = {
    "throughput_per_s": "transactions/s",
    "nopm": "NOPM",
    "latency_avg_s": "average latency",
    "latency_p99_s": "p99 latency",
}


def open_questions(findings: Findings) -> tuple[Part, ...]:
    """Each reason for `inconclusive` once, with the comparisons it holds for."""
    found: dict[str, dict[str, list[str]]] = {}
    for delta in findings.verdict.deltas:
        if delta.verdict == "inconclusive":
            cells = found.setdefault(delta.reason, {})
            metrics = cells.setdefault(f"{delta.contender}, {delta.workload}", [])
            word = _METRIC_WORDS.get(delta.metric, delta.metric)
            metrics.extend([word] * (word not in metrics))
    if not found:
        return ()
    every = {f"{delta.contender}, {delta.workload}" for delta in findings.verdict.deltas}
    rows = tuple(
        (Cell("all" if cells.keys() == every else _named(cells)), Cell(sentence(reason)))
        for reason, cells in found.items()
    )
    return (Part("Why inconclusive", (Table((Column("Comparison"), Column("Reason")), rows),)),)


def _named(cells: Mapping[str, list[str]]) -> str:
    return "; ".join(f"{cell} ({', '.join(metrics)})" for cell, metrics in cells.items())


def _delta_table(findings: Findings, metrics: tuple[str, ...]) -> Table:
    """An empty metric stands for the workload's own measure of throughput."""
    heads = (Column("Tier"), *(Column(w.name, numeric=True) for w in findings.workloads))
    words = {"latency_avg_s": "average", "latency_p99_s": "p99", "": ""}
    rows = tuple(
        (
            Cell(contender, detail=words[metric], tier=contender),
            *(
                change_cell(
                    findings, contender, w.name, metric or findings.throughput_metric(w.name)
                )
                for w in findings.workloads
            ),
        )
        for contender in findings.contenders
        for metric in metrics
    )
    return Table(heads, rows)
