"""What the servers of a running cluster are asked, as its database can answer.

`databases`: all that are installed, by name. A cluster that others run has the name of its own
database, so it is asked the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from orchestrator.collectors import sessions, statements
from orchestrator.model import Cluster
from orchestrator.parts import Collector, Database, DatabaseAbilities
from orchestrator.system import sql


@contextmanager
def collectors(
    databases: Mapping[str, Database],
    cluster: Cluster,
    connect: sql.Connect = sql.session,
) -> Iterator[Sequence[Collector]]:
    """Collectors with a session, and those of the database's own servers, until the block ends."""
    abilities = _abilities(databases, cluster)
    server_collectors: Sequence[Collector] = ()
    if abilities.collectors is not None:
        server_collectors = abilities.collectors()
    if not abilities.shows_waits_of_sessions:
        yield server_collectors
        return
    with sessions.session_waits(cluster, connect) as connected:
        yield (*connected, *server_collectors)


def statement_counts(
    databases: Mapping[str, Database],
    cluster: Cluster,
    connect: sql.Connect = sql.session,
) -> Iterator[sql.Row]:
    """See `statements.statement_counts`; nothing of a database that has no such view."""
    if _abilities(databases, cluster).counts_statements:
        yield from statements.statement_counts(cluster, connect)


def session_history(
    databases: Mapping[str, Database], cluster: Cluster, window_s: float
) -> Mapping[str, Any]:
    """What sessions waited for in the last seconds; empty of a database that keeps no history."""
    history = _abilities(databases, cluster).session_history
    if history is None:
        return {}
    return history(cluster, window_s)


def _abilities(
    databases: Mapping[str, Database], cluster: Cluster
) -> DatabaseAbilities:
    """What its database can do: nothing if the extension that brought it is not installed."""
    if cluster.database not in databases:
        return DatabaseAbilities()
    return databases[cluster.database].abilities
