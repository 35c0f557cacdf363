"""A campaign that goes on, as one panel: what is done, until when, how fast, and what is decided.

Made from a record of the moment, so that the terminal of the campaign and another one show the
same. Each line is as long as the terminal is wide at most.
"""

import math
from collections.abc import Iterator, Sequence

from rich.box import ROUNDED
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from orchestrator.run.progress.live_state import (
    DiskAtCap,
    LiveRun,
    PanelState,
    RecentRates,
)
from orchestrator.texts.foreign_text import printable
from orchestrator.units import bar, format_moment, format_number, format_seconds

_MOST_BARS = 30  # two of the last minute's seconds share a bar
_CAPS = {"iops": "IOPS", "bandwidth": "bandwidth"}
# A campaign writes its state every 2 s (measure/live_view.py), so one that is missed says nothing.
_LATE_S = 5.0


def panel(state: PanelState, now_s: float) -> RenderableType:
    """`now_s`: Unix; a state that is older than some seconds says so."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    if state.doing:
        rows.add_row("now", _text(state.doing))
    rows.add_row("time", _text(_time(state, now_s)))
    for row in _throughput(state):
        rows.add_row(*row)
    if state.disk is not None:
        rows.add_row("disk", _text(_disk(state.disk)))
    if state.cost:
        rows.add_row("cost", _text(f"about {state.cost} so far"))
    label = "standing"
    for line in state.standing:
        rows.add_row(label, _text(line))
        label = ""
    title = state.campaign
    if state.run is not None:
        title = _title(state.run)
    return Panel(
        Group(rows), title=_text(title), title_align="left", box=ROUNDED, expand=True
    )


def _text(words: str) -> Text:
    """The words as they are: brackets are no style, and nothing in them controls the terminal."""
    return Text(printable(words))


def _title(run: LiveRun) -> str:
    repetition = f"repetition {run.repetition} of {run.repetitions}"
    number = f"run {run.number} of {run.runs}"
    return f"{number} · {run.profile} × {run.workload} · {repetition}"


def _time(state: PanelState, now_s: float) -> str:
    silent_s = max(0.0, now_s - state.written_s)
    # Another terminal reads a state that may be some seconds old; the campaign went on meanwhile.
    parts = [f"{format_seconds(state.elapsed_s + silent_s)} so far"]
    if state.ends_s is not None:
        left_s = state.ends_s - now_s
        if left_s > 0:
            parts.append(f"about {format_seconds(left_s)} left")
            parts.append(f"until {format_moment(state.ends_s)}")
        else:
            parts.append("later than expected")
    if silent_s > _LATE_S:
        parts.append(f"last heard {format_seconds(silent_s)} ago")
    return " · ".join(parts)


def _throughput(state: PanelState) -> Iterator[tuple[str, Text]]:
    """This tier and the one before, on one scale, which begins at 0."""
    shown: list[RecentRates] = []
    most_per_s = 0.0
    name_length = 0
    for rates in (state.rates, state.before):
        if rates is not None and rates.per_s:
            shown.append(rates)
            most_per_s = max(most_per_s, *rates.per_s)
            name_length = max(name_length, len(rates.profile))
    label = "transactions/s"
    for rates in shown:
        figure = format_number(rates.per_s[-1])
        if rates is state.before:
            figure = _mean_in_words(rates)
        bars = sparkline(rates.per_s, most_per_s)
        name = f"{rates.profile:{name_length}}"
        yield label, _text(f"{name}  {bars:{_MOST_BARS}}  {figure}")
        label = ""


def _mean_in_words(rates: RecentRates) -> str:
    """The mean of a tier that is done, whose last second alone says nothing."""
    mean_per_s = sum(rates.per_s) / len(rates.per_s)
    return f"{format_number(mean_per_s)}  (before, mean)"


def sparkline(per_s: Sequence[float], most_per_s: float) -> str:
    """A bar for each value, or for as many neighbours as leave 30 bars; 0 is the lowest bar."""
    together = math.ceil(len(per_s) / _MOST_BARS)
    bars = ""
    for first in range(0, len(per_s), max(1, together)):
        neighbours = per_s[first : first + together]
        mean_per_s = sum(neighbours) / len(neighbours)
        bars += bar(mean_per_s / (most_per_s or 1.0))
    return bars


def _disk(disk: DiskAtCap) -> str:
    share_pct = round(disk.seconds_pct)
    if share_pct == 0:
        return "not at a cap in the last minute"
    cap = _CAPS[disk.cap]
    return f"at its {cap} cap in {share_pct} % of the last minute ({disk.node})"
