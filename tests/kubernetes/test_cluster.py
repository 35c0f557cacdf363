"""The cluster for tests is a real one. What else tests rely on, they ask through the product."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes import client

from tests.cluster import programs
from tests.cluster.cluster import Cluster, up

pytestmark = [pytest.mark.kubernetes, pytest.mark.docker]


def test_every_node_is_ready_in_a_zone_of_its_own(cluster: Cluster) -> None:
    assert cluster.ready() == [node.name for node in cluster.nodes]
    core: Any = client.CoreV1Api(cluster.api)
    nodes = core.list_node().items
    zones = {node.metadata.labels["topology.kubernetes.io/zone"] for node in nodes}
    assert len(zones) == len(cluster.nodes)
    assert {node.status.node_info.kubelet_version for node in nodes} == {
        programs.version()
    }


def test_a_cluster_in_use_is_not_taken_away(cluster: Cluster) -> None:
    with pytest.raises(programs.Unavailable, match="in use"):
        up(1)
    assert cluster.ready()
