"""The Kubernetes platform without Kubernetes: what it asks of the API server, and what it makes of
answers. The client library and the connections are real; behind them is `tests/fake_cluster.py`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.collectors import collectors
from orchestrator.errors import NodeError, RunError, UnavailableError
from orchestrator.model import Cluster, Node, Placing
from orchestrator.parts import Disks
from orchestrator.platforms.common import lifecycle
from orchestrator.platforms.common.machines import told
from orchestrator.platforms.kubernetes import pods
from orchestrator.platforms.kubernetes.engine import KubernetesPlatform
from orchestrator.platforms.kubernetes.space import BEAT, PROCESS, ours
from orchestrator.powers import ContainerEntry
from orchestrator.run.telemetry import machines_of, sampling, watched
from orchestrator.system import at_once
from orchestrator.system.clock import SystemClock
from tests.agents import Agents
from tests.fake_cluster import IMAGE, FakeCluster, end, spec

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
    assert platform.free_cpus(1) == 3.7
    with platform.running(disk):
        assert platform.free_cpus(1) == 3.2
        assert platform.free_cpus(2) == 3.2
    assert platform.free_cpus(1) == 3.7


def test_what_a_run_left_is_removed_from_the_campaigns_own_namespace(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    platform.pods.start(spec("Left_Over", environment={"PASSWORD": "x"}))
    removed = platform.sweep()
    assert len(removed) == 2 and removed[0] == "container Left_Over"
    assert platform.sweep() == () and cluster.names("namespaces") != []
