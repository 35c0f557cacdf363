"""What a factor does: how far each tier is enough, laws, and the figures value by value."""

from collections.abc import Iterator
from itertools import pairwise

from orchestrator import units
from orchestrator.analysis.conclusions import FactorOnTier, Law, Sweep, VariedFactor
from orchestrator.planning import factors
from orchestrator.planning.factors import WITHOUT
from orchestrator.report import blocks, wording
from orchestrator.report.prose import said, words
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import sweeps

_SLIGHT = 0.05  # exponents nearer to zero change a figure by 12 % where the value is ten times


def answers(index: ReportIndex) -> Iterator[blocks.Answer]:
    """How far each tier is enough, or the laws where one tier alone was measured."""
    for of in index.verdict.varied:
        if lines := of.horizons or tuple(_laws(of, index)):
            name, text = f"{of.workload}, {_name(of)}", index.opening("; ".join(lines))
            yield blocks.Answer(name, "", text, "")


def sections(index: ReportIndex) -> tuple[blocks.Section, ...]:
    """One for each workload that was varied."""
    every = []
    for of in index.verdict.varied:
        texts = map(index.opening, (*of.horizons, *_laws(of, index)))
        drawn: tuple[blocks.Chart, ...] = ()
        if of.numbers and min(of.numbers) > 0:
            against = Sweep(of.workload, _name(of), of.numbers, of.workloads, (), ())
            drawn = sweeps.charts_of_sweep(index, against)
        shown = (blocks.Charts(drawn, index.tiers, said("factors.charts")),) if drawn else ()
        about = said("factors.stages" if of.factor == WITHOUT else "factors.laws")
        lines = blocks.Items(tuple(map(blocks.Paragraph, texts)))
        parts = [blocks.Part("", (lines, blocks.Paragraph(about), *shown))]
        parts += [blocks.Part(tier.tier, (table(index, of, tier),)) for tier in of.tiers]
        at = "without a stage" if of.factor == WITHOUT else f"at several values of {_name(of)}"
        title = f"{of.workload} {at}"
        every.append(blocks.Section(f"factor-{of.workload}", title, tuple(parts)))
    return tuple(every)


def _name(of: VariedFactor) -> str:
    return of.factor.replace("_", " ")


def _laws(of: VariedFactor, index: ReportIndex) -> Iterator[str]:
    """A sentence for each figure that follows the factor, or for each change where none can be said
    to, and for each change of what limits it; for each stage that was taken away."""
    for tier in of.tiers:
        if of.factor == WITHOUT:
            yield from _stages(of, tier, index)
            continue
        for law in tier.laws:
            what = wording.METRICS[law.metric] + " per node" * law.per_node
            yield f"{tier.tier}: {what} {_law(of, law)}"
        for step in () if tier.laws else tier.steps:
            value = of.values[of.workloads.index(step.contender)]
            change = f"{units.format_change(step.change_pct)}, {step.verdict}"
            yield f"{tier.tier}: {wording.METRICS[step.metric]} at {value} {change}"
        causes = [tier.causes.get(load, "").replace("_", " ") for load in of.workloads]
        for place, (before, after) in enumerate(pairwise(causes)):
            if before and after and before != after:
                text = f"from {before} at {of.values[place]} to {after} at {of.values[place + 1]}"
                yield f"{tier.tier}: what limits it changes {text}"


def _stages(of: VariedFactor, tier: FactorOnTier, index: ReportIndex) -> Iterator[str]:
    """Whether each stage that was taken away was the limit: only a change that is proven says so,
    of the rate, or of the average latency where the rate is asked for."""
    full, *others = of.workloads
    rate, scope = index.throughput_metric(full), index.latency_scope(full)
    cause = tier.causes.get(full, "unattributed").replace("_", " ")
    named = "" if cause == "unattributed" else f"; with all stages {cause} was named"
    for load in others:
        keys = (rate, "all"), ("latency_avg_s", scope)
        own = {(step.metric, step.scope): step for step in tier.steps if step.contender == load}
        steps = [own[key] for key in keys if key in own]
        step = next((each for each in steps if each.verdict == "better"), next(iter(steps), None))
        if step is None:
            continue
        cells = (index.metric_cells(tier.tier, at, {step.metric: ""}) for at in (load, full))
        less, every = (cell[""].text for cell in cells)
        stage = words("factors.stage")[factors.lacks(index.campaign.plan.workload(load))]
        text = f"{less} instead of {every} {wording.METRICS[step.metric]}"
        change = units.format_change(step.change_pct), wording.interval(step)
        shown = ", ".join(filter(None, change))
        judged = words("factors.stage_judged")[step.verdict].format(stage=stage)
        yield f"{tier.tier}: with the {stage} out of the path {text} ({shown}): {judged}{named}"


def _law(of: VariedFactor, law: Law) -> str:
    if law.knee is not None:
        between = f"{of.values[law.knee]} and {of.values[law.knee + 1]}"
        return f"follows no one power of {_name(of)}: it bends between {between}"
    power = f"{_name(of)}^{law.exponent:.2f} ({law.low:.2f} to {law.high:.2f})"
    if law.low >= -_SLIGHT and law.high <= _SLIGHT:
        power = f"hardly depends on {_name(of)}: as {power}"
    else:
        verb = "grows" if law.low > 0 else "falls" if law.high < 0 else "is not proven to change:"
        power = f"{verb} as {power}"
        names = {1: "linear", -1: "inverse"} if law.high - law.low < 4 * _SLIGHT else {}
        power += "".join(f": {name}" for n, name in names.items() if law.low <= n <= law.high)
    return power + "; two values prove no law" * (law.values == 2)


def table(index: ReportIndex, of: VariedFactor, tier: FactorOnTier) -> blocks.Table:
    """A tier's figures, the values as rows, with the changes against the first."""
    rate, scope = (read(of.workloads[0]) for read in (index.throughput_metric, index.latency_scope))
    titles = {rate: words("measured.columns")[rate]}
    titles |= {"latency_avg_s": "Average latency", "latency_p99_s": "p99"}
    steps = {(d.contender, d.metric): d for d in tier.steps if d.scope in ("all", scope)}
    rows, first = [], tier.per_node.get(of.workloads[0])
    for value, load in zip(of.values, of.workloads, strict=True):
        cells = index.metric_cells(tier.tier, load, titles)
        for metric, title in titles.items():
            if step := steps.get((load, metric)):
                change = f"{units.format_change(step.change_pct)} ({wording.interval(step)})"
                cells[title] = blocks.Cell(cells[title].text, change, step.verdict)
        each = blocks.Cell("")
        if first and (own := tier.per_node.get(load)):
            each = blocks.Cell(units.format_number(own), f"{100 * own / first:.0f} % of the first")
        cause = blocks.Cell(tier.causes.get(load, "").replace("_", " "))
        head = blocks.Cell(value, notes=index.notes(load, tier.tier))
        rows.append({"Value": head, **cells, "Each node": each, "Limited by": cause})
    open_steps = (step for step in steps.values() if step.verdict == "inconclusive")
    why = (f"{s.contender}, {wording.METRICS[s.metric]}: {s.reason}." for s in open_steps)
    return blocks.table_of(rows, ("Value", "Limited by"), tuple(why))
