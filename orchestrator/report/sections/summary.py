"""The first screen: the answer to each workload, how sure it is, and the changes it rests on."""

from collections.abc import Iterator, Sequence

from orchestrator import units
from orchestrator.analysis import conclusions, results
from orchestrator.analysis.answers.record import SurenessWord
from orchestrator.analysis.statistics.looks import repetitions
from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Row, ShownAnswer, Table, table_of
from orchestrator.report.prose import said
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import factors


def title(index: ReportIndex) -> str:
    names = [name for name in index.tiers if name != index.twin]
    if len(names) == 1:
        return f"{names[0]}, measured"
    return f"Which disk tier: {', '.join(names[:-1])} or {names[-1]}?"


def subtitle(index: ReportIndex) -> str:
    """Campaign, database, size and time, which tell this report from others."""
    plan = index.campaign.plan
    nodes = units.counted(plan.profiles[0].cluster.nodes, "node")
    parts = [index.campaign.name, _database(index), nodes]
    if plan.repetitions > 1:
        least = min(repetitions(plan, workload.name) for workload in plan.workloads)
        span = f"{least} to " if least < plan.repetitions else ""
        parts.append(f"{span}{plan.repetitions} repetitions")
    if (span_of_runs := results.span_s(index.campaign.runs)) is not None:
        first, last = map(units.format_moment, span_of_runs)
        share_pct = results.measuring_pct(index.campaign)
        measuring = (
            f", {share_pct:.0f} % of it measuring" if share_pct is not None else ""
        )
        parts.append(f"{first} to {last}{measuring}")
    return " · ".join(parts)


def _database(index: ReportIndex) -> str:
    """Name and version as the running server gave it, else as the profile asks."""
    cluster = index.campaign.plan.profiles[0].cluster
    if cluster.database == "none":
        return "the disk alone, no database"
    versions = (results.database(run.record).version for run in index.campaign.runs)
    version = next((version for version in versions if version), cluster.version)
    return f"{cluster.database} {version}" if version else cluster.database


def status(index: ReportIndex) -> tuple[SurenessWord, str]:
    """Conclusive if every workload has an answer by price, no cheaper tier is open beside it, and
    every planned run left figures."""
    lost = _lost_text(index)
    if not index.contenders and index.verdict.varied:
        return "one tier", f"It was measured at each value of what was varied.{lost}"
    if not index.contenders:
        only = "One profile was measured; there is nothing to compare it with."
        return "nothing to compare", f"{only}{lost}"
    answered = sum(decision.tier is not None for decision in index.verdict.decisions)
    total, deltas = len(index.subjects), index.verdict.deltas
    if not answered:
        few = ": with one run of each there is no telling a difference from chance"
        too_few = few if index.campaign.plan.repetitions == 1 else ""
        return "not conclusive", f"No workload has an answer{too_few}.{lost}"
    have = "has" if answered == 1 else "have"
    settled = sum(delta.verdict != "inconclusive" for delta in deltas)
    decisions = index.verdict.decisions
    by_limits = [
        why for why in dict.fromkeys(of.without_prices for of in decisions) if why
    ]
    word: SurenessWord = "conclusive"
    if answered < total or lost:
        word = "partly conclusive"
    elif by_limits:
        word = "enough; price open"
    elif any(decision.cheaper_open for decision in decisions):
        word = "enough; cheaper not excluded"
    chosen = "".join(f"{index.opening(why)} " for why in by_limits)
    return word, (
        f"{chosen}{answered} of {units.counted(total, 'workload')} {have} an answer; "
        f"{settled} of {units.counted(len(deltas), 'comparison')} came to a verdict.{lost}"
    )


def _lost_text(index: ReportIndex) -> str:
    runs = index.campaign.plan.runs
    if not (lost := sum(bool(index.campaign.lost(run)) for run in runs)):
        return ""
    text = f" {lost} of {units.counted(len(runs), 'planned run')} left no figures"
    if excluded := len(
        index.verdict.excluded
    ):  # they finished, and do not count as valid
        were = "was" if excluded == 1 else "were"
        text += f" that count: {excluded} {were} excluded as invalid"
    return f"{text}."


def answers(index: ReportIndex) -> tuple[ShownAnswer, ...]:
    """First that for the cluster, if there are several workloads, then that of each."""
    decisions = {decision.workload: decision for decision in index.verdict.decisions}
    of_each = tuple(
        _answer(index, name, decisions.get(name)) for name in index.subjects
    )
    if (cluster := index.verdict.cluster) is None:
        return of_each
    name, price = (
        f"all {len(cluster.workloads)} workloads",
        wording.decision_price(cluster),
    )
    return (
        ShownAnswer(name, cluster.tier, index.opening(cluster.reason), price),
        *of_each,
    )


def _answer(
    index: ReportIndex, workload: str, decision: conclusions.Decision | None
) -> ShownAnswer:
    if not index.contenders:
        return ShownAnswer(workload, None, _lone_profile(index, workload), "")
    if decision is None:
        return ShownAnswer(workload, None, "No decision was recorded.", "")
    price = wording.decision_price(decision)
    sentences = (
        index.opening(text) for text in (decision.reason, decision.basis) if text
    )
    return ShownAnswer(workload, decision.tier, " ".join(sentences), price)


def _lone_profile(index: ReportIndex, workload: str) -> str:
    """The values of a profile that is compared with none, as a sentence."""
    name = index.verdict.baseline
    for sweep in index.verdict.sweeps:
        if sweep.workload == workload:
            return index.opening(factors.taken(sweep, sweep.tiers[0]))
    rate = index.cell(name, workload, index.throughput_metric(workload))
    if rate is None:
        return " ".join(index.losses(index.planned(name, workload)))
    latencies = [
        f"{word} {wording.value_with_unit(cell)}"
        for word, metric in (
            ("average", "latency_avg_s"),
            ("99th percentile", "latency_p99_s"),
        )
        if (cell := index.cell(name, workload, metric)) is not None
    ]
    whose = (
        "New-Order latency " if index.latency_scope(workload) != "all" else "latency "
    )
    tail = f"; {whose}{', '.join(latencies)}" if latencies else ""
    return f"{name} did {wording.value_with_unit(rate)}{tail} (n = {rate.n})."


def faster(index: ReportIndex) -> Iterator[ShownAnswer]:
    """Which tier is faster and how many times, in a line for each workload."""
    for load in (workload.name for workload in index.workloads):
        metrics = _metrics(index, load).values()
        of_each = [
            [index.delta(other, load, m) for m in metrics] for other in index.contenders
        ]
        said = [
            _times([delta for delta in deltas if delta])
            for deltas in of_each
            if any(deltas)
        ]
        if said:
            yield ShownAnswer(load, None, "; ".join(said), "")


def _times(deltas: Sequence[conclusions.Delta]) -> str:
    """`ultra was 2.31 times as fast as premium (2.25 to 2.37)`, by the first of throughput, average
    and p99 latency that was judged better or worse."""
    delta = next((d for d in deltas if d.verdict in ("better", "worse")), deltas[0])
    better, lower = delta.verdict == "better", delta.direction == "lower"
    names = delta.baseline, delta.contender
    if not better and delta.verdict != "worse":
        alike = all(d.verdict == "same" for d in deltas)
        what = "are as fast as each other" if alike else "are not proven to differ"
        # A change whose interval looks like a proof: what it lacks, as the decision may have one.
        beyond = (
            d for d in deltas if (d.ci_low_pct or 0) > 0 or (d.ci_high_pct or 0) < 0
        )
        lacks = (delta.reason for delta in beyond if delta.verdict == "inconclusive")
        return ": ".join(
            filter(None, (f"{units.listed(names)} {what}", next(lacks, "")))
        )
    slow, fast = names if better else reversed(names)
    if delta.overloaded:
        return f"{fast} serves the rate asked for, {slow} does not"
    changes_pct = (delta.change_pct, delta.ci_low_pct, delta.ci_high_pct)
    ratios = [1 + pct / 100 for pct in changes_pct if pct is not None]
    factor, *ends = [1 / ratio if lower == better else ratio for ratio in ratios]
    what = f" in {wording.METRICS[delta.metric]}" if lower else ""
    span = " to ".join(map(units.format_number, sorted(ends)))
    return f"{fast} was {units.format_number(factor)} times as fast as {slow}{what} ({span})"


def verdict_table(index: ReportIndex) -> Table:
    """Per workload: the baseline's own values, then each contender's change against them."""
    rows: list[Row] = []
    for workload in index.workloads:
        rows += [
            f"{workload.name}: {workload.title}",
            _baseline_row(index, workload.name),
        ]
        others = (*index.contenders, *([index.twin] if index.twin else []))
        rows += [_contender_row(index, other, workload.name) for other in others]
    return table_of(
        rows, ("Tier",), (*_reading(index), *index.losses(index.campaign.plan.runs))
    )


def _reading(index: ReportIndex) -> Iterator[str]:
    """How to read the table, as far as this one needs it."""
    if index.contenders:
        plan = index.campaign.plan
        margins = wording.margins(plan.margin_pct, plan.p99_margin_pct)
        at, alone = levels(index), said("summary.changes_alone")
        yield said("summary.changes", levels=at, margins=margins) if at else alone
    if index.twin:
        yield said("summary.twin", twin=index.twin, baseline=index.verdict.baseline)
    if any(index.is_tpcc_derived(workload.name) for workload in index.workloads):
        yield said("summary.tpcc")


def levels(index: ReportIndex) -> str:
    """Of the changes' intervals: `95 %`; empty if none has one, which two repetitions give."""
    deltas = index.verdict.deltas
    known = any(delta.ci_low_pct is not None for delta in deltas)
    return wording.confidence(delta.confidence_pct for delta in deltas) if known else ""


def _metrics(index: ReportIndex, workload: str) -> dict[str, str]:
    """Column's title → metric; without the percentile if no run of the campaign has one."""
    p99 = {"p99 latency": "latency_p99_s"} if index.has("latency_p99_s") else {}
    rate = index.throughput_metric(workload)
    return {"Throughput": rate, "Average latency": "latency_avg_s", **p99}


def _baseline_row(index: ReportIndex, workload: str) -> dict[str, Cell]:
    name = index.verdict.baseline
    metrics = _metrics(index, workload)
    cells = {
        title: index.cell(name, workload, metric) for title, metric in metrics.items()
    }
    n = max((cell.n for cell in cells.values() if cell is not None), default=0)
    label = f"baseline, n = {n}" if index.contenders else f"n = {n}"
    values = {
        title: index.value_cell(name, workload, cell, wording.value_with_unit)
        for title, cell in cells.items()
    }
    return {
        "Tier": Cell(name, label, tier=name, notes=index.notes(workload, name)),
        **values,
    }


def _contender_row(
    index: ReportIndex, contender: str, workload: str
) -> dict[str, Cell]:
    metrics = _metrics(index, workload)
    deltas = [index.delta(contender, workload, metric) for metric in metrics.values()]
    finished = str(len(index.finished(contender, workload)))
    n = next((wording.runs_on_each_side(d) for d in deltas if d is not None), finished)
    floor = "noise floor, " if contender == index.twin else ""
    head = Cell(contender, detail=f"{floor}n = {n}", tier=contender)
    changes = {
        t: change_cell(index, contender, workload, metric)
        for t, metric in metrics.items()
    }
    return {"Tier": head, **changes}


def change_cell(index: ReportIndex, contender: str, workload: str, metric: str) -> Cell:
    """A change with its interval, verdict word and the doubts about either side."""
    delta = index.delta(contender, workload, metric)
    if delta is None:
        baseline = index.cell(index.verdict.baseline, workload, metric)
        own = index.cell(contender, workload, metric)
        lacks = index.absence(contender, workload) if own is None else "no baseline"
        return Cell("no change" if own and baseline else lacks, missing=True)
    no_figure = f"overloaded: {', '.join(delta.overloaded)}" if delta.overloaded else ""
    return Cell(
        "not compared" if no_figure else units.format_change(delta.change_pct),
        detail=no_figure or wording.interval(delta) or "no interval",
        word=delta.verdict,
        notes=index.notes(workload, contender, index.verdict.baseline),
    )
