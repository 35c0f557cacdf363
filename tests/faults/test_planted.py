"""Thirty things of others, whose names and labels are like ours, beside twenty campaigns of which
every other one leaves what a killed one does: none is changed. Without Docker: on an engine and in
folders `clean --yes` is called too, on a cluster only the sweep."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.errors import UnavailableError
from orchestrator.extensions.kubernetes import manifests, space
from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.platforms.docker import guard as docker_guard
from orchestrator.powers import ContainerSpec
from orchestrator.system.clock import SystemClock
from tests.apps import an_app, tierbench
from tests.fake_cluster import FakeCluster, spec as pod
from tests.fake_docker import Engine
from tests.fake_existing import (
    Server,
    a_cache as a_cache,  # a fixture
    running,
    spec as of_others,
)
from tests.fakes import FakeClock
from tests.faults.planted import NAMES, planted

CAMPAIGNS = 20


# ------------------------------------------------------------------ on an engine


@pytest.fixture
def engine() -> Engine:
    return Engine(FakeClock())


def kept_by(engine: Engine) -> dict[tuple[str, str], Any]:
    return {(one.kind, one.name): copy.deepcopy(one.attrs) for one in engine.things}


def test_thirty_things_on_an_engine_stay(engine: Engine, tmp_path: Path) -> None:
    for kind in ("container", "volume", "network"):
        for name, labels in planted():
            attrs = {"Labels": labels, "CreatedAt": engine.now()}
            held = {"Config": {"Labels": labels}, "State": {"Status": "running"}}
            engine.add(kind, name, held if kind == "container" else attrs)
    others = kept_by(engine)
    assert len(others) == 30
    for number in range(CAMPAIGNS):
        platform = engine.platform()
        with platform.guard.held():
            platform.sweep()
            spec = ContainerSpec(
                f"tierbench-{number}-node", "image", ("true",), "database"
            )
            with platform.network(f"tierbench-{number}-net", 1), platform.running(spec):
                assert len(engine.things) > 30
        if number % 2:
            left_by_a_killed_campaign(engine, f"dead{number:02}")
        app = an_app(tmp_path, connect=lambda *_: engine.platform())
        assert tierbench(app, "clean", "--yes") == 0
    assert kept_by(engine) == others


def left_by_a_killed_campaign(engine: Engine, campaign: str) -> None:
    """Its guard, and one thing of each kind."""
    labels = {
        "tierbench": "1",
        "tierbench.campaign": campaign,
        "tierbench.host": "there",
    }
    process = {"tierbench.process": "another-boot pid:[1] 4194304 1"}
    engine.ahead_s = 0
    for name in (docker_guard.NAME, f"{docker_guard.NAME}-beat-{campaign}"):
        guard = {name: word for name, word in labels.items() if name != "tierbench"}
        engine.add(
            "volume", name, {"Labels": guard | process, "CreatedAt": engine.now()}
        )
    engine.ahead_s = 1800
    engine.add(
        "container", f"tierbench-{campaign}-node", {"Config": {"Labels": labels}}
    )
    engine.add("volume", f"tierbench-{campaign}-data", {"Labels": labels})
    engine.add("network", f"tierbench-{campaign}", {"Labels": labels})


# ------------------------------------------------------------------ on a cluster


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    fake = FakeCluster(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(fake.kubeconfig()))
    yield fake
    fake.close()


def test_thirty_things_on_a_cluster_stay(cluster: FakeCluster) -> None:
    namespaced = "/api/v1/namespaces/tierbench-of-others"
    folders = (
        *("/api/v1/namespaces", "/api/v1/persistentvolumes", f"{namespaced}/pods"),
        *(f"{namespaced}/persistentvolumeclaims", f"{namespaced}/secrets"),
        "/apis/storage.k8s.io/v1/storageclasses",
    )
    for folder in folders:
        for name, labels in list(planted())[:5]:
            metadata = {"name": name.replace("_", "-"), "labels": labels, "uid": name}
            cluster.things[f"{folder}/{metadata['name']}"] = {
                "metadata": metadata,
                "spec": {"nodeName": "vm-0"},
                "status": {"phase": "Running"},
                "provisioner": "of-others",
            }
    others = copy.deepcopy(cluster.things)
    for number in range(CAMPAIGNS):
        platform = KubernetesPlatform(SystemClock())
        with platform.guard.held():
            platform.sweep()
            with platform.network("net", 1), platform.running(pod(f"node-{number}")):
                assert len(cluster.things) > len(others)
        if number % 2:
            dead = space.ours(f"dead{number:02}")
            left = manifests.lease("tierbench-campaign", dead, {}, 0.0, 1)
            cluster.made("/apis/coordination.k8s.io/v1/namespaces/default/leases", left)
            named = {"name": space.namespace_of(f"dead{number:02}"), "labels": dead}
            cluster.made("/api/v1/namespaces", {"metadata": named})
            cluster.made("/api/v1/persistentvolumes", {"metadata": named})
        KubernetesPlatform(
            SystemClock()
        ).sweep()  # what `clean --yes` calls, before its agents
    # What was in a namespace goes with it, by the cluster's controllers: none plays here.
    assert {path: cluster.things[path] for path in others} == others
    assert len(cluster.names("namespaces")) == 5


def test_the_credentials_expire_in_a_campaign(cluster: FakeCluster) -> None:
    """It is told what to do, and what it cannot remove then goes with the next campaign."""
    platform = KubernetesPlatform(SystemClock())
    with (
        pytest.raises(UnavailableError, match="Unauthorized") as ended,
        platform.guard.held(),
        platform.running(pod("node-1")),
    ):
        for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
            cluster.refusals[method, ""] = (401, "Unauthorized")
        platform.sweep()
    assert "sign in again as for kubectl" in ended.value.advice
    cluster.refusals.clear()
    for path in [
        path for path in cluster.things if path.endswith("/leases/tierbench-campaign")
    ]:
        del cluster.things[path]  # as its owner does, or minutes do
    again = KubernetesPlatform(SystemClock())
    with again.guard.held():
        again.sweep()
    assert cluster.names("pods") == [] and cluster.names("namespaces") == []


# ------------------------------------------------------------------ on a server, in folders


def test_thirty_databases_of_a_server_stay() -> None:
    server = Server()
    for number, name in enumerate(
        (*NAMES, *(f"{name}_2" for name in NAMES), *map(str, range(9)))
    ):
        server.databases[name] = {"orders", f"lease{number}"}
        server.comments[name] = ("made by somebody", "tierbench", "")[number % 3]
    others = copy.deepcopy((server.databases, server.comments))
    for number in range(CAMPAIGNS):
        with running(server, of_others(may_drop="tierbench")):
            assert len(server.databases) > len(others[0])
            interrupted = SimpleNamespace(**vars(copy.deepcopy(server)))
        if number % 2:  # what one that was killed has left
            server.databases, server.comments = (
                interrupted.databases,
                interrupted.comments,
            )
    with running(server, of_others(may_drop="tierbench")):
        pass
    assert (server.databases, server.comments) == others


def test_folders_beside_ours_stay(engine: Engine, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    kept = [tmp_path / f"{name}/file" for name in NAMES]
    kept += [
        cache / f"{name}/file" for name in ("tierbench-of-others", "mine", "images")
    ]
    for file in kept:
        file.parent.mkdir(parents=True)
        file.write_text("of somebody else")
    for _ in range(CAMPAIGNS):
        app = an_app(cache, connect=lambda *_: engine.platform())
        assert tierbench(app, "clean", "--yes") == 0
    assert [file.read_text() for file in kept] == ["of somebody else"] * len(kept)
