"""What answers: PostgreSQL and YugabyteDB are measured, other databases are refused by name, and a
connection pooler in their place is noticed.

Many servers speak PostgreSQL's protocol. What is loaded, settled and judged here is PostgreSQL's or
YugabyteDB's: on another server the figures would be of something else.
"""

import re
from collections.abc import Iterable

from orchestrator.databases.existing.declaration import POSTGRESQL, YUGABYTEDB
from orchestrator.keys.strict_yaml import shipped
from orchestrator.system.sql import Identified, Session
from orchestrator.yugabyte import versions

_POSTGRESQL = re.compile(r"PostgreSQL \d")

# PgBouncer's answer to a session that brings settings, which ours do (seen of 1.18).
POOLER_REFUSED = "unsupported startup parameter"
# YugabyteDB's own: https://docs.yugabyte.com/stable/additional-features/connection-manager-ysql/
POOLER_FLAG = "enable_ysql_conn_mgr"


def banner_of(banner: str) -> str | None:
    """The database that a banner names; None if it is not known."""
    if versions.banner_number(banner) is not None:
        return YUGABYTEDB
    return POSTGRESQL if _POSTGRESQL.match(banner) else None


def refused(banner: str, session: Session) -> str | None:
    """The database that is not to be taken for PostgreSQL or YugabyteDB. RunError if the server
    does not answer."""
    signs = shipped(__package__, "flavours.yaml")
    for part, name in signs["banners"].items():
        if part in banner:
            return str(name)
    if banner_of(banner) is None:
        return None  # what else it understands is not known
    of_settings, of_functions = signs["settings"], signs["functions"]
    rows = session.rows(f"SELECT name FROM pg_settings WHERE name IN ({_listed(of_settings)})")
    rows += session.rows(
        f"SELECT proname::text AS name FROM pg_proc WHERE proname IN ({_listed(of_functions)})"
    )
    present = {str(row["name"]) for row in rows}
    return next(
        (name for key, name in (of_functions | of_settings).items() if key in present), None
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def pooler_between(session: Session) -> str | None:
    """How a pooler shows itself: it gives its clients another process number for cancelling than
    that of the process which answers (PgBouncer 1.18: a random one). None if it does not."""
    given = session.given_process_id() if isinstance(session, Identified) else None
    answers = session.rows("SELECT pg_backend_pid() AS id")[0]["id"] if given is not None else None
    if given == answers:
        return None
    return f"the session was given process {given}, and process {answers} answers"
