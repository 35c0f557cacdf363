"""What was varied: what is concluded of it, its charts, and the figures value by value."""

from collections.abc import Container, Iterator, Mapping

from orchestrator import metrics, units
from orchestrator.analysis.answers.factor_sentences import (
    cause_at,
    factor_in_words,
    findings,
    sentences,
)
from orchestrator.analysis.conclusions import Delta, TierValues, VariedWorkload
from orchestrator.design.factors import RATE_OPTION, WITHOUT
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Block,
    Cell,
    Charts,
    Items,
    Paragraph,
    Part,
    Row,
    Section,
    ShownAnswer,
    Table,
    table_of,
)
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections.factor_charts import charts_of


def answers(index: ReportIndex, without: Container[str] = ()) -> Iterator[ShownAnswer]:
    """What was found of each workload that was varied, without these claims."""
    for finding in findings(index):
        if finding.claim in without:
            continue
        text = wording.closed(finding.claim)
        yield ShownAnswer(
            workload=finding.subject, tier="", text=text, price="", lines=(text,)
        )


def sections(index: ReportIndex) -> Iterator[Section]:
    """One for each workload that was swept or varied: what was concluded, charts, then each tier's
    figures value by value."""
    for varied in index.verdict.sweeps:
        anchor = f"sweep-{varied.workload}"
        title = f"{varied.workload} under several loads"
        yield Section(anchor, title, tuple(_parts(index, varied)))
    for varied in index.verdict.varied:
        where = f"at several values of {factor_in_words(varied)}"
        # A stage that is left out is no value of a factor.
        if varied.factor == WITHOUT:
            where = "without a stage"
        anchor = f"factor-{varied.workload}"
        title = f"{varied.workload} {where}"
        yield Section(anchor, title, tuple(_parts(index, varied)))


def _parts(index: ReportIndex, varied: VariedWorkload) -> Iterator[Part]:
    yield Part("", tuple(_conclusions(index, varied)))
    for tier in varied.tiers:
        yield Part(tier.tier, (table(index, varied, tier),))


def _conclusions(index: ReportIndex, varied: VariedWorkload) -> Iterator[Block]:
    lines: list[Paragraph] = []
    # First how far each tier is enough: that is what was asked.
    for text in (*varied.horizons, *sentences(varied, index)):
        lines.append(Paragraph(index.opening(text)))
    yield Items(tuple(lines))
    is_sweep = varied in index.verdict.sweeps
    yield Paragraph(_how_to_read(varied, is_sweep))
    drawn = charts_of(index, varied)
    if drawn:
        yield Charts(drawn, index.tiers, _caption(is_sweep))


def _how_to_read(varied: VariedWorkload, is_sweep: bool) -> str:
    if is_sweep:
        return _how_to_read_loads(varied)
    if varied.factor == WITHOUT:
        return (
            "A stage is taken away for this question alone. Such runs have no part in the "
            "choice of a tier. Changes are against the runs with all stages, by the rule "
            "for tiers."
        )
    return (
        "Powers are fitted to logarithms over all repetitions, with a 90 % interval. None is "
        "given where figures bend by more than the margin and by more than chance. Changes are "
        "against the first value."
    )


def _how_to_read_loads(sweep: VariedWorkload) -> str:
    knee = (
        "The knee is the least load that has 95 % of the tier's highest throughput. A higher load "
        "must have been measured."
    )
    if not sweep.slo:
        return knee
    return f"{knee} Capacity at the SLO is the highest load that is proven to meet its latencies."


def _caption(is_sweep: bool) -> str:
    if is_sweep:
        return (
            "Means over the repetitions with their 95 % interval. The latency of a tier that is "
            "overloaded at a rate is not drawn."
        )
    return (
        "Means over the repetitions with their 95 % interval. One that reaches zero is cut at a "
        "tenth of the mean. On logarithmic axes a power is a straight line."
    )


# ------------------------------------------------------------------ in figures

_TITLES_OF_RATES = {
    "nopm": "NOPM",
    "payload_bytes_per_s": "Payload",
    "throughput_per_s": "Transactions/s",
}
_Changes = Mapping[tuple[str, str], Delta]  # workload and metric → against the first


def table(index: ReportIndex, varied: VariedWorkload, tier: TierValues) -> Table:
    """A tier's figures, the values as rows, with the changes against the first."""
    titles = _titles(index, varied)
    changes = _changes(index, varied, tier)
    rows: list[Row] = []
    for value, workload in zip(varied.values, varied.workloads, strict=True):
        row = {"Value": _value(index, tier, value, workload)}
        row |= _figures(index, tier, workload, titles, changes)
        row["Each node"] = _share_of_each_node(index, varied, tier, workload)
        row["Limited by"] = Cell(cause_at(tier, workload))
        rows.append(row)
    return table_of(rows, ("Value", "Limited by"), tuple(_open_changes(changes)))


def _value(index: ReportIndex, tier: TierValues, value: str, workload: str) -> Cell:
    behind = ""
    # Its rate is what it could serve, not what was asked for, so the row says so.
    if index.overloaded(tier.tier, workload):
        behind = "overloaded"
    return Cell(value, detail=behind, notes=index.notes(workload, tier.tier))


def _titles(index: ReportIndex, varied: VariedWorkload) -> dict[str, str]:
    """Metric → column's title: rates first, then latencies."""
    first = varied.workloads[0]
    titles: dict[str, str] = {}
    # The offered figure differs from the served one only if a rate is varied.
    if varied.factor == RATE_OPTION:
        titles["offered_per_s"] = "Offered"
        titles["served_per_s"] = "Served"
    rate = index.figures.throughput_metric(first)
    titles[rate] = _TITLES_OF_RATES[rate]
    # New-Orders are a part of all transactions, in which loads are given.
    if rate == "nopm":
        titles["throughput_per_s"] = _TITLES_OF_RATES["throughput_per_s"]
    if index.figures.latency_scope(first) == "all":
        titles["latency_avg_s"] = "Average latency"
    else:
        titles["latency_avg_s"] = "New-Order average latency"
    titles["latency_p99_s"] = "p99"
    return titles


def _changes(
    index: ReportIndex, varied: VariedWorkload, tier: TierValues
) -> dict[tuple[str, str], Delta]:
    """The changes of the figures that stand for the workload.

    Figures of one type of its transactions are left out, unless it is the type whose latency is
    shown.
    """
    # The loads of a factor are of one workload, so the first stands for all.
    scopes = ("all", index.figures.latency_scope(varied.workloads[0]))
    changes: dict[tuple[str, str], Delta] = {}
    for step in tier.steps:
        if step.scope in scopes:
            changes[step.contender, step.metric] = step
    return changes


def _figures(
    index: ReportIndex,
    tier: TierValues,
    workload: str,
    titles: Mapping[str, str],
    changes: _Changes,
) -> dict[str, Cell]:
    cells = index.metric_cells(tier.tier, workload, titles)
    for metric, title in titles.items():
        step = changes.get((workload, metric))
        if step is not None:
            detail = units.format_change(step.change_pct)
            interval = wording.interval(step)
            # One repetition has none.
            if interval:
                detail += f" ({interval})"
            cells[title] = Cell(cells[title].text, detail, step.verdict)
    return cells


def _share_of_each_node(
    index: ReportIndex, varied: VariedWorkload, tier: TierValues, workload: str
) -> Cell:
    """A node's share of the throughput, beside that at the first value."""
    first_workload = varied.workloads[0]
    first = tier.per_node.get(first_workload)
    rate = tier.per_node.get(workload)
    if not first or not rate:
        return Cell("")
    unit = metrics.METRICS[index.figures.throughput_metric(first_workload)].unit
    # A rate's unit stands in the title of its column.
    if unit.startswith("1/"):
        unit = ""
    # Throughput grows as the number of nodes does at 100 %, if nodes are varied.
    share_pct = 100 * rate / first
    return Cell(units.format_quantity(rate, unit), f"{share_pct:.0f} % of the first")


def _open_changes(changes: _Changes) -> Iterator[str]:
    """Why each that is inconclusive is so."""
    for step in changes.values():
        # "Inconclusive" in a cell does not say what would settle it, so the reason stands below.
        if step.verdict == "inconclusive":
            metric = wording.METRICS[step.metric]
            yield f"{step.contender}, {metric}: {step.reason}."
