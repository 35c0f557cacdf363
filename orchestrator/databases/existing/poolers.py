"""Whether a connection pooler answers in the place of the database's own server."""

from __future__ import annotations

from orchestrator.system.sql import Identified, Session

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
