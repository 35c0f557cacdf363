"""What a factor does: how far each tier is enough, laws, and the figures value by value."""

from collections.abc import Iterator

from orchestrator import units
from orchestrator.analysis.conclusions import FactorOnTier, Law, VariedFactor
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Answer,
    Cell,
    Chart,
    Charts,
    Items,
    Paragraph,
    Part,
    Section,
    Table,
    table_of,
)
from orchestrator.report.prose import said
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import sweeps

_LOG = {"type": "log", "nice": False}
_NOTABLE = 0.05  # exponents nearer to zero change a figure by 12 % where the value is ten times


def answers(index: ReportIndex) -> Iterator[Answer]:
    """How far each tier is enough, or the laws where one tier alone was measured."""
    for of in index.verdict.varied:
        lines = list(of.horizons) or [text for tier in of.tiers for text in _laws(of, tier)]
        if lines:
            yield Answer(f"{of.workload}, {_name(of)}", "", index.opening("; ".join(lines)), "")


def sections(index: ReportIndex) -> tuple[Section, ...]:
    """One for each workload that was varied."""
    every = []
    for of in index.verdict.varied:
        drawn = tuple(_charts(index, of))
        lines = [*of.horizons, *(text for tier in of.tiers for text in _laws(of, tier))]
        first = (Items(tuple(Paragraph(index.opening(text)) for text in lines)),) if lines else ()
        blocks = (Charts(drawn, index.tiers, said("factors.charts")),) if drawn else ()
        parts = (
            Part("", (*first, Paragraph(said("factors.laws")), *blocks)),
            *(Part(tier.tier, (table(index, of, tier),)) for tier in of.tiers),
        )
        title = f"{of.workload} at several values of {_name(of)}"
        every.append(Section(f"factor-{of.workload}", title, parts))
    return tuple(every)


def _name(of: VariedFactor) -> str:
    return of.factor.replace("_", " ")


def _laws(of: VariedFactor, tier: FactorOnTier) -> Iterator[str]:
    """A sentence for each figure that follows the factor, and for what limits it."""
    for law in tier.laws:
        what = wording.METRICS[law.metric] + " per node" * law.per_node
        yield f"{tier.tier}: {what} {_law(of, law)}"
    named = [tier.causes.get(load, "") for load in of.workloads]
    steps = zip(named, named[1:], of.values, of.values[1:], strict=False)
    for before, after, value, following in steps:
        if before and after and before != after:
            causes = f"from {before} at {value} to {after} at {following}".replace("_", " ")
            yield f"{tier.tier}: what limits it changes {causes}"


def _law(of: VariedFactor, law: Law) -> str:
    if law.knee is not None:
        between = f"{of.values[law.knee]} and {of.values[law.knee + 1]}"
        return f"follows no one power of {_name(of)}: it bends between {between}"
    low, high = f"{law.low:.2f}", f"{law.high:.2f}"
    power = f"{_name(of)}^{law.exponent:.2f} ({low} to {high})"
    exact = law.high - law.low < 4 * _NOTABLE
    shape = ": linear" if exact and law.low <= 1 <= law.high else ""
    shape = ": inverse" if exact and law.low <= -1 <= law.high else shape
    few = "; two values prove no law" if law.values == 2 else ""
    if law.low >= -_NOTABLE and law.high <= _NOTABLE:
        return f"hardly depends on {_name(of)}: as {power}{few}"
    verb = "grows" if law.low > 0 else "falls" if law.high < 0 else "is not proven to change:"
    return f"{verb} as {power}{shape}{few}"


def table(index: ReportIndex, of: VariedFactor, tier: FactorOnTier) -> Table:
    """A tier's figures, the values as rows, with the changes against the first."""
    first = of.workloads[0]
    rate = index.throughput_metric(first)
    titles = {rate: "NOPM" if rate == "nopm" else "Transactions/s"}
    titles |= {"latency_avg_s": "Average latency", "latency_p99_s": "p99"}
    scope = index.latency_scope(first)
    steps = {(d.contender, d.metric): d for d in tier.steps if d.scope in ("all", scope)}
    rows = []
    for value, load in zip(of.values, of.workloads, strict=True):
        cells = index.metric_cells(tier.tier, load, titles)
        for metric, title in titles.items():
            if step := steps.get((load, metric)):
                change = f"{units.format_change(step.change_pct)} ({wording.interval(step)})"
                cells[title] = Cell(cells[title].text, change, step.verdict)
        per_node, efficiency = tier.per_node.get(load), tier.efficiency_pct.get(load)
        each = Cell(
            "" if per_node is None else units.format_number(per_node),
            detail="" if efficiency is None else f"{efficiency:.0f} % of the first value's",
        )
        cause = Cell(tier.causes.get(load, "").replace("_", " "))
        head = Cell(value, notes=index.notes(load, tier.tier))
        rows.append({"Value": head, **cells, "Each node": each, "Limited by": cause})
    return table_of(rows, ("Value", "Limited by"), tuple(dict.fromkeys(
        f"{step.contender}, {wording.METRICS[step.metric]}: {step.reason}."
        for step in steps.values() if step.verdict == "inconclusive"
    )))  # fmt: skip


def _charts(index: ReportIndex, of: VariedFactor) -> Iterator[Chart]:
    if of.numbers and min(of.numbers) > 0:
        values = dict(zip(of.workloads, of.numbers, strict=True))
        return sweeps.charts_against(index, of.workload, values, _name(of), _LOG, _LOG)
    words = dict(zip(of.workloads, of.values, strict=True))
    return sweeps.charts_against(index, of.workload, words, _name(of), {})
