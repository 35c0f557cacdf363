"""Objects of Kubernetes as tests make, read and await them: as plain manifests of any kind."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kubernetes import client, dynamic

from orchestrator.platforms.kubernetes.connection import Api

Manifest = dict[str, Any]
WAIT_S = 90.0


@dataclass(frozen=True)
class Space:
    """One namespace. Kinds without a namespace (StorageClass …) are made and read here too."""

    name: str
    api: client.ApiClient
    kinds: dynamic.DynamicClient

    @classmethod
    def make(cls, api: client.ApiClient, name: str) -> Space:
        """Returns when pods may be created in it."""
        space = cls(name, api, dynamic.DynamicClient(api))
        space.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        space.until(lambda: space.get("v1", "ServiceAccount", "default") is not None)
        return space

    def create(self, manifest: Manifest) -> None:
        """Makes the object."""
        kind = self.kinds.resources.get(api_version=manifest["apiVersion"], kind=manifest["kind"])
        kind.create(body=manifest, namespace=self.name if kind.namespaced else None)

    def get(self, version: str, kind: str, name: str) -> Manifest | None:
        """The object as it is now; None where there is none."""
        resource = self.kinds.resources.get(api_version=version, kind=kind)
        space = self.name if resource.namespaced else None
        try:
            found: Manifest = resource.get(name=name, namespace=space).to_dict()
        except dynamic.exceptions.NotFoundError:
            return None
        return found

    def delete(self, version: str, kind: str, name: str) -> None:
        """Returns when the object is gone."""
        resource = self.kinds.resources.get(api_version=version, kind=kind)
        resource.delete(name=name, namespace=self.name if resource.namespaced else None)
        self.until(lambda: self.get(version, kind, name) is None)

    def until(self, true: Callable[[], bool], within_s: float = WAIT_S) -> None:
        """Fails with what happened in the namespace where it does not become true in time."""
        limit = time.monotonic() + within_s
        while not true():
            assert time.monotonic() < limit, "\n".join(self.events())
            time.sleep(0.2)

    def phase(self, kind: str, name: str) -> str:
        """Of a Pod or a PersistentVolumeClaim; empty where there is none."""
        found = self.get("v1", kind, name)
        return str(found["status"]["phase"]) if found else ""

    def run(self, manifest: Manifest) -> str:
        """Makes a pod, waits for its success, returns what it printed."""
        name = manifest["metadata"]["name"]
        self.create(manifest)
        self.until(lambda: self.phase("Pod", name) in ("Succeeded", "Failed"))
        printed = str(client.CoreV1Api(self.api).read_namespaced_pod_log(name, self.name))
        assert self.phase("Pod", name) == "Succeeded", printed
        return printed

    def events(self) -> list[str]:
        """What Kubernetes says happened in the namespace, one line each."""
        listed = client.CoreV1Api(self.api).list_namespaced_event(self.name).items
        return [f"{one.involved_object.name}: {one.reason}: {one.message}" for one in listed]

    def volumes(self) -> list[Manifest]:
        """The PersistentVolumes of this namespace's claims, those that are gone included."""
        resource = self.kinds.resources.get(api_version="v1", kind="PersistentVolume")
        listed = [one.to_dict() for one in resource.get().items]
        return [one for one in listed if one["spec"]["claimRef"]["namespace"] == self.name]

    def remove(self) -> None:
        """Returns when the namespace and its volumes are gone."""
        self.delete("v1", "Namespace", self.name)
        self.until(lambda: not self.volumes())


def pod(name: str, image: str, script: str, claims: dict[str, str] | None = None) -> Manifest:
    """A pod that runs `script` once, with `claims` (folder → name of the claim) mounted."""
    places = list((claims or {}).items())
    mounts = [{"name": claim, "mountPath": folder} for folder, claim in places]
    volumes = [
        {"name": claim, "persistentVolumeClaim": {"claimName": claim}} for _folder, claim in places
    ]
    container = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "Never",
        "command": ["sh", "-ec", script],
        "volumeMounts": mounts,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
            "volumes": volumes,
        },
    }


def storage_class(name: str, provisioner: str, file_system: str = "xfs") -> Manifest:
    """A class whose volumes are made where the first pod that wants them is put."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "parameters": {"csi.storage.k8s.io/fstype": file_system},
        "volumeBindingMode": "WaitForFirstConsumer",
        "reclaimPolicy": "Delete",
    }


def claim(name: str, of: str, snapshot: str = "") -> Manifest:
    """A claim of 512 MiB of the class `of`, filled from `snapshot` if that is named."""
    spec: Manifest = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": of,
        "resources": {"requests": {"storage": "512Mi"}},
    }
    if snapshot:
        source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot"}
        spec["dataSource"] = {**source, "name": snapshot}
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


def ours(api: Api) -> list[str]:
    """The names of all things on the cluster that have our label and are in no namespace."""
    return [
        one["metadata"]["name"]
        for path in (
            "/api/v1/namespaces",
            "/api/v1/persistentvolumes",
            "/apis/storage.k8s.io/v1/storageclasses",
        )
        for one in api.listed(path, "tierbench=1")
    ]
