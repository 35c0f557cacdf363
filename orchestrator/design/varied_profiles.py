"""A profile at a value of a factor, and why it or a workload cannot be at one. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.design import factors, varied_workloads
from orchestrator.facts import Varied
from orchestrator.model import ClusterSpec, Profile, Stage, Workload
from orchestrator.texts.prose import counted
from orchestrator.tier import Emulated, Limits, Tier


def on_cluster(cluster: ClusterSpec, value: Varied) -> ClusterSpec:
    """The cluster at a value of one of its keys (`factors.OF_CLUSTER`), or of its nodes' memory; as
    it is at any other."""
    match value.factor:
        case "nodes":
            # The number is asked for, so it is no smaller cluster than the profile's.
            return replace(cluster, nodes=value.count, profile_nodes=None)
        case "replication_factor":
            return replace(cluster, replication_factor=value.count)
        case "clients":
            return replace(cluster, clients=value.count)
        case "client":
            return replace(cluster, client=factors.PLACES[value.value])
        case "memory":
            node = replace(cluster.size, memory_bytes=value.count)
            return replace(cluster, node=node)
        case "network":
            return replace(cluster, network_bytes_per_s=value.count)
        case "without":
            return replace(cluster, without=factors.STAGES[value.value])
    return cluster


def taken_away(profile: Profile, stage: Stage) -> Profile:
    """The profile without that stage: its data in memory, or its clients in the network of
    the first node and no link limited.

    A database reads of its cluster that commits wait for no sync.
    """
    tier = profile.tier
    cluster = replace(profile.cluster, without=stage)
    if stage == "network":
        cluster = replace(cluster, client="beside", network_bytes_per_s=None)
    elif stage == "disk":
        name = f"{tier.name}, without disk"
        title = f"memory instead of {tier.title}"
        # No limits either: whatever such a run takes is not the disk's.
        tier = Tier(name, title, Limits(), Emulated(in_memory=True))
    return replace(profile, tier=tier, cluster=cluster)


def _stays(profile: Profile, stage: str, is_one_engine: bool) -> str:
    """Why that stage cannot be taken away, or an empty text."""
    cluster = profile.cluster
    if cluster.database == factors.EXISTING:
        return "others run this cluster, so tierbench cannot take a stage of it away"
    if stage == "disk" and not is_one_engine:
        return (
            "only one Docker engine can keep data in memory. There a disk of "
            "ours is in the memory of the nodes' machine. Measure it there"
        )
    if stage == "network" and not is_one_engine:
        return (
            "clients share the network of a node on one Docker engine alone. "
            "Elsewhere they share that of its machine at most. Measure it on "
            "one engine"
        )
    is_beside = cluster.client == "beside" and not cluster.network_bytes_per_s
    if stage == "network" and is_beside:
        return "clients are in the first node's network already, and no link is limited"
    return ""


def misfit(profile: Profile, values: Sequence[Varied], is_one_engine: bool) -> str:
    """Why the factor cannot be varied on this cluster, with what to do; or an empty text.

    `is_one_engine`: whether all containers run on one engine for containers.
    """
    factor = values[0].factor
    nodes = profile.cluster.nodes
    if factor == factors.WITHOUT:
        for value in values:
            reason = _stays(profile, value.value, is_one_engine)
            if reason:
                return reason
        return ""
    # Values are in rising order, so the last is the most.
    most = values[-1].count
    # Each copy is on a node of its own.
    if factor == factors.COPIES and most > nodes:
        return f"{most} copies on {counted(nodes, 'node')}: say --nodes {most}"
    if factor == factors.CACHE and not _keeps_data(profile):
        return (
            "each run loads its data, which are in the cache then: vary something else"
        )
    varies_nodes = factor in (factors.NODES, factors.COPIES, factors.MEMORY)
    if varies_nodes and profile.cluster.database == factors.EXISTING:
        return "others run this cluster: vary the data or the load, or attach to two clusters"
    if factor == factors.STRIPED and profile.tier.disk.is_real:
        return "its disks are real, and stay as they are mounted: compare a profile of each stripe"
    return ""


def _keeps_data(profile: Profile) -> bool:
    """Whether loaded data are kept for the next run, which starts from a copy."""
    disk = profile.tier.disk
    if not disk.can_keep_data:
        return False
    return disk.snapshots is None or disk.snapshots.way != "none"


def misfit_of(workload: Workload) -> str:
    """Why a workload cannot be measured at its value, or an empty text."""
    if workload.database:
        return "measures a disk alone, by cells of its own"
    if varied_workloads.stage_left_out(workload) == "commit" and not workload.writes:
        return "it only reads, so no commit waits for a disk"
    return ""


def with_common_copies(
    profile: Profile, values: Sequence[Varied]
) -> tuple[Profile, str]:
    """The profile with as many copies as each number of nodes can hold, so that nodes differ
    alone, and what must be said of it."""
    copies = profile.cluster.replication_factor
    # Values are in rising order, so the first has the fewest nodes.
    least = values[0].count
    if values[0].factor != factors.NODES or copies <= least:
        return profile, ""
    text = (
        f"replication factor {least} at each number of nodes, not {copies}: "
        f"{counted(least, 'node')} can hold no more copies"
    )
    cluster = replace(profile.cluster, replication_factor=least)
    return replace(profile, cluster=cluster), text
