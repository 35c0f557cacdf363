"""What every figure must be read with: emulated disks, fewer nodes, small scale, …"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.model import Enforcement, Plan
from orchestrator.report.blocks import Stamp
from orchestrator.report.findings import Findings, closed, sentence
from orchestrator.report.wording import listing

STUDY_NODES = 3

_ENFORCEMENTS: dict[Enforcement, tuple[str, str]] = {
    "emulated": (
        "Emulated disks",
        "The disks of {names} are block devices on this machine, held to the tier's limits on "
        "IOPS, bandwidth and latency; they are not the provider's disks. How the tiers compare "
        "follows from those limits; the absolute figures are this machine's.",
    ),
    "cgroup": (
        "Limited by control group",
        "The disks of {names} are this machine's own, with IOPS and bandwidth capped by the "
        "kernel. Neither the tier's latency nor its burst is there.",
    ),
    "none": (
        "No disk limits",
        "The disks of {names} are this machine's own, as they are. The figures say nothing about a "
        "tier.",
    ),
}


def stamps(findings: Findings) -> tuple[Stamp, ...]:
    plan = findings.campaign.plan
    return (*_notes(plan), *_disks(plan), *_clusters(plan), *_scale(plan))


def _notes(plan: Plan) -> Iterator[Stamp]:
    """What the planning half had to say. A note that several profiles share is said once."""
    names = {profile.name for profile in plan.profiles}
    shared: dict[str, list[str]] = {}
    for note in plan.notes:
        name, colon, rest = note.partition(": ")
        known = bool(colon) and name in names
        shared.setdefault(rest if known else note, []).extend([name] if known else [])
    for text, profiles in shared.items():
        whole = f"{listing(profiles)}: {text}" if profiles else sentence(text)
        yield Stamp("Not as declared" if profiles else "Note", closed(whole))


def _disks(plan: Plan) -> Iterator[Stamp]:
    by_kind: dict[Enforcement, list[str]] = {}
    for profile in plan.profiles:
        by_kind.setdefault(profile.tier.enforcement, []).append(profile.name)
    for kind, names in by_kind.items():
        if kind in _ENFORCEMENTS:
            label, text = _ENFORCEMENTS[kind]
            yield Stamp(label, text.format(names=listing(names)))
    if len(by_kind) > 1:
        yield Stamp(
            "Unlike disks compared",
            "Some tiers are real disks and others are not, or are enforced in another way: part of "
            "each difference is the way of enforcing it.",
        )


def _clusters(plan: Plan) -> Iterator[Stamp]:
    most = max(profile.cluster.nodes for profile in plan.profiles)
    if most < STUDY_NODES:
        nodes = "one database node" if most == 1 else f"{most} database nodes"
        meaning = " Nothing was replicated, so no write waited for another node." * (most == 1)
        yield Stamp(
            sentence(nodes).rstrip("."),
            f"The published study has {STUDY_NODES}; this campaign has {nodes}.{meaning}",
        )
    first, *others = (profile.cluster for profile in plan.profiles)
    if any(other != first for other in others):
        yield Stamp(
            "Unlike clusters compared",
            "The profiles differ in more than their disk (see the settings below): a difference "
            "between them is not the disk's alone.",
        )


def _scale(plan: Plan) -> Iterator[Stamp]:
    if plan.scale != "study":
        yield Stamp(
            f"Scale “{plan.scale}”",
            "Less data and shorter runs than the published study: good for how the tiers compare "
            "under these conditions, not for sizing.",
        )
