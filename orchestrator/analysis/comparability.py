"""Whether runs differ in nothing but their tier; else their figures are not compared. Pure.

The size of the disk belongs to the tier (many tiers grow with it), so it may differ; the data on it
may not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from orchestrator.analysis import results
from orchestrator.analysis.results import RunData
from orchestrator.facts import group
from orchestrator.model import NodeSize, Record, Workload
from orchestrator.planning import rehearsal
from orchestrator.units import format_bytes

MAX_DATA_DIFFERENCE_PCT = 5.0
MEMORY_TOLERANCE_PCT = 1.0  # a kernel keeps some for itself, and not always as much
# Of DatabaseFacts.
_COMPARED = ("version", "image", "stand_in", "durable", "durability", "execution")


def differences(left: Record, right: Record) -> tuple[str, ...]:
    """Differences besides the tier, a phrase each: `database version 17.2 against 16.4`."""
    return (
        *_cluster(left, right),
        *_workload(left.workload, right.workload),
        *_facts(left, right),
        *_data(left, right),
        *_credit(left, right),
    )


def not_known(records: Sequence[Record]) -> tuple[str, ...]:
    """What of clusters that others run could not be compared, because not all of them told it."""
    of_others = [record for record in records if results.of_others(record)]
    told: dict[str, list[Any]] = {
        "CPUs and memory of the nodes": [_seen(one, "database", "cpus") for one in of_others],
        "settings": [results.database(one).settings for one in of_others],
    }
    return tuple(title for title, values in told.items() if any(values) and not all(values))


def among(runs: Sequence[RunData]) -> tuple[str, ...]:
    """Differences among runs that should be alike, each once."""
    phrases = (phrase for run in runs[1:] for phrase in differences(runs[0].record, run.record))
    return tuple(dict.fromkeys(phrases))


def obstacle(runs: Sequence[RunData]) -> str:
    """Why runs of several tiers must not be compared, or an empty text."""
    if unlike := among(runs):
        return f"the runs differ in more than the tier: {'; '.join(unlike)}"
    records = [run.record for run in runs]
    if any(rehearsal.is_rehearsed(record.profile, record.workload) for record in records):
        return rehearsal.WARNING
    return ""


def _cluster(left: Record, right: Record) -> Iterator[str]:
    one, two = left.profile.cluster, right.profile.cluster
    yield from _unlike("database", one.database, two.database)
    yield from _unlike("asked-for version", one.version, two.version)
    yield from _unlike("number of nodes", one.nodes, two.nodes)
    yield from _unlike("replication factor", one.replication_factor, two.replication_factor)
    yield from _unlike("number of load clients", one.clients, two.clients)
    yield from _nodes(one.node, two.node)
    yield from _machines(left, right)
    if not results.of_others(left):  # of those, `facts` have what matters
        yield from _leaves("setting ", one.settings, two.settings)


def _nodes(one: NodeSize | None, two: NodeSize | None) -> Iterator[str]:
    if one is None or two is None:
        declared = ["not declared" if node is None else "declared" for node in (one, two)]
        yield from _unlike("size of a node", *declared)
        return
    yield from _unlike("CPUs per node", one.cpus, two.cpus)
    if one.memory_bytes != two.memory_bytes:
        sizes = [format_bytes(node.memory_bytes) for node in (one, two)]
        yield f"memory per node {' against '.join(sizes)}"


def _machines(left: Record, right: Record) -> Iterator[str]:
    """Unlike CPUs or memory of any node or machine, whatever was declared of them. Of machines the
    smallest and the largest: how many of a kind are used depends on where nodes are placed."""
    titles = {"host": "the machines"}
    if all(results.of_others(record) for record in (left, right)):
        titles["database"] = "the nodes"  # ours have what was declared
    for role, title in titles.items():
        cpus = [_seen(record, role, "cpus") for record in (left, right)]
        if all(cpus):
            yield from _unlike(f"CPUs of {title}, as seen,", *cpus)
        sizes = [_seen(record, role, "memory_bytes") for record in (left, right)]
        if all(sizes) and unlike_memory(*sizes):
            words = [", ".join(format_bytes(size) for size in each) for each in sizes]
            yield f"memory of {title}, as seen, {' against '.join(words)}"


def unlike_memory(left: Sequence[float], right: Sequence[float]) -> bool:
    """Whether two lists of bytes, each in order of size, differ by more than kernels explain."""
    most = 1 + MEMORY_TOLERANCE_PCT / 100
    pairs = [sorted(pair) for pair in zip(left, right, strict=False)]
    return len(left) != len(right) or any(large > small * most for small, large in pairs)


def _seen(record: Record, role: str, name: str) -> list[float]:
    """What was seen of its nodes, in order of size; empty where it was not of each."""
    values = [getattr(node, name) for node in record.nodes if node.role == role]
    if not values or not all(values):
        return []
    return [min(values), max(values)] if role == "host" else sorted(values)


def _workload(left: Workload, right: Workload) -> Iterator[str]:
    """An SLO judges figures and a title names them: neither changes one."""
    for field in fields(left):
        if field.name in ("slo", "title"):
            continue
        one, two = getattr(left, field.name), getattr(right, field.name)
        if field.name == "dataset":
            yield from _unlike("data set", one.family, two.family)
            yield from _leaves("data set's ", one.parameters, two.parameters)
        elif field.name == "options":
            yield from _leaves("workload option ", one, two)
        else:
            yield from _unlike(f"workload's {field.name}", one, two)


def _facts(left: Record, right: Record) -> Iterator[str]:
    """Differences in what servers and load generator said of themselves."""
    databases = [results.database(record) for record in (left, right)]
    modes = [facts.more.get("tls") for facts in databases]  # of others' clusters; own: a setting
    if all(isinstance(mode, str) for mode in modes) and modes.count("off") == 1:
        yield from _unlike("`tls` of sessions", *modes)
    names: tuple[str, ...] = _COMPARED
    if all(results.of_others(record) for record in (left, right)):
        names = (*_COMPARED, "settings")  # own ones follow from the profile
        pooled = ("seen" if facts.pooler else "not seen" for facts in databases)
        yield from _unlike("connection pooler", *pooled)
    for name in names:
        one, two = (getattr(facts, name) for facts in databases)
        if one not in (None, {}) and two not in (None, {}):
            yield from _leaves("running database's ", {name: one}, {name: two})
    generators = [results.generator(record) for record in (left, right)]
    for name, title in (("version", "version"), ("statements_batched", "batching of statements")):
        one, two = (getattr(facts, name) for facts in generators)
        if one is not None and two is not None:
            yield from _unlike(f"load generator's {title}", one, two)
    scripts = [results.identity(record).scripts for record in (left, right)]
    if all(scripts):
        yield from _unlike("workload's scripts (hash)", *scripts)


def _data(left: Record, right: Record) -> Iterator[str]:
    """Differences in the data before the runs: after them, faster tiers have inserted more."""
    one, two = (results.database_before(record).data_bytes for record in (left, right))
    if one is None or two is None:
        return
    if abs(one - two) > MAX_DATA_DIFFERENCE_PCT / 100 * max(one, two):
        yield f"data before the run {format_bytes(one)} against {format_bytes(two)}"


def _credit(left: Record, right: Record) -> Iterator[str]:
    """Real disks of which one is known to have begun on burst credit and the other without: a
    difference that is no tier's. Nothing is said where it is not known."""
    states = [_credit_states(record) for record in (left, right)]
    for bucket in states[0].keys() & states[1].keys():
        one, two = (state[bucket] for state in states)
        if one and two and one.isdisjoint(two):
            words = [" or ".join(sorted(state)) for state in (one, two)]
            yield f"burst credit for {bucket} at the begin: {' against '.join(words)}"


def _credit_states(record: Record) -> dict[str, set[str]]:
    """ "iops", "bytes" → what is known of its nodes' disks; empty if one of them is not known."""
    found: dict[str, set[str]] = {}
    for buckets in group(record.facts, "burst_credit").values():
        for name, bucket in buckets.items():
            found.setdefault(name, set()).add(str(bucket["state"]))
    return {name: set() if "unknown" in states else states for name, states in found.items()}


def _leaves(title: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[str]:
    """`title`: ends in a space, or in the dot after an outer key."""
    for key in dict.fromkeys((*left, *right)):
        one, two = left.get(key), right.get(key)
        if isinstance(one, Mapping) and isinstance(two, Mapping):
            yield from _leaves(f"{title}{key}.", one, two)
        else:
            yield from _unlike(f"{title}{key}", one, two)


def _unlike(title: str, left: Any, right: Any) -> Iterator[str]:
    if left != right:
        words = ("not given" if value is None else str(value) for value in (left, right))
        yield f"{title} {' against '.join(words)}"
