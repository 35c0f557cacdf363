"""The Kubernetes platform without Kubernetes: what it asks of the API server, and what it makes of
answers. The client library and the connections are real; behind them is `tests/fake_cluster.py`.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.collectors import collectors
from orchestrator.errors import (
    GuardLostError,
    LeftBehindError,
    NodeError,
    RunError,
    UnavailableError,
    UsageError,
)
from orchestrator.extensions.kubernetes import manifests
from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.extensions.kubernetes.space import HOST, PROCESS, ours
from orchestrator.model import Cluster, Node, Placing
from orchestrator.parts import Disks
from orchestrator.platforms.common import lifecycle
from orchestrator.powers import RUNNING, ContainerEntry
from orchestrator.run.record.telemetry import machines_of, sampling, watched
from orchestrator.system import at_once
from orchestrator.system.clock import SystemClock
from tests.agents import Agents
from tests.clocks import HastyClock
from tests.fake_cluster import IMAGE, FakeCluster, end, spec

# ------------------------------------------------------------------ up and down


def test_a_container_runs_to_its_end(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    cluster.started = lambda pod: end(pod, 3)
    done = platform.once(spec(), timeout_s=20)
    assert (done.exit_code, done.out) == (3, "a log\n")


def test_one_on_a_machine_that_is_lost_is_not_waited_for(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    cluster.started = lambda _: cluster.lose("vm-0")
    with pytest.raises(NodeError, match=r"runs is lost \(its machine vm-0"):
        platform.once(spec(), timeout_s=60)


def test_a_container_that_stops_at_once(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    cluster.started = lambda pod: end(pod, 1)
    with (
        pytest.raises(
            NodeError, match=r"stopped as soon as it was started: exited \(exit 1\)"
        ),
        platform.running(spec()),
    ):
        pass


def test_nodes_are_told_apart_from_clients(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    with platform.network("net", 2) as network, platform.running(spec(network="net")):
        assert network.addresses == ("node-1.nodes", "node-2.nodes")
        assert cluster.names("services") == ["nodes"]
        assert platform.find_containers("client") == (
            ContainerEntry("runs", "", RUNNING),
        )
        assert platform.container("runs").find_machine().name == "vm-0"
    assert [machine.name for machine in platform.machines()] == ["vm-0", "vm-1"]


def test_nodes_that_start_at_once_keep_away_from_each_other_while_there_are_machines(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    def scheduled(pod: dict[str, Any]) -> None:
        needed = pod["spec"]["affinity"].get("nodeAffinity")
        pod["spec"]["nodeName"] = "vm-1" if "vm-0" in str(needed) else "vm-0"
        assert not ("vm-1" in str(needed) and "vm-0" in str(needed)), (
            "no machine is left"
        )

    cluster.started = scheduled
    specs = [spec(f"node-{number}", placement=f"node-{number}") for number in (1, 2, 3)]
    with at_once.entered([platform.running(one) for one in specs]):
        machines = [platform.container(one.name).find_machine().name for one in specs]
    assert sorted(machines) in (["vm-0", "vm-0", "vm-1"], ["vm-0", "vm-1", "vm-1"])


def asked(cluster: FakeCluster) -> list[str]:
    """What was read since the calls were cleared; a campaign's signs of life are written."""
    return [path for method, path in cluster.calls if method == "GET"]


def test_no_tick_asks_the_cluster(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
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
        with sampling(
            nodes, collectors(platform), SystemClock(), machines, 0.01
        ) as readings:
            while readings.ticks < 3:
                SystemClock().sleep(0.01)
        assert asked(cluster) == [] and "lost: the machine '' is not known" in str(
            readings.misses
        )
        assert any(sample.node == "host" for sample in readings.samples())


def test_the_type_of_a_machine_is_that_of_its_label(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    cluster.add_machine("vm-2")
    labels = cluster.things["/api/v1/nodes/vm-2"]["metadata"]["labels"]
    labels["node.kubernetes.io/instance-type"] = "Standard_D8s_v5"
    platform.placement.find_machines()
    told = [machine.facts_told for machine in platform.machines()]
    types = [facts.instance_type for facts in told if facts is not None]
    assert types == ["", "", "Standard_D8s_v5"]


def test_the_machine_of_a_pod_is_asked_for_once_and_never_guessed(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    def on_a_new_machine(pod: Any) -> None:
        cluster.add_machine("vm-2")
        pod["spec"]["nodeName"] = "vm-2"

    with pytest.raises(RunError, match="runs: it is not known which machine"):
        platform.container("runs").find_machine()
    cluster.started = on_a_new_machine
    with platform.running(spec()):
        assert platform.container("runs").find_machine().name == "vm-2"
        assert [machine.name for machine in platform.machines()] == [
            "vm-0",
            "vm-1",
            "vm-2",
        ]
        cluster.calls.clear()
        assert (
            platform.container("runs").find_machine().name == "vm-2"
            and asked(cluster) == []
        )
    with pytest.raises(RunError, match="runs: it is not known which machine"):
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
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    def waits(pod: dict[str, Any]) -> None:
        for status in pod["status"]["containerStatuses"]:
            status["state"] = {
                "waiting": {"reason": "ErrImageNeverPull", "message": "not here"}
            }

    cluster.started = waits
    with pytest.raises(UnavailableError, match=r"cannot be pulled .*not here"):
        platform.once(spec(), timeout_s=20)
    assert platform.images.present(IMAGE) and not platform.images.present(
        "no.such/image:1"
    )
    with pytest.raises(UnavailableError, match="builds no images"):
        platform.images.build("docker/client", "tierbench/client:1", print)


def test_no_right_to_make_namespaces(cluster: FakeCluster) -> None:
    cluster.refusals[("POST", "/namespaces")] = (403, "namespaces is forbidden")
    connected = KubernetesPlatform(SystemClock())
    with (
        pytest.raises(UnavailableError, match="may not make one"),
        connected.guard.held(),
    ):
        pass


def test_no_cluster_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(UnavailableError, match="no Kubernetes cluster is configured"):
        KubernetesPlatform(SystemClock())


def test_a_pull_secret_is_copied_from_the_contexts_namespace(
    cluster: FakeCluster,
) -> None:
    folder = "/api/v1/namespaces/default/secrets"
    cluster.things[f"{folder}/registry"] = {
        "metadata": {"name": "registry"},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": "e30="},
    }
    connected = KubernetesPlatform(
        SystemClock(), Placing(image_pull_secrets=("registry",))
    )
    with connected.guard.held():
        assert (*connected.sweep(), *cluster.names("secrets")) == (
            "registry",
            "registry",
        )
    assert cluster.names("secrets") == ["registry"]


# ------------------------------------------------------------------ other campaigns


LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/tierbench-campaign"


def put(cluster: FakeCluster, campaign: str, beat_s: float) -> None:
    """A campaign of another machine, with a namespace and a volume."""
    notes = {PROCESS: "boot space 77 1", HOST: "vm-7"}
    lease = manifests.lease("tierbench-campaign", ours(campaign), notes, beat_s, 300)
    cluster.made(LEASE.rpartition("/")[0], lease)
    cluster.made(
        "/api/v1/namespaces",
        manifests.namespace(f"tierbench-{campaign}", ours(campaign)),
    )
    cluster.things[f"/api/v1/persistentvolumes/of-{campaign}"] = {
        "metadata": {"name": f"of-{campaign}", "labels": ours(campaign)},
        "spec": {},
    }


def test_a_campaign_that_lives_is_left_alone_and_keeps_others_out(
    cluster: FakeCluster,
) -> None:
    put(cluster, "lives0", SystemClock().now() - 20)
    connected = KubernetesPlatform(SystemClock())
    assert connected.guard.other() == "lives0"
    with (
        pytest.raises(
            UnavailableError, match=r"another campaign is running .*process 77"
        ),
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


def taken_by(cluster: FakeCluster, campaign: str) -> None:
    """Another machine has found this campaign dead."""
    cluster.things.pop(LEASE, None)
    put(cluster, campaign, SystemClock().now())


def test_a_dead_campaigns_lease_is_taken_by_one_of_two(cluster: FakeCluster) -> None:
    """Both read it at the same moment; the server refuses the slower."""
    put(cluster, "dead00", SystemClock().now() - lifecycle.DEAD_S - 20)
    first, second = KubernetesPlatform(SystemClock()), KubernetesPlatform(SystemClock())
    found, meanwhile = first._api.find, ExitStack()

    def read_late(path: str, **query: Any) -> Any:
        thing = found(path, **query)
        if (
            path == LEASE
            and second.guard.other() is None
            and not meanwhile._exit_callbacks  # type: ignore[attr-defined]
        ):
            meanwhile.enter_context(second.guard.held())
        return thing

    first._api.find = read_late  # type: ignore[method-assign]
    with (
        meanwhile,
        pytest.raises(UnavailableError, match=second.campaign),
        first.guard.held(),
    ):
        pass
    assert LEASE not in cluster.things


def test_a_lease_that_another_has_taken_is_lost_and_left_alone(
    cluster: FakeCluster,
) -> None:
    connected = KubernetesPlatform(SystemClock())
    with connected.guard.held():
        connected.guard.beats.renew()
        taken_by(cluster, "faster")
        with pytest.raises(GuardLostError, match="the campaign faster on vm-7"):
            connected.guard.beats.renew()
    assert LEASE in cluster.things and cluster.names("namespaces") == [
        "tierbench-faster"
    ]


@pytest.mark.parametrize(("status", "lost"), [(403, True), (503, False)])
def test_a_beat_is_refused_or_not_delivered(
    cluster: FakeCluster, status: int, lost: bool
) -> None:
    clock = HastyClock()
    connected = KubernetesPlatform(clock)
    with connected.guard.held(), ExitStack() as up:
        cluster.refusals[("PATCH", "/tierbench-campaign")] = (status, "said the server")
        if lost:
            up.enter_context(pytest.raises(GuardLostError, match="said the server"))
        clock.hasten(500)
        connected.guard.beats.renew()


def test_a_command_in_a_pod_ends_when_the_lease_is_lost(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    with platform.running(spec()) as pod:
        mine = cluster.things[LEASE]
        taken_by(cluster, "faster")
        with pytest.raises(GuardLostError):
            platform.guard.beats.renew()
        with pytest.raises(GuardLostError):
            pod.exec(("sleep", "30"), timeout_s=60)
    cluster.removed("/api/v1/namespaces/tierbench-faster")
    cluster.things[LEASE] = mine


# ------------------------------------------------------------------ an end of what is rented


def owners(cluster: FakeCluster, kind: str) -> list[str]:
    return [
        owner["uid"]
        for path, thing in cluster.things.items()
        if path.split("/")[-2] == kind
        for owner in thing["metadata"].get("ownerReferences") or ()
    ]


def deadline_s(cluster: FakeCluster) -> int:
    (job,) = (thing for path, thing in cluster.things.items() if "/jobs/" in path)
    return int(job["spec"]["activeDeadlineSeconds"])


def test_all_that_is_made_is_owned_by_a_job_whose_deadline_moves_with_each_beat(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERBENCH_RENT_S", "60")
    clock = SystemClock()
    platform = KubernetesPlatform(clock)
    with (
        platform.guard.held(),
        platform.network("net", 1),
        platform.running(spec(environment={"PASSWORD": "x"})),
    ):
        for kind in ("services", "secrets", "pods"):
            assert owners(cluster, kind) == [platform.space.owner["uid"]]
        assert deadline_s(cluster) == 60
        clock.sleep(2.0)
        platform.guard.beats.renew()
        assert 61 <= deadline_s(cluster) <= 70


def test_a_job_that_ended_meanwhile_is_made_anew(
    platform: KubernetesPlatform, cluster: FakeCluster
) -> None:
    """This program was cut off for long; the Lease is still its own."""
    before = platform.space.owner["uid"]
    for path in [path for path in cluster.things if "/jobs/" in path]:
        del cluster.things[path]
    platform.guard.beats.renew()
    assert platform.space.owner["uid"] != before and deadline_s(cluster) == 900


def test_what_was_rented_and_cannot_be_removed_is_said(cluster: FakeCluster) -> None:
    connected = KubernetesPlatform(SystemClock())
    with (
        pytest.raises(LeftBehindError, match="said the server") as left,
        connected.guard.held(),
    ):
        connected.space.make("claim", {"metadata": {"name": "data"}, "spec": {}})
        cluster.refusals[("DELETE", f"/{connected.space.namespace}")] = (
            403,
            "said the server",
        )
    assert connected.space.namespace in left.value.look[0]
    assert LEASE not in cluster.things, "it is in nobody's way"


def test_an_empty_namespace_that_stays_is_nothing_rented(cluster: FakeCluster) -> None:
    connected = KubernetesPlatform(SystemClock())
    with connected.guard.held():
        cluster.refusals[("DELETE", f"/{connected.space.namespace}")] = (
            403,
            "said the server",
        )


def test_a_rent_that_no_beat_could_prolong_in_time_is_refused(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERBENCH_RENT_S", "30")
    with pytest.raises(UsageError, match="TIERBENCH_RENT_S is '30'"):
        KubernetesPlatform(SystemClock())


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
