"""Tables about several stored campaigns: their list, one against another, and a trend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator import units
from orchestrator.analysis.campaign_list import Entry
from orchestrator.analysis.over_time import Comparison, ProfileDelta
from orchestrator.analysis.trend import Level, Point, Trend
from orchestrator.metrics import METRICS
from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Table, numbers, texts

_BARS = "▁▂▃▄▅▆▇█"


def campaign_list(entries: Sequence[Entry]) -> Table:
    columns = (
        *texts("Begin", "Campaign", "Tiers", "Workloads", "Database", "Scale"),
        *numbers("Repeats", "Runs done"),
        *texts("Decision"),
    )
    return Table(columns, tuple(_listed(entry) for entry in entries))


def _listed(entry: Entry) -> tuple[Cell, ...]:
    begin = Cell(wording.moment(entry.began_s) if entry.began_s is not None else "unknown")
    if entry.fault:
        cells = (Cell(entry.fault, missing=True), *(Cell("") for _ in range(6)))
        return (begin, Cell(entry.folder), *cells)
    names = f"baseline {', '.join(entry.baselines)}" if entry.baselines else ""
    decisions = "; ".join(f"{load}: {what}" for load, what in (entry.decisions or {}).items())
    return (
        begin,
        Cell(entry.folder, detail="published by others" if entry.published else names),
        Cell(", ".join(entry.profiles)),
        Cell(", ".join(entry.workloads)),
        Cell(", ".join(entry.databases)),
        Cell(entry.scale),
        Cell(str(entry.repetitions)),
        Cell(f"{entry.done}/{entry.planned}", missing=entry.done < entry.planned),
        Cell(decisions or "not judged yet", missing=not decisions),
    )


# ------------------------------------------------------------------ one against another


def comparison(made: Comparison) -> Table:
    columns = (
        *texts("Tier", "Workload", "Metric"),
        *numbers("Runs", "Change", "95 % interval"),
        *texts("Verdict", "Why"),
    )
    rows = tuple(_changed(one) for one in made.deltas)
    return Table(columns, rows, remarks=tuple(_remarks(made)))


def _changed(one: ProfileDelta) -> tuple[Cell, ...]:
    delta = one.delta
    whose = "" if delta.scope == "all" else f" ({delta.scope})"
    return (
        Cell(one.profile, tier=one.profile),
        Cell(delta.workload),
        Cell(f"{METRICS[delta.metric].title}{whose}"),
        Cell(f"{delta.n_baseline} → {delta.n_contender}"),
        Cell(units.format_change(delta.change_pct)),
        Cell(wording.interval(delta)),
        Cell("", word=delta.verdict),
        Cell(delta.reason),
    )


def _remarks(made: Comparison) -> Iterator[str]:
    margin = units.format_quantity(made.margin_pct, "%")
    yield f"From {made.before} to {made.after}; what lies within ±{margin} is the same."
    for folder, only in ((made.before, made.only_before), (made.after, made.only_after)):
        if only:
            yield f"Only in {folder}: {', '.join(only)}."
    for doubt in made.doubts:
        yield f"Doubt: {doubt}."


# ------------------------------------------------------------------ a trend


def trend(found: Trend) -> Table:
    columns = (
        *texts("Begin", "Campaign", "Code"),
        *numbers("Runs", METRICS[found.metric].title, "95 % interval", "Level"),
        *texts("Change of level"),
    )
    begins = {level.first: level for level in found.levels}
    rows = tuple(_point(point, begins.get(point.campaign), found) for point in found.points)
    return Table(columns, rows, remarks=tuple(_about(found)))


def _point(point: Point, begun: Level | None, found: Trend) -> tuple[Cell, ...]:
    ends = (point.ci_low, point.ci_high)
    shown = [_quantity(end, found) for end in ends if end is not None]
    changed = begun is not None and begun.change_pct is not None
    return (
        Cell(wording.moment(point.began_s)),
        Cell(point.campaign),
        Cell(point.revision or "not recorded", missing=not point.revision),
        Cell(str(point.n)),
        Cell(_quantity(point.mean, found)),
        Cell(" to ".join(shown)),
        Cell(str(point.level)),
        Cell(units.format_change(begun.change_pct or 0.0), word=begun.word)
        if changed and begun is not None
        else Cell(""),
    )


def _quantity(value: float, found: Trend) -> str:
    return units.format_quantity(value, "NOPM" if found.unit == "1/min" else found.unit)


def _about(found: Trend) -> Iterator[str]:
    yield sparkline([point.mean for point in found.points])
    if found.open:
        yield f"Open: {found.open}."
    for one in found.left_out:
        yield f"Left out: {one.campaign}: {one.reason}."


def sparkline(values: Sequence[float]) -> str:
    """One bar for each value, from the lowest to the highest."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    if high <= low:
        return _BARS[0] * len(values)
    steps = ((value - low) / (high - low) * (len(_BARS) - 1) for value in values)
    return "".join(_BARS[round(step)] for step in steps)
