"""What two runs differ in besides their tier: each difference names its subject. Pure.

The size of the disk belongs to the tier (many tiers grow with it), so it may differ.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

from orchestrator.analysis import results
from orchestrator.design import factors
from orchestrator.facts import DatabaseFacts, group
from orchestrator.model import Record, Workload
from orchestrator.units import format_bytes, gathered

# Two loads of the same rows do not take the same bytes: files are rewritten at other times.
MAX_DATA_DIFFERENCE_PCT = 5.0
MEMORY_TOLERANCE_PCT = 1.0  # a kernel keeps some for itself, and not always as much


class Topic(Enum):
    """What a difference is about, in the words that begin its title."""

    # what was asked for
    DATABASE = "database"
    VERSION_ASKED = "asked-for version"
    CLUSTER = "cluster's"  # a factor; its title is that of `factors.OF_CLUSTER`
    SIZE_DECLARED = "size of a node"
    SETTING = "setting"
    DATA_FAMILY = "data set"
    DATA_SET = "data set's"
    OPTION = "workload option"
    WORKLOAD = "workload's"
    # what was seen
    MACHINE_CPUS = "CPUs of the machines, as seen,"
    MACHINE_MEMORY = "memory of the machines, as seen,"
    NODE_CPUS = "CPUs of the nodes, as seen,"
    NODE_MEMORY = "memory of the nodes, as seen,"
    CPUS_PER_NODE = "CPUs per node"
    MEMORY_PER_NODE = "memory per node"
    POOLER = "connection pooler"
    HOSTS = "named hosts"
    RUNNING = "running database's"
    GENERATOR_VERSION = "load generator's version"
    BATCHING = "load generator's batching of statements"
    SCRIPTS = "workload's scripts (hash)"
    TLS = "`tls` of sessions"
    DATA_BEFORE = "data before the run"
    BURST_CREDIT = "burst credit for"
    FILE_SYSTEM = "file system"


@dataclass(frozen=True)
class Subject:
    """A topic, and of one that has several the key: a setting's name, a field, a path of names."""

    topic: Topic
    key: str = ""

    @property
    def title(self) -> str:
        if self.topic is Topic.CLUSTER:
            return factors.OF_CLUSTER[self.key].title
        words = str(self.topic.value)
        if self.topic is Topic.BURST_CREDIT:
            return f"{words} {self.key} at the begin:"
        if self.key:
            return f"{words} {self.key}"
        return words


@dataclass(frozen=True)
class Difference:
    """Two values of one subject that are unlike; None of a side that has none."""

    subject: Subject
    left: Any
    right: Any

    def __str__(self) -> str:
        """`database version 17.2 against 16.4`."""
        left = _shown(self.subject, self.left)
        right = _shown(self.subject, self.right)
        return f"{self.subject.title} {left} against {right}"


def in_words(differences: Iterable[Difference]) -> tuple[str, ...]:
    """A phrase each; those that read alike once."""
    return tuple(dict.fromkeys([str(difference) for difference in differences]))


Values = Mapping[Subject, Any]


def between(left: Record, right: Record) -> tuple[Difference, ...]:
    """All differences of two runs but the tier: what was asked for, then what was seen."""
    asked = unlike(_asked(left), _asked(right))
    left_seen = _seen(left)
    right_seen = _seen(right)
    # What one side did not tell is no difference: it may be as the other's.
    shared = [subject for subject in left_seen if subject in right_seen]
    seen = unlike(
        {subject: left_seen[subject] for subject in shared},
        {subject: right_seen[subject] for subject in shared},
    )
    return (*asked, *seen)


def unlike(left: Values, right: Values) -> Iterator[Difference]:
    """The subjects whose values are unlike, and those that one side lacks; of mappings by key."""
    for subject in dict.fromkeys((*left, *right)):
        first = left.get(subject)
        second = right.get(subject)
        if isinstance(first, Mapping) and isinstance(second, Mapping):
            yield from unlike(_inner(subject, first), _inner(subject, second))
        elif _are_unlike(subject.topic, first, second):
            yield Difference(subject, first, second)


def _inner(subject: Subject, values: Mapping[str, Any]) -> Values:
    return {
        Subject(subject.topic, f"{subject.key}.{name}"): value
        for name, value in values.items()
    }


# ------------------------------------------------------------------ the rule of each topic


def _are_unlike(topic: Topic, left: Any, right: Any) -> bool:
    if topic in (Topic.MACHINE_MEMORY, Topic.NODE_MEMORY):
        return unlike_memory(left, right)
    if topic is Topic.TLS:
        # To encrypt takes CPU; how far a certificate is checked changes no session.
        return bool((left == "off") != (right == "off"))
    if topic is Topic.DATA_BEFORE:
        # Two loads of the same rows do not take the same bytes.
        larger = max(left, right)
        apart = larger - min(left, right)
        return bool(apart > MAX_DATA_DIFFERENCE_PCT / 100 * larger)
    if topic is Topic.BURST_CREDIT:
        # One is known to have begun on credit and the other without: no tier's difference.
        return set(left).isdisjoint(right)
    return bool(left != right)


def unlike_memory(left: Sequence[float], right: Sequence[float]) -> bool:
    """Whether two lists of bytes, each in order of size, differ by more than kernels explain."""
    if len(left) != len(right):
        return True
    most = 1 + MEMORY_TOLERANCE_PCT / 100
    pairs = [sorted(pair) for pair in zip(left, right, strict=True)]
    return any(large > small * most for small, large in pairs)


def _shown(subject: Subject, value: Any) -> str:
    topic = subject.topic
    if value is None:
        return "not given"
    if topic is Topic.CLUSTER:
        return factors.OF_CLUSTER[subject.key].show(value)
    if topic in (Topic.MEMORY_PER_NODE, Topic.DATA_BEFORE):
        return format_bytes(value)
    if topic in (Topic.MACHINE_MEMORY, Topic.NODE_MEMORY):
        return ", ".join([format_bytes(size) for size in value])
    if topic in (Topic.BURST_CREDIT, Topic.FILE_SYSTEM):
        return " or ".join(sorted(value))
    return str(value)


# ------------------------------------------------------------------ what was asked for

# Of a workload: an SLO judges figures and a title names them, and neither changes one; what
# is tried out comes when the window is over; the last two have topics of their own.
_NOT_OF_WORKLOAD = ("slo", "title", "confirm_s", "dataset", "options")


def _asked(record: Record) -> Values:
    """What was asked for. Of clusters that others run, `_seen` has the settings."""
    return {**_asked_of_cluster(record), **_asked_of_load(record.workload)}


def _asked_of_cluster(record: Record) -> Values:
    cluster = record.profile.cluster
    declared = "not declared"
    if cluster.node:
        declared = "declared"
    settings: Mapping[str, str] = {}
    if not results.is_existing(record):
        settings = cluster.settings
    values: dict[str, Any] = {}
    for factor, key in factors.OF_CLUSTER.items():
        values[factor] = getattr(cluster, key.field)
    return {
        Subject(Topic.DATABASE): cluster.database,
        Subject(Topic.VERSION_ASKED): cluster.version,
        **_keyed(Topic.CLUSTER, values),
        Subject(Topic.SIZE_DECLARED): declared,
        **_keyed(Topic.SETTING, settings),
    }


def _asked_of_load(load: Workload) -> Values:
    values: dict[str, Any] = {}
    for field in fields(load):
        if field.name not in _NOT_OF_WORKLOAD:
            values[field.name] = getattr(load, field.name)
    return {
        Subject(Topic.DATA_FAMILY): load.dataset.family,
        **_keyed(Topic.DATA_SET, load.dataset.parameters),
        **_keyed(Topic.OPTION, load.options),
        **_keyed(Topic.WORKLOAD, values),
    }


def _keyed(topic: Topic, values: Mapping[str, Any]) -> Values:
    return {Subject(topic, key): value for key, value in values.items()}


# ------------------------------------------------------------------ what was seen


def _seen(record: Record) -> Values:
    """What is known of machines, nodes, servers, load generator and data."""
    values = {
        **_machines(record),
        **_nodes(record),
        **_database(record),
        **_load(record),
        **_burst_credit(record),
    }
    return {subject: value for subject, value in values.items() if _is_known(value)}


def _is_known(value: object) -> bool:
    return value is not None and value not in ({}, [], set())


def _machines(record: Record) -> Values:
    return {
        Subject(Topic.MACHINE_CPUS): _sizes(record, "host", "cpus"),
        Subject(Topic.MACHINE_MEMORY): _sizes(record, "host", "memory_bytes"),
    }


def _nodes(record: Record) -> Values:
    """Sizes of nodes: seen of clusters that others run, of all others as declared."""
    values: dict[Subject, Any] = {}
    if results.is_existing(record):
        values[Subject(Topic.NODE_CPUS)] = _sizes(record, "database", "cpus")
        memory = _sizes(record, "database", "memory_bytes")
        values[Subject(Topic.NODE_MEMORY)] = memory
    node = record.profile.cluster.node
    if node:
        values[Subject(Topic.CPUS_PER_NODE)] = node.cpus
        values[Subject(Topic.MEMORY_PER_NODE)] = node.memory_bytes
    return values


def _database(record: Record) -> Values:
    """What it said of itself. Settings of one that we start follow from its profile."""
    facts = results.database(record)
    running = {
        "version": facts.version,
        "image": facts.image,
        "stand_in": facts.stand_in,
        "durable": facts.durable,
        "durability": facts.durability,
        "execution": facts.execution,
    }
    pooler = None
    if results.is_existing(record):
        running["settings"] = facts.settings
        pooler = "not seen"
        if facts.pooler:
            pooler = "seen"
    return {
        Subject(Topic.POOLER): pooler,
        Subject(Topic.HOSTS): _hosts_named(facts),
        **_keyed(Topic.RUNNING, running),
    }


def _hosts_named(facts: DatabaseFacts) -> str | None:
    """Through how many addresses so many nodes were reached: a balancer in front of them, or one
    node alone that takes all sessions, changes throughput whatever the disks are."""
    if facts.nodes_known is None:
        return None
    hosts = len(facts.more.get("hosts", ()))
    if hosts >= facts.nodes_known:
        return "one for each node"
    return f"{hosts} for {facts.nodes_known} nodes"


def _load(record: Record) -> Values:
    generator = results.generator(record)
    return {
        Subject(Topic.GENERATOR_VERSION): generator.version,
        Subject(Topic.BATCHING): generator.statements_batched,
        Subject(Topic.SCRIPTS): results.identity(record).scripts,
        Subject(Topic.TLS): results.database(record).more.get("tls"),
        # Before the run: after it, faster tiers have inserted more.
        Subject(Topic.DATA_BEFORE): results.database_before(record).data_bytes,
    }


def _sizes(record: Record, role: str, name: str) -> list[float]:
    """What was seen of its nodes of a role, in order of size; empty where it was not of each. Of
    machines the smallest and the largest."""
    values = [getattr(node, name) for node in record.nodes if node.role == role]
    if not values or not all(values):
        return []
    # How many machines of a kind are used depends on where nodes are placed.
    if role == "host":
        return [min(values), max(values)]
    return sorted(values)


def _burst_credit(record: Record) -> Values:
    """What is known of the credit with which its real disks began, "IOPS" and "bytes" apart. A
    kind of credit is left out if that of one disk is not known."""
    disks = group(record.facts, "burst_credit").values()
    buckets = [bucket for disk_buckets in disks for bucket in disk_buckets.items()]
    states = gathered((name, str(bucket["state"])) for name, bucket in buckets)
    values: dict[Subject, Any] = {}
    for name, at_begin in states.items():
        if "unknown" not in at_begin:
            values[Subject(Topic.BURST_CREDIT, name)] = set(at_begin)
    return values


def not_known(records: Sequence[Record]) -> tuple[str, ...]:
    """What of clusters that others run could not be compared, because not all of them told it."""
    existing_clusters = [record for record in records if results.is_existing(record)]
    sizes = [_sizes(record, "database", "cpus") for record in existing_clusters]
    settings = [results.database(record).settings for record in existing_clusters]
    titles: list[str] = []
    if _is_known_of_some(sizes):
        titles.append("CPUs and memory of the nodes")
    if _is_known_of_some(settings):
        titles.append("settings")
    return tuple(titles)


def _is_known_of_some(values: Sequence[object]) -> bool:
    """Whether some of them are known, and not all."""
    return any(values) and not all(values)
