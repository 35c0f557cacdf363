"""The Kubernetes platform without Kubernetes: what it asks of the API server, and what it makes of
answers. The client library and the connections are real; behind them is `tests/fake_cluster.py`.
"""

from __future__ import annotations

import hashlib
import ssl
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import urllib3
from kubernetes.stream import ws_client

from orchestrator.collectors import collectors
from orchestrator.errors import NodeError, RunError, UnavailableError
from orchestrator.model import Cluster, Node, Placing
from orchestrator.parts import Disks
from orchestrator.platforms.common import lifecycle
from orchestrator.platforms.common.claims import RentsVolumes, VolumeSource
from orchestrator.platforms.common.machines import told
from orchestrator.platforms.kubernetes import pods
from orchestrator.platforms.kubernetes.engine import KubernetesPlatform
from orchestrator.platforms.kubernetes.space import BEAT, PROCESS, ours
from orchestrator.powers import ContainerEntry, ContainerSpec, Mount
from orchestrator.run.telemetry import machines_of, sampling, watched
from orchestrator.system import at_once
from orchestrator.system.clock import SystemClock, wait_until
from tests.agents import Agents
from tests.fake_cluster import FakeCluster, end

IMAGE = "debian:trixie-slim"


@pytest.fixture
def platform(cluster: FakeCluster) -> Iterator[KubernetesPlatform]:
    connected = KubernetesPlatform(SystemClock())
    with connected.guard.held():
        yield connected
    assert cluster.names("namespaces") == [] and cluster.names("pods") == []


def spec(name: str = "runs", **more: Any) -> ContainerSpec:
    return ContainerSpec(name, IMAGE, ("infinity",), "client", entrypoint=("sleep",), **more)


# ------------------------------------------------------------------ commands


def test_a_password_is_in_no_address(platform: KubernetesPlatform, cluster: FakeCluster) -> None:
    with platform.running(spec(environment={"PGPASSWORD": "of-the-pod"})):
        platform.container("runs").exec(
            ("true",), timeout_s=20, env={"PGPASSWORD": "of-the-command"}
        )
        assert cluster.names("secrets") == ["runs"]
        pods = [thing for path, thing in cluster.things.items() if path.endswith("/pods/runs")]
    assert "of-the" not in str(pods) and "of-the" not in str(cluster.calls)
    assert cluster.names("secrets") == []


def test_a_connection_that_was_not_made_is_tried_again(
    platform: KubernetesPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = ws_client.create_websocket
    refused: list[OSError] = [ssl.SSLError("unexpected message"), ConnectionRefusedError()]

    def connected(*arguments: Any) -> Any:
        if refused:
            raise refused.pop()
        return connect(*arguments)

    with platform.running(spec()):
        monkeypatch.setattr(ws_client, "create_websocket", connected)
        assert platform.container("runs").exec(("true",), timeout_s=20).exit_code == 0


@pytest.mark.parametrize("unconnected", [True, False])
def test_only_what_cannot_have_been_made_is_made_again(
    platform: KubernetesPlatform, monkeypatch: pytest.MonkeyPatch, unconnected: bool
) -> None:
    client = platform._api._client
    failed: list[str] = []
    call = client.call_api
    reason = (
        urllib3.exceptions.SSLError("unexpected message")
        if unconnected
        else urllib3.exceptions.ProtocolError("connection aborted")
    )

    def flaky(method: str, *arguments: Any, **more: Any) -> Any:
        if method == "POST" and not failed:
            failed.append(method)
            raise urllib3.exceptions.MaxRetryError(Mock(), "/", reason)
        return call(method, *arguments, **more)

    monkeypatch.setattr(client, "call_api", flaky)
    if not unconnected:
        with pytest.raises(UnavailableError, match="connection aborted"), platform.running(spec()):
            pass
    with platform.running(spec()):
        assert platform.container("runs").state() == "running"


def test_a_command_whose_connection_was_cut_is_not_begun_again(
    platform: KubernetesPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def cut(*arguments: Any) -> Any:
        tried.append(arguments)
        raise ConnectionResetError

    with platform.running(spec()):
        monkeypatch.setattr(ws_client, "create_websocket", cut)
        with pytest.raises(UnavailableError, match="does not answer"):
            platform.container("runs").exec(("true",), timeout_s=20)
    assert len(tried) == 1


def test_a_death_while_a_command_runs(platform: KubernetesPlatform, cluster: FakeCluster) -> None:
    with platform.running(spec()), platform.running(spec("node")):
        path = next(path for path in cluster.things if path.endswith("/pods/node"))
        end(cluster.things[path], 137, "OOMKilled")
        with pytest.raises(NodeError, match=r"node died .*exit 137, out of memory"):
            platform.container("runs").exec(
                ("sleep", "20"), timeout_s=30, watch=(platform.container("node"),)
            )


@pytest.mark.parametrize(("watched", "said"), [("node", "node died .*"), ("runs", "runs is ")])
def test_a_machine_that_is_lost_while_a_command_runs(
    platform: KubernetesPlatform, cluster: FakeCluster, watched: str, said: str
) -> None:
    """Kubernetes calls its pods running for minutes more."""
    words = r"lost \(its machine vm-0 is not ready since 2026-01-01T00:00:16Z: Kubelet stopped"
    with platform.running(spec()), platform.running(spec("node")):
        path = next(path for path in cluster.things if path.endswith(f"/pods/{watched}"))
        other = next(path for path in cluster.things if path.endswith("/pods/node"))
        assert platform.container(watched).state() == "running"
        if watched == "runs":
            cluster.things[other]["spec"]["nodeName"] = "vm-1"
        cluster.lose("vm-0")
        with pytest.raises(NodeError, match=said + words):
            platform.container("runs").exec(
                ("sleep", "20"), timeout_s=30, watch=(platform.container("node"),)
            )
        assert (
            platform.container(watched).logs() == "" and ("GET", f"{path}/log") not in cluster.calls
        )
    assert ("DELETE", path) in cluster.calls


def test_a_machine_that_is_lost_while_its_pod_is_removed(
    platform: KubernetesPlatform, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed, tried = cluster.removed, list[str]()

    def kept_once(path: str) -> tuple[int, dict[str, Any]]:
        if path.endswith("/pods/runs") and not tried:
            tried.append(path)
            cluster.lose("vm-0")
            return 200, {"status": "Success"}  # the kubelet would end it, and never does
        return removed(path)

    with platform.running(spec()):
        monkeypatch.setattr(cluster, "removed", kept_once)
    assert tried and "runs" not in cluster.names("pods")


def test_files_are_carried_in_before_it_begins_and_out_after_each_command(
    platform: KubernetesPlatform, cluster: FakeCluster, tmp_path: Path
) -> None:
    given, out = tmp_path / "given", tmp_path / "out"
    given.mkdir()
    out.mkdir()
    (given / "load.lua").write_text("first")
    mounts = (Mount(str(given), "/given", read_only=True), Mount(str(out), "/out"))
    with platform.running(spec(mounts=mounts)):
        assert (cluster.folder / "carried" / "0" / "load.lua").read_text() == "first"
        (given / "load.lua").write_text("second")
        script = (
            "cat /carried/0/load.lua; head -c 600000 /dev/urandom | tee /carried/1/raw | md5sum"
        )
        done = platform.container("runs").exec(("sh", "-c", script), timeout_s=30)
        assert done.out.startswith("second")
        assert hashlib.md5((out / "raw").read_bytes()).hexdigest() in done.out
        (cluster.folder / "carried" / "1" / "late").write_text("written by main")
    assert (out / "late").read_text() == "written by main"


# ------------------------------------------------------------------ up and down


def test_a_container_runs_to_its_end(platform: KubernetesPlatform, cluster: FakeCluster) -> None:
    cluster.started = lambda pod: end(pod, 3)
    done = platform.once(spec(), timeout_s=20)
    assert (done.exit_code, done.out) == (3, "a log\n")


def test_a_container_that_stops_at_once(platform: KubernetesPlatform, cluster: FakeCluster) -> None:
    cluster.started = lambda pod: end(pod, 1)
    with (
        pytest.raises(NodeError, match=r"stopped as soon as it was started: exited \(exit 1\)"),
        platform.running(spec()),
    ):
        pass


def test_nodes_are_told_apart_from_clients(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    with platform.network("net", 2) as network, platform.running(spec(network="net")):
        assert network.addresses == ("node-1.nodes", "node-2.nodes")
        assert cluster.names("services") == ["nodes"]
        assert platform.find_containers("client") == (ContainerEntry("runs", "", "running"),)
        assert platform.container("runs").find_machine().name == "vm-0"
    assert [machine.name for machine in platform.machines()] == ["vm-0", "vm-1"]


def test_nodes_that_start_at_once_keep_away_from_each_other_while_there_are_machines(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    def scheduled(pod: dict[str, Any]) -> None:
        needed = pod["spec"]["affinity"].get("nodeAffinity")
        pod["spec"]["nodeName"] = "vm-1" if "vm-0" in str(needed) else "vm-0"
        assert not ("vm-1" in str(needed) and "vm-0" in str(needed)), "no machine is left"

    cluster.started = scheduled
    specs = [spec(f"node-{number}", placement=f"node-{number}") for number in (1, 2, 3)]
    with at_once.entered([platform.running(one) for one in specs]):
        machines = [platform.container(one.name).find_machine().name for one in specs]
    assert sorted(machines) in (["vm-0", "vm-0", "vm-1"], ["vm-0", "vm-1", "vm-1"])


def asked(cluster: FakeCluster) -> list[str]:
    """What was read since the calls were cleared; a campaign's signs of life are written."""
    return [path for method, path in cluster.calls if method == "GET"]


def test_no_tick_asks_the_cluster(platform: KubernetesPlatform, cluster: FakeCluster) -> None:
    """Nodes are looked for on their machines, which real agents read; of one node the machine is
    not known, and nobody is asked for it again and again."""
    agents = Agents()
    platform._agents |= {name: agents.machine(name) for name in ("vm-0", "vm-1")}
    with platform.running(spec()), platform.running(spec("client")):
        nodes = watched(
            Cluster("postgresql", "", (Node("n", "database", container="runs", device="sdb",
                                            container_id="0123"),), (), "network"),
            Disks((), {}),
            (Node("client", "client", container="client", container_id="0123"),
             Node("lost", "client", container="gone", container_id="0123")),
            platform,
        )  # fmt: skip
        assert [node.machine for node in nodes] == ["vm-0", "vm-0", "", "vm-0"]
        machines = machines_of(nodes, platform.machines())
        cluster.calls.clear()
        with sampling(nodes, collectors(platform), SystemClock(), machines, 0.01) as readings:
            while readings.ticks < 3:
                SystemClock().sleep(0.01)
        assert asked(cluster) == [] and "lost: no machine ''" in str(readings.misses)
        assert any(sample.node == "host" for sample in readings.samples())


def test_the_type_of_a_machine_is_that_of_its_label(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    cluster.add_machine("vm-2")
    labels = cluster.things["/api/v1/nodes/vm-2"]["metadata"]["labels"]
    labels["node.kubernetes.io/instance-type"] = "Standard_D8s_v5"
    platform.placement.find_machines()
    types = [told(machine).instance_type for machine in platform.machines()]
    assert types == ["", "", "Standard_D8s_v5"]


def test_the_machine_of_a_pod_is_asked_for_once_and_never_guessed(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    def on_a_new_machine(pod: Any) -> None:
        cluster.add_machine("vm-2")
        pod["spec"]["nodeName"] = "vm-2"

    with pytest.raises(RunError, match="runs: no machine is known"):
        platform.container("runs").find_machine()
    cluster.started = on_a_new_machine
    with platform.running(spec()):
        assert platform.container("runs").find_machine().name == "vm-2"
        assert [machine.name for machine in platform.machines()] == ["vm-0", "vm-1", "vm-2"]
        cluster.calls.clear()
        assert platform.container("runs").find_machine().name == "vm-2" and asked(cluster) == []
    with pytest.raises(RunError, match="runs: no machine is known"):
        platform.container("runs").find_machine()


def test_a_volume_of_a_device_is_on_the_machine_of_its_placement(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    with platform.running(spec("disk", placement="node-1")):
        with platform.volume("data", "/dev/loop9", "xfs", "node-1"):
            (volume,) = (
                thing for path, thing in cluster.things.items() if "/persistentvolumes/" in path
            )
            assert volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] == [
                {
                    "matchExpressions": [
                        {"key": "kubernetes.io/hostname", "operator": "In", "values": ["vm-0"]}
                    ]
                }
            ]
            assert cluster.names("persistentvolumeclaims") == ["data"]
            asked = [
                (method, path.split("/")[-2 if method == "GET" else -1])
                for method, path in cluster.calls
                if "/persistentvolume" in path and method != "DELETE"
            ]
            # A claim that the cluster sees before its volume is looked at again after 15 s.
            volumes, claims = "persistentvolumes", "persistentvolumeclaims"
            assert asked[-4:] == [
                *(("POST", volumes), ("GET", volumes), ("POST", claims), ("GET", claims))
            ]
        assert cluster.names("persistentvolumes") == []
        with (
            pytest.raises(UnavailableError, match="not known on which"),
            platform.volume("data", "/dev/loop9", "xfs"),
        ):
            pass


def test_without_a_device_the_default_class_is_asked_if_there_is_one(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    with platform.volume("plain", "", ""):
        assert cluster.names("persistentvolumeclaims") == []
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    cluster.things["/apis/storage.k8s.io/v1/storageclasses/standard"] = {
        "metadata": {"name": "standard", "annotations": default},
        "provisioner": "disk.csi.example",
    }
    with platform.volume("plain", "", ""):
        assert cluster.names("persistentvolumeclaims") == ["plain"]
    assert cluster.names("persistentvolumeclaims") == []


def test_it_has_the_power_of_claims(platform: KubernetesPlatform) -> None:
    assert isinstance(platform, RentsVolumes)
    with (
        pytest.raises(UnavailableError, match="no storage class premium"),
        platform.claims.claim("a", "premium", 2**30),
    ):
        pass


def test_a_class_of_others_is_left_alone(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    path = "/apis/storage.k8s.io/v1/storageclasses/fast"
    cluster.things[path] = {"metadata": {"name": "fast"}, "provisioner": "theirs"}
    manifest = {"metadata": {"name": "fast"}, "provisioner": "ours"}
    with (
        pytest.raises(UnavailableError, match="did not make"),
        platform.claims.storage_class(manifest),
    ):
        pass
    assert cluster.things.pop(path)["provisioner"] == "theirs"
    with platform.claims.storage_class(manifest) as made:
        assert (made.name, made.provisioner) == ("fast", "ours")
    assert cluster.names("storageclasses") == []


# ------------------------------------------------------------------ refusals


def test_a_quota_that_is_exceeded_leaves_nothing(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    said = 'pods "runs" is forbidden: exceeded quota: small, requested: requests.cpu=2'
    cluster.refusals[("POST", "/pods")] = (403, said)
    with pytest.raises(UnavailableError, match="quota of the namespace is exceeded"):
        platform.once(spec(environment={"PASSWORD": "x"}), timeout_s=20)
    assert cluster.names("secrets") == []


def test_an_image_that_is_missing(
    platform: KubernetesPlatform, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pods, "_TOLD_S", 0.0)

    def waits(pod: dict[str, Any]) -> None:
        for status in pod["status"]["containerStatuses"]:
            status["state"] = {"waiting": {"reason": "ErrImageNeverPull", "message": "not here"}}

    cluster.started = waits
    with pytest.raises(UnavailableError, match=r"cannot be pulled .*not here"):
        platform.once(spec(), timeout_s=20)
    assert platform.images.present(IMAGE) and not platform.images.present("no.such/image:1")
    with pytest.raises(UnavailableError, match="builds no images"):
        platform.images.build("docker/client", "tierbench/client:1", print)


def test_no_right_to_make_namespaces(cluster: FakeCluster) -> None:
    cluster.refusals[("POST", "/namespaces")] = (403, "namespaces is forbidden")
    connected = KubernetesPlatform(SystemClock())
    with pytest.raises(UnavailableError, match="may not make one"), connected.guard.held():
        pass


def test_no_cluster_is_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(UnavailableError, match="no Kubernetes cluster is configured"):
        KubernetesPlatform(SystemClock())


def test_a_pull_secret_is_copied_from_the_contexts_namespace(cluster: FakeCluster) -> None:
    folder = "/api/v1/namespaces/default/secrets"
    cluster.things[f"{folder}/registry"] = {
        "metadata": {"name": "registry"},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": "e30="},
    }
    connected = KubernetesPlatform(SystemClock(), Placing(image_pull_secrets=("registry",)))
    with connected.guard.held():
        assert cluster.names("secrets") == ["registry", "registry"]
    assert cluster.names("secrets") == ["registry"]


# ------------------------------------------------------------------ other campaigns


def namespace(campaign: str, **notes: str) -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"tierbench-{campaign}",
            "labels": ours(campaign),
            "annotations": notes,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        }
    }


def put(cluster: FakeCluster, campaign: str, beat_s: float) -> None:
    """A campaign of another machine, with a volume."""
    notes = {BEAT: str(round(beat_s)), PROCESS: "boot space 77 1"}
    cluster.things[f"/api/v1/namespaces/tierbench-{campaign}"] = namespace(campaign, **notes)
    cluster.things[f"/api/v1/persistentvolumes/of-{campaign}"] = {
        "metadata": {"name": f"of-{campaign}", "labels": ours(campaign)},
        "spec": {},
    }


def test_a_campaign_that_lives_is_left_alone_and_keeps_others_out(cluster: FakeCluster) -> None:
    put(cluster, "lives0", SystemClock().now() - 20)
    connected = KubernetesPlatform(SystemClock())
    assert connected.guard.other() == "lives0"
    with (
        pytest.raises(UnavailableError, match=r"another campaign is running .*process 77"),
        connected.guard.held(),
    ):
        pass
    assert connected.sweep() == ()
    assert cluster.names("persistentvolumes") == ["of-lives0"]


def test_a_dead_campaign_is_removed_with_its_volumes(cluster: FakeCluster) -> None:
    put(cluster, "dead00", SystemClock().now() - lifecycle.DEAD_S - 20)
    other = {"metadata": {"name": "theirs"}, "spec": {}}
    cluster.things["/api/v1/persistentvolumes/theirs"] = other
    connected = KubernetesPlatform(SystemClock())
    pods = "/api/v1/namespaces/tierbench-dead00/pods"
    left = {"metadata": {"name": "node-1", "labels": ours("dead00")}, "spec": {}}
    cluster.things[f"{pods}/node-1"] = left
    assert connected.guard.other() is None
    before = dict(cluster.things)
    assert connected.sweep(only_list=True) == (
        "container node-1 of tierbench-dead00",
        "namespace tierbench-dead00",
        "volume of-dead00",
    )
    assert cluster.things == before
    assert set(connected.sweep()) == {"namespace tierbench-dead00", "volume of-dead00"}
    assert cluster.names("persistentvolumes") == ["theirs"]


def test_a_node_can_only_ask_for_what_the_machine_of_its_disk_has(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    """Of four CPUs a disk has asked for half a one, and there must be room for a client."""
    disk = replace(spec("disk-node-1", placement="node-1"), role="disk")
    assert platform.free_cpus(1) == 3.6
    with platform.running(disk):
        assert platform.free_cpus(1) == 3.1
        assert platform.free_cpus(2) == 3.1
    assert platform.free_cpus(1) == 3.6


def test_a_sweep_waits_until_rented_volumes_are_gone(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    """Their driver removes them some time after their claims; until then they cost money."""
    path = "/api/v1/persistentvolumes/pvc-1"
    spec = {"claimRef": {"namespace": platform.space.namespace}}
    rented = {"metadata": {"name": "pvc-1"}, "spec": spec}
    spec["persistentVolumeReclaimPolicy"] = "Delete"  # type: ignore[assignment]
    cluster.things[path] = rented
    driver = threading.Timer(0.7, lambda: cluster.things.pop(path))
    driver.start()
    platform.sweep()
    assert cluster.names("persistentvolumes") == []


def test_what_a_run_left_is_removed_from_the_campaigns_own_namespace(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    platform.pods.start(spec("Left_Over", environment={"PASSWORD": "x"}))
    removed = platform.sweep()
    assert len(removed) == 2 and removed[0] == "container Left_Over"
    assert platform.sweep() == () and cluster.names("namespaces") != []


# ------------------------------------------------------------------ what is rented

CLAIMS, VOLUMES = "persistentvolumeclaims", "/api/v1/persistentvolumes"
SNAPSHOTS = "/apis/snapshot.storage.k8s.io/v1"


def offers(cluster: FakeCluster, policy: str = "Delete") -> None:
    """A class `fast` with a snapshot class of its driver, both with this policy."""
    cluster.things["/apis/storage.k8s.io/v1/storageclasses/fast"] = {
        "metadata": {"name": "fast"},
        "provisioner": "disk.test",
        "reclaimPolicy": policy,
    }
    add_snapshot_class(cluster, "shots", policy)


def add_snapshot_class(cluster: FakeCluster, name: str, policy: str) -> None:
    cluster.things[f"{SNAPSHOTS}/volumesnapshotclasses/{name}"] = {
        "metadata": {"name": name},
        "driver": "disk.test",
        "deletionPolicy": policy,
    }


def bind(cluster: FakeCluster, platform: KubernetesPlatform, claim: str) -> None:
    """As a provisioner does."""
    path = f"/api/v1/namespaces/{platform.space.namespace}/{CLAIMS}/{claim}"
    cluster.things[path]["spec"]["volumeName"] = f"pv-{claim}"
    cluster.things[f"{VOLUMES}/pv-{claim}"] = {
        "metadata": {"name": f"pv-{claim}"},
        "spec": {
            "claimRef": {"namespace": platform.space.namespace, "name": claim},
            "persistentVolumeReclaimPolicy": "Delete",
        },
    }


def ready(cluster: FakeCluster, platform: KubernetesPlatform, snapshot: str) -> threading.Timer:
    """As a snapshot controller does, a moment after the snapshot is asked for."""
    path = f"{SNAPSHOTS}/namespaces/{platform.space.namespace}/volumesnapshots/{snapshot}"

    def make() -> None:
        wait_until(lambda: path in cluster.things, deadline_s=60, clock=SystemClock())
        cluster.things[f"{SNAPSHOTS}/volumesnapshotcontents/content-{snapshot}"] = {
            "metadata": {"name": f"content-{snapshot}"},
            "spec": {
                "deletionPolicy": "Delete",
                "volumeSnapshotRef": {"namespace": platform.space.namespace, "name": snapshot},
            },
        }
        cluster.things[path]["status"] = {"readyToUse": True}

    timer = threading.Timer(0.3, make)
    timer.start()
    return timer


def test_a_sweep_between_runs_keeps_what_data_sets_are_copied_from(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    offers(cluster)
    with platform.claims.claim("data-1", "fast", 2**30, stays=True):
        bind(cluster, platform, "data-1")
    with platform.claims.claim("source", "fast", 2**30):
        ready(cluster, platform, "data-2")
        with platform.claims.snapshot("data-2", "source", 10, stays=True):
            pass
    left = platform.space.path(CLAIMS, "of-a-run")
    platform._api.make(platform.space.path(CLAIMS), {"metadata": {"name": "of-a-run",
        "labels": ours(platform.campaign)}, "spec": {}})  # fmt: skip
    assert platform.sweep_between_runs() == ("claim of-a-run",)
    assert left not in cluster.things
    assert platform.claims.holds(VolumeSource("claim", "data-1"))
    assert platform.claims.holds(VolumeSource("snapshot", "data-2"))
    gone = ("persistentvolumes/pv-data-1", "volumesnapshotcontents/content-data-2")
    drivers = [threading.Timer(0.7, lambda end=end: forget(cluster, end)) for end in gone]
    for driver in drivers:
        driver.start()
    assert set(platform.sweep()) == {"claim data-1", "snapshot data-2"}
    assert not any(path.endswith(gone) for path in cluster.things), "it waits for the disks"
    assert not platform.claims.holds(VolumeSource("claim", "data-1"))


def forget(cluster: FakeCluster, end: str) -> None:
    with cluster.lock:
        for path in [path for path in cluster.things if path.endswith(end)]:
            del cluster.things[path]


def test_the_policies_of_classes_are_told(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    offers(cluster, "Retain")
    assert [one.retains for one in platform.claims.storage_classes()] == [True]
    found = platform.claims.snapshot_class("disk.test")
    assert found is not None and (found.name, found.retains) == ("shots", True)
    add_snapshot_class(cluster, "tidy", "Delete")
    found = platform.claims.snapshot_class("disk.test")
    assert found is not None and (found.name, found.retains) == ("tidy", False), "rather that"


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
def test_a_default_class_that_keeps_its_volumes_is_refused(
    platform: KubernetesPlatform, cluster: FakeCluster, policy: str
) -> None:
    """Nodes whose disks are not declared would be given one of it for each run."""
    offers(cluster, policy)
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    path = "/apis/storage.k8s.io/v1/storageclasses/fast"
    cluster.things[path]["metadata"]["annotations"] = default
    if policy == "Delete":
        with platform.volume("data", "", "xfs"):
            assert cluster.names(CLAIMS) == ["data"]
        return
    with (
        pytest.raises(UnavailableError, match="default storage class fast keeps its volumes") as no,
        platform.volume("data", "", "xfs"),
    ):
        pass
    assert "whose reclaimPolicy is Delete" in no.value.advice and cluster.names(CLAIMS) == []


def test_volumes_that_outlive_their_claims_are_told_at_the_end(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    offers(cluster, "Retain")
    with platform.claims.claim("data", "fast", 2**30):
        bind(cluster, platform, "data")
        spec = cluster.things[f"{VOLUMES}/pv-data"]["spec"]
        spec["persistentVolumeReclaimPolicy"] = "Retain"
    theirs = {"claimRef": {"namespace": "theirs", "name": "data"}}
    policy = {"persistentVolumeReclaimPolicy": "Retain"}
    cluster.things[f"{VOLUMES}/theirs"] = {"metadata": {"name": "theirs"}, "spec": theirs | policy}
    platform.sweep()
    assert platform.claims.retained() == ("pv-data",)


def test_snapshots_are_not_made_where_it_cannot_be_seen_whether_they_go(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    offers(cluster)
    cluster.refusals[("GET", "/volumesnapshotcontents")] = (403, "is forbidden")
    with (
        platform.claims.claim("source", "fast", 2**30),
        pytest.raises(UnavailableError, match="not allowed"),
        platform.claims.snapshot("data", "source", 10),
    ):
        pass
    assert cluster.names("volumesnapshots") == []
    assert platform.sweep() == ()
