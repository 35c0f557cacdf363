"""Whether a load left all its indexes complete, whatever loader made them."""

from orchestrator.errors import LoadError
from orchestrator.system.sql import Session, query
from orchestrator.texts.prose import listed


def require_complete(session: Session) -> None:
    """LoadError if an index is there that no query uses."""
    # A CREATE INDEX that fails on its way leaves one. IF NOT EXISTS of the next attempt keeps it.
    # On YugabyteDB 2025.2.2.2 two such commands ended with "timed out waiting for postgres backends
    # to catch up".
    names: list[str] = []
    for row in session.rows(query(__package__, "half_made")):
        names.append(str(row["name"]))
    if not names:
        return
    raise LoadError(
        f"loading left indexes that no query uses, because CREATE INDEX failed: {listed(names)}",
        advice="look for the failure in the loader's output and in the servers' logs, and load "
        "again",
    )
