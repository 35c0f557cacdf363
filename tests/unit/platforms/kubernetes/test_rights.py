"""The rights that `doctor` looks for, that calls of the platform need, and that docs/KUBERNETES.md
asks for: they are the same. `FakeCluster.close` holds the calls of every other test against them.
"""

from __future__ import annotations

import socket
import threading

import pytest
import yaml

from orchestrator.errors import RunError
from orchestrator.model import Placing
from orchestrator.platforms.kubernetes import pods, volumes
from orchestrator.platforms.kubernetes.engine import KubernetesPlatform
from orchestrator.powers import ContainerSpec
from orchestrator.system.clock import SystemClock
from tests.documented import examples
from tests.fake_cluster import FakeCluster, rights_of_doctor

SNAPSHOTS = "/apis/snapshot.storage.k8s.io/v1"


def spec(name: str, **more: object) -> ContainerSpec:
    given: dict[str, object] = {"entrypoint": ("sleep",), "placement": "node-1", **more}
    return ContainerSpec(name, "debian:trixie-slim", ("infinity",), "database", **given)  # type: ignore[arg-type]


def test_each_right_that_is_looked_for_is_used(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that a campaign can do to a cluster, once."""
    monkeypatch.setattr(pods, "_LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(volumes, "_BINDING_S", 0.1)
    cluster.things["/api/v1/namespaces/default/secrets/registry"] = {
        "metadata": {"name": "registry"}, "type": "kubernetes.io/dockerconfigjson", "data": {},
    }  # fmt: skip
    cluster.things[f"{SNAPSHOTS}/volumesnapshotclasses/shots"] = {
        "metadata": {"name": "shots"}, "driver": "disk.test", "deletionPolicy": "Delete",
    }  # fmt: skip
    platform = KubernetesPlatform(SystemClock(), Placing(image_pull_secrets=("registry",)))
    assert platform.free_cpus(1) > 0
    with platform.guard.held(), platform.network("network", 1):
        with (
            platform.volume("disk", "/dev/loop9", "xfs", "node-1"),
            platform.running(
                spec("runs", environment={"PASSWORD": "x"}, ports={5432: None})
            ) as container,
        ):
            platform.container("runs").exec(("true",), timeout_s=20)
            with socket.create_connection(("127.0.0.1", container.ports[5432])) as connection:
                connection.recv(1)
            platform.container("runs").logs()
            platform.container("runs").stop(5)
        with pytest.raises(RunError, match="got no volume"):
            manifest = {"metadata": {"name": "fast"}, "provisioner": "disk.test"}
            with (
                platform.claims.storage_class(manifest),
                platform.claims.claim("data", "fast", 2**30),
            ):
                make_ready(cluster, platform)
                with platform.claims.snapshot("kept", "data", 10):
                    pass
                platform.claims.rented("data", 0.1)
        with platform.running(spec("lost", placement="")):
            cluster.lose("vm-0")
        platform.sweep()
        platform.guard.beats.renew()
    assert sorted(rights_of_doctor() - cluster.rights()) == []


def make_ready(cluster: FakeCluster, platform: KubernetesPlatform) -> None:
    """As a snapshot controller does, a moment after the snapshot is made."""
    path = f"{SNAPSHOTS}/namespaces/{platform.space.namespace}/volumesnapshots/kept"
    made = {"status": {"readyToUse": True}}
    threading.Timer(0.3, lambda: cluster.things[path].update(made)).start()


def test_the_documented_role_gives_what_is_looked_for_and_no_more() -> None:
    (text,) = examples("KUBERNETES.md", "Rights")
    given = set()
    for rule in yaml.safe_load(text)["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                name, _, below = resource.partition("/")
                whole = name + (f".{group}" if group else "") + (f"/{below}" if below else "")
                given |= {f"{verb} {whole}" for verb in rule["verbs"]}
    assert given == rights_of_doctor()


def test_who_may_not_see_how_many_disks_a_machine_takes_is_told_the_rest(
    cluster: FakeCluster,
) -> None:
    """The documented role does not give it: it is a hint only."""
    cluster.refusals[("GET", "/csinodes")] = (403, "is forbidden")
    found = KubernetesPlatform(SystemClock()).examine()
    assert "storage classes" in [one.subject for one in found]


def test_a_right_that_is_refused_is_said_with_what_it_is_for(cluster: FakeCluster) -> None:
    cluster.allows = lambda asked: (asked["verb"], asked["resource"]) != ("create", "namespaces")
    (refused,) = (one for one in KubernetesPlatform(SystemClock()).examine() if one.ok is False)
    assert "create" in refused.subject and "create is refused" in refused.text
