"""What tests on Kubernetes share: a real cluster of this machine, and a namespace of each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestrator.cli import provision
from orchestrator.cli.app import App
from orchestrator.platforms import own_images
from orchestrator.platforms.kubernetes.engine import KubernetesPlatform
from orchestrator.system.clock import SystemClock
from tests import CACHE
from tests.cluster import leftovers
from tests.cluster.cluster import Cluster, up
from tests.kubernetes.objects import Space, ours

NODES = 3


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Three nodes; another number by `parametrize("cluster", [1], indirect=True)`."""
    started = up(getattr(request, "param", NODES))
    yield started
    started.down()
    assert leftovers.found() == []


@pytest.fixture(scope="module")
def campaign(cluster: Cluster) -> Iterator[KubernetesPlatform]:
    """Alone on the cluster, in one namespace for all tests: each takes seconds to go."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("KUBECONFIG", str(cluster.kubeconfig))
        connected = KubernetesPlatform(SystemClock())
        with connected.guard.held():
            yield connected
        assert ours(connected._api) == []


@pytest.fixture(scope="session")
def debian(cluster: Cluster) -> str:
    """An image with a shell, on every node."""
    app = App(cache=CACHE)
    provision.provide_base(provision.provide_engine(app), app)
    cluster.load(own_images.BASE)
    return own_images.BASE


@pytest.fixture
def space(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Space]:
    """A namespace of the test's own; fails where volumes outlive it."""
    name = request.node.name.replace("_", "-")[:60].rstrip("-")
    own = Space.make(cluster.api, name)
    yield own
    own.remove()
