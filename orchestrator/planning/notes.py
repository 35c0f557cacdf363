"""What a plan says about itself beforehand: where it differs from what one buys or asks. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.model import Note, Profile, Workload
from orchestrator.planning import node_disks, plan
from orchestrator.units import counted, listed


def of_tiers(profiles: Sequence[Profile]) -> Iterator[Note]:
    """What about a tier differs from the disk one buys, and about tiers from each other."""
    for profile in profiles:
        tier = profile.tier
        if tier.kind == "cgroup":
            text = (
                "limits by control group, approximate: no latency, no burst, reads and writes "
                "capped apart"
            )
            yield Note("approximate limits", text, profile.name)
        if tier.burst_time_scale != 1:
            text = f"burst times are divided by {tier.burst_time_scale:g}"
            yield Note("burst scaled", text, profile.name)
    if text := unlike_disks(profiles):
        yield Note("unlike disks", text)


def unlike_disks(profiles: Sequence[Profile]) -> str:
    """Why part of each difference may be the way in which tiers are made; empty if all are made
    in one."""
    real = [profile.name for profile in profiles if profile.tier.is_real]
    others = [profile.name for profile in profiles if not profile.tier.is_real]
    if real and others:
        return (
            f"the disks of {listed(real)} are real and those of {listed(others)} are not: part of "
            "each difference is this machine's, and not the tier's"
        )
    ways = dict.fromkeys(profile.tier.enforcement for profile in profiles)
    if len(ways) < 2:
        return ""
    return (
        f"tiers are held to their limits in different ways ({', '.join(ways)}): part of each "
        "difference may be the way"
    )


def of_scale(workloads: Sequence[Workload], scale: str) -> Iterator[Note]:
    """Workloads that have no sizes of their own at `scale`."""
    for workload in workloads:
        if workload.scale != scale:
            text = f"{workload.name} runs at scale {workload.scale}, which is its {scale}"
            yield Note("other scale", text)


def of_disks_alone(profiles: Sequence[Profile], workloads: Sequence[Workload]) -> Iterator[Note]:
    """Which disk a workload measures that measures a disk alone, where a tier has several real ones
    that may differ. `profiles`: with all their nodes."""
    alone = [workload.name for workload in workloads if workload.database is not None]
    for profile in profiles if alone else ():
        tier = plan.on_nodes(profile, profile.cluster.nodes).tier
        others = node_disks.count(tier) - 1
        if tier.is_real and others > 0:
            first = tier.disks.get("node-1")
            where = f" ({':'.join(filter(None, (first.machine, first.data)))})" if first else ""
            text = (
                f"{listed(alone)} measures the disk of node-1's data{where} and not the "
                f"{counted(others, 'other disk')} of this tier: another may be slower"
            )
            yield Note("one disk of several", text, profile.name)
