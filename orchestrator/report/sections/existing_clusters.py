"""What is known of a cluster that others run, and how: read, only declared, or not at all."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from orchestrator.analysis import results
from orchestrator.counter_sources import DISK_DEVICE, NODE_EXPORTER, PRESSURE
from orchestrator.design.nodes_by_role import nodes_of_role
from orchestrator.facts import DatabaseFacts
from orchestrator.model import STORE, Node, Profile, Record
from orchestrator.report.blocks import Stamp
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.wording import closed, sentence
from orchestrator.texts.prose import listed

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
    nodes = nodes_of_role(record.nodes, "database")
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
