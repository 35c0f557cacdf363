"""Sizes that follow from memory, and repetitions from time, instead of a scale's numbers. Pure."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from orchestrator import errors
from orchestrator.design import boxed_work, costs
from orchestrator.design.factors import EXISTING, DataSize
from orchestrator.model import NodeSize, Note, Plan, Profile, Workload
from orchestrator.planning.data_sizes import ROW_BYTES, WAREHOUSE_BYTES, data_bytes
from orchestrator.units import format_bytes, format_seconds, parse_size

# The data, their log, and what rewriting leaves until it is cleaned up.
DISK_PER_DATA = 3
# Share of a machine's memory: the rest is the kernel's, the collectors' and a client's.
NODES_MEMORY = 0.8
_LEAST_CPUS = 0.5
# The number that a decision needs where runs vary by 3 %, and a plentiful one.
REPETITIONS = 5
MOST_REPETITIONS = 20
LEAST_WARMUP_S = 15.0
LEAST_WINDOW_S = 60.0
# Shares of the scale's windows, from all to a twentieth.
_SHARES = [share / 20 for share in range(20, 0, -1)]


def node_size(text: str) -> NodeSize:
    """`4, 16GiB, 200GiB`: processors, memory and disk. ValueError for anything else."""
    words = re.split(r"[\s,]+", text.strip())
    if len(words) != 3:
        raise ValueError(
            "expected `auto`, or processors, memory and disk such as "
            f"4,16GiB,200GiB: got {text!r}"
        )
    cpus = float(words[0])
    memory = parse_size(words[1])
    disk = parse_size(words[2])
    are_positive = cpus > 0 and memory > 0 and disk > 0
    # Python reads `inf` as a number too.
    if not are_positive or not math.isfinite(cpus):
        raise ValueError(f"each part of a node's size is above zero: got {text!r}")
    return NodeSize(cpus, memory, disk)


def of_machines(
    machines: Sequence[tuple[int, int]],
    nodes: int,
    disk_bytes: int,
    client_beside: bool,
) -> NodeSize:
    """What each of `nodes` gets of the smallest of `machines` (processors, bytes of memory)."""
    # All nodes are alike, so the smallest machine sets their size.
    cpus = min(cpus for cpus, _ in machines)
    if client_beside:
        # The client gets one, which it would otherwise take from a node.
        cpus -= 1
    memory_bytes = min(memory for _, memory in machines)
    nodes_on_machine = math.ceil(nodes / len(machines))
    return NodeSize(
        cpus=_cpus_of_node(cpus, nodes_on_machine),
        memory_bytes=_memory_of_node(memory_bytes, nodes_on_machine),
        disk_bytes=disk_bytes,
    )


def _cpus_of_node(cpus: int, nodes: int) -> float:
    """The CPUs of a node, rounded to halves of a processor."""
    in_halves = math.floor(2 * max(1, cpus) / nodes) / 2
    return max(_LEAST_CPUS, in_halves)


def _memory_of_node(memory_bytes: int, nodes: int) -> int:
    """The memory of a node, rounded to whole MiB."""
    node_bytes = NODES_MEMORY * memory_bytes / nodes
    return int(node_bytes) >> 20 << 20


def with_node(profile: Profile, size: NodeSize) -> Profile:
    """The profile with nodes of that size, unless others run them."""
    cluster = profile.cluster
    if cluster.database == EXISTING:
        return profile
    return replace(profile, cluster=replace(cluster, node=size))


class WithData(NamedTuple):
    """Profiles and workloads with data of another size, and what to say about it."""

    profiles: tuple[Profile, ...]
    workloads: tuple[Workload, ...]
    notes: tuple[Note, ...]


def with_data(
    profiles: Sequence[Profile], workloads: Sequence[Workload], size: DataSize
) -> WithData:
    """Data sets of that size: so many bytes, counted once, or times what all nodes hold in
    memory (each row counted as often as it is kept).

    Disks that would be too small for it are planned larger. UsageError if a node's size is
    not known.
    """
    # All profiles have one size, or their runs would not be alike.
    wanted = max(_data_bytes(profile, size) for profile in profiles)
    loads = tuple(_with_bytes(load, wanted) for load in workloads)
    notes: list[Note] = []
    for load, before in zip(loads, workloads, strict=True):
        if load != before:
            shown = format_bytes(data_bytes(load) or 0)
            text = f"{load.name}: {shown} of data ({size.text})"
            notes.append(Note("data as asked", text))
    roomy = with_room(profiles, _largest_on_nodes(loads))
    return WithData(roomy, loads, tuple(notes))


def _largest_on_nodes(loads: Sequence[Workload]) -> int:
    """Bytes of the largest data set of a database."""
    largest = 0
    for load in loads:
        if load.database is None:
            largest = max(largest, data_bytes(load) or 0)
    return largest


def _data_bytes(profile: Profile, size: DataSize) -> float:
    if not size.of_memory:
        return size.number
    cluster = profile.cluster
    if cluster.node is None:
        raise _memory_unknown(profile.name, size.text)
    all_memory = cluster.node.memory_bytes * cluster.nodes
    # Each copy of a row takes memory on a node of its own.
    return size.number * all_memory / max(1, cluster.replication_factor)


def _memory_unknown(profile: str, text: str) -> errors.UsageError:
    return errors.UsageError(
        f"the memory of the nodes of {profile} is not declared, so {text} "
        "of it cannot be computed",
        advice="give --data in bytes, such as 100GiB",
    )


def _with_bytes(load: Workload, wanted: float) -> Workload:
    """The workload with so many bytes of data, where its data set has a size."""
    parameters = dict(load.dataset.parameters)
    tables = parameters.get("tables")
    if "warehouses" in parameters:
        parameters["warehouses"] = max(1, math.ceil(wanted / WAREHOUSE_BYTES))
    # A load with no rows begins with empty tables, and fills them.
    elif isinstance(tables, int) and parameters.get("rows") != 0:
        key = "table_size"
        if "rows" in parameters:
            key = "rows"
        parameters[key] = max(1, math.ceil(wanted / ROW_BYTES / tables))
    elif "bytes" in parameters:
        parameters["bytes"] = math.ceil(wanted)
    else:
        return load
    return replace(load, dataset=replace(load.dataset, parameters=parameters))


def with_room(profiles: Sequence[Profile], largest: float) -> tuple[Profile, ...]:
    """The profiles with disks for so many bytes of data, where they would be too small for it."""
    return tuple(_with_room_on_nodes(profile, largest) for profile in profiles)


def _with_room_on_nodes(profile: Profile, loaded_bytes: float) -> Profile:
    cluster = profile.cluster
    node = cluster.node
    if node is None:
        return profile
    all_bytes = DISK_PER_DATA * loaded_bytes * cluster.replication_factor
    needed_bytes = all_bytes / max(1, cluster.nodes)
    whole_gib = math.ceil(needed_bytes / 2**30) * 2**30
    node = replace(node, disk_bytes=max(node.disk_bytes, whole_gib))
    return replace(profile, cluster=replace(cluster, node=node))


def in_time(
    budget_s: float,
    workloads: Sequence[Workload],
    plans: Callable[[Sequence[Workload], int], Plan],
) -> Plan:
    """The plan with most repetitions that by its longest estimate ends in time.

    With windows as long as they are, or as much shorter as five repetitions need; with
    fewer repetitions only of the shortest windows. UsageError if none ends in time.
    """
    loads = list(workloads)
    for share in _SHARES:
        loads = [_shorter(load, share) for load in workloads]
        plan = plans(loads, REPETITIONS)
        if costs.most_s(plan) > budget_s:
            continue
        # Five repetitions took too long with the next longer windows: little time is left.
        if share < 1:
            return plan
        return _most_repeated(budget_s, loads, plans)
    # `loads` have the shortest windows now. A single repetition would have no interval.
    for repetitions in range(REPETITIONS - 1, 1, -1):
        plan = plans(loads, repetitions)
        if costs.most_s(plan) <= budget_s:
            return plan
    raise _too_short(budget_s, plan.estimate_s, costs.most_s(plan))


def _most_repeated(
    budget_s: float,
    loads: Sequence[Workload],
    plans: Callable[[Sequence[Workload], int], Plan],
) -> Plan:
    """The plan with more repetitions than a decision needs, as far as time allows."""
    # The count goes down from the most, so the first that ends in time is the answer.
    for repetitions in range(MOST_REPETITIONS, REPETITIONS, -1):
        plan = plans(loads, repetitions)
        if costs.most_s(plan) <= budget_s:
            return plan
    return plans(loads, REPETITIONS)


def _too_short(budget_s: float, least_s: float, most_s: float) -> errors.UsageError:
    takes = f"{format_seconds(least_s)} to {format_seconds(most_s)}"
    return errors.UsageError(
        f"{format_seconds(budget_s)} is too short: two repetitions take {takes}",
        advice="allow more --time, or compare fewer tiers or workloads",
    )


def _shorter(load: Workload, share: float) -> Workload:
    # The load's time may be a deadline, for what is written back or for a rebuild.
    if load.settle or load.slow or load.lost_after_s is not None:
        return load
    if boxed_work.ends_with_work(load):
        return load
    return replace(
        load,
        warmup_s=_share_of(load.warmup_s, share, LEAST_WARMUP_S),
        measure_s=_share_of(load.measure_s, share, LEAST_WINDOW_S),
    )


def _share_of(seconds: float, share: float, least_s: float) -> float:
    """No less than `least_s`, unless it was less before."""
    return max(min(seconds, least_s), round(share * seconds))
