"""Checks of everything that could fail late, made before a campaign starts anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from orchestrator.load_generators.common import several
from orchestrator.model import ClusterSpec, Plan
from orchestrator.parts import Parts
from orchestrator.planning.plan import as_used
from orchestrator.powers import World
from orchestrator.run import space


def check(plan: Plan, parts: Parts, world: World) -> None:
    """UsageError or UnavailableError if a tier, a database or a generator cannot do what is
    planned, or its data have no room."""
    for _, one in every(plan, parts, world):
        one()


def every(plan: Plan, parts: Parts, world: World) -> Iterator[tuple[str, Callable[[], None]]]:
    """Each check, with what it checks; called, it raises as `check` does."""
    for profile in plan.profiles:
        tier = profile.tier
        mechanism = parts.tiers[tier.disk.enforcement]
        yield f"{profile.name}: tier {mechanism.name}", partial(mechanism.check, tier, world)
        checked: list[ClusterSpec] = []
        for workload in plan.workloads:
            cluster = as_used(profile, workload).cluster
            if cluster not in checked:
                database = parts.databases[cluster.database]
                name = f"{profile.name}: database {database.name}"
                yield name, partial(database.check, cluster, world)
                checked.append(cluster)
            generator = parts.load_generators[workload.generator]
            name = f"{profile.name}: {workload.name} by {generator.name}"
            yield name, partial(generator.check, workload, cluster, world)
            if cluster.clients > 1:
                name = f"{profile.name}: {workload.name} by {cluster.clients} clients"
                yield name, partial(several.check, generator, workload, cluster)
    yield "space", partial(space.check_space, plan, parts.tiers, world)
