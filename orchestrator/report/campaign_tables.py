"""Tables about several campaigns: their list, one against another, a trend, a study beside one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator import units
from orchestrator.analysis.campaigns.campaign_list import Entry
from orchestrator.analysis.campaigns.over_time import (
    FEWEST_HISTORY,
    CampaignComparison,
    ProfileDelta,
)
from orchestrator.analysis.campaigns.trend import Level, Point, Trend
from orchestrator.analysis.comparisons import COMPARED
from orchestrator.analysis.conclusions import Delta, Verdict
from orchestrator.analysis.statistics import change_points
from orchestrator.metrics import METRICS
from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Table, numbers, texts

_BARS = "▁▂▃▄▅▆▇█"


def campaign_list(entries: Sequence[Entry]) -> Table:
    columns = (*texts("Tiers", "Workloads", "Database"), *numbers("Runs done"), *texts("Decision"))
    return Table(columns, tuple(row for entry in entries for row in _listed(entry)))


def _listed(entry: Entry) -> Iterator[tuple[Cell, ...]]:
    """The folder and its begin as a heading, for they are long, and then the rest."""
    begin = wording.moment(entry.began_s) if entry.began_s is not None else "time unknown"
    saved = f", baseline {', '.join(entry.baselines)}" if entry.baselines else ""
    fault = "; ".join(filter(None, (entry.fault, *entry.left_out)))
    heading = f"{entry.folder}  {begin}{saved}{f': {fault}' if fault else ''}"
    yield (Cell(heading, strong=True),)
    if entry.fault:
        return
    decisions = "; ".join(f"{load}: {what}" for load, what in (entry.decisions or {}).items())
    times = "published" if entry.published else f"{entry.repetitions} times"
    yield (
        Cell(", ".join(entry.profiles)),
        Cell(", ".join(entry.workloads)),
        Cell(", ".join(entry.databases), detail=entry.scale),
        Cell(f"{entry.done}/{entry.planned}", detail=times),
        Cell(decisions or "not judged yet", missing=not decisions),
    )


# ------------------------------------------------------------------ one against another


def comparison(pair: CampaignComparison) -> Table:
    columns = (*texts("Metric"), *numbers("Runs", "Change"), *texts("Verdict"))
    rows: list[tuple[Cell, ...]] = []
    for title in dict.fromkeys(_title(change) for change in pair.deltas):
        rows.append((Cell(title, strong=True),))
        rows += [_change_row(change) for change in pair.deltas if _title(change) == title]
    return Table(columns, tuple(rows), remarks=tuple(_remarks(pair)))


def _title(change: ProfileDelta) -> str:
    return f"{change.profile} × {change.delta.workload}"


def _change_row(change: ProfileDelta) -> tuple[Cell, ...]:
    delta = change.delta
    whose = "" if delta.scope == "all" else f" ({delta.scope})"
    return (
        Cell(f"{METRICS[delta.metric].title}{whose}"),
        Cell(f"{delta.n_baseline} → {delta.n_contender}"),
        Cell(units.format_change(delta.change_pct), detail=wording.interval(delta)),
        Cell("changed since", missing=True)
        if change.changed_since
        else Cell("", word=delta.verdict),
    )


def _remarks(pair: CampaignComparison) -> Iterator[str]:
    margins = wording.margins(pair.margin_pct, pair.p99_margin_pct)
    yield (
        f"Changes from {pair.before} to {pair.after}, with their 95 % interval{_days(pair)}; those "
        f"whose 90 % interval lies within {margins} count as the same."
    )
    titles = set(map(_title, pair.deltas))
    open_ = [change for change in pair.deltas if change.delta.verdict == "inconclusive"]
    for reason in dict.fromkeys(change.delta.reason for change in open_):
        whose = dict.fromkeys(_title(change) for change in open_ if change.delta.reason == reason)
        where = "everywhere" if len(whose) == len(titles) else units.listed(list(whose))
        yield f"Inconclusive, {where}: {reason}."
    for folder, only in ((pair.before, pair.only_before), (pair.after, pair.only_after)):
        if only:
            yield f"Only in {folder}: {', '.join(only)}."
    for doubt in pair.doubts:
        yield f"Doubt: {doubt}."


def _days(pair: CampaignComparison) -> str:
    """What the intervals allow for."""
    counts = sorted({change.history for change in pair.deltas if change.history >= FEWEST_HISTORY})
    if not counts:
        return " between runs of each side alone"
    other = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
    return f", which allows for what differs between {other} other campaigns"


# ------------------------------------------------------------------ a trend


def trend(history: Trend) -> Table:
    columns = (*texts("Begin"), *numbers("Runs", "Mean", "95 % interval"), *texts("Code"))
    rows: list[tuple[Cell, ...]] = []
    for number, level in enumerate(history.levels, start=1):
        rows.append((Cell(_level(number, level, history), strong=True),))
        rows += [_point(point) for point in history.points if point.level == number]
    return Table(columns, tuple(rows), remarks=tuple(_about(history)))


def _level(number: int, level: Level, history: Trend) -> str:
    count = units.counted(level.campaigns, "campaign")
    text = f"Level {number}: {_quantity(level.mean, history)} over {count} from {level.first} on"
    if level.change_pct is None:
        return text
    return f"{text}: {units.format_change(level.change_pct)}, {level.word}"


def _point(point: Point) -> tuple[Cell, ...]:
    ends = [units.format_number(end) for end in (point.ci_low, point.ci_high) if end is not None]
    return (
        Cell(wording.moment(point.began_s)),
        Cell(str(point.n)),
        Cell(units.format_number(point.mean)),
        Cell(" to ".join(ends)),
        Cell(point.revision or "not recorded", missing=not point.revision),
    )


def _quantity(value: float, history: Trend) -> str:
    return units.format_quantity(value, "NOPM" if history.unit == "1/min" else history.unit)


def _about(history: Trend) -> Iterator[str]:
    bars = sparkline([point.mean for point in history.points])
    yield f"{METRICS[history.metric].title}, {history.profile} × {history.workload}: {bars}"
    if len(history.points) < change_points.FEWEST:
        yield (
            f"No change of level can be proven with {len(history.points)} comparable campaigns: "
            f"{change_points.FEWEST} are needed."
        )
    if history.open:
        yield f"Open: {history.open}."
    for reason in dict.fromkeys(left_out.reason for left_out in history.left_out):
        names = [left_out.campaign for left_out in history.left_out if left_out.reason == reason]
        yield f"Left out, {units.listed(names)}: {reason}."


def sparkline(values: Sequence[float]) -> str:
    """One bar for each value, from the lowest to the highest."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    if high <= low:
        return _BARS[0] * len(values)
    steps = ((value - low) / (high - low) * (len(_BARS) - 1) for value in values)
    return "".join(_BARS[round(step)] for step in steps)


# ------------------------------------------------------------------ a published study beside one


_USED = {"cpu_pct": "CPU", "disk_iops": "IOPS"}
_FIGURES = {**wording.METRICS, "throughput_per_s": "throughput"}


def beside_changes(study: Verdict, campaign: Verdict) -> Table:
    """A row for each figure of the study and contender of the campaign: the change that follows
    from the study's figures, the campaign's, its interval and its word."""
    published = {(cell.workload, cell.metric, cell.scope) for cell in study.cells}
    of_study = {_key(delta): units.format_change(delta.change_pct) for delta in study.deltas}
    rows = [
        (
            delta.workload,
            figure(delta.metric, delta.scope),
            delta.contender,
            of_study.get(_key(delta), "not published"),
            units.format_change(delta.change_pct),
            wording.interval(delta) or "none",
            delta.verdict,
        )
        for delta in campaign.deltas
        if (delta.workload, delta.metric, delta.scope) in published
        and (delta.metric, delta.scope) in COMPARED
    ]
    columns = (*texts("workload", "figure", "tier"), *numbers("the study", "here", "interval"))
    return Table((*columns, *texts("verdict")), tuple(tuple(map(Cell, row)) for row in rows))


def beside_used(study: Verdict, campaign: Verdict) -> Table:
    """A row for each cell of the campaign: CPU and IOPS of a node, the study's and here."""
    sides = [
        {
            (cell.workload, cell.profile, cell.metric): wording.value_with_unit(cell)
            for cell in cells
        }
        for cells in (study.cells, campaign.cells)
    ]
    rows = [
        (
            *(workload, profile),
            *(side.get((workload, profile, m), "not published") for m in _USED for side in sides),
        )
        for workload, profile in dict.fromkeys((c.workload, c.profile) for c in campaign.cells)
    ]
    titles = [f"{title}, {whose}" for title in _USED.values() for whose in ("the study", "here")]
    columns = (*texts("workload", "tier"), *numbers(*titles))
    return Table(columns, tuple(tuple(map(Cell, row)) for row in rows))


def figure(metric: str, scope: str) -> str:
    """A compared metric in words."""
    return ("New-Order's " if scope == "new_order" else "") + _FIGURES[metric]


def _key(delta: Delta) -> tuple[str, str, str, str]:
    return delta.workload, delta.contender, delta.metric, delta.scope
