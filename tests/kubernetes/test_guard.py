"""Campaigns beside each other on a real cluster: refused, or dead and cleared away; and no rights.

Apart from the other tests of the platform, which are a campaign themselves.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.errors import UnavailableError
from orchestrator.extensions.kubernetes import manifests, space
from orchestrator.extensions.kubernetes.connection import Refused
from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.extensions.kubernetes.space import CAMPAIGN, label_of
from orchestrator.system.clock import SystemClock
from tests import ROOT
from tests.cluster.cluster import Cluster
from tests.kubernetes.conftest import ours

pytestmark = pytest.mark.kubernetes


@pytest.fixture
def connected(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> Iterator[KubernetesPlatform]:
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    yield KubernetesPlatform(SystemClock())


@pytest.fixture
def platform(
    cluster: Cluster, connected: KubernetesPlatform
) -> Iterator[KubernetesPlatform]:
    """Alone on the cluster; nothing of its campaign stays."""
    with connected.guard.held():
        yield connected
    assert ours(cluster) == []


def test_no_right_to_take_the_lease(
    cluster: Cluster,
    connected: KubernetesPlatform,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api, roles = connected._api, "/apis/rbac.authorization.k8s.io/v1"
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    name = {"metadata": {"name": "reader"}}
    api.make(accounts, name)
    rules = [
        {"apiGroups": [""], "resources": ["nodes", "namespaces"], "verbs": ["list"]}
    ]
    api.make(f"{roles}/clusterroles", {**name, "rules": rules})
    binding = {
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "reader",
        },
        "subjects": [
            {"kind": "ServiceAccount", "namespace": "default", "name": "reader"}
        ],
    }
    api.make(f"{roles}/clusterrolebindings", {**name, **binding})
    token = api.make(f"{accounts}/reader/token", {"spec": {}})["status"]["token"]
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    reading = KubernetesPlatform(SystemClock())
    with (
        pytest.raises(UnavailableError, match="not allowed") as caught,
        reading.guard.held(),
    ):
        pass
    assert "docs/KUBERNETES.md" in caught.value.advice


def test_no_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Cluster
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(UnavailableError, match="no Kubernetes cluster is configured"):
        KubernetesPlatform(SystemClock())


def test_a_second_campaign_is_refused(
    platform: KubernetesPlatform, connected: KubernetesPlatform
) -> None:
    second = KubernetesPlatform(SystemClock())
    assert second.guard.other() == platform.campaign
    assert platform.guard.other() is None
    with (
        pytest.raises(UnavailableError, match="another campaign is running") as caught,
        second.guard.held(),
    ):
        pass
    assert str(os.getpid()) in caught.value.what
    assert second.sweep() == (), "nothing of a live campaign is touched"
    assert (
        platform._api.find(f"/api/v1/namespaces/{platform.space.namespace}") is not None
    )


def test_of_two_that_take_a_dead_campaigns_lease_the_server_refuses_one(
    connected: KubernetesPlatform,
) -> None:
    """What tests/fake_cluster.py says of versions is what a real server says."""
    api = connected._api
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    dead = manifests.lease("tierbench-campaign", space.ours("dead00"), {}, 0.0, 300)
    version = api.make(leases, dead)["metadata"]["resourceVersion"]
    with connected.guard.held():
        assert (
            label_of(api.get(f"{leases}/tierbench-campaign"), CAMPAIGN)
            == connected.campaign
        )
        dead["metadata"]["resourceVersion"] = version
        with pytest.raises(Refused, match="the object has been modified") as refused:
            api.change(f"{leases}/tierbench-campaign", dead)
        assert (refused.value.status, refused.value.reason) == (409, "Conflict")
        with pytest.raises(Refused, match="in the precondition") as refused:
            api.remove(f"{leases}/tierbench-campaign", version=version)
        assert (refused.value.status, refused.value.reason) == (409, "Conflict")
        connected.guard.beats.renew()
    assert api.listed(leases) == []


_ORCHESTRATOR = """
import sys, time
from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.powers import ContainerSpec, Mount
from orchestrator.system.clock import SystemClock
platform = KubernetesPlatform(SystemClock())
manifest = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "tierbench-left"},
    "provisioner": "disk.test",
}
spec = ContainerSpec("left", sys.argv[1], ("infinity",), "client", entrypoint=("sleep",))
with (
    platform.guard.held(),
    platform.volume("disk", "/dev/loop-that-is-not", "xfs", "node-1"),
    platform.claims.storage_class(manifest),
    platform.running(spec),
):
    print("up", flush=True)
    time.sleep(1000)
"""


def test_what_a_killed_campaign_left_is_removed_and_nothing_of_others(
    cluster: Cluster, connected: KubernetesPlatform, debian: str, core: Any
) -> None:
    core.create_namespace({"metadata": {"name": "tierbench-of-others"}})
    killed = subprocess.Popen(
        [sys.executable, "-c", _ORCHESTRATOR, debian],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert killed.stdout is not None and killed.stdout.readline() == "up\n"
    assert connected.sweep() == ()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    killed.stdout.close()
    assert len(ours(cluster)) == 3
    removed = connected.sweep()
    assert ours(cluster) == [] and len(removed) == 3, removed
    core.delete_namespace("tierbench-of-others")
