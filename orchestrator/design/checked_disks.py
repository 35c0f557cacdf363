"""Which disk checks a campaign takes, and for which cluster each of them. Pure.

One check holds for all runs on the same disks, whatever their profile is called. Where nodes have
machines of their own it is taken on each of them, and so for the largest cluster of these runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from orchestrator.design.used_profiles import as_used
from orchestrator.model import Plan, Profile
from orchestrator.tier import Tier


def disks_of(tier: Tier) -> str:
    """Names what one check holds for: the tier, on as many disks as its nodes have."""
    return f"{tier.name} {len(tier.disk.of_nodes)}"


@dataclass(frozen=True)
class CheckedDisks:
    """Disks that one check holds for."""

    # As it is used with the most nodes on these disks.
    largest: Profile
    # Names of all profiles whose runs use these disks.
    profiles: frozenset[str]


def checked_disks(plan: Plan) -> Mapping[str, CheckedDisks]:
    """The disks that the runs of a plan use, by the name of `disks_of`."""
    checked: dict[str, CheckedDisks] = {}
    for run in plan.runs:
        used = as_used(plan.profile(run.profile), plan.workload(run.workload))
        disks = disks_of(used.tier)
        before = checked.get(disks, CheckedDisks(used, frozenset()))
        now = replace(before, profiles=before.profiles | {run.profile})
        if used.cluster.nodes > before.largest.cluster.nodes:
            now = replace(now, largest=used)
        checked[disks] = now
    return checked
