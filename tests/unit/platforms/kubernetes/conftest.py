"""A Kubernetes API of its own for each test, which is that of the current context."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.platforms.kubernetes.engine import KubernetesPlatform
from orchestrator.system.clock import SystemClock
from tests.fake_cluster import FakeCluster


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    fake = FakeCluster(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(fake.kubeconfig()))
    yield fake
    fake.close()


@pytest.fixture
def platform(cluster: FakeCluster) -> Iterator[KubernetesPlatform]:
    """Connected to it, with a campaign's namespace; nothing may be left of that."""
    connected = KubernetesPlatform(SystemClock())
    connected.images.told_s = 0.1
    with connected.guard.held():
        yield connected
    assert cluster.names("namespaces") == [] and cluster.names("pods") == []
