"""Stamps that belong to every figure: doubts about the campaign, notes of the plan, scale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchestrator.analysis import results
from orchestrator.facts import DoubtKind, NoteKind
from orchestrator.planning import published_study
from orchestrator.report.blocks import Stamp
from orchestrator.report.report_index import ReportIndex, closed, sentence, some
from orchestrator.report.sections import existing_clusters
from orchestrator.units import listed

STUDY_NODES = 3

_NODES: tuple[NoteKind, ...] = ("fewer nodes", "nodes as asked")
_NOTE_LABELS: dict[NoteKind, str] = {
    "fallback database": "Another database",
    "preferred database": "Another database",
    "longer windows": "Longer windows",
    "campaign cost": "Cost of the campaign itself",
}
_LABELS: dict[DoubtKind, str] = {
    "emulated tier": "Emulated disks",
    "cgroup tier": "Limited by control group",
    "none tier": "No disk limits",
    "rehearsal": "Rehearsal: nothing was measured",
    "published figures": "Published by others, not measured here",
}


def stamps(index: ReportIndex) -> tuple[Stamp, ...]:
    return (
        *_stand_in(index),
        *existing_clusters.stamps(index),
        *_doubts(index),
        *_notes(index),
        *_nodes(index),
        *_scale(index),
    )


def _stand_in(index: ReportIndex) -> Iterator[Stamp]:
    """Comes first: figures of a program that only plays the database."""
    if any(results.database(run.record).stand_in for run in index.campaign.runs):
        text = (
            "A stand-in that speaks the database's language, for tests of this program, served "
            "these runs. The figures say nothing about any database or disk."
        )
        yield Stamp("Stand-in, not a real cluster", text, "")


def _doubts(index: ReportIndex) -> Iterator[Stamp]:
    """Doubts about no run in particular, one stamp for each kind."""
    kinds: dict[DoubtKind, list[tuple[str, str]]] = {}
    for doubt in index.verdict.doubts:
        if doubt.run is None:
            kinds.setdefault(doubt.kind, []).append((doubt.text, doubt.advice))
    for kind, doubts in kinds.items():
        texts = _shared(index, [text for text, _ in doubts])
        advice = dict.fromkeys(sentence(advice.strip()) for _, advice in doubts)
        yield Stamp(_LABELS.get(kind, kind[:1].upper() + kind[1:]), texts, " ".join(advice))


def _notes(index: ReportIndex) -> Iterator[Stamp]:
    """Notes of the plan, unless a doubt says the same."""
    doubted = {doubt.kind for doubt in index.verdict.doubts}
    notes = index.campaign.plan.notes
    if readings := [sentence(note.text) for note in notes if note.kind == "reading"]:
        yield Stamp("As read here", " ".join(readings), "")
    for note in notes:
        if note.kind in ("reading", "prices"):  # what prices did to an answer stands in it
            continue
        if note.kind in doubted or (note.kind in _NODES and "fewer nodes" in doubted):
            continue
        label = _NOTE_LABELS.get(note.kind, "Not as asked")
        yield Stamp(label, _shared(index, [str(note)]), "")


def _shared(index: ReportIndex, texts: Iterable[str]) -> str:
    """Texts of the form `<tier>: …` that say the same are said once, for all their tiers."""
    tiers_of: dict[str, list[str]] = {}
    for text in texts:
        name, colon, rest = text.partition(": ")
        known = bool(colon) and name in index.tiers
        tiers_of.setdefault(rest if known else text, []).extend([name] * known)
    return some(
        [
            closed(f"{listed(tiers)}: {text}") if tiers else index.opening(text)
            for text, tiers in tiers_of.items()
        ]
    )


def _nodes(index: ReportIndex) -> Iterator[Stamp]:
    if all(profile.cluster.database == "none" for profile in index.profiles):
        return
    most = max(profile.cluster.nodes for profile in index.profiles)
    doubted = any(doubt.kind == "fewer nodes" for doubt in index.verdict.doubts)
    if most < STUDY_NODES and not doubted:
        nodes = "One database node" if most == 1 else f"{most} database nodes"
        alone = " Nothing is replicated, so no write waits for another node." * (most == 1)
        if any(profile.cluster.database == "existing" for profile in index.profiles):
            nodes, alone = f"{nodes}, as declared", ""  # what else is behind it was not seen
        yield Stamp(nodes, f"The published study has {STUDY_NODES}.{alone}", "")


def _scale(index: ReportIndex) -> Iterator[Stamp]:
    scale = index.campaign.plan.scale
    if not index.published and scale not in published_study.FULL_SCALES:
        text = (
            "Less data and shorter runs than the published study: good for how the tiers compare "
            "under these conditions, not for sizing."
        )
        yield Stamp(f"Scale “{scale}”", text, "")
