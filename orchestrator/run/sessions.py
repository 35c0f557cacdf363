"""Whether a database takes as many sessions as a load opens: one too many ends a run."""

import math
from collections.abc import Sequence

from orchestrator.errors import UsageError
from orchestrator.model import ClusterSpec, Workload
from orchestrator.parts import CapsSessions, Database, SessionLimit
from orchestrator.powers import World
from orchestrator.units import counted

# Beside the load's: telemetry, facts, and the campaign's row on clusters of others; and those that
# PostgreSQL keeps for superusers (`superuser_reserved_connections`).
_OWN = 10
_RESERVED = 3


def check(
    database: Database,
    spec: ClusterSpec,
    workloads: Sequence[Workload],
    world: World,
) -> None:
    """UsageError if a workload needs more sessions than a host takes; only a warning where it is
    not known that its limit is the one that counts."""
    if not isinstance(database, CapsSessions):
        return
    limit = database.session_limit(spec, world)
    if limit is None:
        return
    for workload in workloads:
        what = _too_many(workload, limit)
        if what and limit.is_certain:
            raise UsageError(what, advice=limit.advice)
        if what:
            world.progress.warn(f"{what}, unless a pooler or a balancer stands between")


def _too_many(workload: Workload, limit: SessionLimit) -> str:
    """What is said of a workload that opens more sessions than fit; "" if it does not."""
    all_sessions = max(workload.threads, workload.loader_threads)
    on_a_host = math.ceil(all_sessions / limit.hosts)
    needed = on_a_host + _OWN + _RESERVED
    if needed <= limit.sessions:
        return ""
    hosts = counted(limit.hosts, "host")
    return (
        f"{workload.name} opens {all_sessions} sessions on {hosts}: with {_OWN + _RESERVED} others "
        f"{needed} on one, which takes {limit.sessions} ({limit.setting})"
    )
