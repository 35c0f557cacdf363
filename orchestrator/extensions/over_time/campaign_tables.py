"""Tables about several campaigns: their list, a trend."""

from collections.abc import Iterator, Sequence

from orchestrator import units
from orchestrator.analysis.campaigns.campaign_list import NOT_JUDGED, Entry
from orchestrator.extensions.over_time import across_days
from orchestrator.extensions.over_time.trend import Level, Point, Trend
from orchestrator.metrics import METRICS, value_in_words
from orchestrator.report.blocks import Cell, Row, Table, absent, table_of
from orchestrator.texts import prose

# ------------------------------------------------------------------ the list of campaigns

_NO_RUNS = absent("–")
_LISTED = ("Kind", "Question", "Database", "Runs done", "Answer")


def campaign_list(entries: Sequence[Entry]) -> Table:
    """What each was asked, and what it came to."""
    rows: list[Row] = []
    for entry in entries:
        # The folder and its begin are a heading, because they are long.
        rows.append(_heading(entry))
        # The heading of a folder that cannot be read says all that is known.
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
        heading += f": {'; '.join(prose.first_few(faults))}"
    return heading


def _listed(entry: Entry) -> Row:
    row: dict[str, Cell | str] = {}
    row["Kind"] = entry.kind
    row["Question"] = entry.question
    row["Database"] = _NO_RUNS
    row["Runs done"] = _NO_RUNS
    # A prediction stands beside the campaign whose runs it is from.
    if entry.is_campaign and entry.planned:
        row["Database"] = Cell(", ".join(entry.databases), detail=entry.scale)
        times = f"{entry.repetitions} times"
        row["Runs done"] = Cell(f"{entry.done}/{entry.planned}", detail=times)
    row["Answer"] = entry.answer
    # An empty answer would look like a campaign that named no tier.
    if not entry.answer:
        row["Answer"] = absent(NOT_JUDGED)
    return row


# ------------------------------------------------------------------ a trend


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
    mean = value_in_words(history.metric, level.mean)
    count = prose.counted(level.campaigns, "campaign")
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
    code = absent("not recorded")
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
    comparable = prose.counted(points, "comparable campaign")
    # Silence would be read as "nothing changed", which so few campaigns cannot prove.
    if points < across_days.FEWEST:
        yield (
            f"No change of level can be proven with {comparable}: "
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
        yield f"Left out, {prose.listed(names)}: {reason}."


def sparkline(values: Sequence[float]) -> str:
    """One bar for each value, from the lowest to the highest."""
    low = min(values, default=0.0)
    high = max(values, default=0.0)
    # All values are alike, so there is no range to divide by.
    if high <= low:
        return units.bar(0.0) * len(values)
    bars = ""
    for value in values:
        bars += units.bar((value - low) / (high - low))
    return bars
