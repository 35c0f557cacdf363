"""Volumes, claims, snapshots and classes: as they are written on a cluster, and as it tells them.
Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.extensions.kubernetes import manifests
from orchestrator.extensions.kubernetes.placing import MACHINE
from orchestrator.extensions.kubernetes.space import manifest, name_of, object_name
from orchestrator.powers import MachineTerm, RentedVolume, StorageClass, VolumeSource

SNAPSHOTS = "snapshot.storage.k8s.io"
_DEFAULT = "storageclass.kubernetes.io/is-default-class"
_MAKER = "pv.kubernetes.io/provisioned-by"
# The nominal size of a machine's device: nothing is measured by it. The file system fills the
# device.
_NOMINAL = "1Gi"


def local_volume(
    name: str, claim: str, namespace: str, device: str, fstype: str, machine: str
) -> dict[str, Any]:
    """A volume on a block device of one machine, kept for the claim of that name."""
    options = ["noatime"]
    if fstype == "xfs":
        options.append("nouuid")  # disks are copies of each other, with one identity
    return manifest(
        "PersistentVolume",
        name=name,
        size=_NOMINAL,
        options=options,
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
    """A claim of a class, or without one of an existing `volume`.

    `source`: what the new volume begins as a copy of.
    """
    copied = None
    if source is not None:
        copied = _source(source)
    return manifest(
        "PersistentVolumeClaim",
        name=object_name(name),
        storage_class=storage_class,
        size=size,
        source=copied,
        volume=volume,
    )


def _source(source: VolumeSource) -> dict[str, str]:
    name = object_name(source.name)
    if source.kind == "claim":
        return {"kind": "PersistentVolumeClaim", "name": name}
    return {"apiGroup": SNAPSHOTS, "kind": "VolumeSnapshot", "name": name}


def snapshot(name: str, claim: str, snapshot_class: str) -> dict[str, Any]:
    """A snapshot of the volume of a claim."""
    return manifest(
        "VolumeSnapshot",
        name=object_name(name),
        claim=object_name(claim),
        snapshot_class=snapshot_class,
    )


def described_class(thing: Mapping[str, Any]) -> StorageClass:
    """What a StorageClass says of itself."""
    annotations = thing["metadata"].get("annotations") or {}
    parameters = thing.get("parameters") or {}
    mount_options = thing.get("mountOptions") or ()
    waits = thing.get("volumeBindingMode") == "WaitForFirstConsumer"
    is_default = annotations.get(_DEFAULT) == "true"
    retains = thing.get("reclaimPolicy") == "Retain"
    return StorageClass(
        name=name_of(thing),
        provisioner=str(thing["provisioner"]),
        parameters=dict(parameters),
        waits=waits,
        is_default=is_default,
        mount_options=tuple(mount_options),
        retains=retains,
    )


def described_volume(thing: Mapping[str, Any]) -> RentedVolume:
    """What a PersistentVolume says of itself, of whatever kind it is."""
    spec = thing["spec"]
    csi = spec.get("csi") or {}
    local = spec.get("local") or {}
    annotations = thing["metadata"].get("annotations") or {}
    # Volumes of other kinds than CSI name in an annotation what has made them.
    driver = csi.get("driver") or annotations.get(_MAKER, "")
    handle = csi.get("volumeHandle") or local.get("path") or ""
    fstype = csi.get("fsType") or local.get("fsType") or ""
    storage_class = spec.get("storageClassName") or ""
    size = str(spec["capacity"]["storage"])
    mount_options = spec.get("mountOptions") or ()
    attributes = csi.get("volumeAttributes") or {}
    return RentedVolume(
        name=name_of(thing),
        storage_class=str(storage_class),
        driver=str(driver),
        size_bytes=manifests.size_bytes(size),
        handle=str(handle),
        fstype=str(fstype),
        mount_options=tuple(mount_options),
        attributes=dict(attributes),
        machine_terms=tuple(_machine_terms(spec)),
    )


def _machine_terms(spec: Mapping[str, Any]) -> Iterator[MachineTerm]:
    """What machines have on which a volume can be used: one of the terms is enough, of which all
    expressions hold (Kubernetes, `NodeSelector`)."""
    required = (spec.get("nodeAffinity") or {}).get("required", {})
    for term in required.get("nodeSelectorTerms") or []:
        yield _machine_term(term.get("matchExpressions") or [])


def _machine_term(expressions: Sequence[Mapping[str, Any]]) -> MachineTerm:
    values_by_key: dict[str, tuple[str, ...]] = {}
    for expression in expressions:
        # Values of any other operator are no labels that such a machine has.
        if expression["operator"] != "In":
            continue
        key = str(expression["key"])
        values = tuple(expression.get("values") or ())
        before = values_by_key.get(key, values)
        values_by_key[key] = tuple(value for value in before if value in values)
    return values_by_key
