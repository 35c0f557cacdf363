"""PostgreSQL's settings for a node of a given size: derived, overridden, refused. Pure.

All of them go on the server's command line, so a data directory carries none and can be started
on a node of another size. Settings that must be equal on all nodes and between loading and
measuring (a standby refuses to start with less than its primary had) never follow from memory."""

import math
import re
from collections.abc import Iterator, Mapping

from orchestrator import errors, units
from orchestrator.databases.common.container_nodes import of_setting, shape_mistakes
from orchestrator.keys import schema, strict_yaml
from orchestrator.model import ClusterSpec

MAJOR_VERSION = "17"
ACCEPT_DATA_LOSS = "accept_data_loss"
PORT = 5432

_KIB = 2**10
_MIB = 2**20
_GIB = 2**30
_MANY_CONNECTIONS_FROM_DISK_BYTES = 64 * _GIB
_NAME = re.compile(r"(pg_stat_statements\.)?[a-z][a-z0-9_]*")

_DURABLE = strict_yaml.shipped(__package__, "settings.yaml")["durable"]
DURABILITY = (
    *_DURABLE,
    "synchronous_standby_names",
    "wal_sync_method",
    "data_checksums",
)


def slot(number: int) -> str:
    """Replication slot and application name of node `number` (counted from 1)."""
    return f"node_{number}"


def synchronous_standby_names(replication_factor: int) -> str:
    """`ANY 1 (node_2, node_3)`: so many that a majority has flushed a commit."""
    if replication_factor < 2:
        return ""
    standbys = ", ".join(slot(number) for number in range(2, replication_factor + 1))
    return f"ANY {replication_factor // 2} ({standbys})"


def applied(spec: ClusterSpec) -> dict[str, str]:
    """All settings that nodes are started with; those of the profile override derived ones, and
    those without a sync both, where that stage is taken away."""
    without_sync = strict_yaml.shipped(__package__, "settings.yaml")["without_commit"]
    return {
        **_derived(spec),
        **own(spec),
        **(without_sync if spec.without == "commit" else {}),
    }


def own(spec: ClusterSpec) -> dict[str, str]:
    """The settings in the profile."""
    return {
        name: value for name, value in _lower(spec).items() if name != ACCEPT_DATA_LOSS
    }


def _lower(spec: ClusterSpec) -> dict[str, str]:
    return {name.lower(): value for name, value in spec.settings.items()}


def options(settings: Mapping[str, str]) -> tuple[str, ...]:
    """The server's arguments: `-c name=value` each."""
    return tuple(
        part for name, value in settings.items() for part in ("-c", f"{name}={value}")
    )


def checkpoint_interval_s(spec: ClusterSpec) -> float:
    """`checkpoint_timeout`, also as a profile may write it: a bare number is in seconds there."""
    setting = applied(spec)["checkpoint_timeout"]
    text = setting.strip().strip("'")
    try:
        if text.endswith(("m", "w")):
            raise ValueError("PostgreSQL knows no such unit")
        if text.isdigit():
            return float(text)
        return units.parse_seconds(text)
    except ValueError as error:
        what = f"checkpoint_timeout is {setting!r}: {error}"
        raise errors.UsageError(what, advice="write 30s or 5min") from error


def _derived(spec: ClusterSpec) -> dict[str, str]:
    memory = spec.size.memory_bytes
    disk = spec.size.disk_bytes
    workers = max(1, math.ceil(spec.size.cpus))
    most_wal = min(max(disk // 4, 128 * _MIB), 64 * _GIB)
    words = {
        "quarter_kib": memory // 4 // _KIB,
        "rest_kib": memory * 3 // 4 // _KIB,
        "maintenance_kib": min(max(memory // 32, 4 * _MIB), 2 * _GIB) // _KIB,
        "connections": 1000 if disk >= _MANY_CONNECTIONS_FROM_DISK_BYTES else 200,
        "most_wal_mib": most_wal // _MIB,
        "least_wal_mib": most_wal // 4 // _MIB,
        "senders": max(10, 2 * spec.nodes),
        "workers": workers,
        "workers_of_query": min(workers // 2, 4),
    }
    texts = strict_yaml.shipped(__package__, "settings.yaml")["applied"]
    return {name: text.format(**words) for name, text in texts.items()}


def mistakes(spec: ClusterSpec) -> list[errors.Mistake]:
    """All mistakes in a profile's cluster that can be seen without a server."""
    mistakes = list(shape_mistakes(spec, schema.MIN_MEMORY_BYTES, "PostgreSQL"))
    if spec.version is not None and spec.version.split(".")[0] != MAJOR_VERSION:
        what = f"the image holds PostgreSQL {MAJOR_VERSION}, not {spec.version}"
        mistakes.append(
            errors.Mistake("cluster.version", f"{what}: leave `version` out")
        )
    return [*mistakes, *_setting_mistakes(spec)]


def _setting_mistakes(spec: ClusterSpec) -> Iterator[errors.Mistake]:
    accepted = set(
        re.split(r"[\s,]+", _lower(spec).get(ACCEPT_DATA_LOSS, "").lower())
    ) - {""}
    for name in sorted(accepted - set(_DURABLE)):
        yield of_setting(ACCEPT_DATA_LOSS, f"{name} is none of {', '.join(_DURABLE)}")
    reserved = strict_yaml.shipped(__package__, "settings.yaml")["reserved"]
    for name, value in own(spec).items():
        if not _NAME.fullmatch(name):
            yield of_setting(name, "not a name of a PostgreSQL setting")
        elif name in reserved:
            yield of_setting(name, f"cannot be set here: {reserved[name]}")
        elif not durable(name, value) and name not in accepted:
            accept = f"`{ACCEPT_DATA_LOSS}: {name}`"
            yield of_setting(
                name,
                (
                    f"{value!r} gives up durability, so that tiers would be compared "
                    "without the writes that durability costs; if that is the "
                    f"question, add {accept}"
                ),
            )


def durable(name: str, value: str) -> bool:
    """Whether a commit survives a power cut under this value, as far as this setting decides."""
    return name not in _DURABLE or value.strip().lower() in _DURABLE[name]


def refused_by_server(lines: str) -> list[errors.Mistake]:
    """Mistakes from the output of the image's `node verify`: `name<TAB>the server's message`."""
    pairs = (line.partition("\t") for line in lines.splitlines() if line.strip())
    return [
        of_setting(name, message.removeprefix("FATAL:").strip().replace(" HINT:", "."))
        for name, _, message in pairs
    ]
