"""What is asked of YSQL: its version, its own names, whether all nodes are known."""

from __future__ import annotations

from orchestrator.errors import RunError
from orchestrator.model import Endpoint
from orchestrator.system.sql import Session

ADMIN, ADMIN_DATABASE = "yugabyte", "yugabyte"


def banner(asked: Session) -> str:
    return str(asked.rows("SELECT version() AS version")[0]["version"])


def servers(asked: Session) -> tuple[str, ...]:
    """The hosts that this node tells clients of."""
    return tuple(sorted(str(row["host"]) for row in asked.rows("SELECT host FROM yb_servers()")))


def effective_isolation(asked: Session) -> str | None:
    """What READ COMMITTED really is here; None in releases that cannot say."""
    try:
        rows = asked.rows("SELECT yb_get_effective_transaction_isolation_level() AS level")
    except RunError:
        return None
    return str(rows[0]["level"])


def create_own(asked: Session, own: Endpoint) -> None:
    """The user and the database that the load generator works with, if they are not there. Its
    password is of this start: a kept data set has the user with that of another."""
    found = asked.rows(f"SELECT 1 FROM pg_roles WHERE rolname = '{own.user}'")
    change = "ALTER" if found else "CREATE"
    asked.rows(f"{change} ROLE {own.user} LOGIN PASSWORD '{own.password}'")
    if not asked.rows(f"SELECT 1 FROM pg_database WHERE datname = '{own.database}'"):
        asked.rows(f"CREATE DATABASE {own.database} OWNER {own.user}")


_TABLES = """
SELECT format('%I.%I', n.nspname, c.relname) AS name
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname !~ '^(pg_|information_schema)'
ORDER BY c.reltuples DESC, name
"""


def tables(asked: Session) -> tuple[str, ...]:
    """The tables of the database, the largest first as far as statistics know."""
    return tuple(str(row["name"]) for row in asked.rows(_TABLES))
