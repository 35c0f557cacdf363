"""How tiers of one campaign are held to their limits, where they differ in it. Pure."""

from collections.abc import Sequence

from orchestrator.model import Profile
from orchestrator.units import listed


def unlike_disks(profiles: Sequence[Profile]) -> str:
    """Why part of each difference may be the way in which tiers are made; empty if that is one."""
    real = [profile.name for profile in profiles if profile.tier.disk.is_real]
    others = [profile.name for profile in profiles if not profile.tier.disk.is_real]
    if real and others:
        return (
            f"the disks of {listed(real)} are real and those of "
            f"{listed(others)} are not. Part of each difference comes from this "
            "machine, and not from the tier"
        )
    ways = dict.fromkeys(profile.tier.disk.enforcement for profile in profiles)
    if len(ways) > 1:
        return (
            "tiers are held to their limits in different ways "
            f"({', '.join(ways)}). Part of each difference may come from that"
        )
    return ""
