"""What tests on Kubernetes share: a real cluster of this machine, with our images on its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml
from kubernetes import client

from orchestrator.cli.common.app import App
from orchestrator.cli.prepare import provision
from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.platforms import own_images
from orchestrator.system.clock import SystemClock, wait_until
from tests import CACHE, ROOT
from tests.cluster import leftovers
from tests.cluster.cluster import Cluster, up

NODES = 3
SPACE = "bench"  # the namespace of the recipe
MANIFESTS = [*yaml.safe_load_all((ROOT / "docs/recipes/in-cluster.yaml").read_text())]


def ours(cluster: Cluster) -> list[str]:
    """The names of all things on the cluster that have our label and are in no namespace."""
    core: Any = client.CoreV1Api(cluster.api)
    storage: Any = client.StorageV1Api(cluster.api)
    listings = (
        core.list_namespace,
        core.list_persistent_volume,
        storage.list_storage_class,
    )
    return [
        thing.metadata.name
        for listing in listings
        for thing in listing(label_selector="tierbench=1").items
    ]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Three nodes."""
    started = up(NODES)
    yield started
    started.down()
    assert leftovers.found() == []


@pytest.fixture(scope="session")
def loaded(cluster: Cluster) -> Cluster:
    """With the base image and ours on every node: brought once, since they share layers."""
    provision.provide(App(cache=CACHE))
    cluster.load(
        own_images.BASE, *(own_images.tag(ROOT, name) for name in own_images.OURS)
    )
    return cluster


@pytest.fixture(scope="session")
def debian(loaded: Cluster) -> str:
    """An image with a shell, on every node."""
    return own_images.BASE


@pytest.fixture
def core(cluster: Cluster) -> Any:
    """The cluster's objects, with the administrator's rights."""
    return client.CoreV1Api(cluster.api)


@pytest.fixture(scope="module")
def campaign(loaded: Cluster) -> Iterator[KubernetesPlatform]:
    """Alone on the cluster, in one namespace for all tests: each takes seconds to go."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("KUBECONFIG", str(loaded.kubeconfig))
        connected = KubernetesPlatform(SystemClock())
        with connected.guard.held():
            yield connected
        assert ours(loaded) == []


def path_of(thing: Mapping[str, Any]) -> str:
    """Where the API server makes a thing of this kind."""
    group = thing["apiVersion"]
    of_group = f"/api/{group}" if group == "v1" else f"/apis/{group}"
    space = thing["metadata"].get("namespace")
    return (
        f"{of_group}{f'/namespaces/{space}' if space else ''}/{thing['kind'].lower()}s"
    )


@pytest.fixture
def api(loaded: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The administrator's; what the manifests have made is removed afterwards."""
    monkeypatch.setenv("KUBECONFIG", str(loaded.kubeconfig))
    api: Any = KubernetesPlatform(SystemClock())._api
    yield api
    for thing in reversed(MANIFESTS):
        if "namespace" not in thing["metadata"]:
            api.remove(f"{path_of(thing)}/{thing['metadata']['name']}")
    gone = wait_until(
        lambda: api.find(f"/api/v1/namespaces/{SPACE}") is None,
        deadline_s=120, clock=SystemClock(), every_s=0.5,
    )  # fmt: skip
    api._client.rest_client.pool_manager.clear()
    assert gone and ours(loaded) == []
