"""What sessions waited for, by a YugabyteDB's own samples."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from orchestrator.analysis.telemetry.use import load_and_sessions
from orchestrator.facts import WaitFacts
from orchestrator.report.blocks import (
    Block,
    Paragraph,
    Part,
    Row,
    Section,
    heading,
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
    blocks = tuple(_blocks(index))
    if not blocks:
        return ()
    return (Section("waits", "What sessions wait for", (Part("", blocks),)),)


def _blocks(index: ReportIndex) -> Iterator[Block]:
    """The table; then, as far as there are any, histories that were too short, and reasons."""
    rows: list[Row] = []
    shorter: list[Paragraph] = []
    reasons: dict[str, None] = {}
    for title, sampled in _sampled(index).items():
        rows += _rows(title, sampled)
        shorter += _shorter(title, sampled)
        # Most tiers have the same reason, which is said once.
        reasons |= dict.fromkeys(_reasons(sampled))
    if rows:
        yield table_of(rows, (_EVENT,), (_ABOUT,))
    yield from shorter
    for reason in reasons:
        yield Paragraph(f"{reason}.", "Not known")


def _sampled(index: ReportIndex) -> dict[str, list[WaitFacts]]:
    """Workload and tier → what each finished run recorded of waits."""
    by_title: dict[str, list[WaitFacts]] = {}
    for load in index.workloads:
        for tier in index.tiers:
            sampled = by_title.setdefault(f"{load.name}, {tier}", [])
            for run in index.finished(tier, load.name):
                sampled.append(run.record.read_facts.waits)
    return by_title


def _reasons(sampled: Iterable[WaitFacts]) -> Iterator[str]:
    for waits in sampled:
        if waits.not_read:
            yield waits.not_read


def _shorter(title: str, sampled: Sequence[WaitFacts]) -> Iterator[Paragraph]:
    """What shares are of, where servers had overwritten the window's begin."""
    # Runs whose history could not be read are in neither of the two numbers.
    seen = [waits for waits in sampled if waits.events is not None]
    parts = [waits for waits in seen if waits.covered_s is not None]
    if not parts:
        return
    # YugabyteDB keeps sessions in a ring of a fixed size: a busy server overwrites sooner.
    shortest = min(parts, key=lambda waits: waits.covered_s or 0.0)
    # The shortest of all runs, so that "at least" is true of each.
    covered_s = shortest.covered_s
    window_s = shortest.window_s
    text = (
        "The servers' history was shorter than the window. "
        f"In {len(parts)} of {len(seen)} runs shares are of at least the last {covered_s:.0f} s "
        f"of {window_s:.0f} s."
    )
    yield Paragraph(text + _unknown_locks(parts), title)


def _unknown_locks(parts: Iterable[WaitFacts]) -> str:
    """A sentence on the runs of which too little is known; empty if there are none."""
    unknown = 0
    for waits in parts:
        unknown += not load_and_sessions.covers_window(waits)
    if not unknown:
        return ""
    return (
        f" In {unknown} of them waits for locks are not known: less than half of the window "
        "was covered. A larger `ysql_yb_ash_circular_buffer_size` keeps more."
    )


def _rows(title: str, sampled: Sequence[WaitFacts]) -> Iterator[Row]:
    """Means of the runs in which sessions were seen."""
    shares_pct: Counter[str] = Counter()
    runs = 0
    for waits in sampled:
        # A run without this event has 0 % of it, and counts in the mean all the same.
        runs += waits.events is not None
        for event in waits.events or ():
            # Shares of YSQL and of TServer are of unlike times, so a name says whose it is.
            name = f"{event['component']}: {event['event']} ({event['type']})"
            shares_pct[name] += event["share_pct"]
    # A heading without rows would say that sessions waited for nothing.
    if not runs:
        return
    yield heading(title)
    for name, share_pct in shares_pct.most_common(_MOST):
        yield {_EVENT: name, _SHARE: f"{share_pct / runs:.1f}"}
