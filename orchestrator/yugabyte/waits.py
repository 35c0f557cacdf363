"""What a YugabyteDB's sessions wait for, from the history that its nodes keep.

Each node samples once a second the sessions that are at work on it, and the requests that tablet
servers carry out for them. Idle sessions are in no sample."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from orchestrator.errors import RunError
from orchestrator.keys.shipped_yaml import shipped
from orchestrator.system.sql import Row, Session, query

_SESSIONS = "YSQL"
# PostgreSQL's own type for locks, which sessions of YSQL wait for too.
_LOCK = "Lock"
# Two intervals of `ysql_yb_ash_sampling_interval_ms`, 1 s by default: the sample at the window's
# begin may be due a moment later, and nobody may be at work at one.
_BEGIN_S = 2.0


class _WaitEvent(NamedTuple):
    """Where something waits, for what kind of thing, and for what."""

    component: str
    type: str
    event: str

    @property
    def is_lock(self) -> bool:
        if self.component == _SESSIONS and self.type == _LOCK:
            return True
        return self.event in shipped(__package__, "waits.yaml")["locks"]


def require_history(session: Session) -> None:
    """RunError if the release keeps no history, or does not know waits for locks by their names."""
    if not session.rows(query(__package__, "has_history"))[0]["has"]:
        raise RunError("the release keeps no history of active sessions")
    rows = session.rows(query(__package__, "wait_events"))
    listed = {str(row["event"]) for row in rows}
    missing = set(shipped(__package__, "waits.yaml")["needed"]) - listed
    if missing:
        names = ", ".join(sorted(missing))
        raise RunError(f"its list of wait events lacks {names}")


def covered_s(sessions: Iterable[Session], window_s: float) -> float:
    """How much of the last `window_s` the histories of all nodes cover."""
    # A node keeps as many samples as its buffer has room for (`ysql_yb_ash_circular_buffer_size`).
    # So the busiest keeps the shortest time. The same part is asked of all: otherwise the busiest
    # would count for less.
    shortest_s = window_s
    for session in sessions:
        kept_s = session.rows(query(__package__, "history_kept"))[0]["kept_s"]
        if kept_s is None:  # nobody was at work there, so none was lost
            continue
        if kept_s < window_s - _BEGIN_S:
            shortest_s = min(shortest_s, kept_s)
    return shortest_s


def sampled(session: Session, database: str, last_s: float) -> list[Row]:
    """What one node sampled in the last seconds: component, type and name of an event, and
    samples."""
    seconds = max(1, int(last_s))
    return session.rows(
        query(__package__, "history", seconds=seconds, database=database)
    )


def shares(rows: Iterable[Row]) -> Mapping[str, Any]:
    """`events`, the most frequent first, each with its share of the time of sessions at work, in
    percent; `locked_pct`: of waits for locks. Both are at most 100, although requests may be more
    than sessions are. Empty if no session was at work."""
    samples: Counter[_WaitEvent] = Counter()
    for row in rows:
        event = _WaitEvent(str(row["component"]), str(row["type"]), str(row["event"]))
        samples[event] += row["samples"]
    # A session that waits for a lock is at work, and waits for a request. The request waits for the
    # lock on the node that has the row. So locks are seen among requests, and their share is of the
    # samples of sessions.
    at_work = 0.0
    locked = 0.0
    for event, number in samples.items():
        if event.component == _SESSIONS:
            at_work += number
        if event.is_lock:
            locked += number
    if not at_work:
        return {}
    events: list[dict[str, Any]] = []
    for event, number in samples.most_common():
        share_pct = _percent_of(at_work, number)
        events.append({**event._asdict(), "share_pct": share_pct})
    locked_pct = _percent_of(at_work, locked)
    return {"samples": round(at_work), "locked_pct": locked_pct, "events": events}


def _percent_of(at_work: float, number: float) -> float:
    # A session that sends several requests at a time counts several times: rather too high a share.
    return min(100.0, round(100 * number / at_work, 2))
