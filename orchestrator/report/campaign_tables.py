"""Tables about several campaigns: their list, one against another, a trend."""

from collections.abc import Iterator, Sequence

from orchestrator import units
from orchestrator.analysis.campaigns import over_time
from orchestrator.analysis.campaigns.campaign_list import Entry
from orchestrator.analysis.campaigns.trend import Level, Point, Trend
from orchestrator.analysis.statistics import across_days
from orchestrator.metrics import METRICS
from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Row, Table, table_of

# ------------------------------------------------------------------ the list of campaigns

_LISTED = ("Tiers", "Workloads", "Database", "Runs done", "Decision")


def campaign_list(entries: Sequence[Entry]) -> Table:
    """What each stored campaign is about, and what it came to."""
    rows: list[Row] = []
    for entry in entries:
        # The folder and its begin are a heading, because they are long.
        rows.append(_heading(entry))
        if not entry.fault:
            rows.append(_listed(entry))
    return table_of(rows, {*_LISTED} - {"Runs done"}, titles=_LISTED)


def _heading(entry: Entry) -> str:
    begin = "time unknown"
    if entry.began_s is not None:
        begin = units.format_moment(entry.began_s)
    heading = f"{entry.folder}  {begin}"
    if entry.baselines:
        heading += f", baseline {', '.join(entry.baselines)}"
    faults = [fault for fault in (entry.fault, *entry.left_out) if fault]
    if faults:
        heading += f": {'; '.join(faults)}"
    return heading


def _listed(entry: Entry) -> Row:
    times = f"{entry.repetitions} times"
    databases = ", ".join(entry.databases)
    done = f"{entry.done}/{entry.planned}"
    row: dict[str, Cell | str] = {}
    row["Tiers"] = ", ".join(entry.profiles)
    row["Workloads"] = ", ".join(entry.workloads)
    row["Database"] = Cell(databases, detail=entry.scale)
    row["Runs done"] = Cell(done, detail=times)
    row["Decision"] = _decisions(entry)
    return row


def _decisions(entry: Entry) -> Cell:
    if not entry.decisions:
        return Cell("not judged yet", missing=True)
    phrases = [f"{load}: {phrase}" for load, phrase in entry.decisions.items()]
    return Cell("; ".join(phrases))


# ------------------------------------------------------------------ one against another


def comparison(pair: over_time.CampaignComparison) -> Table:
    """The changes of each profile × workload, from one campaign to another."""
    by_title = units.gathered((_title(change), change) for change in pair.deltas)
    rows: list[Row] = []
    for title, changes in by_title.items():
        rows.append(title)
        for change in changes:
            rows.append(_change_row(change))
    return table_of(rows, ("Metric", "Verdict"), tuple(_remarks(pair)))


def _title(change: over_time.ProfileDelta) -> str:
    return f"{change.profile} × {change.delta.workload}"


def _change_row(change: over_time.ProfileDelta) -> Row:
    delta = change.delta
    metric = METRICS[delta.metric].title
    if delta.scope != "all":
        metric += f" ({delta.scope})"
    verdict = Cell("", word=delta.verdict)
    if change.changed_since:
        verdict = Cell("changed since", missing=True)
    words = units.format_change(delta.change_pct)
    runs = f"{delta.n_baseline} → {delta.n_contender}"
    cell = Cell(words, detail=wording.interval(delta))
    return {"Metric": metric, "Runs": runs, "Change": cell, "Verdict": verdict}


def _remarks(pair: over_time.CampaignComparison) -> Iterator[str]:
    margins = wording.margins(pair.margin_pct, pair.p99_margin_pct)
    days = _days(pair)
    yield (
        f"Changes from {pair.before} to {pair.after}, with their 95 % interval{days}; "
        f"those whose 90 % interval lies within {margins} count as the same."
    )
    yield from _inconclusive(pair)
    yield from _only_in(pair.before, pair.only_before)
    yield from _only_in(pair.after, pair.only_after)
    for doubt in pair.doubts:
        yield f"Doubt: {doubt}."


def _days(pair: over_time.CampaignComparison) -> str:
    """What the intervals allow for."""
    counts: set[int] = set()
    for change in pair.deltas:
        # Fewer campaigns do not say what differs between days.
        if change.history >= over_time.FEWEST_HISTORY:
            counts.add(change.history)
    if not counts:
        return " between runs of each side alone"
    least = min(counts)
    most = max(counts)
    others = str(least)
    if least < most:
        others = f"{least} to {most}"
    return f", which allows for what differs between {others} other campaigns"


def _inconclusive(pair: over_time.CampaignComparison) -> Iterator[str]:
    """A sentence for each reason, with where it holds."""
    titles = {_title(change) for change in pair.deltas}
    for reason, titles_of_reason in _titles_by_reason(pair).items():
        where = units.listed(list(titles_of_reason))
        if len(titles_of_reason) == len(titles):
            where = "everywhere"
        yield f"Inconclusive, {where}: {reason}."


def _titles_by_reason(pair: over_time.CampaignComparison) -> dict[str, dict[str, None]]:
    by_reason: dict[str, dict[str, None]] = {}
    for change in pair.deltas:
        if change.delta.verdict == "inconclusive":
            titles = by_reason.setdefault(change.delta.reason, {})
            titles[_title(change)] = None
    return by_reason


def _only_in(folder: str, titles: Sequence[str]) -> Iterator[str]:
    if titles:
        yield f"Only in {folder}: {', '.join(titles)}."


# ------------------------------------------------------------------ a trend

_BARS = "▁▂▃▄▅▆▇█"


def trend(history: Trend) -> Table:
    """A metric over all comparable campaigns: each level as a heading, below it its campaigns."""
    rows: list[Row] = []
    for number, level in enumerate(history.levels, start=1):
        rows.append(f"Level {number}: {_level(history, level)}")
        for point in history.points:
            if point.level == number:
                rows.append(_point(point))
    return table_of(rows, ("Begin", "Code"), tuple(_about(history)))


def _level(history: Trend, level: Level) -> str:
    """Its mean, and its change against the level before it."""
    unit = history.unit
    if unit == "1/min":
        unit = "NOPM"
    mean = units.format_quantity(level.mean, unit)
    count = units.counted(level.campaigns, "campaign")
    text = f"{mean} over {count} from {level.first} on"
    if level.change_pct is None:
        return text
    change = units.format_change(level.change_pct)
    return f"{text}: {change}, {level.word}"


def _point(point: Point) -> Row:
    ends: list[str] = []
    for end in (point.ci_low, point.ci_high):
        if end is not None:
            ends.append(units.format_number(end))
    code = Cell("not recorded", missing=True)
    if point.revision:
        code = Cell(point.revision)
    row: dict[str, Cell | str] = {}
    row["Begin"] = units.format_moment(point.began_s)
    row["Runs"] = str(point.n)
    row["Mean"] = units.format_number(point.mean)
    row["95 % interval"] = " to ".join(ends)
    row["Code"] = code
    return row


def _about(history: Trend) -> Iterator[str]:
    metric = METRICS[history.metric].title
    bars = sparkline([point.mean for point in history.points])
    yield f"{metric}, {history.profile} × {history.workload}: {bars}"
    points = len(history.points)
    if points < across_days.FEWEST:
        yield (
            f"No change of level can be proven with {points} comparable campaigns: "
            f"{across_days.FEWEST} are needed."
        )
    if history.open:
        yield f"Open: {history.open}."
    yield from _left_out(history)


def _left_out(history: Trend) -> Iterator[str]:
    by_reason = units.gathered(
        (left_out.reason, left_out.campaign) for left_out in history.left_out
    )
    for reason, names in by_reason.items():
        yield f"Left out, {units.listed(names)}: {reason}."


def sparkline(values: Sequence[float]) -> str:
    """One bar for each value, from the lowest to the highest."""
    low = min(values, default=0.0)
    high = max(values, default=0.0)
    if high <= low:
        return _BARS[0] * len(values)
    highest_bar = len(_BARS) - 1
    bars = ""
    for value in values:
        share = (value - low) / (high - low)
        bars += _BARS[round(share * highest_bar)]
    return bars
