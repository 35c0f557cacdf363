"""What every platform does, on an API server in memory; commands run on this computer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.powers import ContainerSpec
from orchestrator.system.clock import SystemClock
from tests.contract import Commands
from tests.fake_cluster import FakeCluster


class TestInMemory(Commands):
    @pytest.fixture
    def platform(self, cluster: FakeCluster) -> Iterator[KubernetesPlatform]:
        connected = KubernetesPlatform(SystemClock())
        connected.images.told_s = 0.1
        with connected.guard.held():
            yield connected
        assert cluster.names("namespaces") == [] and cluster.names("pods") == []

    @pytest.fixture
    def sleeper(self) -> ContainerSpec:
        image, forever = "debian:trixie-slim", ("infinity",)
        return ContainerSpec("runs", image, forever, "client", entrypoint=("sleep",))
