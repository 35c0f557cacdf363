"""Volumes for tests, in place of a cloud's storage driver: sparse files and loop devices of here.

    python -m tests.cluster.provisioner KUBECONFIG FOLDER

It answers claims of any StorageClass whose provisioner is `disk.test`, as such a driver does. It
waits until the scheduler has chosen a node, makes the volume (empty, as a copy of another claim or
from a VolumeSnapshot), offers it as a PersistentVolume bound to the claim, and removes it when the
claim is gone (reclaim policy Delete). It is the one part of the cluster that is a stand-in: nothing
is attached, nothing is limited to IOPS, and a snapshot is taken by copying.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import urllib3
from kubernetes import client, config
from kubernetes.utils.quantity import parse_quantity

NAME = "disk.test"
SNAPSHOTS = ("snapshot.storage.k8s.io", "v1")
_EVERY_S = 0.3
_DEVICE = f"{NAME}/device"
_BY = "pv.kubernetes.io/provisioned-by"
_NODE = "volume.kubernetes.io/selected-node"


class Provisioner:
    """Looks at all claims, snapshots and volumes of the cluster, and does what is due."""

    def __init__(self, api: client.ApiClient, folder: Path) -> None:
        # Any: to the types of the client, every field of every object may be missing.
        self.core: Any = client.CoreV1Api(api)
        self.storage: Any = client.StorageV1Api(api)
        self.custom: Any = client.CustomObjectsApi(api)
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def once(self) -> None:
        """One round. What fails for the API is tried again in the next."""
        classes = {
            one.metadata.name: one
            for one in self.storage.list_storage_class().items
            if one.provisioner == NAME
        }
        volumes = {
            one.metadata.name: one for one in self.core.list_persistent_volume().items
        }
        for claim in self.core.list_persistent_volume_claim_for_all_namespaces().items:
            its_class = classes.get(claim.spec.storage_class_name)
            if (
                claim.status.phase == "Pending"
                and its_class
                and _volume(claim) not in volumes
            ):
                self._provision(claim, its_class)
        self._snapshots()
        for volume in volumes.values():
            ours = (volume.metadata.annotations or {}).get(_BY) == NAME
            policy = volume.spec.persistent_volume_reclaim_policy
            if ours and policy == "Delete" and volume.status.phase == "Released":
                self._remove(volume)

    def _provision(self, claim: Any, its_class: Any) -> None:
        node = (claim.metadata.annotations or {}).get(_NODE)
        if node is None and its_class.volume_binding_mode == "WaitForFirstConsumer":
            return
        image = self.folder / _volume(claim)
        if not self._fill(claim, image):
            return
        size = int(parse_quantity(claim.spec.resources.requests["storage"]))
        with image.open("ab") as file:
            file.truncate(max(size, file.tell()))
        device = _losetup("--direct-io=on", "--find", "--show", str(image))
        try:
            self.core.create_persistent_volume(
                _persistent_volume(claim, its_class, size, device, node)
            )
        except client.ApiException:
            _losetup("--detach", device)
            raise
        _say(f"{device} on {node} for {claim.metadata.namespace}/{claim.metadata.name}")

    def _fill(self, claim: Any, image: Path) -> bool:
        """Writes what a new volume begins with; False while its source is not there yet."""
        image.unlink(missing_ok=True)
        source = claim.spec.data_source
        if source is None:
            return True
        space = claim.metadata.namespace
        if source.kind == "PersistentVolumeClaim":
            other = self.core.read_namespaced_persistent_volume_claim(
                source.name, space
            )
            if other.status.phase != "Bound":
                return False
            _copy(self.folder / other.spec.volume_name, image)
            return True
        snapshot = self.custom.get_namespaced_custom_object(
            *SNAPSHOTS, space, "volumesnapshots", source.name
        )
        if not snapshot.get("status", {}).get("readyToUse"):
            return False
        _copy(self.folder / _content(snapshot), image)
        return True

    def _snapshots(self) -> None:
        """Takes those that are asked for, removes those whose VolumeSnapshot is gone."""
        listed = self.custom.list_cluster_custom_object(
            *SNAPSHOTS, "volumesnapshotclasses"
        )
        classes = {
            one["metadata"]["name"] for one in listed["items"] if one["driver"] == NAME
        }
        snapshots = self.custom.list_cluster_custom_object(
            *SNAPSHOTS, "volumesnapshots"
        )["items"]
        for snapshot in snapshots:
            ready = snapshot.get("status", {}).get("readyToUse")
            if snapshot["spec"].get("volumeSnapshotClassName") in classes and not ready:
                self._take(snapshot)
        wanted = {_content(snapshot) for snapshot in snapshots}
        for image in self.folder.glob("snapcontent-*"):
            if image.name not in wanted:
                image.unlink()
                _say(f"removed {image.name}")

    def _take(self, snapshot: Any) -> None:
        """A copy of the volume; its status is written as a snapshot controller writes it."""
        space, name = snapshot["metadata"]["namespace"], snapshot["metadata"]["name"]
        source = snapshot["spec"]["source"]["persistentVolumeClaimName"]
        claim = self.core.read_namespaced_persistent_volume_claim(source, space)
        if claim.status.phase != "Bound":
            return
        image = self.folder / _content(snapshot)
        subprocess.run(["sync"], check=True)
        _copy(self.folder / claim.spec.volume_name, image)
        status = {
            "readyToUse": True,
            "restoreSize": str(image.stat().st_size),
            "boundVolumeSnapshotContentName": image.name,
            "creationTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        self.custom.patch_namespaced_custom_object_status(
            *SNAPSHOTS, space, "volumesnapshots", name, {"status": status}
        )
        _say(f"{image.name} of {space}/{source}")

    def _remove(self, volume: Any) -> None:
        _losetup("--detach", volume.metadata.annotations[_DEVICE])
        (self.folder / volume.metadata.name).unlink(missing_ok=True)
        self.core.delete_persistent_volume(volume.metadata.name)
        _say(f"removed {volume.metadata.name}")


def _persistent_volume(
    claim: Any, its_class: Any, size: int, device: str, node: str | None
) -> dict[str, object]:
    """As a driver writes it. XFS: a copy bears the UUID of its source, so that is not looked at."""
    file_system = (its_class.parameters or {}).get("csi.storage.k8s.io/fstype", "ext4")
    options = [
        *(its_class.mount_options or []),
        *(["nouuid"] if file_system == "xfs" else []),
    ]
    spec: dict[str, object] = {
        "capacity": {"storage": str(size)},
        "accessModes": claim.spec.access_modes,
        "storageClassName": its_class.metadata.name,
        "persistentVolumeReclaimPolicy": its_class.reclaim_policy,
        "mountOptions": options,
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "uid": claim.metadata.uid,
            "name": claim.metadata.name,
            "namespace": claim.metadata.namespace,
        },
        "local": {"path": device, "fsType": file_system},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [_only_on(node)]}},
    }
    metadata = {"name": _volume(claim), "annotations": {_BY: NAME, _DEVICE: device}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": metadata,
        "spec": spec,
    }


def _only_on(node: str | None) -> dict[str, object]:
    """Without a chosen node (binding mode Immediate) any: the file can be reached from all."""
    name = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    anywhere = {"key": "kubernetes.io/hostname", "operator": "Exists"}
    return {"matchExpressions": [name if node else anywhere]}


def _volume(claim: Any) -> str:
    return f"pvc-{claim.metadata.uid}"


def _content(snapshot: Any) -> str:
    return f"snapcontent-{snapshot['metadata']['uid']}"


def _copy(source: Path, target: Path) -> None:
    """A whole copy or none: a round that fails half-way is done again."""
    part = target.with_suffix(".part")
    subprocess.run(
        ["cp", "--sparse=always", "--reflink=auto", source, part], check=True
    )
    shutil.move(part, target)


def _losetup(*arguments: str) -> str:
    done = subprocess.run(
        ["losetup", *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def _say(text: str) -> None:
    print(text, flush=True)


def main() -> None:
    kubeconfig, folder = sys.argv[1:]
    provisioner = Provisioner(config.new_client_from_config(kubeconfig), Path(folder))
    while True:
        try:
            provisioner.once()
        except (client.ApiException, urllib3.exceptions.HTTPError) as error:
            _say(f"will be tried again: {error}")
        except subprocess.CalledProcessError as error:
            _say(f"{error}: {error.stderr}")
        time.sleep(_EVERY_S)


if __name__ == "__main__":
    main()
