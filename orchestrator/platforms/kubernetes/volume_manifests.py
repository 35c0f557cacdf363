"""Volumes and what they come from, as manifests. Pure."""

from collections.abc import Mapping
from typing import Any

from kubernetes.utils.quantity import parse_quantity

from orchestrator.platforms.common.claims import RentedVolume, StorageClass, VolumeSource
from orchestrator.platforms.kubernetes.placing import MACHINE
from orchestrator.platforms.kubernetes.space import manifest, name_of, object_name

SNAPSHOTS = "snapshot.storage.k8s.io"
SNAPSHOT_CLASSES = f"/apis/{SNAPSHOTS}/v1/volumesnapshotclasses"
_DEFAULT = "storageclass.kubernetes.io/is-default-class"
# Of a device of a machine: nothing is measured by it, and the file system fills the device.
_NOMINAL = "1Gi"


def local_volume(
    name: str,
    claim: str,
    namespace: str,
    device: str,
    fstype: str,
    machine: str,
    labels: Mapping[str, str],
) -> dict[str, Any]:
    # nouuid: disks are copies of each other, with the same XFS identity.
    return manifest(
        "PersistentVolume",
        name=name,
        labels=labels,
        size=_NOMINAL,
        options=["noatime", *(["nouuid"] if fstype == "xfs" else [])],
        claim=claim,
        namespace=namespace,
        device=device,
        fstype=fstype,
        machines=[{"key": MACHINE, "operator": "In", "values": [machine]}],
    )


def local_claim(name: str, volume: str, labels: Mapping[str, str]) -> dict[str, Any]:
    return claim(name, "", _NOMINAL, None, labels, volume)


def claim(
    name: str,
    storage_class: str,
    size: str,
    source: VolumeSource | None,
    labels: Mapping[str, str],
    volume: str | None = None,
) -> dict[str, Any]:
    return manifest(
        "PersistentVolumeClaim",
        name=object_name(name),
        labels=labels,
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


def snapshot(name: str, claim: str, its_class: str, labels: Mapping[str, str]) -> dict[str, Any]:
    name, claim = object_name(name), object_name(claim)
    return manifest(
        "VolumeSnapshot", name=name, labels=labels, claim=claim, snapshot_class=its_class
    )


def storage_class(thing: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    metadata = dict(thing["metadata"])
    metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
    which = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"}
    return {**which, **thing, "metadata": metadata}


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
    csi, local = spec.get("csi") or {}, spec.get("local") or {}
    maker = (thing["metadata"].get("annotations") or {}).get("pv.kubernetes.io/provisioned-by", "")
    terms = (spec.get("nodeAffinity") or {}).get("required", {}).get("nodeSelectorTerms") or []
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
