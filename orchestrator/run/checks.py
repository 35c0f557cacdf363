"""Checks of everything that could fail late, made before a campaign starts anything."""

from __future__ import annotations

from orchestrator.model import ClusterSpec, Plan
from orchestrator.parts import Parts
from orchestrator.planning.plan import as_used
from orchestrator.powers import World
from orchestrator.run import datasets


def check(plan: Plan, parts: Parts, world: World) -> None:
    """UsageError or UnavailableError if a tier, a database or a generator cannot do what is
    planned, or its data have no room."""
    for profile in plan.profiles:
        parts.tiers[profile.tier.enforcement].check(profile.tier, world)
        checked: list[ClusterSpec] = []
        for workload in plan.workloads:
            cluster = as_used(profile, workload).cluster
            if cluster not in checked:
                parts.databases[cluster.database].check(cluster, world)
                checked.append(cluster)
            parts.load_generators[workload.generator].check(workload, cluster, world)
    datasets.check_space(plan, parts.tiers, world)
