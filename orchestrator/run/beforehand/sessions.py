"""Whether a database takes as many sessions as a load opens, because one too many ends a run.

Each session is a connection of a client, and a database refuses those beyond its limit
(`max_connections` of PostgreSQL). The limit is one of each host, so what counts is how many
sessions one host gets.
"""

import math
from collections.abc import Sequence

from orchestrator.errors import UsageError
from orchestrator.model import ClusterSpec, Workload
from orchestrator.parts import Database, SessionLimit
from orchestrator.powers import World
from orchestrator.texts.prose import counted

# Sessions that should be left on a host beside a load. Ten are for reading facts, for the
# campaign's row on clusters of others, for others' monitoring, and for loaders' sessions whose end
# the server has not noticed yet. Three are those that PostgreSQL keeps for superusers by default,
# where a database does not say that it keeps them.
_LEFT_OVER = 10 + 3


def check(
    database: Database,
    spec: ClusterSpec,
    workloads: Sequence[Workload],
    world: World,
) -> None:
    """UsageError if a workload surely opens more sessions than a host takes.

    Only a warning where few sessions are left, or where another limit may count."""
    session_limit = database.abilities.session_limit
    if session_limit is None:
        return
    limit = session_limit(spec, world)
    if limit is None:
        return
    for workload in workloads:
        _check_workload(workload, limit, world)


def _check_workload(workload: Workload, limit: SessionLimit, world: World) -> None:
    left = limit.sessions - _sessions_on_a_host(workload, limit)
    if left >= _LEFT_OVER:
        return
    opened = _in_words(workload, limit)
    if left >= 0:
        late = "monitoring, and for sessions that end late"
        world.progress.warn(f"{opened}: {left} are left for {late}")
    elif limit.is_certain:
        raise UsageError(opened, advice=limit.advice)
    else:
        world.progress.warn(
            f"{opened}, unless a connection pooler or a load balancer is in between"
        )


def _sessions_on_a_host(workload: Workload, limit: SessionLimit) -> int:
    """How many are surely open on one host at once.

    A load and its loader never run at the same time, and only a load is sampled."""
    # Sessions are spread over the hosts, so the fullest has one more at most.
    load_sessions = math.ceil(workload.threads / limit.hosts) + limit.sampling
    loader_sessions = math.ceil(workload.loader_threads / limit.hosts)
    return max(load_sessions, loader_sessions)


def _in_words(workload: Workload, limit: SessionLimit) -> str:
    opened = max(workload.threads, workload.loader_threads)
    hosts = counted(limit.hosts, "host")
    on_a_host = _sessions_on_a_host(workload, limit)
    with_sampling = ""
    if limit.sampling and opened == workload.threads:
        with_sampling = f" (with {limit.sampling} of tierbench)"
    return (
        f"{workload.name} opens {opened} sessions on {hosts}. One host gets "
        f"{on_a_host}{with_sampling}, and takes {limit.sessions} ({limit.setting})"
    )
