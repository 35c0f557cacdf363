"""SQL for a PostgreSQL that others run: settings, counters and places, as any user may read them.

Nothing is reset there, so counters are read twice and subtracted.
"""

from collections.abc import Mapping

from orchestrator.databases.existing.declaration import LEASE_DATABASE
from orchestrator.facts import OTHERS, READ_S, WAL_NODES, WAL_SYNC_AVG_S, WAL_SYNC_S, WAL_SYNCS
from orchestrator.system.sql import Session

Counters = Mapping[str, float]

# Not its defaults, and not what says only where it is or who reads its log. Texts are left out:
# they are paths, addresses and commands, of which some hold passwords.
_SETTINGS = """
SELECT name, current_setting(name) AS setting FROM pg_settings
WHERE name IN ('max_connections', 'shared_buffers', 'checkpoint_timeout')
   OR (vartype <> 'string' OR name = 'shared_preload_libraries')
      AND setting IS DISTINCT FROM boot_val AND name <> 'max_stack_depth'
      AND source NOT IN ('client', 'session', 'environment variable')
      AND category !~ '^(File Locations|Preset Options|Connections and Authentication|Developer)'
      AND category !~ '^(Client Connection Defaults / (Locale|Other)|Reporting.*(Where|Process))'
ORDER BY name
"""
_COUNTERS = """
SELECT d.blks_hit, d.blks_read, d.temp_bytes, {checkpoints},
       pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint AS wal_bytes, shared.*{waits}
WHERE d.datname = current_database()
"""
# Waits are known only if both times are counted: one alone would hide what sessions wait for.
TIMED = ("track_io_timing", "track_wal_io_timing")
_TIMED = " AND ".join(f"current_setting('{name}') = 'on'" for name in TIMED)
_WAITS = f""", w.wal_sync AS {WAL_SYNCS},
       CASE WHEN {_TIMED} THEN d.blk_read_time / 1000 END AS {READ_S},
       CASE WHEN {_TIMED} THEN w.wal_sync_time / 1000 END AS {WAL_SYNC_S}
FROM pg_stat_wal w, """
# Of all databases but the one in which campaigns say that they are here.
_SHARED = f"""
(SELECT sum(transactions) AS transactions, sum(transactions * theirs) AS {OTHERS}transactions,
        sum(blocks) AS blocks, sum(blocks * theirs) AS {OTHERS}blocks,
        sum(seconds) AS statement_seconds, sum(seconds * theirs) AS {OTHERS}statement_seconds
 FROM (SELECT (datname <> current_database())::int AS theirs,
              (xact_commit + xact_rollback)::float8 AS transactions,
              (blks_hit + blks_read)::float8 AS blocks, ({{seconds}})::float8 AS seconds
       FROM pg_stat_database s WHERE datname <> '{LEASE_DATABASE}') AS each) AS shared, """
# A statement is counted when it has ended; one that goes on shows how long it has.
_SECONDS = """active_time / 1000 + coalesce((
    SELECT sum(extract(epoch FROM clock_timestamp() - query_start)) FROM pg_stat_activity
    WHERE datid = s.datid AND pid <> pg_backend_pid() AND state = 'active'
    AND backend_type = 'client backend'), 0)"""
_PLACES = """
SELECT (SELECT setting FROM pg_settings WHERE name = 'data_directory') AS directory,
       coalesce((SELECT pg_tablespace_location(oid) FROM pg_tablespace
                 WHERE spcname = nullif(current_setting('default_tablespace'), '')),
                (SELECT pg_tablespace_location(dattablespace) FROM pg_database
                 WHERE datname = 'template1')) AS tables
"""


def settings(session: Session) -> dict[str, str]:
    return {str(row["name"]): str(row["setting"]) for row in session.rows(_SETTINGS)}


def counters(session: Session, number: str) -> dict[str, float]:
    """Of the session's database, its server, and all databases, as far as the release `number`,
    such as `16.4`, counts them. WAL in bytes is the place in the log."""
    major = number.split(".")[0]
    if not major.isdigit() or int(major) < 10:
        return {}  # one that only is like a PostgreSQL, or too old
    timed, requested, view = "checkpoints_timed", "checkpoints_req", "pg_stat_bgwriter"
    if int(major) >= 17:
        timed, requested, view = "num_timed", "num_requested", "pg_stat_checkpointer"
    checkpoints = f"c.{timed} AS checkpoints_timed, c.{requested} AS checkpoints_requested"
    waits = _WAITS if 14 <= int(major) < 18 else " FROM "  # 18 has the syncs elsewhere
    shared = _SHARED.format(seconds=_SECONDS if int(major) >= 14 else "NULL")
    waits += f"{shared}pg_stat_database d, {view} c"
    text = _COUNTERS.format(checkpoints=checkpoints, waits=waits)
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
    row = session.rows(_PLACES)[0]
    directory, tables = row["directory"] or "", str(row["tables"] or "")
    return tables if tables.startswith("/") else directory, directory and f"{directory}/pg_wal"
