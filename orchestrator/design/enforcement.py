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
            f"the disks of {listed(real)} are real and those of {listed(others)} are not: "
            "part of each difference is this machine's, and not the tier's"
        )
    ways = dict.fromkeys(profile.tier.disk.enforcement for profile in profiles)
    if len(ways) > 1:
        return (
            f"tiers are held to their limits in different ways ({', '.join(ways)}): part "
            "of each difference may be the way"
        )
    return ""
