"""Checks of everything that could fail late, made before a campaign starts anything."""

from collections.abc import Callable, Iterator
from functools import partial

from orchestrator.design.used_profiles import as_used
from orchestrator.model import ClusterSpec, Plan, Profile, Workload
from orchestrator.parts import Parts
from orchestrator.powers import World
from orchestrator.run.beforehand import sessions
from orchestrator.run.beforehand.resource_needs import check_space
from orchestrator.run.clients import several_clients
from orchestrator.run.window import links, rebuilding, slowing
from orchestrator.tier import Tier

# The subject of a check, and the check itself: called, it raises if something is wrong.
NamedCheck = tuple[str, Callable[[], None]]


def check(plan: Plan, parts: Parts, world: World) -> None:
    """UsageError or UnavailableError if a part cannot do what is planned, or data have no room."""
    for _, check_it in every(plan, parts, world):
        check_it()


def every(plan: Plan, parts: Parts, world: World) -> Iterator[NamedCheck]:
    """Each check, with what it checks; called, it raises as `check` does."""
    for profile in plan.profiles:
        yield from _tier_checks(plan, profile, parts, world)
        # A cluster that several workloads use is checked once.
        checked: list[ClusterSpec] = []
        for workload in plan.measured:
            cluster = as_used(profile, workload).cluster
            if cluster not in checked:
                yield from _database_checks(profile, cluster, parts, world)
                checked.append(cluster)
            yield from _generator_checks(profile, cluster, workload, parts, world)
        # All workloads of a cluster together, as its limit of sessions is read once.
        for cluster in checked:
            yield _sessions_check(plan, profile, cluster, parts, world)
    yield "space", partial(check_space, plan, parts.tiers, world)


def _tier_checks(
    plan: Plan, profile: Profile, parts: Parts, world: World
) -> Iterator[NamedCheck]:
    """Each mechanism once, with the last of the tiers that it makes."""
    by_mechanism: dict[str, Tier] = {}
    for workload in plan.workloads:
        tier = as_used(profile, workload).tier
        by_mechanism[tier.disk.enforcement] = tier
    for name, tier in by_mechanism.items():
        mechanism = parts.tiers[name]
        yield f"{profile.name}: tier {name}", partial(mechanism.check, tier, world)


def _database_checks(
    profile: Profile, cluster: ClusterSpec, parts: Parts, world: World
) -> Iterator[NamedCheck]:
    database = parts.databases[cluster.member]
    name = f"{profile.name}: database {database.name}"
    yield name, partial(database.check, cluster, world)
    if cluster.network_bytes_per_s:
        yield f"{profile.name}: network", partial(links.check, profile, world)


def _generator_checks(
    profile: Profile,
    cluster: ClusterSpec,
    workload: Workload,
    parts: Parts,
    world: World,
) -> Iterator[NamedCheck]:
    generator = parts.load_generators[workload.generator]
    name = f"{profile.name}: {workload.name} by {generator.name}"
    yield name, partial(generator.check, workload, cluster, world)
    if workload.lost_after_s is not None:
        name = f"{profile.name}: a lost node in {workload.name}"
        yield name, partial(rebuilding.check, workload, profile, parts, world)
    if workload.slow:
        name = f"{profile.name}: a slow disk in {workload.name}"
        yield name, partial(slowing.check, workload, as_used(profile, workload), parts)
    if cluster.clients > 1:
        name = f"{profile.name}: {workload.name} by {cluster.clients} clients"
        yield name, partial(several_clients.check, generator, workload, cluster)


def _sessions_check(
    plan: Plan, profile: Profile, cluster: ClusterSpec, parts: Parts, world: World
) -> NamedCheck:
    workloads: list[Workload] = []
    for workload in plan.measured:
        if as_used(profile, workload).cluster == cluster:
            workloads.append(workload)
    database = parts.databases[cluster.member]
    name = f"{profile.name}: sessions"
    return name, partial(sessions.check, database, cluster, workloads, world)
