"""What was varied: what is concluded of it, its charts, and the figures value by value."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from orchestrator import metrics, units
from orchestrator.analysis.answers import sweeps
from orchestrator.analysis.conclusions import Law, TierValues, VariedWorkload
from orchestrator.planning import factors
from orchestrator.report import blocks, wording
from orchestrator.report.blocks import Cell, Chart, Charts, Paragraph, Part, Section
from orchestrator.report.charts import charts
from orchestrator.report.prose import measures, said, words
from orchestrator.report.report_index import ReportIndex

_SLIGHT = 0.05  # exponents nearer to zero change a figure by 12 % where the value is ten times
_MANY = 1e6  # in thousands and millions from here on, as bytes are
_WIDE = 8.0  # from the least load to the highest: beyond, loads stand at equal ratios
_P99, _AVERAGE = measures("varied.latencies")


def answers(index: ReportIndex) -> Iterator[blocks.ShownAnswer]:
    """How far each tier is enough, or else what was found of each: the loads that it takes, or the
    laws where one tier alone was measured. What one tier took of a sweep is an answer already."""
    verdict = index.verdict
    for of in (*(verdict.sweeps if index.contenders else ()), *verdict.varied):
        lines = of.horizons or tuple(_sentences(of, index))
        if lines:
            name = f"{of.workload}, {_name(of)}"
            text = index.opening("; ".join(lines))
            yield blocks.ShownAnswer(name, "", text, "")


def sections(index: ReportIndex) -> Iterator[Section]:
    """One for each workload that was swept or varied: what was concluded, charts, then each tier's
    figures value by value."""
    for of in (*index.verdict.sweeps, *index.verdict.varied):
        kind = "factor"
        where = f"at several values of {_name(of)}"
        about = [said("factors.laws")]
        caption = said("factors.charts")
        if of in index.verdict.sweeps:
            kind = "sweep"
            where = "under several loads"
            caption = said("sweeps.charts")
            about = [
                said("sweeps.knee"),
                *([said("sweeps.capacity")] if of.slo else []),
            ]
        elif of.factor == factors.WITHOUT:
            where = "without a stage"
            about = [said("factors.stages")]
        texts = map(index.opening, (*of.horizons, *_sentences(of, index)))
        drawn = charts_of(index, of)
        shown: tuple[Charts, ...] = ()
        if drawn:
            shown = (Charts(drawn, index.tiers, caption),)
        lines = blocks.Items(tuple(map(Paragraph, texts)))
        parts = [Part("", (lines, Paragraph(" ".join(about)), *shown))]
        parts += [Part(tier.tier, (table(index, of, tier),)) for tier in of.tiers]
        yield Section(f"{kind}-{of.workload}", f"{of.workload} {where}", tuple(parts))


def _name(of: VariedWorkload) -> str:
    return of.factor.replace("_", " ")


# ------------------------------------------------------------------ in sentences


def _sentences(of: VariedWorkload, index: ReportIndex) -> Iterator[str]:
    """For each tier of a sweep the load that it takes; of a factor each figure that follows it, or
    each change where none can be said to; then each change of what limits it. For each stage that
    was taken away whether it was the limit."""
    for tier in of.tiers:
        if of.factor == factors.WITHOUT:
            yield from _stages(of, tier, index)
            continue
        if of in index.verdict.sweeps:
            yield sweeps.load_taken(of, tier)
        for law in tier.laws:
            what = wording.METRICS[law.metric] + " per node" * law.per_node
            yield f"{tier.tier}: {what} {_law(of, law)}"
        for step in () if tier.laws or of in index.verdict.sweeps else tier.steps:
            value = of.values[of.workloads.index(step.contender)]
            change = f"{units.format_change(step.change_pct)}, {step.verdict}"
            yield f"{tier.tier}: {wording.METRICS[step.metric]} at {value} {change}"
        causes = [tier.causes.get(load, "").replace("_", " ") for load in of.workloads]
        for place, (before, after) in enumerate(pairwise(causes)):
            if before and after and before != after:
                text = f"from {before} at {of.values[place]} to {after} at {of.values[place + 1]}"
                yield f"{tier.tier}: what limits it changes {text}"


def _stages(of: VariedWorkload, tier: TierValues, index: ReportIndex) -> Iterator[str]:
    """Whether each stage that was taken away was the limit: only a proven change of the rate says
    so. Where the average latency alone is better, as at a rate that is served anyway, the stage
    took that time."""
    full, *others = of.workloads
    rate = index.throughput_metric(full)
    scope = index.latency_scope(full)
    cause = tier.causes.get(full, "unattributed").replace("_", " ")
    if cause == "unattributed":
        named = ""
    else:
        named = f"; with all stages {cause} was named"
    for load in others:
        keys = (rate, "all"), ("latency_avg_s", scope)
        own = {
            (step.metric, step.scope): step
            for step in tier.steps
            if step.contender == load
        }
        steps = [own[key] for key in keys if key in own]
        step = next(
            (each for each in steps if each.verdict == "better"),
            next(iter(steps), None),
        )
        if step is None:
            continue
        cells = (
            index.metric_cells(tier.tier, at, {step.metric: ""}) for at in (load, full)
        )
        less, every = (cell[""].text for cell in cells)
        stage = words("factors.stage")[
            factors.lacks(index.campaign.plan.workload(load))
        ]
        text = f"{less} instead of {every} {wording.METRICS[step.metric]}"
        change = units.format_change(step.change_pct), wording.interval(step)
        shown = ", ".join(filter(None, change))
        if step.metric != rate and step.verdict == "better":
            word = "shorter"
        else:
            word = step.verdict
        judged = words("factors.stage_judged")[word].format(stage=stage)
        yield f"{tier.tier}: with the {stage} out of the path {text} ({shown}): {judged}{named}"


def _law(of: VariedWorkload, law: Law) -> str:
    if law.knee is not None:
        between = f"{of.values[law.knee]} and {of.values[law.knee + 1]}"
        return f"follows no one power of {_name(of)}: it bends between {between}"
    power = f"{_name(of)}^{law.exponent:.2f} ({law.low:.2f} to {law.high:.2f})"
    if law.low >= -_SLIGHT and law.high <= _SLIGHT:
        power = f"hardly depends on {_name(of)}: as {power}"
    else:
        if law.low > 0:
            verb = "grows"
        else:
            verb = "is not proven to change:"
            if law.high < 0:
                verb = "falls"
        power = f"{verb} as {power}"
        if law.high - law.low < 4 * _SLIGHT:
            names = {1: "linear", -1: "inverse"}
        else:
            names = {}
        power += "".join(
            f": {name}" for n, name in names.items() if law.low <= n <= law.high
        )
    return power + "; two values prove no law" * (law.values == 2)


# ------------------------------------------------------------------ in figures


def table(index: ReportIndex, of: VariedWorkload, tier: TierValues) -> blocks.Table:
    """A tier's figures, the values as rows, with the changes against the first."""
    rate, scope = (
        read(of.workloads[0]) for read in (index.throughput_metric, index.latency_scope)
    )
    columns = words("measured.columns")
    rates: tuple[str, ...] = ()
    if of.factor == factors.RATE_OPTION:
        rates = ("offered_per_s", "served_per_s")
    titles = {metric: columns[metric] for metric in (*rates, rate)}
    titles |= {"throughput_per_s": "Transactions/s"} if rate == "nopm" else {}
    average = "New-Order average latency"
    if scope == "all":
        average = "Average latency"
    titles |= {"latency_avg_s": average, "latency_p99_s": "p99"}
    steps = {
        (d.contender, d.metric): d for d in tier.steps if d.scope in ("all", scope)
    }
    rows = []
    first = tier.per_node.get(of.workloads[0])
    for value, load in zip(of.values, of.workloads, strict=True):
        cells = index.metric_cells(tier.tier, load, titles)
        for metric, title in titles.items():
            step = steps.get((load, metric))
            if step:
                change = (
                    f"{units.format_change(step.change_pct)} ({wording.interval(step)})"
                )
                cells[title] = Cell(cells[title].text, change, step.verdict)
        each = Cell("")
        if first and (own := tier.per_node.get(load)):
            unit = metrics.METRICS[rate].unit
            shown = units.format_quantity(own, "" if unit.startswith("1/") else unit)
            each = Cell(shown, f"{100 * own / first:.0f} % of the first")
        cause = Cell(tier.causes.get(load, "").replace("_", " "))
        behind = ""
        if index.overloaded(tier.tier, load):
            behind = "overloaded"
        head = Cell(value, detail=behind, notes=index.notes(load, tier.tier))
        rows.append({"Value": head, **cells, "Each node": each, "Limited by": cause})
    open_steps = (step for step in steps.values() if step.verdict == "inconclusive")
    why = (
        f"{s.contender}, {wording.METRICS[s.metric]}: {s.reason}." for s in open_steps
    )
    return blocks.table_of(rows, ("Value", "Limited by"), tuple(why))


def charts_of(index: ReportIndex, of: VariedWorkload) -> tuple[Chart, ...]:
    """Throughput and latency against the values, each if there are figures of it; none if the
    values are no numbers above zero. On logarithmic axes if they are no loads."""
    if min(of.numbers, default=0) <= 0:
        return ()
    tails = index.has_p99(
        (tier, workload)
        for tier in index.tiers
        for workload in of.workloads
        if not index.overloaded(tier, workload)
    )
    metric = index.throughput_metric(of.workloads[0])
    if metric == "nopm" and of in index.verdict.sweeps:  # loads are of all transactions
        metric = "throughput_per_s"
    rate = next(each for each in measures("charts.rates") if each.metric == metric)
    drawn = (_chart(index, of, shown) for shown in (rate, _P99 if tails else _AVERAGE))
    return tuple(chart for chart in drawn if chart is not None)


def _points(
    index: ReportIndex, of: VariedWorkload, shown: blocks.Measure
) -> Iterator[dict[str, Any]]:
    """One per tier and load, with the ends of its interval. Latency under overload is left out."""
    for tier in index.tiers:
        for value, workload in zip(of.numbers, of.workloads, strict=True):
            cell = index.cell(tier, workload, shown.metric)
            latency = shown.metric.startswith("latency")
            if cell is not None and not (latency and index.overloaded(tier, workload)):
                ends = (cell.mean, *wording.ends(cell))
                mean, low, high = (end * shown.factor for end in ends)
                yield {
                    "tier": tier,
                    "load": value,
                    "value": mean,
                    "low": low,
                    "high": high,
                }


def _chart(
    index: ReportIndex, of: VariedWorkload, shown: blocks.Measure
) -> Chart | None:
    points = list(_points(index, of, shown))
    if not points:
        return None
    of_new_order = index.latency_scope(of.workloads[0]) != "all"
    whose = "New-Order, " * (of_new_order and shown.metric.startswith("latency"))
    what = f"{shown.title} of {whose}{of.workload}"
    of_loads = of in index.verdict.sweeps
    if of.factor == factors.RATE_OPTION:
        load = "transactions/s asked for"
    else:
        load = _name(of)
    if not of_loads:  # nothing reaches zero there: such an interval is cut
        points = [
            {**point, "low": point["low"] or point["value"] / 10} for point in points
        ]
    wide = not of_loads or of.numbers[-1] >= _WIDE * of.numbers[0]
    spec = charts.drawing(
        "load",
        index.tiers,
        title=what,
        unit=shown.unit,
        load=load,
        loads=list(of.numbers),
        across={"type": "log", "base": 2, "nice": False} if wide else {"zero": False},
        marks=".3~s" if of.numbers[-1] >= _MANY else "~r",
        up={"zero": True} if of_loads else {"type": "log", "nice": False},
        mean=f"mean, {shown.unit}",
        low=f"interval from, {shown.unit}",
        high=f"to, {shown.unit}",
    )
    told = f"{what} against {load}, {shown.unit}"
    return charts.figure(
        f"{of.workload}-load-{shown.file}", told, spec, {"points": points}
    )
