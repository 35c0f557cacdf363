"""A container as a pod: the manifest of each thing that is made for it. Pure.

Pods have one container, `main`. Where files are carried, there are two more of the same image: one
that begins before it and waits until the files are there, and one beside it, through which they
come and go, also when `main` has ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from orchestrator.errors import UnavailableError
from orchestrator.model import Placing
from orchestrator.platforms import own_images
from orchestrator.platforms.common.carried import is_carried
from orchestrator.platforms.kubernetes.placing import Spread, placement_labels, rules
from orchestrator.platforms.kubernetes.space import (
    CAMPAIGN,
    LABEL,
    NAME,
    NETWORK,
    ROLE,
    object_name,
)
from orchestrator.platforms.kubernetes.trouble import MAIN
from orchestrator.powers import HOST_NETWORK, ContainerSpec, Mount

CARRIER, GATE = "carrier", "gate"
SERVICE = "nodes"  # the headless service of a cluster's network
CARRIED = "/carried"
READY = f"{CARRIED}/ready"  # its file says that all carried files are there
# Commands run as the container's own user, who must be able to write where files are brought back.
OPEN_GATE = ("sh", "-c", f"chmod a+rwX {CARRIED}/[0-9]* && touch {READY}")
# A pod's own end: longer than any stop that is asked for, which says its own time.
LONGEST_STOP_S = 300
CARRIER_CPU, _CARRIER_MEMORY = "100m", "64Mi"
# The kernel shares out a busy machine by requests. On two busy cores, answers of a disk whose
# server had asked for nothing were late by 0.5 to 0.6 ms in the mean, at 250m by 0.4, at 400m and
# more by 0.15, and on Docker, where all containers count alike, by 0.05.
SHARES = {"disk": "500m", "client": "250m"}  # by role
_NAME_WAIT_S = 60
_WAIT_FOR_FILES = f"until [ -e {READY} ]; do sleep 0.1; done"
# Its own name, which DNS knows only when the pod has an address: a second after it has begun. Who
# asks before is told for 5 s that there is none. It runs without it all the same.
_WAIT_FOR_NAME = f"""n=0
sleep 1.5
while command -v getent >/dev/null && ! getent hosts "$0" >/dev/null; do
  n=$((n + 1)); [ $n -lt {_NAME_WAIT_S * 5} ] || break; sleep 0.2
done"""
_IDLE = "trap 'exit 0' TERM; while :; do sleep 3600 & wait; done"


@dataclass(frozen=True)
class CarriedPlace:
    """A carried file or folder: its mount, and where it is in the carrier."""

    mount: Mount
    path: str


def carried(spec: ContainerSpec) -> tuple[CarriedPlace, ...]:
    """The mounts whose files come from this program's computer."""
    mounts = [mount for mount in spec.mounts if mount.source.startswith("/")]
    return tuple(
        CarriedPlace(mount, _carried_path(mount, number))
        for number, mount in enumerate(mounts)
        if is_carried(mount)
    )


def _carried_path(mount: Mount, number: int) -> str:
    folder = f"{CARRIED}/{number}"
    is_file = Path(mount.source).is_file()
    return f"{folder}/{PurePosixPath(mount.target).name}" if is_file else folder


def pod(
    spec: ContainerSpec,
    image: str,
    labels: Mapping[str, str],
    claims: Mapping[str, str],
    placing: Placing,
    spread: Spread,
) -> dict[str, Any]:
    """The pod of a container. `claims`: of the volumes that its mounts name; one that has none is
    a folder that ends with the pod. UnavailableError if it asks for what no pod can have."""
    if spec.io_caps:
        raise UnavailableError(
            f"{spec.name}: a pod cannot have limits of its disk in its control group",
            advice="on Kubernetes use `enforcement: emulated` or a storage class",
        )
    files = carried(spec)
    volumes, mounts = _volumes(spec, files, claims)
    carrier_mounts = [_mount(CARRIER, CARRIED)] if files else []
    hostname, _, subdomain = (spec.address or "").partition(".")
    on_machine_network = spec.network == HOST_NETWORK
    secrets = [{"name": name} for name in placing.image_pull_secrets]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": object_name(spec.name),
            "labels": {
                **labels,
                ROLE: spec.role,
                **({NETWORK: object_name(spec.network)} if spec.network else {}),
                **placement_labels(spec.placement),
            },
            "annotations": {NAME: spec.name, "kubectl.kubernetes.io/default-container": MAIN},
        },
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": max(spec.stop_timeout_s, LONGEST_STOP_S),
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            # Another process than `main` is the first: it reaps, and `main` can be killed.
            "shareProcessNamespace": True,
            **({"hostname": hostname, "subdomain": subdomain} if subdomain else {}),
            **(
                {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
                if on_machine_network
                else {}
            ),
            **({"imagePullSecrets": secrets} if secrets else {}),
            **rules(spec.placement, spread, placing),
            **_gate(spec, image, carrier_mounts),
            "containers": [
                *([_small(CARRIER, spec, image, (_IDLE,), carrier_mounts)] if files else []),
                _main(spec, image, mounts),
            ],
            "volumes": volumes,
        },
    }


def _main(spec: ContainerSpec, image: str, mounts: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": MAIN,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        **({"command": list(spec.entrypoint)} if spec.entrypoint else {}),
        **({"args": list(spec.command)} if spec.command else {}),
        **({"env": _environment(spec)} if spec.environment else {}),
        **({"ports": [{"containerPort": port} for port in spec.ports]} if spec.ports else {}),
        **({"resources": resources} if (resources := _resources(spec)) else {}),
        **({"securityContext": {"privileged": True}} if spec.host_devices else {}),
        "volumeMounts": mounts,
    }


def _environment(spec: ContainerSpec) -> list[dict[str, Any]]:
    hidden = secret_values(spec)
    return [
        {"name": name, "valueFrom": {"secretKeyRef": {"name": object_name(spec.name), "key": name}}}
        if name in hidden
        else {"name": name, "value": value}
        for name, value in spec.environment.items()
    ]


def secret_values(spec: ContainerSpec) -> dict[str, str]:
    """The passwords of its environment: whoever may read pods does not see them."""
    return {name: value for name, value in spec.environment.items() if "PASSWORD" in name}


def secret(spec: ContainerSpec, labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": object_name(spec.name), "labels": dict(labels)},
        "type": "Opaque",
        "stringData": secret_values(spec),
    }


def _resources(spec: ContainerSpec) -> dict[str, Any]:
    """Requests equal limits: the machine has set aside what the container may use. Disks and
    clients ask for a share, and have no limits."""
    if not spec.cpus and not spec.memory_bytes:
        return {"requests": {"cpu": SHARES[spec.role]}} if spec.role in SHARES else {}
    amounts = {
        **({"cpu": f"{round(spec.cpus * 1000)}m"} if spec.cpus else {}),
        **({"memory": str(spec.memory_bytes)} if spec.memory_bytes else {}),
    }
    return {"requests": amounts, "limits": amounts}


def _gate(spec: ContainerSpec, image: str, mounts: list[dict[str, Any]]) -> dict[str, Any]:
    """A container that ends when `main` may begin."""
    waits = [_WAIT_FOR_FILES] if mounts else []
    waits += [_WAIT_FOR_NAME] if "." in (spec.address or "") else []
    if not waits:
        return {}
    script = "\n".join(waits)
    return {"initContainers": [_small(GATE, spec, image, (script, spec.address or ""), mounts)]}


def _small(
    name: str,
    spec: ContainerSpec,
    image: str,
    script: tuple[str, ...],
    mounts: list[dict[str, Any]],
) -> dict[str, Any]:
    """A container beside `main`; with limits if `main` has some, or the pod's would not count."""
    amounts = {
        **({"cpu": CARRIER_CPU} if spec.cpus else {}),
        **({"memory": _CARRIER_MEMORY} if spec.memory_bytes else {}),
    }
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", *script],
        **({"resources": {"requests": amounts, "limits": amounts}} if amounts else {}),
        "volumeMounts": mounts,
    }


def _volumes(
    spec: ContainerSpec, files: Sequence[CarriedPlace], claims: Mapping[str, str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Volumes of the pod, and where they are in `main`."""
    volumes: list[dict[str, Any]] = []
    mounts: list[dict[str, Any]] = []
    for number, mount in enumerate(spec.mounts):
        if is_carried(mount):
            continue
        name = f"volume-{number}"
        volumes.append({"name": name, **_volume(mount, claims)})
        mounts.append(_mount(name, mount.target, mount.read_only))
    if files:
        volumes.append({"name": CARRIER, "emptyDir": {}})
    for place in files:
        inside = str(PurePosixPath(place.path).relative_to(CARRIED))
        whole = _mount(CARRIER, place.mount.target, place.mount.read_only)
        mounts.append({**whole, "subPath": inside})
    if spec.shared_memory_bytes:
        memory = {"medium": "Memory", "sizeLimit": str(spec.shared_memory_bytes)}
        volumes.append({"name": "shared-memory", "emptyDir": memory})
        mounts.append(_mount("shared-memory", "/dev/shm"))
    if spec.host_devices:
        volumes.append({"name": "devices", "hostPath": {"path": "/dev", "type": "Directory"}})
        mounts.append(_mount("devices", "/dev"))
    return volumes, mounts


def _volume(mount: Mount, claims: Mapping[str, str]) -> dict[str, Any]:
    if mount.on_machine:
        return {"hostPath": {"path": mount.source, "type": "DirectoryOrCreate"}}
    if claim := claims.get(mount.source):
        return {"persistentVolumeClaim": {"claimName": claim}}
    return {"emptyDir": {}}


def _mount(name: str, path: str, read_only: bool = False) -> dict[str, Any]:
    return {"name": name, "mountPath": path, **({"readOnly": True} if read_only else {})}


# ------------------------------------------------------------------ what is not a pod


def service(network: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """The headless service by which nodes find each other, also before they are ready."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE, "labels": dict(labels)},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {LABEL: "1", NETWORK: object_name(network)},
        },
    }


def lease(
    name: str, labels: Mapping[str, str], notes: Mapping[str, str], now_s: float, dead_s: float
) -> dict[str, Any]:
    renewed = datetime.fromtimestamp(now_s, UTC).isoformat(timespec="microseconds")
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "labels": dict(labels), "annotations": dict(notes)},
        "spec": {
            "holderIdentity": labels[CAMPAIGN],
            "leaseDurationSeconds": round(dead_s),
            "renewTime": renewed.replace("+00:00", "Z"),
        },
    }


def rent(name: str, labels: Mapping[str, str], rent_s: int) -> dict[str, Any]:
    """A job that makes no pod, and fails after `rent_s` unless its deadline is moved."""
    nothing = {"name": "none", "image": own_images.name_in_registry(own_images.BASE)}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {
            "parallelism": 0,
            "completions": 1,
            "activeDeadlineSeconds": rent_s,
            "ttlSecondsAfterFinished": 0,
            "template": {"spec": {"restartPolicy": "Never", "containers": [nothing]}},
        },
    }


def namespace(name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """`privileged` pods serve emulated disks: a cluster that enforces pod security must be told."""
    security = {"pod-security.kubernetes.io/enforce": "privileged"}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {**labels, **security}},
    }
