"""Workloads whose window ends with their work: `measure` is only its deadline. Pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.model import Profile, Workload
from orchestrator.tier import Limits

_ROW_BYTES = 100  # a row of TeraGen, and of the data sets of `bulk`


@dataclass(frozen=True)
class _Moved:
    """How often all data are read from disks, and written to them with all copies, at least."""

    reads: int = 0
    writes: int = 0


_READ = _Moved(reads=1)
_WRITTEN = _Moved(writes=1)
_OF_SCRIPTS: Mapping[str, _Moved] = {
    "bulk/index.lua": _READ,
    "bulk/restore.lua": _WRITTEN,
    "bulk/scan.lua": _READ,
    "hdfs/dfsio-read.sh": _READ,
    "hdfs/dfsio-write.sh": _WRITTEN,
    "hdfs/gen.sh": _WRITTEN,
    "hdfs/get.sh": _READ,
    "hdfs/put.sh": _WRITTEN,
    "hdfs/scan.sh": _READ,
    "hdfs/sort.sh": _Moved(reads=1, writes=1),
}


def ends_with_work(load: Workload) -> bool:
    return load.script in _OF_SCRIPTS


def least_s(profile: Profile, load: Workload) -> float:
    """The shortest window of a workload that ends with its work: what a node's disk has to move
    if all have the same share, over the tier's rate. 0 where the tier has none."""
    moved = _OF_SCRIPTS[load.script]
    cluster = profile.cluster
    nodes = max(1, cluster.nodes)
    share_bytes = _payload_bytes(load) / nodes
    read_bytes = moved.reads * share_bytes
    if load.warm and cluster.node is not None:
        # Bytes in memory are not read from the disk, if caches are warm.
        read_bytes = max(0.0, read_bytes - cluster.node.memory_bytes)
    # Each copy is written; one of them is read.
    written_bytes = moved.writes * share_bytes * cluster.replication_factor
    return (read_bytes + written_bytes) / _fastest_per_s(profile.tier.limits)


def _fastest_per_s(limits: Limits) -> float:
    """Bytes per second, in a burst too."""
    # The least time follows from it, so that a burst counts too.
    fastest = limits.bytes_per_s or math.inf
    if limits.burst is None:
        return fastest
    return max(fastest, limits.burst.bytes_per_s or math.inf)


def _payload_bytes(load: Workload) -> int:
    """The bytes of all rows or files once, without indexes; 0 if parameters do not tell."""
    parameters = load.dataset.parameters
    size_bytes = parameters.get("bytes")
    if isinstance(size_bytes, int):
        return size_bytes
    tables = parameters.get("tables")
    rows = load.options.get("table_rows", parameters.get("rows"))
    if isinstance(tables, int) and isinstance(rows, int):
        return tables * rows * _ROW_BYTES
    return 0
