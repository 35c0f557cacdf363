"""Volumes, claims and snapshots as the Kubernetes platform asks the API server for them."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from orchestrator.errors import UnavailableError
from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.extensions.kubernetes.space import ours
from orchestrator.powers import VolumeSource
from orchestrator.system.clock import SystemClock, wait_until
from tests.fake_cluster import FakeCluster, spec


def test_a_volume_of_a_device_is_on_the_machine_of_its_placement(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    with platform.running(spec("disk", placement="node-1")):
        with platform.volume("data", "/dev/loop9", "xfs", "node-1"):
            (volume,) = (
                thing
                for path, thing in cluster.things.items()
                if "/persistentvolumes/" in path
            )
            assert volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] == [
                {
                    "matchExpressions": [
                        {
                            "key": "kubernetes.io/hostname",
                            "operator": "In",
                            "values": ["vm-0"],
                        }
                    ]
                }
            ]
            assert cluster.names("persistentvolumeclaims") == ["data"]
            assert volume["metadata"]["labels"] == platform.space.labels
            asked = [
                (method, path.split("/")[-2 if method == "GET" else -1])
                for method, path in cluster.calls
                if "/persistentvolume" in path and method != "DELETE"
            ]
            # A claim that the cluster sees before its volume is looked at again after 15 s.
            volumes, claims = "persistentvolumes", "persistentvolumeclaims"
            looked = ("GET", claims)  # for a leftover
            assert asked[-5:] == [
                *(
                    ("POST", volumes),
                    ("GET", volumes),
                    looked,
                    ("POST", claims),
                    ("GET", claims),
                )
            ]
        assert cluster.names("persistentvolumes") == []
        with (
            pytest.raises(UnavailableError, match="not known on which"),
            platform.volume("data", "/dev/loop9", "xfs"),
        ):
            pass


def test_one_disk_server_of_several_is_asked_whether_a_device_is_unmounted(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    first, second = (replace(spec(name), role="disk") for name in ("one", "two"))
    with platform.running(first), platform.running(second):
        cluster.calls.clear()
        platform.pods.await_unmounted("/dev/loop9", "")
    asked = [path for _, path in cluster.calls if "/exec" in path]
    assert len(asked) == 1


def test_without_a_device_the_default_class_is_asked_if_there_is_one(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    with platform.volume("plain", "", ""):
        assert cluster.names("persistentvolumeclaims") == []
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    cluster.things["/apis/storage.k8s.io/v1/storageclasses/standard"] = {
        "metadata": {"name": "standard", "annotations": default},
        "provisioner": "disk.csi.example",
    }
    with platform.volume("plain", "", ""):
        assert cluster.names("persistentvolumeclaims") == ["plain"]
    assert cluster.names("persistentvolumeclaims") == []


def test_it_has_the_power_of_claims(platform: KubernetesPlatform) -> None:
    assert platform.abilities.claims is platform.claims
    with (
        pytest.raises(UnavailableError, match="no storage class premium"),
        platform.claims.claim("a", "premium", 2**30),
    ):
        pass


def test_a_class_of_others_is_left_alone(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    path = "/apis/storage.k8s.io/v1/storageclasses/fast"
    cluster.things[path] = {"metadata": {"name": "fast"}, "provisioner": "theirs"}
    manifest = {"metadata": {"name": "fast"}, "provisioner": "ours"}
    with (
        pytest.raises(UnavailableError, match="did not make"),
        platform.claims.storage_class(manifest),
    ):
        pass
    assert cluster.things.pop(path)["provisioner"] == "theirs"
    with platform.claims.storage_class(manifest) as made:
        assert (made.name, made.provisioner) == ("fast", "ours")
    assert cluster.names("storageclasses") == []


def test_a_sweep_waits_until_rented_volumes_are_gone(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    """Their driver removes them some time after their claims; until then they cost money."""
    path = "/api/v1/persistentvolumes/pvc-1"
    spec = {"claimRef": {"namespace": platform.space.namespace}}
    rented = {"metadata": {"name": "pvc-1"}, "spec": spec}
    spec["persistentVolumeReclaimPolicy"] = "Delete"  # type: ignore[assignment]
    cluster.things[path] = rented
    driver = threading.Timer(0.7, lambda: cluster.things.pop(path))
    driver.start()
    platform.sweep()
    assert cluster.names("persistentvolumes") == []


# ------------------------------------------------------------------ what is rented

CLAIMS, VOLUMES = "persistentvolumeclaims", "/api/v1/persistentvolumes"
SNAPSHOTS = "/apis/snapshot.storage.k8s.io/v1"


def offers(cluster: FakeCluster, policy: str = "Delete") -> None:
    """A class `fast` with a snapshot class of its driver, both with this policy."""
    cluster.things["/apis/storage.k8s.io/v1/storageclasses/fast"] = {
        "metadata": {"name": "fast"},
        "provisioner": "disk.test",
        "reclaimPolicy": policy,
    }
    add_snapshot_class(cluster, "shots", policy)


def add_snapshot_class(cluster: FakeCluster, name: str, policy: str) -> None:
    cluster.things[f"{SNAPSHOTS}/volumesnapshotclasses/{name}"] = {
        "metadata": {"name": name},
        "driver": "disk.test",
        "deletionPolicy": policy,
    }


def bind(cluster: FakeCluster, platform: KubernetesPlatform, claim: str) -> None:
    """As a provisioner does."""
    path = f"/api/v1/namespaces/{platform.space.namespace}/{CLAIMS}/{claim}"
    cluster.things[path]["spec"]["volumeName"] = f"pv-{claim}"
    cluster.things[f"{VOLUMES}/pv-{claim}"] = {
        "metadata": {"name": f"pv-{claim}"},
        "spec": {
            "claimRef": {"namespace": platform.space.namespace, "name": claim},
            "persistentVolumeReclaimPolicy": "Delete",
        },
    }


def ready(
    cluster: FakeCluster, platform: KubernetesPlatform, snapshot: str
) -> threading.Timer:
    """As a snapshot controller does, a moment after the snapshot is asked for."""
    path = (
        f"{SNAPSHOTS}/namespaces/{platform.space.namespace}/volumesnapshots/{snapshot}"
    )

    def make() -> None:
        wait_until(lambda: path in cluster.things, deadline_s=60, clock=SystemClock())
        cluster.things[f"{SNAPSHOTS}/volumesnapshotcontents/content-{snapshot}"] = {
            "metadata": {"name": f"content-{snapshot}"},
            "spec": {
                "deletionPolicy": "Delete",
                "volumeSnapshotRef": {
                    "namespace": platform.space.namespace,
                    "name": snapshot,
                },
            },
        }
        cluster.things[path]["status"] = {"readyToUse": True}

    timer = threading.Timer(0.3, make)
    timer.start()
    return timer


def test_a_sweep_between_runs_keeps_what_data_sets_are_copied_from(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    offers(cluster)
    with platform.claims.claim("data-1", "fast", 2**30, stays=True):
        bind(cluster, platform, "data-1")
    with platform.claims.claim("source", "fast", 2**30):
        ready(cluster, platform, "data-2")
        with platform.claims.snapshot("data-2", "source", 10, stays=True):
            pass
    left = platform.space.path("claim", "of-a-run")
    platform._api.make(platform.space.path("claim"), {"metadata": {"name": "of-a-run",
        "labels": ours(platform.campaign)}, "spec": {}})  # fmt: skip
    assert platform.sweep_between_runs() == ("claim of-a-run",)
    assert left not in cluster.things
    assert platform.claims.holds(VolumeSource("claim", "data-1"))
    assert platform.claims.holds(VolumeSource("snapshot", "data-2"))
    gone = ("persistentvolumes/pv-data-1", "volumesnapshotcontents/content-data-2")
    drivers = [
        threading.Timer(0.7, lambda end=end: forget(cluster, end)) for end in gone
    ]
    for driver in drivers:
        driver.start()
    assert set(platform.sweep()) == {"claim data-1", "snapshot data-2"}
    assert not any(path.endswith(gone) for path in cluster.things), (
        "it waits for the disks"
    )
    assert not platform.claims.holds(VolumeSource("claim", "data-1"))


def forget(cluster: FakeCluster, end: str) -> None:
    with cluster.lock:
        for path in [path for path in cluster.things if path.endswith(end)]:
            del cluster.things[path]


def test_the_policies_of_classes_are_told(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    offers(cluster, "Retain")
    assert [one.retains for one in platform.claims.storage_classes()] == [True]
    found = platform.claims.snapshot_class("disk.test")
    assert found is not None and (found.name, found.retains) == ("shots", True)
    add_snapshot_class(cluster, "tidy", "Delete")
    found = platform.claims.snapshot_class("disk.test")
    assert found is not None and (found.name, found.retains) == ("tidy", False), (
        "rather that"
    )


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
def test_a_default_class_that_keeps_its_volumes_is_refused(
    platform: KubernetesPlatform, cluster: FakeCluster, policy: str
) -> None:
    """Nodes whose disks are not declared would be given one of it for each run."""
    offers(cluster, policy)
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    path = "/apis/storage.k8s.io/v1/storageclasses/fast"
    cluster.things[path]["metadata"]["annotations"] = default
    if policy == "Delete":
        with platform.volume("data", "", "xfs"):
            assert cluster.names(CLAIMS) == ["data"]
        return
    with (
        pytest.raises(
            UnavailableError, match="default storage class fast keeps its volumes"
        ) as no,
        platform.volume("data", "", "xfs"),
    ):
        pass
    assert (
        "whose reclaimPolicy is Delete" in no.value.advice
        and cluster.names(CLAIMS) == []
    )


def test_volumes_that_outlive_their_claims_are_told_at_the_end(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    offers(cluster, "Retain")
    with platform.claims.claim("data", "fast", 2**30):
        bind(cluster, platform, "data")
        spec = cluster.things[f"{VOLUMES}/pv-data"]["spec"]
        spec["persistentVolumeReclaimPolicy"] = "Retain"
    theirs = {"claimRef": {"namespace": "theirs", "name": "data"}}
    policy = {"persistentVolumeReclaimPolicy": "Retain"}
    cluster.things[f"{VOLUMES}/theirs"] = {
        "metadata": {"name": "theirs"},
        "spec": theirs | policy,
    }
    platform.sweep()
    assert platform.claims.retained() == ("pv-data",)


def test_snapshots_are_not_made_where_it_cannot_be_seen_whether_they_go(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    offers(cluster)
    cluster.refusals[("GET", "/volumesnapshotcontents")] = (403, "is forbidden")
    with (
        platform.claims.claim("source", "fast", 2**30),
        pytest.raises(UnavailableError, match="not allowed"),
        platform.claims.snapshot("data", "source", 10, stays=False),
    ):
        pass
    assert cluster.names("volumesnapshots") == []
    assert platform.sweep() == ()
