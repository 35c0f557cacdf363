"""A profile as it is used: on so many nodes, at a value of a factor, by one workload. Pure."""

from dataclasses import replace

from orchestrator.design import factors, machines, node_disks, varied_profiles
from orchestrator.model import Profile, Workload


def on_nodes(profile: Profile, nodes: int) -> Profile:
    """The profile with its tier's disks of so many nodes. UsageError if one has none."""
    engines = [machines.known_as(engine) for engine in machines.named(profile)]
    return replace(profile, tier=node_disks.of_nodes(profile.tier, nodes, engines))


def as_used(profile: Profile, workload: Workload) -> Profile:
    """The profile as one workload uses it.

    At its value of a factor; without a database, where it measures the disk alone, and so
    on the first node by one client.
    """
    if workload.database is None:
        return _at_value(profile, workload)
    # Copies and further nodes would do nothing: fio asks one disk directly.
    alone = replace(profile.cluster, nodes=1, replication_factor=1, clients=1)
    cluster = replace(alone, database=workload.database, network_bytes_per_s=None)
    return replace(profile, cluster=cluster)


def _at_value(profile: Profile, workload: Workload) -> Profile:
    value = workload.varied
    if value is None:
        return profile
    tier = profile.tier_of.get(value.value)
    if tier is not None:
        # A name of its own, because each value is another disk with its own gate.
        name = f"{tier.name}, {factors.in_words(value)}"
        return replace(profile, tier=replace(tier, name=name), tier_of={})
    if value.factor == factors.WITHOUT:
        return varied_profiles.taken_away(profile, factors.STAGES[value.value])
    if value.factor == factors.NODES:
        profile = on_nodes(profile, value.count)
    return replace(profile, cluster=varied_profiles.on_cluster(profile.cluster, value))
