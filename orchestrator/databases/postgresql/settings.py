"""PostgreSQL's settings for a node of a given size: derived, overridden, refused. Pure.

All of them go on the server's command line, so a data directory carries none and can be started
on a node of another size."""

import math
import re
from collections.abc import Iterator, Mapping

from orchestrator import errors, units
from orchestrator.databases.common.cluster_checks import setting_mistake, shape_mistakes
from orchestrator.keys import schema, shipped_yaml
from orchestrator.model import ClusterSpec

MAJOR_VERSION = "17"
ACCEPT_DATA_LOSS = "accept_data_loss"
COMMIT_WAITS_FOR = "commit_waits_for"
MAJORITY = "majority"
ALL = "all"
PORT = 5432

_KIB = 2**10
_MIB = 2**20
_GIB = 2**30
_MANY_CONNECTIONS_FROM_DISK_BYTES = 64 * _GIB
_NAME = re.compile(r"(pg_stat_statements\.)?[a-z][a-z0-9_]*")

_DURABLE = shipped_yaml.shipped(__package__, "settings.yaml")["durable"]
DURABILITY = (
    *_DURABLE,
    "synchronous_standby_names",
    "wal_sync_method",
    "data_checksums",
)


# A commit is on this disk, and on a majority's disks, before it is answered.
_DURABLE_SETTINGS = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
}


def slot(number: int) -> str:
    """Replication slot and application name of node `number` (counted from 1)."""
    return f"node_{number}"


def synchronous_standby_names(spec: ClusterSpec) -> str:
    """`ANY 1 (node_2, node_3)`: so many that a majority has flushed a commit, or all have."""
    copies = spec.replication_factor
    if copies < 2:
        return ""
    standbys = ", ".join(slot(number) for number in range(2, copies + 1))
    waits_for = copies // 2  # a majority, with the primary itself
    if _commit_waits_for(spec) == ALL:
        waits_for = copies - 1
    return f"ANY {waits_for} ({standbys})"


def _commit_waits_for(spec: ClusterSpec) -> str:
    return _lower(spec).get(COMMIT_WAITS_FOR, MAJORITY).strip().lower()


def applied(spec: ClusterSpec) -> dict[str, str]:
    """All settings that nodes are started with; those of the profile override derived ones, and
    those without a sync both, where that stage is taken away."""
    settings = _derived(spec) | own(spec)
    if spec.without == "commit":
        settings |= shipped_yaml.shipped(__package__, "settings.yaml")["without_commit"]
    return settings


def own(spec: ClusterSpec) -> dict[str, str]:
    """The settings in the profile."""
    settings = _lower(spec)
    settings.pop(ACCEPT_DATA_LOSS, None)
    settings.pop(COMMIT_WAITS_FOR, None)
    return settings


def _lower(spec: ClusterSpec) -> dict[str, str]:
    return {name.lower(): value for name, value in spec.settings.items()}


def options(settings: Mapping[str, str]) -> tuple[str, ...]:
    """The server's arguments: `-c name=value` each."""
    arguments: list[str] = []
    for name, value in settings.items():
        arguments += ["-c", f"{name}={value}"]
    return tuple(arguments)


def checkpoint_interval_s(spec: ClusterSpec) -> float:
    """`checkpoint_timeout`, also as a profile may write it: a bare number is in seconds there.
    UsageError for a time that PostgreSQL would not take."""
    setting = applied(spec)["checkpoint_timeout"]
    text = setting.strip().strip("'")
    try:
        if text.endswith(("m", "w")):  # a profile's own times may have these units
            raise ValueError("PostgreSQL does not have this unit")
        if text.isdigit():
            return float(text)
        return units.parse_seconds(text)
    except ValueError as error:
        what = f"checkpoint_timeout is {setting!r}: {error}"
        raise errors.UsageError(what, advice="write 30s or 5min") from error


def _derived(spec: ClusterSpec) -> dict[str, str]:
    """What follows from the size of a node and of the cluster."""
    return {
        "listen_addresses": "*",
        **_memory_settings(spec),
        **_DURABLE_SETTINGS,
        **_wal_settings(spec),
        # Disks of a cloud: deep queues, and random reads cost little more than sequential ones.
        "random_page_cost": "1.1",
        "effective_io_concurrency": "200",
        "maintenance_io_concurrency": "64",
        **_processor_settings(spec),
        # Vacuum stays on: it is part of the cost of writing. `settle` leaves it nothing to do, so a
        # window has only the vacuum that its own writes cause.
        "autovacuum": "on",
        # These serve to judge a run. A crashed backend ends the node, so that no crash is
        # overlooked.
        "log_checkpoints": "on",
        "log_autovacuum_min_duration": "1s",
        "track_io_timing": "on",
        "track_wal_io_timing": "on",
        "restart_after_crash": "off",
    }


def _memory_settings(spec: ClusterSpec) -> dict[str, str]:
    """A quarter for the server's own cache; the page cache has the rest."""
    memory_bytes = spec.size.memory_bytes
    maintenance_bytes = min(max(memory_bytes // 32, 4 * _MIB), 2 * _GIB)
    # The disk decides, and not the memory. A standby refuses to start with fewer than its primary
    # had. So would kept data on a smaller node.
    connections = 200
    if spec.size.disk_bytes >= _MANY_CONNECTIONS_FROM_DISK_BYTES:
        connections = 1000
    return {
        "shared_buffers": f"{memory_bytes // 4 // _KIB}kB",
        "effective_cache_size": f"{memory_bytes * 3 // 4 // _KIB}kB",
        "maintenance_work_mem": f"{maintenance_bytes // _KIB}kB",
        # They would not count against the container's memory limit.
        "huge_pages": "off",
        "max_connections": str(connections),
    }


def _wal_settings(spec: ClusterSpec) -> dict[str, str]:
    """Checkpoints by time, not by volume, and spread."""
    # The size is so large that no checkpoint is due by volume. A quarter of the disk holds the log.
    most_bytes = min(max(spec.size.disk_bytes // 4, 128 * _MIB), 64 * _GIB)
    senders = max(10, 2 * spec.nodes)
    return {
        "wal_level": "replica",
        "wal_compression": "lz4",
        "max_wal_size": f"{most_bytes // _MIB}MB",
        # Segments are reused, as in a server that has been up for long.
        "min_wal_size": f"{most_bytes // 4 // _MIB}MB",
        "checkpoint_timeout": "5min",
        "checkpoint_completion_target": "0.9",
        "max_wal_senders": str(senders),
        "max_replication_slots": str(senders),
        "wal_retrieve_retry_interval": "500ms",
    }


def _processor_settings(spec: ClusterSpec) -> dict[str, str]:
    workers = max(1, math.ceil(spec.size.cpus))
    workers_per_query = min(workers // 2, 4)
    return {
        "max_parallel_workers": str(workers),
        "max_parallel_workers_per_gather": str(workers_per_query),
        "max_parallel_maintenance_workers": str(workers_per_query),
        # Compiling queries helps analysis only; here it would be noise.
        "jit": "off",
    }


def mistakes(spec: ClusterSpec) -> list[errors.Mistake]:
    """All mistakes in a profile's cluster that can be seen without a server."""
    mistakes = list(shape_mistakes(spec, schema.MIN_MEMORY_BYTES, "PostgreSQL"))
    if spec.version is not None and spec.version.split(".")[0] != MAJOR_VERSION:
        text = (
            f"the image holds PostgreSQL {MAJOR_VERSION}, not {spec.version}: "
            "leave `version` out"
        )
        mistakes.append(errors.Mistake("cluster.version", text))
    return [*mistakes, *_setting_mistakes(spec)]


def _setting_mistakes(spec: ClusterSpec) -> Iterator[errors.Mistake]:
    accepted = _accepted_losses(spec)
    for name in sorted(accepted - set(_DURABLE)):
        yield setting_mistake(
            ACCEPT_DATA_LOSS, f"{name} is none of {', '.join(_DURABLE)}"
        )
    waits_for = _commit_waits_for(spec)
    if waits_for not in (MAJORITY, ALL):
        yield setting_mistake(COMMIT_WAITS_FOR, f"use `{MAJORITY}` or `{ALL}` (copies)")
    reserved = shipped_yaml.shipped(__package__, "settings.yaml")["reserved"]
    for name, value in own(spec).items():
        if not _NAME.fullmatch(name):
            yield setting_mistake(name, "not a name of a PostgreSQL setting")
        elif name in reserved:
            yield setting_mistake(name, f"cannot be set here: {reserved[name]}")
        elif not durable(name, value) and name not in accepted:
            yield _gives_up_durability(name, value)


def _accepted_losses(spec: ClusterSpec) -> set[str]:
    """The settings whose values may give durability up, as the profile says."""
    text = _lower(spec).get(ACCEPT_DATA_LOSS, "").lower()
    names = set(re.split(r"[\s,]+", text))
    names.discard("")
    return names


def _gives_up_durability(name: str, value: str) -> errors.Mistake:
    return setting_mistake(
        name,
        f"{value!r} gives up durability: tiers would be compared without "
        "the writes that durability costs. If that is the question, add "
        f"`{ACCEPT_DATA_LOSS}: {name}`",
    )


def durable(name: str, value: str) -> bool:
    """Whether a commit survives a power cut under this value, as far as this setting decides."""
    return name not in _DURABLE or value.strip().lower() in _DURABLE[name]


def refused_by_server(lines: str) -> list[errors.Mistake]:
    """Mistakes from the output of the image's `node verify`: `name<TAB>the server's message`."""
    mistakes: list[errors.Mistake] = []
    for line in lines.splitlines():
        if line.strip():
            name, _, message = line.partition("\t")
            # The image sets LANG, so that its words are English wherever it runs.
            reason = message.removeprefix("FATAL:").strip()
            mistakes.append(setting_mistake(name, reason.replace(" HINT:", ".")))
    return mistakes
