"""A PostgreSQL that others run: settings, counters and places, as any user may read them."""

from collections.abc import Mapping

from orchestrator.databases.existing.declaration import LEASE_DATABASE
from orchestrator.facts import WAL_NODES, WAL_SYNC_AVG_S, WAL_SYNC_S, WAL_SYNCS
from orchestrator.system.sql import Session, query

Counters = Mapping[str, float]

TIMED = ("track_io_timing", "track_wal_io_timing")
_TIMED = " AND ".join(f"current_setting('{name}') = 'on'" for name in TIMED)


def settings(session: Session) -> dict[str, str]:
    rows = session.rows(query(__package__, "settings"))
    return {str(row["name"]): str(row["setting"]) for row in rows}


def counters(session: Session, number: str) -> dict[str, float]:
    """Of the session's database, its server, and all databases, as far as the release `number`,
    such as `16.4`, counts them. WAL in bytes is the place in the log."""
    major = number.split(".")[0]
    if not major.isdigit() or int(major) < 10:
        return {}  # one that only is like a PostgreSQL, or too old
    timed, requested, view = "checkpoints_timed", "checkpoints_req", "pg_stat_bgwriter"
    if int(major) >= 17:
        timed, requested, view = "num_timed", "num_requested", "pg_stat_checkpointer"
    syncs_too = 14 <= int(major) < 18  # 18 has them elsewhere
    text = query(
        __package__,
        "counters",
        checkpoints=f"c.{timed} AS checkpoints_timed, c.{requested} AS checkpoints_requested",
        waits=query(__package__, "waits", timed=_TIMED) if syncs_too else "",
        views=f"pg_stat_wal w, {view}" if syncs_too else view,
        seconds=query(__package__, "seconds") if int(major) >= 14 else "NULL",
        lease=LEASE_DATABASE,
    )
    return {name: value for name, value in session.rows(text)[0].items() if value is not None}


def since(begun: Counters, now: Counters) -> dict[str, float | None]:
    """What was counted between two readings, by the names that our own PostgreSQL has."""
    grown = {name: value - begun[name] for name, value in now.items() if name in begun}
    blocks, syncs = grown.get("blks_hit", 0) + grown.get("blks_read", 0), grown.get(WAL_SYNCS)
    return {
        **grown,
        "buffer_hit_ratio": grown["blks_hit"] / blocks if blocks else None,
        WAL_SYNC_AVG_S: grown[WAL_SYNC_S] / syncs if syncs and WAL_SYNC_S in grown else None,
        WAL_NODES: 1,
    }


def places(session: Session) -> tuple[str, str]:
    """Where a new database's tables are, and its log; empty where the user may not see it."""
    row = session.rows(query(__package__, "places"))[0]
    directory, tables = row["directory"] or "", str(row["tables"] or "")
    return tables if tables.startswith("/") else directory, directory and f"{directory}/pg_wal"
