"""What answers: PostgreSQL and YugabyteDB are measured, other databases are refused by name, and a
connection pooler in their place is noticed.

Many servers speak PostgreSQL's protocol. What is loaded, settled and judged here is PostgreSQL's or
YugabyteDB's: on another server the figures would be of something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.databases.existing.declaration import POSTGRESQL, YUGABYTEDB
from orchestrator.system.sql import Identified, Session
from orchestrator.yugabyte import versions

_POSTGRESQL = re.compile(r"PostgreSQL \d")


@dataclass(frozen=True)
class Other:
    """A database that is refused. `banner`: part of its version(). `settings`, `functions`: names
    that it has and PostgreSQL has not. `wrong`: what would be wrong with its figures."""

    name: str
    wrong: str
    source: str
    banner: str = ""
    settings: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()


_STORAGE = (
    "its pages and its log are not on the node's disk, so no figure is that disk's, and `fsync` "
    "and `full_page_writes` say nothing of what is durable"
)
OTHERS = (
    Other(
        "CockroachDB",
        "it has no VACUUM and no transactional COPY, its tables are loaded in another order, and "
        "its disks are those of another storage engine, whose counters are not read",
        "https://github.com/cockroachdb/docs (welcome of its SQL shell: Server version)",
        banner="CockroachDB ",
    ),
    Other(
        "Amazon Redshift",
        "it is a warehouse with columns on managed storage: single rows are not its load",
        "https://github.com/HeidiSQL/HeidiSQL/issues/802",
        banner=", Redshift ",
    ),
    Other(
        "Greenplum",
        "its rows are on segments behind the server that answers, whose disks are not watched",
        "https://github.com/greenplum-db/gpdb (gppylib's unit tests of gparray)",
        banner="(Greenplum Database ",
    ),
    Other(
        "Amazon Aurora",
        _STORAGE,
        "https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/aurora_version.html",
        functions=("aurora_version",),
    ),
    Other(
        "AlloyDB",
        _STORAGE,
        "https://docs.cloud.google.com/alloydb/docs/reference/alloydb-flags",
        settings=("alloydb.iam_authentication", "google_columnar_engine.enabled"),
    ),
    Other(
        "Neon",
        _STORAGE,
        "https://github.com/neondatabase/neon, compute/etc/sql_exporter/"
        "compute_logical_snapshots_bytes.sql",
        settings=("neon.timeline_id", "neon.tenant_id"),
    ),
    Other(
        "Citus",
        "tables made here are not distributed: all load would be on the coordinator alone",
        "https://docs.citusdata.com/en/v11.3/develop/api_guc.html",
        settings=("citus.shard_count",),
    ),
)


def banner_of(banner: str) -> str | None:
    """The database that a banner names; None if it is not known."""
    if versions.banner_number(banner) is not None:
        return YUGABYTEDB
    return POSTGRESQL if _POSTGRESQL.match(banner) else None


def other(banner: str, session: Session) -> Other | None:
    """The database that is not to be taken for PostgreSQL or YugabyteDB. RunError if the server
    does not answer."""
    for each in OTHERS:
        if each.banner and each.banner in banner:
            return each
    if banner_of(banner) is None:
        return None  # what else it understands is not known
    settings, functions = _has(session)
    for each in OTHERS:
        if settings & set(each.settings) or functions & set(each.functions):
            return each
    return None


def _has(session: Session) -> tuple[set[str], set[str]]:
    """Which of the others' settings and functions the server has."""
    settings = _listed(name for each in OTHERS for name in each.settings)
    functions = _listed(name for each in OTHERS for name in each.functions)
    found = session.rows(f"SELECT name FROM pg_settings WHERE name IN ({settings})")
    have = session.rows(f"SELECT proname::text AS name FROM pg_proc WHERE proname IN ({functions})")
    return {str(row["name"]) for row in found}, {str(row["name"]) for row in have}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


# PgBouncer's answer to a session that brings settings, which ours do (seen of 1.18).
REFUSED = "unsupported startup parameter"
ADVICE = (
    "those are a pooler's words (PgBouncer): name the database's own hosts and ports in "
    "`existing.hosts`; or, to measure through the pooler, let it have "
    "`ignore_startup_parameters = options`"
)
# YugabyteDB's own: https://docs.yugabyte.com/stable/additional-features/connection-manager-ysql/
FLAG = "enable_ysql_conn_mgr"


def between(session: Session) -> str | None:
    """How a pooler shows itself: it gives its clients another process number for cancelling than
    that of the process which answers (PgBouncer 1.18: a random one). None if it does not."""
    given = session.given_process_id() if isinstance(session, Identified) else None
    answers = session.rows("SELECT pg_backend_pid() AS id")[0]["id"] if given is not None else None
    if given == answers:
        return None
    return f"the session was given process {given}, and process {answers} answers"
