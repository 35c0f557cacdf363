"""SQL for YSQL: its version, its nodes, the load generator's user and database, the tables."""

import contextlib
from collections.abc import Sequence

from orchestrator import errors, model, powers
from orchestrator.system import at_once, sql
from orchestrator.system.sql import Connect, Session, query
from orchestrator.yugabyte.pages import LedTablet

ADMIN = "yugabyte"
ADMIN_DATABASE = "yugabyte"


def banner(session: Session) -> str:
    return str(session.rows("SELECT version() AS version")[0]["version"])


def servers(session: Session) -> tuple[str, ...]:
    """The hosts of the cluster that this node knows."""
    rows = session.rows("SELECT host FROM yb_servers()")
    return tuple(sorted(str(row["host"]) for row in rows))


def tablet_leaders(session: Session) -> dict[str, LedTablet] | None:
    """The tablets of the session's database by their identity, as the masters' page has them.

    None if the release has no view of them: it came with 2025.2.3.
    """
    if not session.rows(query(__package__, "has_tablet_view"))[0]["has"]:
        return None
    tablets: dict[str, LedTablet] = {}
    for row in session.rows(query(__package__, "tablets")):
        leader, _, _port = str(row["leader"] or "").rpartition(":")
        tablets[str(row["tablet_id"])] = LedTablet(str(row["name"]), leader)
    return tablets


def effective_isolation(session: Session) -> str | None:
    """The isolation level that READ COMMITTED really gives; None if the release cannot tell."""
    for name in ("isolation", "isolation_setting"):
        with contextlib.suppress(errors.RunError):
            rows = session.rows(query(__package__, name))
            level = rows[0]["level"]
            if level:
                return str(level)
            return None
    return None


def session_settings(session: Session, names: Sequence[str]) -> dict[str, str]:
    """The values of settings in a new session; what the release lacks is left out."""
    listed = ", ".join(f"('{name}')" for name in names)
    rows = session.rows(query(__package__, "settings", names=listed))
    settings = {}
    for row in rows:
        if row["value"] is not None:
            settings[str(row["name"])] = str(row["value"])
    return settings


def create_own(session: Session, account: model.Endpoint) -> None:
    """Creates the load generator's user and database unless they exist, and sets the password of
    this start."""
    # A kept data set has the user, with the password of another start.
    users = session.rows(f"SELECT 1 FROM pg_roles WHERE rolname = '{account.user}'")
    change = "CREATE"
    if users:
        change = "ALTER"
    session.rows(f"{change} ROLE {account.user} LOGIN PASSWORD '{account.password}'")
    # YSQL has no CREATE DATABASE IF NOT EXISTS, as PostgreSQL has none.
    if not session.rows(
        f"SELECT 1 FROM pg_database WHERE datname = '{account.database}'"
    ):
        session.rows(f"CREATE DATABASE {account.database} OWNER {account.user}")


WARM_S = 600.0


def fill_caches(
    connect: Connect, endpoints: Sequence[model.Endpoint], world: powers.World
) -> None:
    """Reads all tables, the largest first so that small ones stay cached, over all nodes, for at
    most ten minutes. Indexes are left to the warm-up."""
    end_s = world.clock.monotonic() + WARM_S
    addresses = [sql.local(endpoint) for endpoint in endpoints]
    with connect(addresses[0], 60.0) as session:
        tables = [row["name"] for row in session.rows(query(__package__, "tables"))]
    if not tables:
        return

    def read(number: int) -> bool:
        """A node's share of the tables; whether time was enough."""
        # The time left is each statement's own limit, which the server keeps.
        for table in tables[number :: len(addresses)]:
            left_s = end_s - world.clock.monotonic()
            if left_s <= 1 or not _read_all(connect, addresses[number], table, left_s):
                return False
        return True

    if not all(at_once.each(read, range(len(addresses)), len(addresses))):
        world.progress.warn(f"the cache was not full after {WARM_S:g} s of reading")


def _read_all(
    connect: Connect, address: sql.Address, table: str, timeout_s: float
) -> bool:
    """Whether the time was enough."""
    try:
        with connect(address, timeout_s) as session:
            session.rows(f"SELECT count(*) FROM {table}")
    except errors.StatementError as error:
        if error.sqlstate != sql.STATEMENT_ENDED:
            raise
        return False
    return True
