"""What servers have counted of each statement, from `pg_stat_statements`: PostgreSQL's where it has
the extension, and YugabyteDB's, which ships with it."""

from collections.abc import Iterator
from dataclasses import replace

from orchestrator.errors import NotCountedError
from orchestrator.model import Cluster
from orchestrator.system import sql


def statement_counts(
    cluster: Cluster, connect: sql.Connect = sql.session
) -> Iterator[sql.Row]:
    """A row for each statement and server of the load's database, with the columns of the query in
    sql/.

    NotCountedError if a server does not count statements, RunError if it does not show them.
    """
    for endpoint in cluster.endpoints:
        # The extension is made in one database, and counts for all of the server.
        database = endpoint.maintenance_database or endpoint.database
        at = replace(sql.local(endpoint), database=database, connect_s=5, grace_s=1.0)
        server = f"{endpoint.host}:{endpoint.port}"
        with connect(at, 10.0) as session:
            answers = session.rows(sql.query(__package__, "counts_statements"))
            if not answers[0]["counts"]:
                what = (
                    f"{server}: no pg_stat_statements counts in the database {database}"
                )
                raise NotCountedError(what, database)
            rows = session.rows(
                sql.query(__package__, "statements", database=endpoint.database)
            )
        for row in rows:
            yield {"server": server, **row}
