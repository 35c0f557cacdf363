"""What of a run is compared with other runs: what was asked for, and what was seen. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from orchestrator.analysis.subjects import Subject, Topic, Values
from orchestrator.design import factors
from orchestrator.facts import DatabaseFacts
from orchestrator.model import Record, Workload


@dataclass(frozen=True)
class ComparedValues:
    """What of a run is compared with other runs: what was asked for, and what was seen."""

    asked: Values
    seen: Values


def of_record(record: Record) -> ComparedValues:
    return ComparedValues(asked(record), seen(record))


# ------------------------------------------------------------------ what was asked for

# Fields that are left out of a workload's values. An SLO judges figures and a title names them, and
# neither changes one. What is tried out comes when the window is over. The last two have topics of
# their own.
_NOT_OF_WORKLOAD = ("slo", "title", "confirm_s", "dataset", "options")


def asked(record: Record) -> Values:
    """What was asked for. Of clusters that others run, `seen` has the settings."""
    return {**_asked_of_cluster(record), **_asked_of_load(record.workload)}


def _asked_of_cluster(record: Record) -> Values:
    cluster = record.profile.cluster
    declared = "not declared"
    if cluster.node:
        declared = "declared"
    settings: Mapping[str, str] = {}
    if not factors.is_of_others(record.profile.cluster):
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


def seen(record: Record) -> Values:
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
    if factors.is_of_others(record.profile.cluster):
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
    facts = record.read_facts.database
    running = {
        "version": facts.version,
        "image": facts.image,
        "stand_in": facts.stand_in,
        "durable": facts.durable,
        "durability": facts.durability,
        "execution": facts.execution,
    }
    pooler = None
    if factors.is_of_others(record.profile.cluster):
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
    generator = record.read_facts.generator
    return {
        Subject(Topic.GENERATOR_VERSION): generator.version,
        Subject(Topic.BATCHING): generator.statements_batched,
        Subject(Topic.SCRIPTS): record.read_facts.identity.scripts,
        Subject(Topic.TLS): record.read_facts.database.more.get("tls"),
        # The size before the run counts: after it, faster tiers have inserted more.
        Subject(Topic.DATA_BEFORE): record.read_facts.database_before.data_bytes,
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
    states: dict[str, set[str | None]] = {}
    for buckets in record.read_facts.burst_credit.values():
        for name, bucket in buckets.items():
            states.setdefault(name, set()).add(bucket.state)
    values: dict[Subject, Any] = {}
    for name, at_begin in states.items():
        if "unknown" not in at_begin:
            values[Subject(Topic.BURST_CREDIT, name)] = at_begin
    return values


# ------------------------------------------------------------------ what was not told


def not_known(records: Sequence[Record]) -> tuple[str, ...]:
    """What could not be compared between clusters that others run. Some of these clusters told
    their value, and some did not."""
    existing_clusters = []
    for record in records:
        if factors.is_of_others(record.profile.cluster):
            existing_clusters.append(record)
    sizes = [_sizes(record, "database", "cpus") for record in existing_clusters]
    settings = [record.read_facts.database.settings for record in existing_clusters]
    titles: list[str] = []
    if _is_known_of_some(sizes):
        titles.append("CPUs and memory of the nodes")
    if _is_known_of_some(settings):
        titles.append("settings")
    return tuple(titles)


def _is_known_of_some(values: Sequence[object]) -> bool:
    """Whether some of them are known, and not all."""
    return any(values) and not all(values)
