"""What a server of others says through SQL. PostgreSQL and YugabyteDB are measured, other databases
are refused by name, and a connection pooler in their place is noticed; of a PostgreSQL its
settings, counters and places, as any user may read them.

Many servers speak PostgreSQL's protocol. What is loaded, settled and judged here is PostgreSQL's or
YugabyteDB's: on another server the figures would be of something else."""

import re
from collections.abc import Mapping

from orchestrator.databases.common import with_quotients
from orchestrator.databases.existing.declaration import (
    LEASE_DATABASE,
    POSTGRESQL,
    YUGABYTEDB,
)
from orchestrator.keys.shipped_yaml import shipped
from orchestrator.system.sql import Identified, Session, query
from orchestrator.yugabyte import versions

_POSTGRESQL = re.compile(r"PostgreSQL \d")

# PgBouncer's answer to a session that brings settings, which ours do (seen of 1.18).
POOLER_REFUSED = "unsupported startup parameter"

Counters = Mapping[str, float]

TIMED = ("track_io_timing", "track_wal_io_timing")
_TIMED = " AND ".join(f"current_setting('{name}') = 'on'" for name in TIMED)


def banner_of(banner: str) -> str | None:
    """The database that a banner names; None if it is not known."""
    if versions.banner_number(banner) is not None:
        return YUGABYTEDB
    if _POSTGRESQL.match(banner):
        return POSTGRESQL
    return None


def refused(banner: str, session: Session) -> str | None:
    """The database that is not to be taken for PostgreSQL or YugabyteDB. RunError if the server
    does not answer."""
    signs = shipped(__package__, "flavours.yaml")
    for part, name in signs["banners"].items():
        if part in banner:
            return str(name)
    if banner_of(banner) is None:
        return None  # an unknown server is asked nothing more
    by_sign: dict[str, str] = signs["functions"] | signs["settings"]
    names = ", ".join(f"'{name}'" for name in by_sign)
    rows = session.rows(query(__package__, "signs", names=names))
    present = {str(row["name"]) for row in rows}
    for sign, database in by_sign.items():
        if sign in present:
            return database
    return None


def pooler_between(session: Session) -> str | None:
    """How a pooler shows itself. None if it does not."""
    # It gives its clients another process number for cancelling than that of the process which
    # answers (PgBouncer 1.18: a random one).
    given = None
    if isinstance(session, Identified):
        given = session.given_process_id()
    answers = None
    if given is not None:
        answers = session.rows("SELECT pg_backend_pid() AS id")[0]["id"]
    if given == answers:
        return None
    return f"the session was given process {given}, and process {answers} answers"


def most_sessions(session: Session) -> int | None:
    """How many sessions the server takes of this session's user; None if it does not say. Some are
    kept for superusers: PostgreSQL's manual, `superuser_reserved_connections`."""
    for row in session.rows(query(__package__, "most_sessions")):
        most = int(row["most"])
        if row["superuser"] == "on":
            return most
        return most - int(row["reserved"] or 0)
    return None


# ------------------------------------------------------------------ a PostgreSQL


def settings(session: Session) -> dict[str, str]:
    rows = session.rows(query(__package__, "settings"))
    return {str(row["name"]): str(row["setting"]) for row in rows}


def counters(session: Session, number: str) -> dict[str, float]:
    """Counters of the session's database, of its server, and of all databases.

    Which there are depends on the release `number`, such as `16.4`. WAL in bytes is the place in
    the log.
    """
    release = number.split(".")[0]
    if not release.isdigit() or int(release) < 10:
        return {}  # the server is only like a PostgreSQL, or too old
    row = session.rows(_counters_query(int(release)))[0]
    return {name: value for name, value in row.items() if value is not None}


def _counters_query(major: int) -> str:
    """What a PostgreSQL of this major release is asked."""
    # PostgreSQL 17 has moved counters of checkpoints to a view of their own, under other names.
    timed = "checkpoints_timed"
    requested = "checkpoints_req"
    views = "pg_stat_bgwriter"
    if major >= 17:
        timed = "num_timed"
        requested = "num_requested"
        views = "pg_stat_checkpointer"
    waits = ""
    if 14 <= major < 18:  # syncs of the log; 18 has them elsewhere
        waits = query(__package__, "waits", timed=_TIMED)
        views = f"pg_stat_wal w, {views}"
    seconds = "NULL"
    if major >= 14:  # `active_time` of pg_stat_database
        seconds = query(__package__, "seconds")
    return query(
        __package__,
        "counters",
        checkpoints=f"c.{timed} AS checkpoints_timed, c.{requested} AS checkpoints_requested",
        waits=waits,
        views=views,
        seconds=seconds,
        lease=LEASE_DATABASE,
    )


def since(begun: Counters, now: Counters) -> dict[str, float | None]:
    """What was counted between two readings, by the names that our own PostgreSQL has."""
    grown: dict[str, float] = {}
    for name, value in now.items():
        if name in begun:
            grown[name] = value - begun[name]
    return with_quotients(grown)


def places(session: Session) -> tuple[str, str]:
    """Where a new database's tables are, and its log; empty where the user may not see it."""
    row = session.rows(query(__package__, "places"))[0]
    directory = row["directory"] or ""  # NULL for users without pg_read_all_settings
    log = directory and f"{directory}/pg_wal"
    # "" is the tablespace in the data directory itself.
    tables = str(row["tables"] or "")
    if tables.startswith("/"):
        return tables, log
    return directory, log
