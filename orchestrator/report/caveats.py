"""What every figure must be read with: doubts about the campaign, notes of the plan, scale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchestrator.analysis import results
from orchestrator.facts import DoubtKind, NoteKind
from orchestrator.report.blocks import Stamp
from orchestrator.report.findings import Findings, closed, sentence, some
from orchestrator.report.wording import listing

STUDY_NODES = 3

_NODES: tuple[NoteKind, ...] = ("fewer nodes", "nodes as asked")
_DATABASES: tuple[NoteKind, ...] = ("fallback database", "preferred database")
_LABELS: dict[DoubtKind, str] = {
    "emulated tier": "Emulated disks",
    "cgroup tier": "Limited by control group",
    "none tier": "No disk limits",
    "rehearsal": "Rehearsal: nothing was measured",
}


def stamps(findings: Findings) -> tuple[Stamp, ...]:
    return (
        *_stand_in(findings),
        *_doubts(findings),
        *_notes(findings),
        *_nodes(findings),
        *_scale(findings),
    )


def _stand_in(findings: Findings) -> Iterator[Stamp]:
    """Loudest of all: figures of a program that only plays the database."""
    if any(results.database(run.record).stand_in for run in findings.campaign.runs):
        text = (
            "A stand-in that speaks the database's language, for tests of this program, served "
            "these runs. The figures say nothing about any database or disk."
        )
        yield Stamp("Stand-in, not a real cluster", text, "")


def _doubts(findings: Findings) -> Iterator[Stamp]:
    """Doubts about no run in particular, one stamp for each kind."""
    kinds: dict[DoubtKind, list[tuple[str, str]]] = {}
    for doubt in findings.verdict.doubts:
        if doubt.run is None:
            kinds.setdefault(doubt.kind, []).append((doubt.text, doubt.advice))
    for kind, found in kinds.items():
        texts = _shared(findings, [text for text, _ in found])
        advice = dict.fromkeys(sentence(advice.strip()) for _, advice in found)
        yield Stamp(_LABELS.get(kind, kind[:1].upper() + kind[1:]), texts, " ".join(advice))


def _notes(findings: Findings) -> Iterator[Stamp]:
    """What the planning half had to say, unless a doubt says it already."""
    doubted = {doubt.kind for doubt in findings.verdict.doubts}
    for note in findings.campaign.plan.notes:
        if note.kind in doubted or (note.kind in _NODES and "fewer nodes" in doubted):
            continue
        label = "Another database" if note.kind in _DATABASES else "Not as asked"
        yield Stamp(label, _shared(findings, [str(note)]), "")


def _shared(findings: Findings, texts: Iterable[str]) -> str:
    """Texts of the form `<tier>: …` that say the same are said once, for all their tiers."""
    tiers_of: dict[str, list[str]] = {}
    for text in texts:
        name, colon, rest = text.partition(": ")
        known = bool(colon) and name in findings.tiers
        tiers_of.setdefault(rest if known else text, []).extend([name] * known)
    said = [
        closed(f"{listing(tiers)}: {text}") if tiers else findings.opening(text)
        for text, tiers in tiers_of.items()
    ]
    return some(said)


def _nodes(findings: Findings) -> Iterator[Stamp]:
    if all(profile.cluster.database == "none" for profile in findings.profiles):
        return
    most = max(profile.cluster.nodes for profile in findings.profiles)
    said = any(doubt.kind == "fewer nodes" for doubt in findings.verdict.doubts)
    if most < STUDY_NODES and not said:
        nodes = "One database node" if most == 1 else f"{most} database nodes"
        alone = " Nothing is replicated, so no write waits for another node." * (most == 1)
        if any(profile.cluster.database == "existing" for profile in findings.profiles):
            nodes, alone = f"{nodes}, as declared", ""  # what else is behind it was not seen
        yield Stamp(nodes, f"The published study has {STUDY_NODES}.{alone}", "")


def _scale(findings: Findings) -> Iterator[Stamp]:
    scale = findings.campaign.plan.scale
    if scale not in ("study", "study-20"):
        text = (
            "Less data and shorter runs than the published study: good for how the tiers compare "
            "under these conditions, not for sizing."
        )
        yield Stamp(f"Scale “{scale}”", text, "")
