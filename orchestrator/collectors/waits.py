"""What sessions waited for in a window, from the history that YugabyteDB's nodes keep themselves.

Asked once, when the window is over: the view is made of the whole history at each question, which
would disturb what is measured. PostgreSQL keeps none, and is asked each second (`sessions`)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orchestrator.model import Cluster
from orchestrator.system import sql
from orchestrator.yugabyte import waits

_QUERY_S = 30.0


def session_history(
    cluster: Cluster, window_s: float, connect: sql.Connect = sql.session
) -> Mapping[str, Any]:
    """As `waits.shares`, of all nodes and the last `window_s`; empty of other databases. RunError
    if a node does not tell it."""
    if cluster.database != "yugabytedb":
        return {}
    rows: list[sql.Row] = []
    for endpoint in cluster.endpoints:
        at = replace(sql.local(endpoint), connect_s=5, grace_s=1.0)
        with connect(at, _QUERY_S) as session:
            rows += waits.sampled(session, endpoint.database, window_s)
    return waits.shares(rows)
