"""Stamps that belong to every figure: doubts about the campaign, notes of the plan, and others."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from orchestrator.analysis import results
from orchestrator.analysis.answers.untested import (
    ABOUT_SMALL_SCALE,
    ABOUT_STAND_IN,
    OF_DOUBTS,
    OF_NOTES,
    is_stand_in,
)
from orchestrator.counter_sources import DISK_DEVICE, NODE_EXPORTER, PRESSURE
from orchestrator.design import slow_disks
from orchestrator.facts import DatabaseFacts, NoteKind
from orchestrator.model import STORE, Doubt, Node, Note, Profile, Record
from orchestrator.report.blocks import Stamp
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.wording import closed, sentence, some
from orchestrator.units import first_few, listed

STUDY_NODES = 3

# Labels by `DoubtKind`; doubts may be of other kinds too.
_LABELS_OF_DOUBTS: Mapping[str, str] = {
    "emulated tier": "Emulated disks",
    "none tier": "No disk limits",
    "rehearsal": "Rehearsal: nothing was measured",
    "published figures": "Published by others, not measured here",
    "gate drift": "Disk changed",
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
_FIRST = (_LABELS_OF_NOTES["unfinished"], _LABELS_OF_NOTES["left behind"])
# Said of the price, and of how sure the answer is.
_IN_BRIEF = ("price not verified", "one repetition")
_ABOUT_NODES: tuple[NoteKind, ...] = ("fewer nodes", "nodes as asked")


def stamps(index: ReportIndex) -> tuple[Stamp, ...]:
    """All of a campaign, in the order in which a reader needs them."""
    note_stamps = tuple(_notes(index))
    shown: list[Stamp] = []
    for stamp in note_stamps:
        if stamp.label in _FIRST:
            shown.append(stamp)
    # This stamp comes before the doubts: figures of a stand-in are of no database at all.
    if is_stand_in(index.campaign):
        label = "Stand-in, not a real cluster"
        shown.append(Stamp(label, ABOUT_STAND_IN, "", is_in_brief=True))
    shown.extend(existing_clusters(index))
    shown.extend(_slow_disks(index))
    shown.extend(_doubts(index))
    for stamp in note_stamps:
        if stamp.label not in _FIRST:
            shown.append(stamp)
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
        is_in_brief = kind in OF_DOUBTS or kind in _IN_BRIEF
        yield Stamp(_label_of_doubts(kind), text, " ".join(advice), is_in_brief)


def _label_of_doubts(kind: str) -> str:
    capitalized = kind[:1].upper() + kind[1:]
    return _LABELS_OF_DOUBTS.get(kind, capitalized)


def _notes(index: ReportIndex) -> Iterator[Stamp]:
    """Notes of the plan, unless a doubt says the same."""
    notes = index.campaign.plan.notes
    readings = [sentence(note.text) for note in notes if note.kind == "reading"]
    if readings:
        yield Stamp("As read here", " ".join(readings), "")
    yield from _about_files(index)
    doubted = {doubt.kind for doubt in index.verdict.doubts}
    for note in notes:
        # Files have one stamp together: there may be as many as the campaign has.
        if note.kind in results.ABOUT_FILES or _is_said_elsewhere(note, doubted):
            continue
        label = _LABELS_OF_NOTES.get(note.kind, _LABEL_OF_OTHER_NOTES)
        text = _shared(index, [note])
        yield Stamp(label, text, "", is_in_brief=note.kind in OF_NOTES)


def _about_files(index: ReportIndex) -> Iterator[Stamp]:
    """One stamp for all files that were passed over or changed, because these may be all of a
    campaign."""
    texts = first_few(results.left_out(index.campaign))
    if texts:
        sentences = [index.opening(text) for text in texts]
        yield Stamp(_LABEL_OF_OTHER_NOTES, " ".join(sentences), "")


def _is_said_elsewhere(note: Note, doubted: set[str]) -> bool:
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
    is_doubted = any(doubt.kind == "fewer nodes" for doubt in index.verdict.doubts)
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


# ------------------------------------------------------------------ clusters of others

# The modes of libpq in which a client checks the server's certificate:
# https://www.postgresql.org/docs/current/libpq-ssl.html
_VERIFIED = ("verify-full", "verify-ca")
_ABOUT_STORES = (
    "Nothing was read of the store: its release, copies, limits and what else uses it are not "
    "known. CPU and network are those of the containers here that ran the jobs, which the tables "
    "call nodes."
)
# What serves counters of the nodes → what is known by it.
_BY_SOURCE = {
    NODE_EXPORTER: "CPU, memory and network of the nodes",
    DISK_DEVICE: "load of the disks",
    PRESSURE: "time for which the nodes' tasks waited",
}

_How = Literal["read", "only declared", "not known"]
_READ: _How = "read"
_DECLARED: _How = "only declared"
_UNKNOWN: _How = "not known"


@dataclass(frozen=True)
class _Property:
    """A property of a cluster that others run, and how it came to be known."""

    what: str
    how: _How


def existing_clusters(index: ReportIndex) -> Iterator[Stamp]:
    """One for each such cluster, and one more if nobody checked who it is."""
    for profile in index.profiles:
        if profile.cluster.database == "existing":
            last = _last_finished(index, profile.name)
            if last is not None:
                yield _existing_stamp(profile, last)
                yield from _not_verified(profile, last)


def _last_finished(index: ReportIndex, profile: str) -> Record | None:
    # The last, because a release or a setting may have been changed between runs.
    last: Record | None = None
    for run in index.campaign.done:
        if run.record.run.profile == profile:
            last = run.record
    return last


def _existing_stamp(profile: Profile, record: Record) -> Stamp:
    label = f"{profile.name}: others run it"
    if profile.cluster.member == STORE:
        return Stamp(label, _ABOUT_STORES, "")
    return Stamp(label, _knowledge_in_words(profile, record), "")


def _not_verified(profile: Profile, record: Record) -> Iterator[Stamp]:
    mode = results.database(record).more.get("tls")
    if not isinstance(mode, str) or mode in _VERIFIED:
        return
    text = f"With `tls: {mode}` nothing proves that it was this cluster which answered"
    if mode == "off":
        text = f"{text} and passwords and data went in the clear"
    yield Stamp(f"{profile.name}: not verified", closed(text), "")


def _knowledge_in_words(profile: Profile, record: Record) -> str:
    """`Read: … Only declared: … Not known: …`"""
    knowledge = tuple(_knowledge(profile, record))
    sentences: list[str] = []
    for how in (_READ, _DECLARED, _UNKNOWN):
        properties = [item.what for item in knowledge if item.how == how]
        if properties:
            sentences.append(sentence(f"{how}: {listed(properties)}"))
    return " ".join(sentences)


def _knowledge(profile: Profile, record: Record) -> Iterator[_Property]:
    """What the database told, then what was declared or seen of nodes and disks."""
    nodes = [node for node in record.nodes if node.role == "database"]
    yield from _told_by_database(results.database(record))
    yield _size_known(profile, nodes)
    limits = profile.tier.limits
    # No fio runs on disks of others, so their limits are declared at best.
    if limits.iops or limits.bytes_per_s:
        yield _Property("limits of the disks", _DECLARED)
    else:
        yield _Property("limits of the disks", _UNKNOWN)
    # A speed of 0 is not known, and the slowest card is the one that may limit.
    speeds = [min(node.cards.values(), default=0.0) for node in nodes]
    yield _Property("speed of the network cards", _read_if(all(speeds)))
    yield from _counted(nodes)


def _told_by_database(facts: DatabaseFacts) -> Iterator[_Property]:
    """Settings that were not read are passed over."""
    yield _Property("release", _READ)
    if facts.durability:
        yield _Property("settings of durability", _READ)
    if facts.settings:
        yield _Property("other settings", _READ)
    if "replication_factor" in facts.more:
        yield _Property("number of copies", _READ)
    else:
        yield _Property("number of copies", _DECLARED)


def _size_known(profile: Profile, nodes: Iterable[Node]) -> _Property:
    if any(node.cpus for node in nodes):
        return _Property("processors and memory of the nodes", _READ)
    if profile.cluster.node:
        return _Property("size of the nodes", _DECLARED)
    return _Property("size of the nodes", _UNKNOWN)


def _counted(nodes: Iterable[Node]) -> Iterator[_Property]:
    """What counters showed while the loads ran."""
    sources: set[str] = set()
    for node in nodes:
        sources.update(node.sources)
    for source, what in _BY_SOURCE.items():
        yield _Property(what, _read_if(source in sources))
    # Any other source is the database's own.
    has_own = bool(sources - _BY_SOURCE.keys())
    yield _Property("counters of the storage engine", _read_if(has_own))


def _read_if(is_read: bool) -> _How:
    if is_read:
        return _READ
    return _UNKNOWN
