"""Stamps that belong to every figure: doubts about the campaign, notes of the plan, and others."""

from collections.abc import Iterable, Iterator

from orchestrator.analysis import results
from orchestrator.facts import NoteKind
from orchestrator.model import (
    DISK_DEVICE,
    NODE_EXPORTER,
    PRESSURE,
    STORE,
    Profile,
    Record,
)
from orchestrator.report.blocks import Stamp
from orchestrator.report.prose import said, words
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.wording import closed, sentence, some
from orchestrator.units import gathered, listed

STUDY_NODES = 3

_NODES: tuple[NoteKind, ...] = ("fewer nodes", "nodes as asked")
_NOTE_LABELS = words("stamps.notes")
_LABELS = words("stamps.doubts")
_FIRST = {_NOTE_LABELS["unfinished"], _NOTE_LABELS["left behind"]}
_STAND_IN = Stamp("Stand-in, not a real cluster", said("stamps.stand_in"), "")


def stamps(index: ReportIndex) -> tuple[Stamp, ...]:
    notes = tuple(_notes(index))
    scale = index.campaign.small_scale
    stand_in = any(results.database(run.record).stand_in for run in index.campaign.runs)
    return (
        *(stamp for stamp in notes if stamp.label in _FIRST),
        *([_STAND_IN] if stand_in else ()),
        *existing_clusters(index),
        *_doubts(index),
        *(stamp for stamp in notes if stamp.label not in _FIRST),
        *_nodes(index),
        *([Stamp(f"Scale “{scale}”", said("stamps.small_scale"), "")] if scale else ()),
    )


def _doubts(index: ReportIndex) -> Iterator[Stamp]:
    """Doubts about no run in particular, one stamp for each kind."""
    kinds = gathered(
        (doubt.kind, doubt) for doubt in index.verdict.doubts if doubt.run is None
    )
    for kind, doubts in kinds.items():
        texts = _shared(index, [doubt.text for doubt in doubts])
        advice = dict.fromkeys(sentence(doubt.advice.strip()) for doubt in doubts)
        yield Stamp(
            _LABELS.get(kind, kind[:1].upper() + kind[1:]), texts, " ".join(advice)
        )


def _notes(index: ReportIndex) -> Iterator[Stamp]:
    """Notes of the plan, unless a doubt says the same."""
    doubted = {doubt.kind for doubt in index.verdict.doubts}
    notes = index.campaign.plan.notes
    readings = [sentence(note.text) for note in notes if note.kind == "reading"]
    if readings:
        yield Stamp("As read here", " ".join(readings), "")
    for note in notes:
        if note.kind in (
            "reading",
            "prices",
        ):  # what prices did to an answer stands in it
            continue
        if note.kind in doubted or (note.kind in _NODES and "fewer nodes" in doubted):
            continue
        yield Stamp(
            _NOTE_LABELS.get(note.kind, "Not as asked"), _shared(index, [str(note)]), ""
        )


def _shared(index: ReportIndex, texts: Iterable[str]) -> str:
    """Texts of the form `<tier>: …` that say the same are said once, for all their tiers."""
    tiers_of: dict[str, list[str]] = {}
    for text in texts:
        name, colon, rest = text.partition(": ")
        known = bool(colon) and name in index.tiers
        tiers_of.setdefault(rest if known else text, []).extend([name] * known)
    named = {
        text: f"{listed(tiers)}: {text}" for text, tiers in tiers_of.items() if tiers
    }
    texts = (
        closed(named[text]) if text in named else index.opening(text)
        for text in tiers_of
    )
    return some(list(texts))


def _nodes(index: ReportIndex) -> Iterator[Stamp]:
    if all(profile.cluster.member in ("none", STORE) for profile in index.profiles):
        return
    most = max(profile.cluster.nodes for profile in index.profiles)
    doubted = any(doubt.kind == "fewer nodes" for doubt in index.verdict.doubts)
    if most < STUDY_NODES and not doubted:
        if most == 1:
            nodes = "One database node"
        else:
            nodes = f"{most} database nodes"
        alone = " Nothing is replicated, so no write waits for another node." * (
            most == 1
        )
        if any(profile.cluster.database == "existing" for profile in index.profiles):
            # what else is behind it was not seen
            nodes = f"{nodes}, as declared"
            alone = ""
        yield Stamp(nodes, f"The published study has {STUDY_NODES}.{alone}", "")


_VERIFIED = ("verify-full", "verify-ca")
_OF_MACHINES = {
    NODE_EXPORTER: "CPU, memory and network of the nodes",
    DISK_DEVICE: "load of the disks",
    PRESSURE: "time for which the nodes' tasks waited",
}


def existing_clusters(index: ReportIndex) -> Iterator[Stamp]:
    """One for each such cluster, and one more if nobody checked who it is."""
    for profile in index.profiles:
        if profile.cluster.database != "existing":
            continue
        records = (data.record for data in index.campaign.done)
        done = [record for record in records if record.run.profile == profile.name]
        if not done:
            continue
        of_files = profile.cluster.member == STORE
        if of_files:
            known = said("stamps.store")
        else:
            known = _known(profile, done[-1])
        yield Stamp(f"{profile.name}: others run it", known, "")
        mode = results.database(done[-1]).more.get("tls")
        if isinstance(mode, str) and mode not in _VERIFIED:
            open_to_all = " and passwords and data went in the clear" * (mode == "off")
            text = f"With `tls: {mode}` nothing proves that it was this cluster which answered"
            yield Stamp(
                f"{profile.name}: not verified", closed(f"{text}{open_to_all}"), ""
            )


def _known(profile: Profile, record: Record) -> str:
    read = "read"
    declared = "only declared"
    unknown = "not known"
    facts = results.database(record)
    limits = profile.tier.limits
    nodes = [node for node in record.nodes if node.role == "database"]
    sources = {name for node in nodes for name in node.sources}
    speeds = [min(node.cards.values(), default=0.0) for node in nodes]
    size = "size of the nodes", declared if profile.cluster.node else unknown
    if any(node.cpus for node in nodes):
        size = "processors and memory of the nodes", read
    sides = gathered(
        (side, what)
        for what, side in (
            ("release", read),
            ("settings of durability", read if facts.durability else ""),
            ("other settings", read if facts.settings else ""),
            (
                "number of copies",
                read if "replication_factor" in facts.more else declared,
            ),
            size,
            (
                "limits of the disks",
                declared if limits.iops or limits.bytes_per_s else unknown,
            ),
            ("speed of the network cards", read if all(speeds) else unknown),
            *(
                (what, read if name in sources else unknown)
                for name, what in _OF_MACHINES.items()
            ),
            (
                "counters of the storage engine",
                read if sources - {*_OF_MACHINES} else unknown,
            ),
        )
    )
    told = [
        f"{side}: {listed(sides[side])}"
        for side in (read, declared, unknown)
        if side in sides
    ]
    return " ".join(closed(sentence(text)) for text in told)
