"""The first screen: is there an answer, which, how sure, and what to distrust."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from orchestrator import units
from orchestrator.analysis.results import database
from orchestrator.model import CellSummary, Decision, Workload
from orchestrator.report import wording
from orchestrator.report.blocks import Answer, Cell, Column, StatusWord, Table
from orchestrator.report.findings import Findings

_LATENCIES = ("latency_avg_s", "latency_p99_s")


def title(findings: Findings) -> str:
    if len(findings.tiers) == 1:
        return f"{findings.tiers[0]}, measured"
    names = findings.tiers
    return f"Which disk tier: {', '.join(names[:-1])} or {names[-1]}?"


def subtitle(findings: Findings) -> str:
    """Campaign, database, size, when: enough to know which report this is."""
    plan = findings.campaign.plan
    cluster = plan.profiles[0].cluster
    parts = [findings.campaign.name, _database(findings), wording.count(cluster.nodes, "node")]
    if plan.repetitions > 1:
        parts.append(f"{plan.repetitions} repetitions")
    parts.append(_when(findings))
    return " · ".join(part for part in parts if part)


def _database(findings: Findings) -> str:
    """Name and version as the running server gave it, else as the profile asks."""
    cluster = findings.campaign.plan.profiles[0].cluster
    if cluster.database == "none":
        return "the disk alone, no database"
    versions = (database(run.record).version for run in findings.campaign.runs)
    version = next((version for version in versions if version), cluster.version)
    return f"{cluster.database} {version}" if version else cluster.database


def _when(findings: Findings) -> str:
    phases = [phase for data in findings.campaign.runs for phase in data.record.phases]
    if not phases:
        return ""
    first = wording.moment(min(phase.start_s for phase in phases))
    last = wording.moment(max(phase.end_s for phase in phases))
    return f"{first} to {last}"


def status(findings: Findings) -> tuple[StatusWord, str]:
    """Conclusive: every workload has an answer and every planned run left figures."""
    lost = _lost_text(findings)
    if not findings.contenders:
        only = "One profile was measured; there is nothing to compare it with."
        return "nothing to compare", f"{only}{lost}"
    answered = sum(decision.tier is not None for decision in findings.verdict.decisions)
    asked = len(findings.workloads)
    if not answered:
        return "not conclusive", f"No workload has an answer{_too_few(findings)}.{lost}"
    text = f"{answered} of {wording.count(asked, 'workload')} {_have(answered)} an answer; "
    word: StatusWord = "conclusive" if answered == asked and not lost else "partly conclusive"
    return word, f"{text}{_settled(findings)}.{lost}"


def _have(number: int) -> str:
    return "has" if number == 1 else "have"


def _settled(findings: Findings) -> str:
    deltas = findings.verdict.deltas
    settled = sum(delta.verdict != "inconclusive" for delta in deltas)
    return f"{settled} of {wording.count(len(deltas), 'comparison')} came to a verdict"


def _too_few(findings: Findings) -> str:
    if findings.campaign.plan.repetitions > 1:
        return ""
    return ": with one run of each there is no telling a difference from chance"


def _lost_text(findings: Findings) -> str:
    if not (lost := findings.lost_runs):
        return ""
    planned = wording.count(len(findings.campaign.plan.runs), "planned run")
    return f" {len(lost)} of {planned} left no figures."


def answers(findings: Findings) -> tuple[Answer, ...]:
    decisions = {decision.workload: decision for decision in findings.verdict.decisions}
    return tuple(
        _answer(findings, workload, decisions.get(workload.name)) for workload in findings.workloads
    )


def _answer(findings: Findings, workload: Workload, decision: Decision | None) -> Answer:
    if not findings.contenders:
        return Answer(workload.name, None, _plain_figures(findings, workload.name), "")
    if decision is None:
        return Answer(workload.name, None, "No decision was recorded.", "")
    price = wording.decision_price(decision)
    return Answer(workload.name, decision.tier, findings.opening(decision.reason), price)


def _plain_figures(findings: Findings, workload: str) -> str:
    """For a lone profile: what it did, in one line."""
    name = findings.verdict.baseline
    rate = findings.cell(name, workload, findings.throughput_metric(workload))
    if rate is None:
        return " ".join(findings.losses(findings.planned(name, workload)))
    latencies = [
        f"{word} {wording.figure_with_unit(cell)}"
        for word, metric in (("average", "latency_avg_s"), ("99th percentile", "latency_p99_s"))
        if (cell := findings.cell(name, workload, metric)) is not None
    ]
    whose = "New-Order latency " if findings.latency_scope(workload) != "all" else "latency "
    tail = f"; {whose}{', '.join(latencies)}" if latencies else ""
    return f"{name} did {wording.figure_with_unit(rate)}{tail} (n = {rate.n})."


def verdict_table(findings: Findings) -> Table:
    """Per workload: the baseline's own figures, then each contender's change against them."""
    rows: list[tuple[Cell, ...]] = []
    for workload in findings.workloads:
        rows.append((Cell(f"{workload.name}: {workload.title}", strong=True),))
        rows.append(_baseline_row(findings, workload.name))
        rows.extend(_contender_row(findings, c, workload.name) for c in findings.contenders)
    columns = (
        Column("Tier"),
        Column("Throughput", numeric=True),
        Column("Average latency", numeric=True),
        Column("p99 latency", numeric=True),
    )
    remarks = (*_reading(findings), *findings.losses(findings.campaign.plan.runs))
    return Table(columns, tuple(rows), remarks=remarks)


def _reading(findings: Findings) -> Iterator[str]:
    """How to read the table, as far as what stands in it needs saying."""
    if findings.contenders:
        margin = units.format_quantity(findings.campaign.plan.margin_pct, "%")
        yield (
            "Changes are against the baseline of the same workload, with their 95 % interval; one "
            f"that lies within ±{margin} counts as the same."
        )
    if any(findings.is_tpcc_derived(workload.name) for workload in findings.workloads):
        yield (
            "The TPC-C-derived workload counts New-Orders per minute (NOPM), "
            "and its latency is that of New-Order."
        )


def _baseline_row(findings: Findings, workload: str) -> tuple[Cell, ...]:
    name = findings.verdict.baseline
    notes = findings.notes(workload, name)
    metrics = (findings.throughput_metric(workload), *_LATENCIES)
    cells = [findings.cell(name, workload, metric) for metric in metrics]
    n = max((cell.n for cell in cells if cell is not None), default=0)
    label = f"baseline, n = {n}" if findings.contenders else f"n = {n}"
    return (
        Cell(name, detail=label, tier=name, notes=notes),
        *(figure_cell(findings, name, workload, cell, wording.figure_with_unit) for cell in cells),
    )


def figure_cell(
    findings: Findings,
    profile: str,
    workload: str,
    cell: CellSummary | None,
    words: Callable[[CellSummary], str],
) -> Cell:
    """A figure with its spread. What finished runs did not measure is told from lost runs."""
    if cell is None:
        return Cell(_absence(findings, profile, workload), missing=True)
    return Cell(words(cell), detail=wording.spread(cell))


def _absence(findings: Findings, profile: str, workload: str) -> str:
    return "not measured" if findings.finished(profile, workload) else "missing"


def _contender_row(findings: Findings, contender: str, workload: str) -> tuple[Cell, ...]:
    metrics = (findings.throughput_metric(workload), *_LATENCIES)
    deltas = [findings.delta(contender, workload, metric) for metric in metrics]
    n = next((wording.runs_on_each_side(d) for d in deltas if d is not None), None)
    if n is None:
        n = str(len(findings.finished(contender, workload)))
    return (
        Cell(contender, detail=f"n = {n}", tier=contender),
        *(change_cell(findings, contender, workload, metric) for metric in metrics),
    )


def change_cell(findings: Findings, contender: str, workload: str, metric: str) -> Cell:
    """A change with its interval, verdict word and the doubts about either side."""
    delta = findings.delta(contender, workload, metric)
    if delta is None:
        baseline = findings.cell(findings.verdict.baseline, workload, metric)
        own = findings.cell(contender, workload, metric)
        lacks = _absence(findings, contender, workload) if own is None else "no baseline"
        return Cell("no change" if own and baseline else lacks, missing=True)
    return Cell(
        units.format_change(delta.change_pct),
        detail=wording.interval(delta) or "no interval",
        word=delta.verdict,
        notes=findings.notes(workload, contender, findings.verdict.baseline),
    )
