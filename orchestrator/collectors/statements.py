"""What servers have counted of each statement, from `pg_stat_statements`: PostgreSQL's where it has
the extension, and YugabyteDB's, which ships with it.

Columns differ between releases, so each row comes with those that the server has: PostgreSQL's
manual, "pg_stat_statements"; docs.yugabyte.com, "Get query statistics using pg_stat_statements".
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from orchestrator.model import Cluster
from orchestrator.system import sql

_DATABASES = ("postgresql", "yugabytedb")
_QUERY_S = 10.0
_LONGEST = 500  # characters of a statement's text
# Servers put `$1` for a constant, but not in every statement (`CALL`, `SET`): none may leave.
_FROM_CONSTANT = re.compile(r"('|(?<![\w$])\d|\$(?!\d)).*")


def statement_counts(
    cluster: Cluster, connect: sql.Connect = sql.session
) -> Iterator[Mapping[str, Any]]:
    """Of the load's database, a row for each statement and server (counted from 1): its text, cut
    before the first constant, and all numbers that the server has. RunError if a server has no
    such counts, or not for this user."""
    for number, endpoint in enumerate(cluster.endpoints, start=1):
        if cluster.database not in _DATABASES:
            return
        where = endpoint.maintenance_database or endpoint.database
        at = replace(sql.local(endpoint), database=where, connect_s=5, grace_s=1.0)
        words = {"longest": _LONGEST, "database": endpoint.database}
        with connect(at, _QUERY_S) as session:
            for row in session.rows(sql.query(__package__, "statements", **words)):
                counted = row["counted"]
                text = _FROM_CONSTANT.sub("…", " ".join(counted["query"].split()))
                numbers = {n: v for n, v in counted.items() if isinstance(v, (int, float))}
                yield {**numbers, "server": number, "query": text}
