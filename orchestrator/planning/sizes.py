"""Sizes that follow from memory, instead of a scale's numbers. Pure."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from orchestrator import errors
from orchestrator.design.factors import EXISTING, DataSize
from orchestrator.model import NodeSize, Note, Profile, Workload
from orchestrator.planning.data_sizes import ROW_BYTES, WAREHOUSE_BYTES, data_bytes
from orchestrator.units import format_bytes, parse_size

# The data, their log, and what rewriting leaves until it is cleaned up.
DISK_PER_DATA = 3
# Share of a machine's memory: the rest is the kernel's, the collectors' and a client's.
NODES_MEMORY = 0.8
_LEAST_CPUS = 0.5


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
        raise errors.UsageError(
            f"the memory of the nodes of {profile.name} is not declared, so {size.text} "
            "of it cannot be computed",
            advice="give --data in bytes, such as 100GiB",
        )
    all_memory = cluster.node.memory_bytes * cluster.nodes
    # Each copy of a row takes memory on a node of its own.
    return size.number * all_memory / max(1, cluster.replication_factor)


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
