"""A leftover that cannot go is said, and blocks neither the others' removal nor a start."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import RunError
from orchestrator.platforms.common import lifecycle
from orchestrator.platforms.kubernetes import campaigns, manifests
from orchestrator.platforms.kubernetes.engine import KubernetesPlatform
from orchestrator.platforms.kubernetes.space import ours
from orchestrator.system.clock import SystemClock
from tests.fake_cluster import FakeCluster, spec

LEFT = "/api/v1/namespaces/tierbench-dead00"
# As a namespace says it while an aggregated API is away (its condition NamespaceDeletion…).
AWAY = "Discovery failed for some groups, 1 failing: metrics.k8s.io/v1beta1: stale"


def hangs(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> str:
    """In Terminating, for ever."""
    removed = cluster.removed

    def hanging(path: str, version: str | None = None) -> tuple[int, Any]:
        if path != LEFT:
            return removed(path, version)
        conditions = [{"status": "True", "message": AWAY}]
        cluster.things[LEFT]["status"] = {"phase": "Terminating", "conditions": conditions}
        return 200, cluster.things[LEFT]

    monkeypatch.setattr(cluster, "removed", hanging)
    monkeypatch.setattr(campaigns, "_GONE_S", 0.3)
    return AWAY


def is_refused(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> str:
    cluster.refusals["DELETE", "/namespaces/tierbench-dead00"] = (403, "denied by a webhook")
    return "denied by a webhook"


def is_forbidden_to_be_looked_at(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> str:
    cluster.refusals["GET", "/tierbench-dead00/pods"] = (500, "etcdserver: no leader")
    return "etcdserver: no leader"


@pytest.mark.parametrize("stays", [hangs, is_refused, is_forbidden_to_be_looked_at])
def test_a_namespace_that_cannot_go(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, stays: Any
) -> None:
    for campaign in ("dead00", "dead01"):
        name = f"tierbench-{campaign}"
        cluster.made("/api/v1/namespaces", manifests.namespace(name, ours(campaign)))
    reason = stays(cluster, monkeypatch)
    monkeypatch.setattr(lifecycle, "PATIENCE_S", 0.1)
    connected = KubernetesPlatform(SystemClock())
    with connected.guard.held():
        with pytest.raises(RunError, match=reason) as left:
            connected.sweep()
        assert "dead01" not in left.value.what
        assert f"tierbench-{connected.campaign}" in cluster.names("namespaces")
        assert "tierbench-dead01" not in cluster.names("namespaces")
        with connected.running(spec()):
            assert cluster.names("pods") == ["runs"]
