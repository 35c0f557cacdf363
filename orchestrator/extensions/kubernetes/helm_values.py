"""A cluster of a profile as values for YugabyteDB's own Helm chart. Pure.

The chart (yugabyte/charts, stable/yugabyte, read at 2026.1.0) runs masters and tablet servers as
StatefulSets of their own, without `yugabyted`, so a node of the profile becomes a pod of each. It
takes memory in whole Gi only, and writes `gflags` after its own, so that ours hold."""

import math
from collections.abc import Iterator
from typing import Any

from orchestrator import errors, model, tier
from orchestrator.databases.yugabytedb import flags, image
from orchestrator.databases.yugabytedb.settings import Settings, read
from orchestrator.keys import refusals, shipped_yaml
from orchestrator.yugabyte.versions import dotted

_GIB = 2**30
# Share of a pod's memory: the chart's limit of a server unless a flag says otherwise.
_HARD_SHARE = 0.85
_MASTER_CPU_SHARE = 0.1
_LEAST_SERVER_CPUS = 0.5
# `yb-cleanup`, which removes old log files: one in each pod, beside the server. What charts since
# 2025.2 give it; before, it had nothing of its own. Seen in real pods of 2025.2.2.
_CLEANUP_CPUS = 0.25
_CLEANUP_MIB = 250
_PODS_OF_A_NODE = 2  # a master and a tablet server


def values(
    spec: model.ClusterSpec,
    wanted: tier.ClassWanted,
    placing: model.Placing | None = None,
    volumes: int = 1,
) -> dict[str, Any]:
    """The values, by the chart's names. UsageError for settings that the chart cannot take.

    `volumes`: of each tablet server, all as `wanted`.
    """
    settings, mistakes = read(spec)
    if mistakes:
        raise refusals.refused(mistakes)
    if settings.own_wal_directory:
        raise errors.UsageError(
            "the chart cannot hold `wal_directory: own`, because it names its "
            "directories itself",
            advice="leave it out for this purpose",
        )
    repository, _, tag = image.tags(settings)[0].rpartition(":")
    disk_bytes = wanted.size_bytes or spec.size.disk_bytes
    words: dict[str, Any] = {
        "repository": repository,
        "tag": tag,
        "copies": spec.replication_factor,
        "nodes": spec.nodes,
        "size": f"{math.ceil(disk_bytes / _GIB)}Gi",
        "storage_class": wanted.name,
        "volumes": volumes,
        **_resources(spec),
        **_flags(spec, settings),
        "tls": settings.tls,
        **_placing(placing or model.Placing()),
    }
    template = shipped_yaml.shipped(__package__, "helm_values.yaml")["values"]
    content: dict[str, Any] = shipped_yaml.filled(template, words)
    return content


def _flags(spec: model.ClusterSpec, settings: Settings) -> dict[str, dict[str, str]]:
    """Flags of the servers: those that `yugabyted` would give, and ours, which hold."""
    yugabyted_flags = _flags_of_yugabyted(settings)
    # The optimizer is on by default only where `yugabyted` deploys, and the chart does not use it.
    optimizer = {}
    if settings.version.has("cost_based_optimizer"):
        optimizer = {"ysql_pg_conf_csv": "yb_enable_cbo=on"}
    of_tserver = flags.tserver_flags(spec, settings)
    return {
        "master_flags": {**yugabyted_flags, **flags.master_flags(spec, settings)},
        "tserver_flags": {**yugabyted_flags, **optimizer, **of_tserver},
    }


def _placing(placing: model.Placing) -> dict[str, Any]:
    """Where pods may run. A value that is None is left out: the chart has its own."""
    tolerations = [dict(taint) for taint in placing.tolerations]
    return {
        "selector": dict(placing.node_selector) or None,
        "tolerations": tolerations or None,
    }


def _flags_of_yugabyted(settings: Settings) -> dict[str, str]:
    """What `yugabyted` gives both servers, which the chart starts without it."""
    if settings.version.has("read_committed"):
        return {"yb_enable_read_committed_isolation": "true"}
    return {}


def _resources(spec: model.ClusterSpec) -> dict[str, dict[str, str]]:
    """What containers ask for, by the names that helm_values.yaml has for it."""
    cpus = _server_cpus(spec)
    memory_gib = memory(spec)
    return {
        "of_master": _resource(cpus["master"], f"{memory_gib['master']}Gi"),
        "of_tserver": _resource(cpus["tserver"], f"{memory_gib['tserver']}Gi"),
        "of_cleanup": _resource(_CLEANUP_CPUS, f"{_CLEANUP_MIB}Mi"),
    }


def _resource(cpus: float, memory_size: str) -> dict[str, str]:
    return {"cpu": f"{cpus:g}", "memory": memory_size}


def _server_cpus(spec: model.ClusterSpec) -> dict[str, float]:
    """CPUs of a master and of a tablet server: together the node, unless that is too small."""
    cpus = spec.size.cpus
    master = max(_LEAST_SERVER_CPUS, round(cpus * _MASTER_CPU_SHARE, 1))
    return {"master": master, "tserver": max(_LEAST_SERVER_CPUS, cpus - master)}


def memory(spec: model.ClusterSpec) -> dict[str, int]:
    """Whole GiB of a master and of a tablet server: together the node, unless that is too small."""
    node_bytes = spec.size.memory_bytes
    shares = flags.memory(node_bytes)
    master = _whole_gib(shares.master_bytes)
    # Rounded up, because the chart takes whole Gi and our flag may not exceed the pod's memory.
    least = _whole_gib(shares.tserver_bytes)
    return {"master": master, "tserver": max(node_bytes // _GIB - master, least)}


def _whole_gib(hard_bytes: int) -> int:
    """What a pod needs for a server whose limit is `hard_bytes`."""
    return math.ceil(hard_bytes / _HARD_SHARE / _GIB)


def install_command(settings: Settings) -> str:
    """The command that installs the values, with the chart of the image's release.

    A later chart runs pods otherwise: of 2026.1 as user 10001, of 2.18 as root. Charts have the
    first three numbers of the release for which they are made (yugabyte/charts, Chart.yaml:
    `version: 2025.2.2`, `appVersion: 2025.2.2.2-b11`).
    """
    chart = dotted(settings.version.number[:3])
    return (
        f"helm install yb yugabytedb/yugabyte --version {chart} --namespace yb "
        "--create-namespace --values values.yaml"
    )


def remarks(
    spec: model.ClusterSpec, wanted: tier.ClassWanted, volumes: int = 1
) -> Iterator[str]:
    """What a reader of the values must know, a line each."""
    settings, _ = read(spec)
    yield f"Install with: {install_command(settings)}"
    if wanted.provisioner:
        yield f"Make the StorageClass first: `tierbench storage-class` prints {wanted.name}."
    if volumes > 1:
        # The chart gives them as `fs_data_dirs`, from which a tablet gets one.
        yield (
            f"{volumes} volumes are {volumes} directories and no stripe: each tablet lies whole on "
            "one, which may be full while others rest."
        )
    yield from _remarks_on_small_nodes(spec)
    yield _room_of_a_machine(spec)
    yield from shipped_yaml.shipped(__package__, "helm_values.yaml")["remarks"]
    if settings.tls:
        yield "TLS: the chart's default root CA and key are public. Give your own (tls.rootCA)."
    if "zones" in spec.settings:
        yield "Zones are not here: the chart has one release for each (isMultiAz, AZ)."


def _remarks_on_small_nodes(spec: model.ClusterSpec) -> Iterator[str]:
    """Where the servers of a node need more than the profile's node has."""
    servers_cpus = sum(_server_cpus(spec).values())
    servers_gib = sum(memory(spec).values())
    if servers_cpus > spec.size.cpus:
        least = f"{servers_cpus:g} CPU"
        yield f"Servers need {least} a node, more than the profile's {spec.size.cpus:g}."
    if servers_gib * _GIB > spec.size.memory_bytes:
        most = f"{spec.size.memory_bytes / _GIB:g} GiB"
        yield f"Whole Gi need {servers_gib} Gi a node, more than the profile's {most}."


def _room_of_a_machine(spec: model.ClusterSpec) -> str:
    """What a machine of one node must have free."""
    beside_cpus = _PODS_OF_A_NODE * _CLEANUP_CPUS
    beside_mib = _PODS_OF_A_NODE * _CLEANUP_MIB
    all_cpus = sum(_server_cpus(spec).values()) + beside_cpus
    all_mib = sum(memory(spec).values()) * 1024 + beside_mib
    return (
        f"A machine with a master and a tablet server needs {all_cpus:g} CPUs and "
        f"{all_mib}Mi free. Their yb-cleanup containers take {beside_cpus:g} CPUs and "
        f"{beside_mib}Mi of that."
    )
