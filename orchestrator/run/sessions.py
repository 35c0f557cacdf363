"""Whether a database takes as many sessions as a load opens: one too many ends a run."""

import math
from collections.abc import Sequence

from orchestrator.errors import UsageError
from orchestrator.model import ClusterSpec, Workload
from orchestrator.parts import Database, SessionLimit
from orchestrator.powers import World
from orchestrator.units import counted

# What should be left on a host beside a load. Ten: facts, the campaign's row on clusters of others,
# others' monitoring, and loaders' sessions whose end the server has not noticed yet. Three: those
# that PostgreSQL keeps for superusers by default, where a database does not say that it keeps them.
_LEFT_OVER = 10 + 3


def check(
    database: Database,
    spec: ClusterSpec,
    workloads: Sequence[Workload],
    world: World,
) -> None:
    """UsageError if a workload opens more sessions than a host takes. Only a warning where it is
    not known that its limit is the one that counts, or where few are left for others."""
    session_limit = database.abilities.session_limit
    if session_limit is None:
        return
    limit = session_limit(spec, world)
    if limit is None:
        return
    for workload in workloads:
        left = limit.sessions - _on_a_host(workload, limit)
        what = _in_words(workload, limit)
        if left >= _LEFT_OVER:
            continue
        if left >= 0:
            late = "monitoring, and for sessions that end late"
            world.progress.warn(f"{what}: {left} are left for {late}")
        elif limit.is_certain:
            raise UsageError(what, advice=limit.advice)
        else:
            world.progress.warn(
                f"{what}, unless a connection pooler or a load balancer is in between"
            )


def _on_a_host(workload: Workload, limit: SessionLimit) -> int:
    """How many are surely open on one host at once. A load and its loader never run together, and
    only a load is sampled."""
    load = math.ceil(workload.threads / limit.hosts) + limit.sampling
    loader = math.ceil(workload.loader_threads / limit.hosts)
    return max(load, loader)


def _in_words(workload: Workload, limit: SessionLimit) -> str:
    opened = max(workload.threads, workload.loader_threads)
    with_sampling = ""
    if limit.sampling and opened == workload.threads:
        with_sampling = f" (with {limit.sampling} of tierbench)"
    hosts = counted(limit.hosts, "host")
    return (
        f"{workload.name} opens {opened} sessions on {hosts}. One host gets "
        f"{_on_a_host(workload, limit)}{with_sampling}, and takes "
        f"{limit.sessions} ({limit.setting})"
    )
