"""A cluster of a profile as values for YugabyteDB's own Helm chart. Pure.

The chart (yugabyte/charts, stable/yugabyte, read at 2026.1.0) runs masters and tablet servers as
StatefulSets of their own, without `yugabyted`, so a node of the profile becomes a pod of each. It
takes memory in whole Gi only, and writes `gflags` after its own, so that ours hold.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.databases.yugabytedb import flags
from orchestrator.databases.yugabytedb.image import tags
from orchestrator.databases.yugabytedb.settings import Settings, read
from orchestrator.errors import UsageError
from orchestrator.keys.strict_yaml import refused
from orchestrator.model import ClusterSpec, Placing
from orchestrator.tier import ClassWanted

_GIB = 2**30
# Of a pod's memory: what the chart gives a server as its limit unless a flag says otherwise.
_HARD_SHARE = 0.85
_MASTER_CPU_SHARE, _LEAST_MASTER_CPUS = 0.1, 0.5
_MASTER_DISK = "10Gi"  # the chart's own: masters hold the catalog, not the data


def values(
    spec: ClusterSpec, wanted: ClassWanted, placing: Placing | None = None
) -> dict[str, Any]:
    """The values, by the chart's names. UsageError for settings that the chart cannot take."""
    settings, mistakes = read(spec)
    if mistakes:
        raise refused(mistakes)
    if settings.own_wal_directory:
        raise UsageError(
            "`wal_directory: own` has no place in the chart, which names its directories itself",
            advice="leave it out for this purpose",
        )
    repository, _, tag = tags(settings)[0].rpartition(":")
    optimizes = settings.version.has("cost_based_optimizer")  # of `yugabyted` too, as _committed
    memory_gib = memory(spec)
    master_cpus = max(_LEAST_MASTER_CPUS, round(spec.size.cpus * _MASTER_CPU_SHARE, 1))
    cpus = {"master": master_cpus, "tserver": max(0.5, spec.size.cpus - master_cpus)}
    size = f"{math.ceil((wanted.size_bytes or spec.size.disk_bytes) / _GIB)}Gi"
    return {
        "Image": {"repository": repository, "tag": tag},
        "replicas": {
            "master": spec.replication_factor,
            "tserver": spec.nodes,
            "totalMasters": spec.replication_factor,
        },
        "storage": {
            "master": {"count": 1, "size": _MASTER_DISK},
            "tserver": {"count": 1, "size": size, "storageClass": wanted.name},
        },
        "resource": {name: _alike(cpus[name], memory_gib[name]) for name in cpus},
        "gflags": {
            "master": {**_committed(settings), **flags.master_flags(spec, settings)},
            "tserver": {
                **_committed(settings),
                **({"ysql_pg_conf_csv": "yb_enable_cbo=on"} if optimizes else {}),
                **flags.tserver_flags(spec, settings),
            },
        },
        # Its container, one more in each pod, asks for no resources and polls what is measured.
        "yugabytedUi": {"enabled": False},
        "tls": {"enabled": settings.tls},
        "enableLoadBalancer": False,
        "PodManagementPolicy": "Parallel",
        **_placed(placing or Placing()),
    }


def _committed(settings: Settings) -> dict[str, str]:
    """What `yugabyted` gives both servers, which the chart starts without it."""
    since = settings.version.has("read_committed")
    return {"yb_enable_read_committed_isolation": "true"} if since else {}


def _placed(placing: Placing) -> dict[str, Any]:
    """The machines that the profile names for the nodes; without any, the chart's own choice."""
    values: dict[str, Any] = {}
    if placing.node_selector:
        values["nodeSelector"] = dict(placing.node_selector)
    if placing.tolerations:
        tolerations = [dict(each) for each in placing.tolerations]
        values |= {"master": {"tolerations": tolerations}, "tserver": {"tolerations": tolerations}}
    return values


def memory(spec: ClusterSpec) -> dict[str, int]:
    """Whole GiB of a master and of a tablet server: together the node, unless that is too small."""
    node_bytes = spec.size.memory_bytes
    shares = flags.memory(node_bytes)
    master, least = (
        math.ceil(part / _HARD_SHARE / _GIB) for part in (shares.master_bytes, shares.tserver_bytes)
    )
    return {"master": master, "tserver": max(node_bytes // _GIB - master, least)}


def remarks(spec: ClusterSpec, wanted: ClassWanted) -> Iterator[str]:
    """What a reader of the values must know, a line each."""
    settings, _ = read(spec)
    if wanted.provisioner:
        yield f"Make the StorageClass first: `tierbench storage-class` prints {wanted.name}."
    gib = memory(spec)
    if sum(gib.values()) * _GIB > spec.size.memory_bytes:
        most = f"{spec.size.memory_bytes / _GIB:g} GiB"
        yield f"Whole Gi need {sum(gib.values())} Gi a node, more than the profile's {most}."
    yield "Take the chart of the same release as the image: `helm search repo --versions`."
    yield "Masters use the cluster's default class: they hold no rows."
    yield "Pods run as user 10001 with fsGroup 10001: volumes must let that group write."
    yield "Pods cannot ask for ulimits; preflight.skipUlimit lets them start where those are low."
    yield "Servers count the CPUs that their pod asks for (num_cpus), and not the machine's."
    yield "Pods of one kind are only preferred on different machines: see where they run."
    if settings.tls:
        yield "TLS: the chart's default root CA and key are public. Give your own (tls.rootCA)."
    if "zones" in spec.settings:
        yield "Zones are not here: the chart has one release for each (isMultiAz, AZ)."


def _alike(cpus: float, gib: int) -> Mapping[str, Any]:
    """Requests equal to limits: nothing is lent that a measurement would see."""
    resources = {"cpu": f"{cpus:g}", "memory": f"{gib}Gi"}
    return {"requests": resources, "limits": dict(resources)}
