"""What sessions waited for, by a YugabyteDB's own samples."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from orchestrator import facts
from orchestrator.analysis.telemetry.use import load_and_sessions
from orchestrator.report.blocks import (
    Block,
    Cell,
    Paragraph,
    Part,
    Row,
    Section,
    table_of,
)
from orchestrator.report.report_index import ReportIndex

_EVENT = "Wait event"
_SHARE = "Of sessions' time at work, %"
_MOST = 8
_ABOUT = (
    "From the servers' history of active sessions, in the measured windows of finished runs. Idle "
    "sessions are not sampled. Events of YSQL are of sessions, and make 100 % together. Those of "
    "TServer are of the requests that sessions wait for. A session may have several at a time, so "
    "these shares are rather too high. They are cut at 100 %."
)


def section(index: ReportIndex) -> tuple[Section, ...]:
    """The most frequent wait events of each tier, and why others are not known; empty where no
    server was asked."""
    rows: list[Row] = []
    shorter: list[Paragraph] = []
    reasons: dict[str, None] = {}
    for load in index.workloads:
        for tier in index.tiers:
            sampled = []
            for run in index.finished(tier, load.name):
                sampled.append(facts.group(run.record.facts, "waits"))
            title = f"{load.name}, {tier}"
            rows += _rows(title, sampled)
            shorter += _shorter(title, sampled)
            reasons |= dict.fromkeys(_reasons(sampled))
    blocks: list[Block] = []
    if rows:
        blocks.append(table_of(rows, (_EVENT,), (_ABOUT,)))
    blocks += shorter
    for reason in reasons:
        blocks.append(Paragraph(f"{reason}.", "Not known"))
    if not blocks:
        return ()
    return (Section("waits", "What sessions wait for", (Part("", tuple(blocks)),)),)


def _reasons(sampled: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for waits in sampled:
        if "not_read" in waits:
            yield str(waits["not_read"])


def _shorter(title: str, sampled: Sequence[Mapping[str, Any]]) -> Iterator[Paragraph]:
    """What shares are of, where servers had overwritten the window's begin."""
    seen = [waits for waits in sampled if "events" in waits]
    parts = [waits for waits in seen if "covered_s" in waits]
    if not parts:
        return
    shortest = min(parts, key=lambda waits: float(waits["covered_s"]))
    covered_s = shortest["covered_s"]
    window_s = shortest["window_s"]
    text = (
        "The servers' history was shorter than the window. "
        f"In {len(parts)} of {len(seen)} runs shares are of at least the last {covered_s:.0f} s "
        f"of {window_s:.0f} s."
    )
    unknown = 0
    for waits in parts:
        unknown += not load_and_sessions.covers_window(waits)
    if unknown:
        text += (
            f" In {unknown} of them waits for locks are not known: less than half of the window "
            "was covered. A larger `ysql_yb_ash_circular_buffer_size` keeps more."
        )
    yield Paragraph(text, title)


def _rows(title: str, sampled: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Means of the runs in which sessions were seen."""
    shares_pct: Counter[str] = Counter()
    runs = 0
    for waits in sampled:
        runs += "events" in waits
        for event in waits.get("events", ()):
            name = f"{event['component']}: {event['event']} ({event['type']})"
            shares_pct[name] += event["share_pct"]
    if not runs:
        return
    yield Cell(title, strong=True)
    for name, share_pct in shares_pct.most_common(_MOST):
        yield {_EVENT: name, _SHARE: f"{share_pct / runs:.1f}"}
