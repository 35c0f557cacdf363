"""SQL for YSQL: its version, its nodes, the load generator's user and database, the tables."""

from __future__ import annotations

from orchestrator.errors import RunError
from orchestrator.model import Endpoint
from orchestrator.system.sql import Session

ADMIN, ADMIN_DATABASE = "yugabyte", "yugabyte"


def banner(session: Session) -> str:
    return str(session.rows("SELECT version() AS version")[0]["version"])


def servers(session: Session) -> tuple[str, ...]:
    """The hosts of the cluster that this node knows."""
    return tuple(sorted(str(row["host"]) for row in session.rows("SELECT host FROM yb_servers()")))


def effective_isolation(session: Session) -> str | None:
    """The isolation level that READ COMMITTED really gives; None if the release cannot tell."""
    try:
        rows = session.rows("SELECT yb_get_effective_transaction_isolation_level() AS level")
    except RunError:
        return None
    return str(rows[0]["level"])


def create_own(session: Session, own: Endpoint) -> None:
    """Creates the load generator's user and database unless they exist, and sets the password of
    this start: a kept data set has the user with the password of another start."""
    users = session.rows(f"SELECT 1 FROM pg_roles WHERE rolname = '{own.user}'")
    change = "ALTER" if users else "CREATE"
    session.rows(f"{change} ROLE {own.user} LOGIN PASSWORD '{own.password}'")
    if not session.rows(f"SELECT 1 FROM pg_database WHERE datname = '{own.database}'"):
        session.rows(f"CREATE DATABASE {own.database} OWNER {own.user}")


_TABLES = """
SELECT format('%I.%I', n.nspname, c.relname) AS name
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname !~ '^(pg_|information_schema)'
ORDER BY c.reltuples DESC, name
"""


def tables(session: Session) -> tuple[str, ...]:
    """The tables of the database, the largest first by its statistics."""
    return tuple(str(row["name"]) for row in session.rows(_TABLES))
