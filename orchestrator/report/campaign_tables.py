"""Tables about several campaigns: their list, one against another, a trend, a study beside one."""

from collections.abc import Iterator, Sequence

from orchestrator import units
from orchestrator.analysis.campaigns import over_time
from orchestrator.analysis.campaigns.campaign_list import Entry
from orchestrator.analysis.conclusions import Delta, Verdict
from orchestrator.analysis.statistics import across_days
from orchestrator.metrics import METRICS
from orchestrator.report import prose, wording
from orchestrator.report.blocks import Cell, Row, Table, table_of

_BARS = "▁▂▃▄▅▆▇█"


def campaign_list(entries: Sequence[Entry]) -> Table:
    titles = ("Tiers", "Workloads", "Database", "Runs done", "Decision")
    rows = [row for entry in entries for row in _listed(entry)]
    return table_of(rows, {*titles} - {"Runs done"}, titles=titles)


def _listed(entry: Entry) -> Iterator[Row]:
    """The folder and its begin as a heading, for they are long, and then the rest."""
    begin = "time unknown"
    if entry.began_s is not None:
        begin = units.format_moment(entry.began_s)
    saved = ""
    if entry.baselines:
        saved = f", baseline {', '.join(entry.baselines)}"
    fault = "; ".join(filter(None, (entry.fault, *entry.left_out)))
    yield f"{entry.folder}  {begin}{saved}{f': {fault}' if fault else ''}"
    if entry.fault:
        return
    decisions = "; ".join(
        f"{load}: {what}" for load, what in (entry.decisions or {}).items()
    )
    if entry.published:
        times = "published"
    else:
        times = f"{entry.repetitions} times"
    yield {
        "Tiers": ", ".join(entry.profiles),
        "Workloads": ", ".join(entry.workloads),
        "Database": Cell(", ".join(entry.databases), detail=entry.scale),
        "Runs done": Cell(f"{entry.done}/{entry.planned}", detail=times),
        "Decision": Cell(decisions or "not judged yet", missing=not decisions),
    }


def comparison(pair: over_time.CampaignComparison) -> Table:
    of_cells = units.gathered(
        (_title(change), _change_row(change)) for change in pair.deltas
    )
    rows = [row for title, changes in of_cells.items() for row in (title, *changes)]
    return table_of(rows, ("Metric", "Verdict"), tuple(_remarks(pair)))


def _title(change: over_time.ProfileDelta) -> str:
    return f"{change.profile} × {change.delta.workload}"


def _change_row(change: over_time.ProfileDelta) -> Row:
    delta = change.delta
    if delta.scope == "all":
        whose = ""
    else:
        whose = f" ({delta.scope})"
    since = change.changed_since
    return {
        "Metric": f"{METRICS[delta.metric].title}{whose}",
        "Runs": f"{delta.n_baseline} → {delta.n_contender}",
        "Change": Cell(
            units.format_change(delta.change_pct), detail=wording.interval(delta)
        ),
        "Verdict": Cell("changed since", missing=True)
        if since
        else Cell("", word=delta.verdict),
    }


def _remarks(pair: over_time.CampaignComparison) -> Iterator[str]:
    margins = wording.margins(pair.margin_pct, pair.p99_margin_pct)
    names = {"before": pair.before, "after": pair.after}
    yield prose.said("comparison.changes", **names, days=_days(pair), margins=margins)
    titles = set(map(_title, pair.deltas))
    open_ = [of for of in pair.deltas if of.delta.verdict == "inconclusive"]
    for reason, every in units.gathered(
        (of.delta.reason, _title(of)) for of in open_
    ).items():
        whose = list(dict.fromkeys(every))
        if len(whose) == len(titles):
            where = "everywhere"
        else:
            where = units.listed(whose)
        yield f"Inconclusive, {where}: {reason}."
    for folder, only in (
        (pair.before, pair.only_before),
        (pair.after, pair.only_after),
    ):
        if only:
            yield f"Only in {folder}: {', '.join(only)}."
    for doubt in pair.doubts:
        yield f"Doubt: {doubt}."


def _days(pair: over_time.CampaignComparison) -> str:
    """What the intervals allow for."""
    counts = sorted(
        {c.history for c in pair.deltas if c.history >= over_time.FEWEST_HISTORY}
    )
    if not counts:
        return " between runs of each side alone"
    if len(counts) > 1:
        other = f"{counts[0]} to {counts[-1]}"
    else:
        other = str(counts[0])
    return f", which allows for what differs between {other} other campaigns"


def trend(history: over_time.Trend) -> Table:
    rows: list[Row] = []
    if history.unit == "1/min":
        unit = "NOPM"
    else:
        unit = history.unit
    for number, level in enumerate(history.levels, start=1):
        mean = units.format_quantity(level.mean, unit)
        count = units.counted(level.campaigns, "campaign")
        text = f"Level {number}: {mean} over {count} from {level.first} on"
        if level.change_pct is not None:
            text += f": {units.format_change(level.change_pct)}, {level.word}"
        rows += [
            text,
            *(_point(point) for point in history.points if point.level == number),
        ]
    return table_of(rows, ("Begin", "Code"), tuple(_about(history)))


def _point(point: over_time.Point) -> Row:
    ends = [
        units.format_number(end)
        for end in (point.ci_low, point.ci_high)
        if end is not None
    ]
    return {
        "Begin": units.format_moment(point.began_s),
        "Runs": str(point.n),
        "Mean": units.format_number(point.mean),
        "95 % interval": " to ".join(ends),
        "Code": Cell(point.revision or "not recorded", missing=not point.revision),
    }


def _about(history: over_time.Trend) -> Iterator[str]:
    bars = sparkline([point.mean for point in history.points])
    yield f"{METRICS[history.metric].title}, {history.profile} × {history.workload}: {bars}"
    if len(history.points) < across_days.FEWEST:
        points = len(history.points)
        yield prose.said("comparison.few", points=points, fewest=across_days.FEWEST)
    if history.open:
        yield f"Open: {history.open}."
    left_out = units.gathered((of.reason, of.campaign) for of in history.left_out)
    for reason, names in left_out.items():
        yield f"Left out, {units.listed(names)}: {reason}."


def sparkline(values: Sequence[float]) -> str:
    """One bar for each value, from the lowest to the highest."""
    low = min(values, default=0.0)
    high = max(values, default=0.0)
    if high <= low:
        return _BARS[0] * len(values)
    steps = ((value - low) / (high - low) * (len(_BARS) - 1) for value in values)
    return "".join(_BARS[round(step)] for step in steps)


_USED = {"cpu_pct": "CPU", "disk_iops": "IOPS"}
_FIGURES = {**wording.METRICS, "throughput_per_s": "throughput"}


def beside_changes(study: Verdict, campaign: Verdict) -> Table:
    """A row for each figure of the study and contender of the campaign: the change that follows
    from the study's figures, the campaign's, its interval and its word."""
    published = {(cell.workload, cell.metric, cell.scope) for cell in study.cells}
    of_study = {
        _key(delta): units.format_change(delta.change_pct) for delta in study.deltas
    }
    rows = [
        {
            "workload": delta.workload,
            "figure": figure(delta.metric, delta.scope),
            "tier": delta.contender,
            "the study": of_study.get(_key(delta), "not published"),
            "here": units.format_change(delta.change_pct),
            "interval": wording.interval(delta) or "none",
            "verdict": delta.verdict,
        }
        for delta in campaign.deltas
        if (delta.workload, delta.metric, delta.scope) in published
    ]
    return table_of(rows, ("workload", "figure", "tier", "verdict"))


def beside_used(study: Verdict, campaign: Verdict) -> Table:
    """A row for each cell of the campaign: CPU and IOPS of a node, the study's and here."""
    sides = {
        whose: {
            (cell.workload, cell.profile, cell.metric): wording.value_with_unit(cell)
            for cell in verdict.cells
        }
        for whose, verdict in (("the study", study), ("here", campaign))
    }
    rows = [
        {"workload": workload, "tier": profile}
        | {
            f"{title}, {whose}": side.get((workload, profile, metric), "not published")
            for metric, title in _USED.items()
            for whose, side in sides.items()
        }
        for workload, profile in dict.fromkeys(
            (c.workload, c.profile) for c in campaign.cells
        )
    ]
    return table_of(rows, ("workload", "tier"))


def figure(metric: str, scope: str) -> str:
    """A compared metric in words."""
    return ("New-Order's " if scope == "new_order" else "") + _FIGURES[metric]


def _key(delta: Delta) -> tuple[str, str, str, str]:
    return delta.workload, delta.contender, delta.metric, delta.scope
