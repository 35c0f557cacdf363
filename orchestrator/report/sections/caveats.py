"""Stamps that belong to every figure: doubts about the campaign, notes of the plan, and others."""

from collections.abc import Iterable, Iterator, Mapping, Set

from orchestrator.analysis import results
from orchestrator.analysis.answers.untested import (
    ABOUT_SMALL_SCALE,
    ABOUT_STAND_IN,
    OF_DOUBTS,
    OF_NOTES,
    is_stand_in,
)
from orchestrator.design import slow_disks
from orchestrator.facts import DoubtKind, NoteKind, known_doubt_kind
from orchestrator.model import STORE, Doubt, Note
from orchestrator.report.blocks import Stamp
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections.existing_clusters import existing_clusters
from orchestrator.report.wording import closed, sentence, some
from orchestrator.texts.prose import capitalized, first_few, listed

STUDY_NODES = 3

_LABELS_OF_DOUBTS: Mapping[DoubtKind, str] = {
    "emulated tier": "Emulated disks",
    "none tier": "No disk limits",
    "rehearsal": "Rehearsal: nothing was measured",
    "published figures": "Published by others, not measured here",
    "gate drift": "Disk changed",
    "no truth gate": "Disk not checked",
    "old truth gate": "Disk check is old",
    "gate not passed": "Disk check not passed",
    "gate failed afterwards": "Disk check failed at the end",
    "no gate afterwards": "Disk not checked at the end",
}
_LABELS_OF_NOTES: Mapping[NoteKind, str] = {
    "fallback database": "Another database",
    "preferred database": "Database",
    "longer windows": "Longer windows",
    "campaign cost": "Cost of the campaign itself",
    "left behind": "Rented, and maybe left behind",
    "interrupted": "Interrupted and continued",
    "unfinished": "Unfinished",
    "data as asked": "Data as asked for",
    "planned in time": "Planned by time",
    "probes": "Probes",
}
_LABEL_OF_OTHER_NOTES = "Not as asked"
# Somebody may have to act on these, be the figures good or bad.
_FIRST: tuple[NoteKind, ...] = ("unfinished", "left behind")
# Said of the price, and of how sure the answer is.
_IN_BRIEF: tuple[DoubtKind, ...] = ("price not verified", "one repetition")
_ABOUT_NODES: tuple[NoteKind, ...] = ("fewer nodes", "nodes as asked")


def stamps(index: ReportIndex) -> tuple[Stamp, ...]:
    """All of a campaign, in the order in which a reader needs them."""
    shown: list[Stamp] = []
    for note in index.campaign.plan.notes:
        if note.kind in _FIRST:
            shown.append(_of_note(index, note))
    # This stamp comes before the doubts: figures of a stand-in are of no database at all.
    if is_stand_in(index.campaign):
        label = "Stand-in, not a real cluster"
        shown.append(Stamp(label, ABOUT_STAND_IN, "", is_in_brief=True))
    shown.extend(existing_clusters(index))
    shown.extend(_slow_disks(index))
    shown.extend(_doubts(index))
    shown.extend(_notes(index))
    shown.extend(_nodes(index))
    scale = index.campaign.small_scale
    if scale:
        label = f"Scale “{scale}”"
        shown.append(Stamp(label, ABOUT_SMALL_SCALE, "", is_in_brief=True))
    return tuple(shown)


def _slow_disks(index: ReportIndex) -> Iterator[Stamp]:
    """Said first of all, because else figures would be taken for those of usual days."""
    text = slow_disks_in_words(index)
    if text:
        yield Stamp(
            "A slow disk",
            f"{text} Figures of the whole window hold that time.",
            "For those of usual days leave `slow` (--slow) out.",
        )


def slow_disks_in_words(index: ReportIndex) -> str:
    """Which disks were slow in the windows, and how. Loads with the same are told once."""
    loads_by_text: dict[str, list[str]] = {}
    for load in index.campaign.plan.workloads:
        text = slow_disks.all_described(load.slow)
        if text:
            loads_by_text.setdefault(text, []).append(load.name)
    sentences: list[str] = []
    for text, loads in loads_by_text.items():
        sentences.append(f"In each window of {listed(loads)}: {text}.")
    return " ".join(sentences)


# ------------------------------------------------------------------ doubts and notes


def _doubts(index: ReportIndex) -> Iterator[Stamp]:
    """Doubts about no run in particular, one stamp for each kind."""
    by_kind: dict[str, list[Doubt]] = {}
    for doubt in index.verdict.doubts:
        # Doubts about single runs are footnotes of their figures.
        if doubt.run is None:
            by_kind.setdefault(doubt.kind, []).append(doubt)
    for kind, doubts in by_kind.items():
        text = _shared(index, doubts)
        # Doubts of a kind may share their advice, which is given once.
        advice = dict.fromkeys(sentence(doubt.advice.strip()) for doubt in doubts)
        known_kind = known_doubt_kind(kind)
        is_in_brief = known_kind in OF_DOUBTS or known_kind in _IN_BRIEF
        yield Stamp(_label_of_doubts(kind), text, " ".join(advice), is_in_brief)


def _label_of_doubts(kind: str) -> str:
    known_kind = known_doubt_kind(kind)
    # Those of extensions have no label here.
    if known_kind is None:
        return capitalized(kind)
    return _LABELS_OF_DOUBTS.get(known_kind, capitalized(kind))


def _notes(index: ReportIndex) -> Iterator[Stamp]:
    """The other notes of the plan, unless a doubt says the same."""
    notes = index.campaign.plan.notes
    readings = [sentence(note.text) for note in notes if note.kind == "reading"]
    if readings:
        yield Stamp("As read here", " ".join(readings), "")
    yield from _about_files(index)
    doubted = {known_doubt_kind(doubt.kind) for doubt in index.verdict.doubts}
    for note in notes:
        # Files have one stamp together: there may be as many as the campaign has.
        if note.kind in results.ABOUT_FILES or note.kind in _FIRST:
            continue
        if not _is_said_elsewhere(note, doubted):
            yield _of_note(index, note)


def _of_note(index: ReportIndex, note: Note) -> Stamp:
    label = _LABELS_OF_NOTES.get(note.kind, _LABEL_OF_OTHER_NOTES)
    text = _shared(index, [note])
    return Stamp(label, text, "", is_in_brief=note.kind in OF_NOTES)


def _about_files(index: ReportIndex) -> Iterator[Stamp]:
    """One stamp for all files that were passed over or changed, because these may be all of a
    campaign."""
    texts = first_few(results.left_out(index.campaign))
    if texts:
        sentences = [index.opening(text) for text in texts]
        yield Stamp(_LABEL_OF_OTHER_NOTES, " ".join(sentences), "")


def _is_said_elsewhere(note: Note, doubted: Set[DoubtKind | None]) -> bool:
    # Readings have a stamp together; what prices did to an answer stands in the answer.
    if note.kind in ("reading", "prices"):
        return True
    if note.kind in _ABOUT_NODES and "fewer nodes" in doubted:
        return True
    return note.kind in doubted


def _shared(index: ReportIndex, remarks: Iterable[Doubt | Note]) -> str:
    """What they say, and what is said of several tiers once for all of these."""
    tiers_by_text: dict[str, list[str]] = {}
    for remark in remarks:
        tiers = tiers_by_text.setdefault(remark.text, [])
        if remark.profile:
            tiers.append(remark.profile)
    sentences: list[str] = []
    for text, tiers in tiers_by_text.items():
        if tiers:
            # The name of a tier keeps its letters: `Premium` would be another tier.
            sentences.append(closed(f"{listed(tiers)}: {text}"))
        else:
            sentences.append(index.opening(text))
    return some(sentences)


# ------------------------------------------------------------------ nodes


def _nodes(index: ReportIndex) -> Iterator[Stamp]:
    """A stamp if there are fewer database nodes than the study has, unless a doubt says it."""
    clusters = [profile.cluster for profile in index.profiles]
    # A disk alone and the store of others have no database nodes.
    if all(cluster.member in ("none", STORE) for cluster in clusters):
        return
    nodes = max(cluster.nodes for cluster in clusters)
    is_doubted = any(
        known_doubt_kind(doubt.kind) == "fewer nodes" for doubt in index.verdict.doubts
    )
    if nodes >= STUDY_NODES or is_doubted:
        return
    text = f"The published study has {STUDY_NODES}."
    if any(cluster.database == "existing" for cluster in clusters):
        # What else is behind it was not seen, so nothing is said of its copies.
        yield Stamp(f"{_nodes_in_words(nodes)}, as declared", text, "")
        return
    if nodes == 1:
        text = f"{text} Nothing is replicated, so no write waits for another node."
    yield Stamp(_nodes_in_words(nodes), text, "")


def _nodes_in_words(nodes: int) -> str:
    if nodes == 1:
        return "One database node"
    return f"{nodes} database nodes"
