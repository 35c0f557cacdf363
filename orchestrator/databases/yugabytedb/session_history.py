"""What sessions waited for in a window, from the history that YugabyteDB's nodes keep themselves.

Asked when the window is over: each question reads the whole history (issue 28810), which would
disturb what is measured. PostgreSQL keeps none, and is asked each second (`sessions`)."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from orchestrator.model import Cluster
from orchestrator.system import sql
from orchestrator.yugabyte import waits

_QUERY_S = 30.0


def session_history(
    cluster: Cluster, window_s: float, connect: sql.Connect = sql.session
) -> Mapping[str, Any]:
    """What sessions of all nodes waited for in the last `window_s`, as `waits.shares` has it.

    Empty for other databases. If a node's history is shorter, `covered_s` says how long the last
    part is that all nodes have; the shares are of that part. RunError if a node does not tell its
    history.
    """
    if cluster.database != "yugabytedb":
        return {}
    with ExitStack() as connected:
        sessions: list[sql.Session] = []
        for endpoint in cluster.endpoints:
            at = replace(sql.local(endpoint), connect_s=5, grace_s=1.0)
            session = connected.enter_context(connect(at, _QUERY_S))
            waits.require_history(session)
            sessions.append(session)
        # The history is a ring of fixed size: the busier a node, the shorter its time. Shares of
        # different times on different nodes could not be added.
        covered_s = waits.covered_s(sessions, window_s)
        rows: list[sql.Row] = []
        for endpoint, session in zip(cluster.endpoints, sessions, strict=True):
            rows += waits.sampled(session, endpoint.database, covered_s)
    shares = waits.shares(rows)
    if shares and covered_s < window_s:
        return {"covered_s": covered_s, **shares}
    return shares
