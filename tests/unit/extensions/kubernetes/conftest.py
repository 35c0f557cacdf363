"""A Kubernetes API of its own for each test, which is that of the current context."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from orchestrator.extensions.kubernetes.connection import Api
from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.system.clock import SystemClock
from tests.fake_cluster import FakeCluster


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    fake = FakeCluster(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(fake.kubeconfig()))
    yield fake
    fake.close()


@pytest.fixture
def platform_by(
    cluster: FakeCluster,
) -> Iterator[Callable[[type[Api]], KubernetesPlatform]]:
    """Connects to it by such a connection, with a campaign's namespace; nothing may be left."""
    with ExitStack() as up:

        def connect(api: type[Api]) -> KubernetesPlatform:
            connected = KubernetesPlatform(SystemClock(), api=api)
            connected.images.told_s = 0.1
            up.enter_context(connected.guard.held())
            return connected

        yield connect
    assert cluster.names("namespaces") == [] and cluster.names("pods") == []


@pytest.fixture
def platform(
    platform_by: Callable[[type[Api]], KubernetesPlatform],
) -> KubernetesPlatform:
    return platform_by(Api)
