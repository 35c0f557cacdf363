"""PostgreSQL's settings for a node of a given size: derived, overridden, refused. Pure.

All of them go on the server's command line, so a data directory carries none and can be started
on a node of another size. What must be equal on all nodes and between loading and measuring
(a standby refuses to start with less than its primary had) therefore never follows from memory.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from orchestrator.errors import Mistake
from orchestrator.model import ClusterSpec
from orchestrator.units import format_bytes

ACCEPT_DATA_LOSS = "accept_data_loss"
PORT = 5432

_KIB, _MIB, _GIB = 2**10, 2**20, 2**30
_MANY_CONNECTIONS_FROM_DISK_BYTES = 64 * _GIB
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_MAX_NODES = 9

# Ours, because the cluster would not come up, or not be seen, with anything else.
_RESERVED = {
    "config_file": "the tool starts the server",
    "data_directory": "the data lie on the tier's disk",
    "hba_file": "it comes with the image",
    "hot_standby": "a standby is warmed and watched through SQL",
    "listen_addresses": "the client connects over the cluster's network",
    "logging_collector": "the container's log is the server's log",
    "port": "`cluster.port` chooses the port on 127.0.0.1",
    "primary_conninfo": "it follows from the node's place in the cluster",
    "primary_slot_name": "it follows from the node's place in the cluster",
    "synchronous_standby_names": "it follows from `replication_factor`",
}

# Which values keep a commit durable; anything else gives durability up.
_TRUE = {"on", "true", "yes", "1"}
_DURABLE = {
    "fsync": _TRUE,
    "full_page_writes": _TRUE,
    "synchronous_commit": _TRUE | {"remote_apply"},
}
DURABILITY = (*_DURABLE, "synchronous_standby_names", "wal_sync_method", "data_checksums")


def slot(number: int) -> str:
    """Replication slot and application name of node `number` (counted from 1)."""
    return f"node_{number}"


def quorum(replication_factor: int) -> int:
    """Standbys that must have flushed a commit, so that with the primary a majority has."""
    return replication_factor // 2


def synchronous_standby_names(replication_factor: int) -> str:
    """`ANY 1 (node_2, node_3)`; empty for a single node."""
    if replication_factor < 2:
        return ""
    standbys = ", ".join(slot(number) for number in range(2, replication_factor + 1))
    return f"ANY {quorum(replication_factor)} ({standbys})"


def applied(spec: ClusterSpec) -> dict[str, str]:
    """Every setting that the nodes of `spec` are started with; the profile's own win."""
    return {**_derived(spec), **own(spec)}


def own(spec: ClusterSpec) -> dict[str, str]:
    """The settings that the profile gives itself."""
    given = {name.lower(): value for name, value in spec.settings.items()}
    given.pop(ACCEPT_DATA_LOSS, None)
    return given


def options(settings: Mapping[str, str]) -> tuple[str, ...]:
    """The server's arguments: `-c name=value` each."""
    return tuple(part for name, value in settings.items() for part in ("-c", f"{name}={value}"))


def _derived(spec: ClusterSpec) -> dict[str, str]:
    memory, disk = spec.size.memory_bytes, spec.size.disk_bytes
    workers = max(1, math.ceil(spec.size.cpus))
    max_wal = min(max(disk // 4, 128 * _MIB), 64 * _GIB)
    return {
        "listen_addresses": "*",
        # Memory: a quarter for the server's own cache; the page cache has the rest. Huge pages
        # are off because they would not count against the container's memory limit.
        "shared_buffers": _kib(memory // 4),
        "effective_cache_size": _kib(memory * 3 // 4),
        "maintenance_work_mem": _kib(min(max(memory // 32, 4 * _MIB), 2 * _GIB)),
        "huge_pages": "off",
        "max_connections": "1000" if disk >= _MANY_CONNECTIONS_FROM_DISK_BYTES else "200",
        # Durability: a commit is on this disk, and on a majority's disks, before it is answered.
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        # WAL: checkpoints by time, not by volume, and spread; segments are reused, as in a
        # server that has been up for long.
        "wal_level": "replica",
        "wal_compression": "lz4",
        "max_wal_size": _mib(max_wal),
        "min_wal_size": _mib(max_wal // 4),
        "checkpoint_timeout": "5min",
        "checkpoint_completion_target": "0.9",
        "max_wal_senders": str(max(10, 2 * spec.nodes)),
        "max_replication_slots": str(max(10, 2 * spec.nodes)),
        "wal_retrieve_retry_interval": "500ms",
        # Disks of a cloud: deep queues, and random reads cost little more than sequential ones.
        "random_page_cost": "1.1",
        "effective_io_concurrency": "200",
        "maintenance_io_concurrency": "64",
        # Processors. Compiling queries pays for analysis only; here it would be noise.
        "max_parallel_workers": str(workers),
        "max_parallel_workers_per_gather": str(min(workers // 2, 4)),
        "max_parallel_maintenance_workers": str(min(workers // 2, 4)),
        "jit": "off",
        # Vacuum stays on: it is part of what writing costs. `settle` leaves it nothing to do, so
        # a window sees only the vacuum that its own writes cause.
        "autovacuum": "on",
        # What is needed to judge a run. A crashed backend ends the node: a crash never hides.
        "log_checkpoints": "on",
        "log_autovacuum_min_duration": "1s",
        "track_io_timing": "on",
        "track_wal_io_timing": "on",
        "restart_after_crash": "off",
    }


def _kib(size_bytes: int) -> str:
    return f"{size_bytes // _KIB}kB"


def _mib(size_bytes: int) -> str:
    return f"{size_bytes // _MIB}MB"


# ------------------------------------------------------------------ what is refused


def mistakes(spec: ClusterSpec, major_version: str, min_memory_bytes: int) -> list[Mistake]:
    """All that PostgreSQL cannot do, or must not be asked to, as far as words alone can tell."""
    found = list(_shape_mistakes(spec))
    if spec.version is not None and spec.version.split(".")[0] != major_version:
        what = (
            f"the image holds PostgreSQL {major_version}, not {spec.version}: leave `version` out"
        )
        found.append(Mistake("cluster.version", what))
    if spec.size.memory_bytes < min_memory_bytes:
        what = (
            f"{format_bytes(spec.size.memory_bytes)} is too little for PostgreSQL with a few "
            f"sessions: give it at least {format_bytes(min_memory_bytes)}"
        )
        found.append(Mistake("cluster.node.memory", what))
    return [*found, *_setting_mistakes(spec.settings)]


def _shape_mistakes(spec: ClusterSpec) -> list[Mistake]:
    if spec.nodes != spec.replication_factor:
        what = (
            f"{spec.nodes} node(s) with replication factor {spec.replication_factor}: every node "
            "of PostgreSQL holds all data, one primary and its standbys, so the two are equal: "
            f"set `replication_factor: {spec.nodes}`, or take a database that shards"
        )
        return [Mistake("cluster.replication_factor", what)]
    if not 1 <= spec.nodes <= _MAX_NODES:
        what = f"{spec.nodes} nodes: PostgreSQL is set up here with 1 to {_MAX_NODES}"
        return [Mistake("cluster.nodes", what)]
    return []


def _setting_mistakes(settings: Mapping[str, str]) -> list[Mistake]:
    own = {name.lower(): value for name, value in settings.items()}
    accepted = set(re.split(r"[\s,]+", own.pop(ACCEPT_DATA_LOSS, "").lower())) - {""}
    found = [
        Mistake(_where(ACCEPT_DATA_LOSS), f"{name} is none of {', '.join(_DURABLE)}")
        for name in sorted(accepted - set(_DURABLE))
    ]
    for name, value in own.items():
        if not _NAME.fullmatch(name):
            found.append(Mistake(_where(name), "not a name of a PostgreSQL setting"))
        elif name in _RESERVED:
            found.append(Mistake(_where(name), f"cannot be set here: {_RESERVED[name]}"))
        elif not durable(name, value) and name not in accepted:
            what = (
                f"{value!r} gives up durability, so that tiers would be compared by what they "
                f"need not do; if that is the question, add `{ACCEPT_DATA_LOSS}: {name}`"
            )
            found.append(Mistake(_where(name), what))
    return found


def durable(name: str, value: str) -> bool:
    """Whether a commit survives a power cut under this value, as far as this setting decides."""
    return name not in _DURABLE or value.strip().lower() in _DURABLE[name]


def refused_by_server(lines: str) -> list[Mistake]:
    """Mistakes from the output of the image's `node verify`: `name<TAB>what the server said`."""
    pairs = (line.partition("\t") for line in lines.splitlines() if line.strip())
    return [
        Mistake(_where(name), said.removeprefix("FATAL:").strip().replace(" HINT:", "."))
        for name, _, said in pairs
    ]


def _where(name: str) -> str:
    return f"cluster.settings.{name}"
