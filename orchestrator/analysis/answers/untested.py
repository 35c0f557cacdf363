"""What a campaign did not test, so that its answer may be another there. Pure."""

from collections.abc import Iterator, Mapping

from orchestrator.analysis import results
from orchestrator.analysis.answers.record import Untested, UntestedKind
from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.facts import DoubtKind, NoteKind, known_doubt_kind

OF_DOUBTS: Mapping[DoubtKind, UntestedKind] = {
    "rehearsal": "anything",
    "published figures": "any measurement",
    "emulated tier": "real disks",
    "none tier": "real disks",
    "fewer nodes": "number of nodes",
}
OF_NOTES: Mapping[NoteKind, UntestedKind] = {
    "fallback database": "database",
}
ABOUT_SMALL_SCALE = (
    "Less data and shorter runs than the published study. Use the figures to compare "
    "tiers under these conditions, not for sizing."
)
ABOUT_STAND_IN = (
    "A stand-in that speaks the database's language, for tests of this program, "
    "served these runs. The figures say nothing about any database or disk."
)


def untested(campaign: Results, verdict: Verdict) -> Iterator[Untested]:
    """What concerns every figure first, then what concerns sizes."""
    if is_stand_in(campaign):
        yield Untested("real cluster", ABOUT_STAND_IN)
    yield from _by_doubts(verdict)
    for note in campaign.plan.notes:
        kind = OF_NOTES.get(note.kind)
        if kind is not None:
            tiers: tuple[str, ...] = ()
            if note.profile:
                tiers = (note.profile,)
            yield Untested(kind, note.text, tiers=tiers)
    if campaign.small_scale:
        yield Untested("size of the data", ABOUT_SMALL_SCALE)


def _by_doubts(verdict: Verdict) -> Iterator[Untested]:
    for doubt in verdict.doubts:
        # Doubts about single runs stand with their figures.
        kind_of_doubt = known_doubt_kind(doubt.kind)
        if doubt.run is not None or kind_of_doubt is None:
            continue
        untested_kind = OF_DOUBTS.get(kind_of_doubt)
        if untested_kind is not None:
            yield Untested(untested_kind, str(doubt), doubt.advice)


def is_stand_in(campaign: Results) -> bool:
    """Whether a program of ours spoke for a database that could not be had."""
    return any(results.database(run.record).stand_in for run in campaign.runs)


def why_costs_only_rank(campaign: Results) -> list[str]:
    """Why a cost per throughput of this campaign is no figure to plan with; empty if it is one."""
    # The throughput is not that of the disks as bought, under the load that they are bought for.
    reasons: list[str] = []
    if not all(profile.tier.disk.is_real for profile in campaign.plan.profiles):
        reasons.append("on emulated or otherwise limited disks")
    if campaign.small_scale:
        reasons.append(f"at scale {campaign.small_scale}")
    return reasons
