"""Whether the tiers of one campaign are held to their limits in the same way. Pure.

A disk may be real, or emulated in one of several ways. Where tiers are made differently, part of
each difference between them may come from that and not from the tier.
"""

from collections.abc import Sequence

from orchestrator.design.detailed_notes import detailed_note
from orchestrator.model import Note, Profile
from orchestrator.texts.prose import listed


def unlike_disks(profiles: Sequence[Profile]) -> Note | None:
    """Why part of each difference may come from how tiers are made; None if all are made alike."""
    real = [profile.name for profile in profiles if profile.tier.disk.is_real]
    others = [profile.name for profile in profiles if not profile.tier.disk.is_real]
    if real and others:
        return detailed_note(
            "unlike disks",
            f"the disks of {listed(real)} are real and those of {listed(others)} are not",
            "Part of each difference comes from this machine, and not from the tier",
        )
    ways = dict.fromkeys(profile.tier.disk.enforcement for profile in profiles)
    if len(ways) > 1:
        return detailed_note(
            "unlike disks",
            f"tiers are held to their limits in different ways ({', '.join(ways)})",
            "Part of each difference may come from that",
        )
    return None
