"""The first screen: the answer to each workload, how sure it is, and the changes it rests on.

What is said of what to buy is the campaign's `Answer`; here it is laid out.
"""

from collections.abc import Iterable, Iterator, Sequence

from orchestrator import units
from orchestrator.analysis import results
from orchestrator.analysis.answers import speeds
from orchestrator.analysis.answers.headline_figures import (
    LATENCY_AVG,
    LATENCY_P99,
    ComparedFigure,
)
from orchestrator.analysis.conclusions import CellSummary, Delta
from orchestrator.analysis.statistics.looks import repetitions
from orchestrator.design import slo, used_profiles
from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Row, ShownAnswer, Table, absent, table_of
from orchestrator.report.report_index import ReportIndex
from orchestrator.texts import prose

# ------------------------------------------------------------------ the top


def title(index: ReportIndex) -> str:
    """The question, as it was asked; else by the names of the tiers."""
    asked = index.campaign.plan.judging.question
    if asked:
        return asked
    # The twin is the baseline under a second name, and no tier to choose.
    names = [name for name in index.tiers if name != index.twin]
    if len(names) == 1:
        return f"{names[0]}, measured"
    first = ", ".join(names[:-1])
    return f"Which disk tier{_meets_slo(index)}: {first} or {names[-1]}?"


def _meets_slo(index: ReportIndex) -> str:
    """` meets nopm > 4000 (NOPM: New-Orders per minute)`, if all workloads have this SLO.

    The reader must see on which limit the answer depends, and that somebody chose this limit.
    """
    objectives = {workload.slo for workload in index.campaign.plan.workloads}
    if len(objectives) != 1:
        return ""
    (clauses,) = objectives
    if not clauses:
        return ""
    asked = prose.listed([slo.format_objective(clause) for clause in clauses])
    if any(clause.metric == "nopm" for clause in clauses):
        asked = f"{asked} (NOPM: New-Orders per minute)"
    return f" meets {asked}"


def subtitle(index: ReportIndex) -> str:
    """Campaign, database, size and time, which tell this report from others."""
    parts = [index.campaign.name, _database(index), _nodes(index)]
    parts += _repetitions(index)
    parts += _time(index)
    return " · ".join(parts)


def _nodes(index: ReportIndex) -> str:
    """`3 nodes`; `3 to 9 nodes` where they are varied, or tiers have unlike clusters."""
    plan = index.campaign.plan
    numbers: set[int] = set()
    for profile in plan.profiles:
        for workload in plan.workloads:
            numbers.add(used_profiles.as_used(profile, workload).cluster.nodes)
    most = prose.counted(max(numbers), "node")
    if len(numbers) == 1:
        return most
    return f"{min(numbers)} to {most}"


def _database(index: ReportIndex) -> str:
    """Name and version as the running server gave it, else as the profile asks."""
    cluster = index.campaign.plan.profiles[0].cluster
    if cluster.database == "none":
        return "the disk alone, no database"
    version = cluster.version
    # What ran goes before what was asked for: `latest` is no release.
    for run in index.campaign.runs:
        served = results.database(run.record).version
        if served:
            version = served
            break
    if not version:
        return cluster.database
    return f"{cluster.database} {version}"


def _repetitions(index: ReportIndex) -> Iterator[str]:
    """`2 to 5 repetitions`, where those of some workloads were ended; nothing of one."""
    plan = index.campaign.plan
    if plan.repeats.repetitions <= 1:
        return
    # A workload ends as soon as its answer is proven with `--until decided`.
    least = min(repetitions(plan, workload.name) for workload in plan.workloads)
    if least < plan.repeats.repetitions:
        yield f"{least} to {plan.repeats.repetitions} repetitions"
    else:
        yield f"{plan.repeats.repetitions} repetitions"


def _time(index: ReportIndex) -> Iterator[str]:
    """From the first run to the last, and how much of that time was measuring."""
    span_s = results.span_s(index.campaign.runs)
    if span_s is None:
        return
    begin = units.format_moment(span_s.begin_s)
    end = units.format_moment(span_s.end_s)
    share_pct = results.measuring_pct(index.campaign)
    if share_pct is None:
        yield f"{begin} to {end}"
        return
    yield f"{begin} to {end}, {share_pct:.0f} % of it measuring"


def faster(index: ReportIndex) -> Iterator[ShownAnswer]:
    """Which tier is faster and how many times, in a line for each workload."""
    comparisons = index.answer.comparisons
    for workload in dict.fromkeys(compared.workload for compared in comparisons):
        texts: list[str] = []
        for compared in comparisons:
            if compared.workload == workload:
                texts.append(speeds.in_words(compared))
        text = "; ".join(texts)
        yield ShownAnswer(
            workload=workload, tier="", text=text, price="", lines=(text,)
        )


# ------------------------------------------------------------------ the table


def verdict_table(index: ReportIndex) -> Table:
    """Per workload: the baseline's own values, then each contender's change against them."""
    compared = [*index.contenders]
    if index.twin:
        # It stands last, because it is no tier to choose: it shows what noise alone does.
        compared.append(index.twin)
    rows: list[Row] = []
    for workload in index.workloads:
        rows.append(f"{workload.name}: {workload.title}")
        rows.append(_baseline_row(index, workload.name))
        for contender in compared:
            rows.append(_contender_row(index, contender, workload.name))
    lost = index.losses(index.campaign.plan.runs)
    return table_of(rows, ("Tier",), (*_remarks(index), *lost))


def _remarks(index: ReportIndex) -> Iterator[str]:
    """How to read the table, as far as this one needs it."""
    if index.contenders:
        yield _about_changes(index)
    if index.twin:
        yield (
            f"{index.twin} is {index.verdict.baseline} under a second name. Its changes are the "
            "noise floor: the difference between two equal tiers. It takes part in no decision."
        )
    if any(
        index.figures.is_tpcc_derived(workload.name) for workload in index.workloads
    ):
        yield (
            "The TPC-C-derived workload counts New-Orders per minute (NOPM), and its latency is "
            "that of New-Order."
        )


def _about_changes(index: ReportIndex) -> str:
    at_level = levels(index)
    if not at_level:
        return (
            "Changes are against the baseline of the same workload. Without repetitions they "
            "have no interval."
        )
    plan = index.campaign.plan
    margins = wording.margins(plan.judging.margin_pct, plan.judging.p99_margin_pct)
    return (
        f"Changes are against the baseline of the same workload, with their {at_level} interval. "
        f"Those proven to lie within {margins} count as the same."
    )


def levels(index: ReportIndex) -> str:
    """The confidence of the changes' intervals: `95 %`; empty if none has an interval.

    With two repetitions none has.
    """
    deltas = index.verdict.deltas
    if all(delta.ci_low_pct is None for delta in deltas):
        return ""
    return wording.confidence(delta.confidence_pct for delta in deltas)


def _baseline_row(index: ReportIndex, workload: str) -> dict[str, Cell]:
    name = index.verdict.baseline
    summaries = _baseline_summaries(index, workload)
    label = _runs_of_baseline(index, summaries.values())
    notes = index.notes(workload, name)
    row = {"Tier": Cell(name, label, tier=name, notes=notes)}
    metrics = index.figures.compared_metrics(workload)
    for column, summary in summaries.items():
        if summary is None:
            row[column] = _lacking(index, name, workload, metrics[column])
        else:
            # A column holds rates of several workloads, so each value has its unit.
            row[column] = index.value_cell(
                name, workload, summary, wording.value_with_unit
            )
    return row


def _baseline_summaries(
    index: ReportIndex, workload: str
) -> dict[str, CellSummary | None]:
    """Column's title → what the baseline reached."""
    summaries: dict[str, CellSummary | None] = {}
    baseline = index.verdict.baseline
    for column, by in index.figures.compared_metrics(workload).items():
        summaries[column] = index.figures.cell(baseline, workload, by.metric, by.scope)
    return summaries


def _runs_of_baseline(
    index: ReportIndex, summaries: Iterable[CellSummary | None]
) -> str:
    """How many runs the baseline has, by the metric that most of its runs have."""
    # A run of too few transactions has a throughput and no p99.
    counts = [summary.n for summary in summaries if summary is not None]
    n = max(counts, default=0)
    # One profile alone is no baseline of anything.
    if index.contenders:
        return f"baseline, n = {n}"
    return f"n = {n}"


def _contender_row(
    index: ReportIndex, contender: str, workload: str
) -> dict[str, Cell]:
    metrics = index.figures.compared_metrics(workload)
    detail = f"n = {_runs_of_contender(index, contender, workload)}"
    if contender == index.twin:
        detail = f"noise floor, {detail}"
    row = {"Tier": Cell(contender, detail=detail, tier=contender)}
    for column, by in metrics.items():
        row[column] = change_cell(index, contender, workload, by)
    return row


def _runs_of_contender(index: ReportIndex, contender: str, workload: str) -> str:
    compared = index.figures.compared_metrics(workload).values()
    deltas = [index.figures.delta(contender, workload, by) for by in compared]
    # Only repetitions that both sides finished are compared, which may be fewer than were run.
    runs = _runs_compared(deltas)
    if runs:
        return runs
    # Nothing was compared, as where the baseline has no figures.
    return str(len(index.finished(contender, workload)))


def _runs_compared(deltas: Sequence[Delta | None]) -> str:
    """How many runs were compared, by the first change that there is; empty if there is none."""
    for delta in deltas:
        if delta is not None:
            return wording.runs_on_each_side(delta)
    return ""


def change_cell(
    index: ReportIndex, contender: str, workload: str, by: ComparedFigure
) -> Cell:
    """A change with its interval, verdict word and the doubts about either side."""
    delta = index.figures.delta(contender, workload, by)
    if delta is None:
        return _no_change(index, contender, workload, by)
    text = units.format_change(delta.change_pct)
    detail = wording.interval(delta) or "no interval"
    # A tier that fell behind its load answered fewer requests: its latency is of another load.
    if delta.overloaded:
        text = "not compared"
        detail = f"overloaded: {', '.join(delta.overloaded)}"
    notes = index.notes(workload, contender, index.verdict.baseline)
    return Cell(text, detail=detail, word=delta.verdict, notes=notes)


def _no_change(
    index: ReportIndex, contender: str, workload: str, by: ComparedFigure
) -> Cell:
    """Why there is none: a value on one side, or on both, is missing."""
    # The contender's own gap goes first: its row is where a reader looks for it.
    if index.figures.cell(contender, workload, by.metric, by.scope) is None:
        return _lacking(index, contender, workload, by)
    baseline = index.verdict.baseline
    if index.figures.cell(baseline, workload, by.metric, by.scope) is None:
        lacking = _lacking(index, baseline, workload, by)
        return absent(f"{baseline}: {lacking.text}", lacking.detail)
    return absent("no change")


def _lacking(index: ReportIndex, tier: str, workload: str, by: ComparedFigure) -> Cell:
    """Why a tier has no value of a metric: its runs are lost, or were too short for a p99."""
    average = index.figures.cell(tier, workload, LATENCY_AVG)
    # There were transactions, but fewer than the 1,000 that a p99 takes.
    if by == ComparedFigure(LATENCY_P99) and average is not None:
        return absent("no p99", "too few transactions")
    return absent(index.absence(tier, workload, by.metric))
