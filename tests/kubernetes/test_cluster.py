"""The cluster for tests is a real one: what other tests on Kubernetes rely on, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from tests.cluster import programs, provisioner
from tests.cluster.cluster import Cluster, up
from tests.kubernetes.objects import Space, claim, pod, storage_class

pytestmark = [pytest.mark.kubernetes, pytest.mark.docker]


@pytest.fixture
def fast(space: Space) -> Iterator[str]:
    """A class whose volumes the provisioner for tests makes."""
    space.create(storage_class("fast", provisioner.NAME))
    yield "fast"
    space.delete("storage.k8s.io/v1", "StorageClass", "fast")


def test_every_node_is_ready_in_a_zone_of_its_own(cluster: Cluster) -> None:
    assert cluster.ready() == [node.name for node in cluster.nodes]
    with cluster.api() as api:
        core: Any = client.CoreV1Api(api)
        nodes = core.list_node().items
    zones = {node.metadata.labels["topology.kubernetes.io/zone"] for node in nodes}
    assert len(zones) == len(cluster.nodes)
    assert {node.status.node_info.kubelet_version for node in nodes} == {f"v{programs.KUBERNETES}"}


def test_a_cluster_in_use_is_not_taken_away(cluster: Cluster) -> None:
    with pytest.raises(programs.Unavailable, match="in use"):
        up(1)
    assert cluster.ready()


def test_a_pod_runs_on_the_node_that_it_asks_for(space: Space, debian: str) -> None:
    wanted = pod("one", debian, "echo from $(hostname)")
    wanted["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "node-1"}
    assert space.run(wanted) == "from one\n"
    ran = space.get("v1", "Pod", "one")
    assert ran and ran["spec"]["nodeName"] == "node-1"


def test_pods_find_each_other_by_the_names_of_a_headless_service(space: Space, debian: str) -> None:
    server = pod("server", debian, "sleep 300")
    server["spec"] |= {"hostname": "node-1", "subdomain": "nodes"}
    space.create(server)
    headless = {"clusterIP": "None", "selector": {"app": "server"}}
    kind = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "nodes"}}
    space.create({**kind, "spec": headless})
    space.until(lambda: space.phase("Pod", "server") == "Running")
    found = space.run(pod("client", debian, "until getent hosts node-1.nodes; do sleep 0.2; done"))
    running = space.get("v1", "Pod", "server")
    assert running and found.split()[0] == running["status"]["podIP"]


def test_a_volume_is_made_for_its_first_pod_and_goes_with_its_claim(
    space: Space, debian: str, fast: str
) -> None:
    space.create(claim("data", fast))
    assert space.phase("PersistentVolumeClaim", "data") == "Pending" and not space.volumes()
    printed = space.run(
        pod("one", debian, "stat -fc %T /data; echo 1 > /data/x", {"/data": "data"})
    )
    assert printed == "xfs\n"
    (volume,) = space.volumes()
    backing = Path("/sys/block", Path(volume["spec"]["local"]["path"]).name, "loop/backing_file")
    assert volume["metadata"]["name"] in backing.read_text()
    space.delete("v1", "Pod", "one")
    space.delete("v1", "PersistentVolumeClaim", "data")
    space.until(lambda: not space.volumes())
    assert not backing.exists() or volume["metadata"]["name"] not in backing.read_text()


def test_a_snapshot_is_restored_into_claims(space: Space, debian: str, fast: str) -> None:
    group = "snapshot.storage.k8s.io/v1"
    kind = {"apiVersion": group, "kind": "VolumeSnapshotClass", "metadata": {"name": "fast"}}
    space.create({**kind, "driver": provisioner.NAME, "deletionPolicy": "Delete"})
    space.create(claim("data", fast))
    space.run(pod("writer", debian, "echo before > /data/x; sync", {"/data": "data"}))
    spec = {"volumeSnapshotClassName": "fast", "source": {"persistentVolumeClaimName": "data"}}
    kind = {"apiVersion": group, "kind": "VolumeSnapshot", "metadata": {"name": "golden"}}
    space.create({**kind, "spec": spec})

    def ready() -> bool:
        golden = space.get(group, "VolumeSnapshot", "golden")
        return bool(golden and golden.get("status", {}).get("readyToUse"))

    space.until(ready)
    space.run(pod("later", debian, "echo after > /data/x; sync", {"/data": "data"}))
    for name in ("copy-1", "copy-2"):
        space.create(claim(name, fast, snapshot="golden"))
        mounted = {"/data": name, "/original": "data"}
        assert space.run(pod(name, debian, "cat /data/x /original/x", mounted)) == "before\nafter\n"
    space.delete(group, "VolumeSnapshot", "golden")
    space.delete(group, "VolumeSnapshotClass", "fast")


def test_a_killed_node_comes_again_with_its_volume(
    cluster: Cluster, space: Space, debian: str, fast: str
) -> None:
    node = cluster.nodes[-1]
    space.create(claim("data", fast))
    lasting = pod("lasting", debian, "date >> /data/x; sync; sleep 600", {"/data": "data"})
    lasting["spec"] |= {"nodeSelector": {"kubernetes.io/hostname": node.name}}
    lasting["spec"]["restartPolicy"] = "Always"
    space.create(lasting)
    space.until(lambda: space.phase("Pod", "lasting") == "Running")
    cluster.kill(node)
    space.until(lambda: node.name not in cluster.ready())
    cluster.again(node)
    space.until(lambda: node.name in cluster.ready())

    def restarts() -> int:
        found = space.get("v1", "Pod", "lasting")
        (container,) = found["status"]["containerStatuses"] if found else [{}]
        return int(container.get("restartCount", 0)) if "running" in container["state"] else 0

    space.until(lambda: restarts() > 0)
    reader = pod("reader", debian, "wc -l < /data/x", {"/data": "data"})
    assert space.run(reader) == "2\n"
