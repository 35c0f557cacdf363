"""A leftover that cannot go is said, and blocks neither the others' removal nor a start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.errors import RunError
from orchestrator.extensions.kubernetes import manifests
from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.extensions.kubernetes.space import ours
from tests.clocks import HastyClock
from tests.fake_cluster import FakeCluster, spec

LEFT = "/api/v1/namespaces/tierbench-dead00"
# As a namespace says it while an aggregated API is away (its condition NamespaceDeletion…).
AWAY = "Discovery failed for some groups, 1 failing: metrics.k8s.io/v1beta1: stale"


def hangs(cluster: FakeCluster) -> str:
    """In Terminating, for ever."""

    def hanging(path: str) -> tuple[int, Any] | None:
        if path != LEFT:
            return None
        conditions = [{"status": "True", "message": AWAY}]
        cluster.things[LEFT]["status"] = {
            "phase": "Terminating",
            "conditions": conditions,
        }
        return 200, cluster.things[LEFT]

    cluster.removing = hanging
    return AWAY


def is_refused(cluster: FakeCluster) -> str:
    cluster.refusals["DELETE", "/namespaces/tierbench-dead00"] = (
        403,
        "denied by a webhook",
    )
    return "denied by a webhook"


def is_forbidden_to_be_looked_at(cluster: FakeCluster) -> str:
    cluster.refusals["GET", "/tierbench-dead00/pods"] = (500, "etcdserver: no leader")
    return "etcdserver: no leader"


@pytest.mark.parametrize("stays", [hangs, is_refused, is_forbidden_to_be_looked_at])
def test_a_namespace_that_cannot_go(
    cluster: FakeCluster, stays: Callable[[FakeCluster], str]
) -> None:
    for campaign in ("dead00", "dead01"):
        name = f"tierbench-{campaign}"
        cluster.made("/api/v1/namespaces", manifests.namespace(name, ours(campaign)))
    reason, clock = stays(cluster), HastyClock()
    connected = KubernetesPlatform(clock)
    with connected.guard.held():
        clock.hasten(500)
        with pytest.raises(RunError, match=reason) as left:
            connected.sweep()
        clock.hasten(1)
        assert "dead01" not in left.value.what
        assert f"tierbench-{connected.campaign}" in cluster.names("namespaces")
        assert "tierbench-dead01" not in cluster.names("namespaces")
        with connected.running(spec()):
            assert cluster.names("pods") == ["runs"]
