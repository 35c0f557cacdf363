"""A container as a pod, volumes and what else is made: what manifests.yaml needs for each. Pure.

Pods have one container, `main`. What must be there before it begins is in a Secret: passwords, and
the files of its spec."""

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from kubernetes.utils.quantity import parse_quantity

from orchestrator import errors, model
from orchestrator.platforms import own_images
from orchestrator.platforms.common.claims import (
    RentedVolume,
    StorageClass,
    VolumeSource,
)
from orchestrator.platforms.kubernetes import space
from orchestrator.platforms.kubernetes.placing import MACHINE, placement_labels
from orchestrator.platforms.kubernetes.space import manifest, name_of, object_name
from orchestrator.powers import HOST_NETWORK, NETWORK_OF, ContainerSpec, Mount

SERVICE = "nodes"  # the headless service of a cluster's network
# A pod's own end: longer than any stop that is asked for, which says its own time.
LONGEST_STOP_S = 300
_GATE_CPU = "100m"
_GATE_MEMORY = "64Mi"
# The kernel shares out a busy machine by requests. On two busy cores, answers of a disk whose
# server had asked for nothing were late by 0.5 to 0.6 ms in the mean, at 250m by 0.4, at 400m and
# more by 0.15, and on Docker, where all containers count alike, by 0.05.
SHARES = {"disk": "500m", "client": "250m", "coordinator": "100m"}  # by role


def pod(
    spec: ContainerSpec,
    claims: Mapping[str, str],
    placing: model.Placing,
    rules: Mapping[str, Any],
) -> dict[str, Any]:
    """The pod of a container. `claims`: of the volumes that its mounts name; one that has none is
    a folder that ends with the pod. `rules`: which choose its machine. UnavailableError if it asks
    for what no pod can have."""
    if spec.io_caps:
        raise errors.UnavailableError(
            f"{spec.name}: a pod cannot have limits of its disk in its control group",
            advice="on Kubernetes use `enforcement: emulated` or a storage class",
        )
    image = own_images.name_in_registry(spec.image)
    volumes, mounts = _volumes(spec, claims)
    # No pod joins another's network: it is on that machine, by its placement.
    network = spec.network or ""
    if network.startswith(NETWORK_OF):
        network = ""
    hostname, _, subdomain = (spec.address or "").partition(".")
    if network:
        of_network = {space.NETWORK: object_name(network)}
    else:
        of_network = {}
    on_host = spec.network == HOST_NETWORK
    return manifest(
        "Pod",
        name=object_name(spec.name),
        labels={
            space.ROLE: spec.role,
            **of_network,
            **placement_labels(spec.placement),
        },
        name_here=spec.name,
        stop_s=max(spec.stop_timeout_s, LONGEST_STOP_S),
        hostname=hostname if subdomain else None,
        subdomain=subdomain or None,
        host_network=on_host or None,
        dns_policy="ClusterFirstWithHostNet" if on_host else None,
        pull_secrets=[{"name": name} for name in placing.image_pull_secrets] or None,
        **rules,
        before=[_gate(spec, image)] if subdomain else None,
        image=image,
        command=list(spec.entrypoint or ()) or None,
        arguments=list(spec.command) or None,
        environment=_environment(spec) or None,
        ports=[{"containerPort": port} for port in spec.ports] or None,
        resources=_resources(spec) or None,
        rights=_rights(spec) or None,
        mounts=mounts,
        volumes=volumes,
    )


def guest(spec: ContainerSpec, name: str) -> dict[str, Any]:
    """A container, by this name, in the pod whose network it joins."""
    command = {
        "command": list(spec.entrypoint or ()) or None,
        "arguments": list(spec.command),
    }
    image = own_images.name_in_registry(spec.image)
    return manifest("guest", name=name, image=image, rights=_rights(spec), **command)


def _gate(spec: ContainerSpec, image: str) -> dict[str, Any]:
    cpu = None
    if spec.cpus:
        cpu = _GATE_CPU
    memory = None
    if spec.memory_bytes:
        memory = _GATE_MEMORY
    return manifest("gate", image=image, address=spec.address, cpu=cpu, memory=memory)


def _rights(spec: ContainerSpec) -> dict[str, Any]:
    """Block devices need `privileged`: docs/SECURITY.md says what was tried without."""
    if spec.host_devices:
        return {"privileged": True}
    if spec.capabilities is None:
        return {}
    named = {"drop": ["ALL"], "add": list(spec.capabilities)}
    return {"allowPrivilegeEscalation": False, "capabilities": named}


def _environment(spec: ContainerSpec) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "valueFrom": {
                "secretKeyRef": {"name": object_name(spec.name), "key": name}
            },
        }
        if _is_hidden(name)
        else {"name": name, "value": value}
        for name, value in spec.environment.items()
    ]


def _is_hidden(name: str) -> bool:
    """Whether a variable is a secret, which whoever may read pods is not to see."""
    return "PASSWORD" in name or "TOKEN" in name


def secret(spec: ContainerSpec) -> dict[str, Any] | None:
    """What its pod is given by a Secret, if it is given any."""
    given = {
        name: text.encode()
        for name, text in spec.environment.items()
        if _is_hidden(name)
    }
    for number, files in enumerate(spec.folders.values()):
        given |= {_key(number, name): content for name, content in files.items()}
    if not given:
        return None
    data = {key: base64.b64encode(content).decode() for key, content in given.items()}
    return manifest("Secret", name=object_name(spec.name), data=data)


def _key(number: int, name: str) -> str:
    """The key, in its Secret, of a file in the folder of this number."""
    return f"folder-{number}.{name}"


def _resources(spec: ContainerSpec) -> dict[str, Any]:
    """Requests equal limits, which are set aside. What is beside nodes only asks for a share."""
    if spec.role in SHARES:
        share = {"cpu": SHARES[spec.role]}
    else:
        share = {}
    limits = {
        **({"cpu": f"{round(spec.cpus * 1000)}m"} if spec.cpus else {}),
        **({"memory": str(spec.memory_bytes)} if spec.memory_bytes else {}),
    }
    return {
        key: of
        for key, of in {"requests": share | limits, "limits": limits}.items()
        if of
    }


def _volumes(
    spec: ContainerSpec, claims: Mapping[str, str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Volumes of the pod, and where they are in `main`."""
    volumes: list[dict[str, Any]] = []
    mounts: list[dict[str, Any]] = []
    for number, mount in enumerate(spec.mounts):
        name = f"volume-{number}"
        volumes.append({"name": name, **_volume(mount, claims)})
        mounts.append(_mount(name, mount.target, mount.read_only))
    for number, (folder, files) in enumerate(spec.folders.items()):
        name = f"folder-{number}"
        items = [{"key": _key(number, file), "path": file} for file in files]
        hidden = {"secret": {"secretName": object_name(spec.name), "items": items}}
        volumes.append({"name": name, **(hidden if files else {"emptyDir": {}})})
        mounts.append(_mount(name, folder, read_only=bool(files)))
    if spec.shared_memory_bytes:
        memory = {"medium": "Memory", "sizeLimit": str(spec.shared_memory_bytes)}
        volumes.append({"name": "shared-memory", "emptyDir": memory})
        mounts.append(_mount("shared-memory", "/dev/shm"))
    if spec.host_devices:
        volumes.append(
            {"name": "devices", "hostPath": {"path": "/dev", "type": "Directory"}}
        )
        mounts.append(_mount("devices", "/dev"))
    return volumes, mounts


def _volume(mount: Mount, claims: Mapping[str, str]) -> dict[str, Any]:
    if mount.source.startswith("/"):
        return {"hostPath": {"path": mount.source, "type": "DirectoryOrCreate"}}
    claim = claims.get(mount.source)
    if claim:
        return {"persistentVolumeClaim": {"claimName": claim}}
    return {"emptyDir": {}}


def _mount(name: str, path: str, read_only: bool = False) -> dict[str, Any]:
    """Read-only with all that is mounted below, where the cluster can (1.31 and newer)."""
    if read_only:
        way = {"readOnly": True, "recursiveReadOnly": "IfPossible"}
    else:
        way = {}
    return {"name": name, "mountPath": path, **way}


# ------------------------------------------------------------------ what is not a pod


def service(network: str) -> dict[str, Any]:
    selector = {space.LABEL: "1", space.NETWORK: object_name(network)}
    return manifest("Service", name=SERVICE, selector=selector)


def lease(
    name: str,
    labels: Mapping[str, str],
    notes: Mapping[str, str],
    now_s: float,
    dead_s: float,
) -> dict[str, Any]:
    renewed = datetime.fromtimestamp(now_s, UTC).isoformat(timespec="microseconds")
    return manifest(
        "Lease",
        name=name,
        labels=labels,
        notes=notes,
        campaign=labels[space.CAMPAIGN],
        dead_s=round(dead_s),
        renewed=renewed.replace("+00:00", "Z"),
    )


def rent(name: str, labels: Mapping[str, str], rent_s: int) -> dict[str, Any]:
    image = own_images.name_in_registry(own_images.BASE)
    return manifest("Job", name=name, labels=labels, rent_s=rent_s, image=image)


def namespace(name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """`privileged` pods serve emulated disks: a cluster that enforces pod security must be told."""
    security = {"pod-security.kubernetes.io/enforce": "privileged"}
    return manifest("Namespace", name=name, labels={**labels, **security})


# ------------------------------------------------------------------ volumes and their classes

SNAPSHOTS = "snapshot.storage.k8s.io"
_DEFAULT = "storageclass.kubernetes.io/is-default-class"
# Of a device of a machine: nothing is measured by it, and the file system fills the device.
_NOMINAL = "1Gi"


def local_volume(
    name: str, claim: str, namespace: str, device: str, fstype: str, machine: str
) -> dict[str, Any]:
    # nouuid: disks are copies of each other, with the same XFS identity.
    return manifest(
        "PersistentVolume",
        name=name,
        size=_NOMINAL,
        options=["noatime", *(["nouuid"] if fstype == "xfs" else [])],
        claim=claim,
        namespace=namespace,
        device=device,
        fstype=fstype,
        machines=[{"key": MACHINE, "operator": "In", "values": [machine]}],
    )


def claim(
    name: str,
    storage_class: str = "",
    size: str = _NOMINAL,
    source: VolumeSource | None = None,
    volume: str | None = None,
) -> dict[str, Any]:
    """Of a class, maybe as a copy of `source`; or of a `volume` that is there, without a class."""
    return manifest(
        "PersistentVolumeClaim",
        name=object_name(name),
        storage_class=storage_class,
        size=size,
        source=_source(source) if source else None,
        volume=volume,
    )


def _source(source: VolumeSource) -> dict[str, str]:
    name = object_name(source.name)
    if source.kind == "claim":
        return {"kind": "PersistentVolumeClaim", "name": name}
    return {"apiGroup": SNAPSHOTS, "kind": "VolumeSnapshot", "name": name}


def snapshot(name: str, claim: str, its_class: str) -> dict[str, Any]:
    name = object_name(name)
    claim = object_name(claim)
    return manifest("VolumeSnapshot", name=name, claim=claim, snapshot_class=its_class)


def described_class(thing: Mapping[str, Any]) -> StorageClass:
    annotations = thing["metadata"].get("annotations") or {}
    return StorageClass(
        name=name_of(thing),
        provisioner=str(thing["provisioner"]),
        parameters=dict(thing.get("parameters") or {}),
        waits=thing.get("volumeBindingMode") == "WaitForFirstConsumer",
        is_default=annotations.get(_DEFAULT) == "true",
        mount_options=tuple(thing.get("mountOptions") or ()),
        retains=thing.get("reclaimPolicy") == "Retain",
    )


def described_volume(thing: Mapping[str, Any]) -> RentedVolume:
    """What a PersistentVolume says of itself, of whatever kind it is."""
    spec = thing["spec"]
    csi = spec.get("csi") or {}
    local = spec.get("local") or {}
    maker = (thing["metadata"].get("annotations") or {}).get(
        "pv.kubernetes.io/provisioned-by", ""
    )
    terms = (spec.get("nodeAffinity") or {}).get("required", {}).get(
        "nodeSelectorTerms"
    ) or []
    return RentedVolume(
        name=name_of(thing),
        storage_class=str(spec.get("storageClassName") or ""),
        driver=str(csi.get("driver") or maker),
        size_bytes=size_bytes(str(spec["capacity"]["storage"])),
        handle=str(csi.get("volumeHandle") or local.get("path") or ""),
        fstype=str(csi.get("fsType") or local.get("fsType") or ""),
        mount_options=tuple(spec.get("mountOptions") or ()),
        attributes=dict(csi.get("volumeAttributes") or {}),
        machines=tuple(
            f"{expression['key']}={value}"
            for term in terms
            for expression in term.get("matchExpressions") or []
            for value in expression.get("values") or []
        ),
    )


def size_bytes(text: str) -> int:
    """Reads a quantity of bytes, as in "8Gi", "500M" or "2147483648"."""
    return int(parse_quantity(text))
