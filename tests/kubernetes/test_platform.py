"""The platform `kubernetes` on a real cluster of this machine: what Docker's does, and what only a
cluster can do wrong.

Method: the protocol of `orchestrator/powers.py`, called as the rest of the program calls it. What
must be so is read from the cluster itself, with the administrator's rights.
"""

from __future__ import annotations

import socket
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from hashlib import md5
from pathlib import Path
from typing import Any

import kubernetes
import pytest

from orchestrator.errors import NodeError, RunError, TierbenchError, UnavailableError
from orchestrator.extensions.kubernetes.engine import KubernetesPlatform
from orchestrator.extensions.kubernetes.pods import ClusterImages, Pods
from orchestrator.powers import ContainerSpec, Moment, Mount, VolumeSource
from orchestrator.system import at_once
from orchestrator.system.clock import SystemClock, wait_until
from tests.cluster import provisioner
from tests.cluster.cluster import Cluster

pytestmark = pytest.mark.kubernetes

TWENTY_MB = 20_000_000
CLASS = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"}
FAST = {**CLASS, "metadata": {"name": "tierbench-fast"}, "provisioner": "disk.test"}


@pytest.fixture
def platform(campaign: KubernetesPlatform) -> Iterator[KubernetesPlatform]:
    """A test leaves nothing."""
    campaign.placement.machine_names.clear()
    campaign.pods.start_s, campaign.images.told_s = Pods.start_s, ClusterImages.told_s
    yield campaign
    assert campaign.sweep() == ()


def sleeper(name: str, image: str, **more: Any) -> ContainerSpec:
    more = {
        "role": "client",
        "stop_timeout_s": 1,
        "command": ("-c", "sleep 1000"),
        **more,
    }
    return ContainerSpec(name=name, image=image, entrypoint=("sh",), **more)


# ------------------------------------------------------------------ containers and commands


def test_large_output_comes_whole(platform: KubernetesPlatform, debian: str) -> None:
    with platform.running(sleeper("runs", debian)) as container:
        large = container.exec(
            ("head", "-c", str(TWENTY_MB), "/dev/zero"), timeout_s=300
        )
        assert len(large.out) == TWENTY_MB
        assert container.exec(("no-such-command",), timeout_s=20).exit_code == 127


def test_a_command_past_its_time_is_ended_in_the_container(
    platform: KubernetesPlatform, debian: str
) -> None:
    with platform.running(sleeper("runs", debian)) as container:
        with pytest.raises(RunError, match="did not end within 1 s"):
            container.exec(("sleep", "777"), timeout_s=1)
        script = "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"
        assert "sleep 777" not in container.exec(("sh", "-c", script), timeout_s=20).out


def test_large_files_come_back_whole(
    platform: KubernetesPlatform, debian: str, tmp_path: Path
) -> None:
    with platform.running(
        sleeper("carries", debian, folders={"/out": {}})
    ) as container:
        script = f"head -c {TWENTY_MB} /dev/urandom > /out/big; md5sum /out/big"
        there = container.exec(("sh", "-c", script), timeout_s=60).out.split()[0]
        container.fetch("/out", tmp_path)
        assert md5((tmp_path / "big").read_bytes()).hexdigest() == there


def test_pods_that_ask_for_all_that_is_free_find_a_machine(
    platform: KubernetesPlatform, debian: str
) -> None:
    """As nodes do while data are loaded, beside what others have asked for."""
    other = sleeper("other", debian, cpus=0.3, placement="node-1")
    with platform.running(other):
        cpus = platform.free_cpus(3)
        assert 0 < cpus <= platform.machines()[0].facts().cpus - 0.3
        nodes = [
            sleeper(f"n{k}", debian, cpus=cpus, placement=f"node-{k}")
            for k in (1, 2, 3)
        ]
        with at_once.entered([platform.running(node) for node in nodes]):
            assert platform.free_cpus(3) < 0.2


@pytest.mark.slow
def test_a_lost_machine_is_seen_as_soon_as_the_cluster_knows(
    platform: KubernetesPlatform, cluster: Cluster, debian: str
) -> None:
    """Long before its pods are evicted; and nothing waits for what it cannot say any more."""
    clock = SystemClock()

    def run() -> Moment:
        """Returns when the loss was seen."""
        with (
            platform.running(sleeper("watched", debian, placement="node-1")),
            platform.running(sleeper("client", debian, placement="client-1")),
        ):
            machine = platform.container("watched").find_machine().name
            (node,) = [one for one in cluster.nodes if one.name == machine]
            losing = threading.Timer(2.0, cluster.kill, (node,))
            losing.start()
            argv = ("sleep", "300")
            with pytest.raises(
                NodeError, match=r"lost \(its machine .* is not ready since 20"
            ):
                platform.container("client").exec(
                    argv, timeout_s=300, watch=(platform.container("watched"),)
                )
            losing.join()
            killed.append(node)
            return clock.monotonic()

    killed: list[Any] = []
    began = clock.monotonic()
    seen = run()
    removed = clock.monotonic()
    cluster.again(killed[0])
    assert wait_until(
        lambda: killed[0].name in cluster.ready(),
        deadline_s=90,
        clock=clock,
        every_s=0.5,
    )
    assert seen - began < 60, "the cluster itself is told to take 16 s"
    assert removed - seen < 20


def test_out_of_memory(platform: KubernetesPlatform, debian: str) -> None:
    eats = "sleep 2; head -c 300000000 /dev/zero | tail -c 200000000 > /dev/null"
    spec = sleeper(
        "eats", debian, command=("-c", eats), memory_bytes=40 * 2**20, cpus=0.2
    )
    with platform.running(spec):
        assert wait_until(
            lambda: platform.container("eats").state().words != "running",
            deadline_s=60,
            clock=SystemClock(),
        )
        assert (
            platform.container("eats").state().words
            == "exited (exit 137, out of memory)"
        )


# ------------------------------------------------------------------ machines, network, volumes


def test_nodes_have_names_and_machines_of_their_own(
    platform: KubernetesPlatform, debian: str
) -> None:
    def node(number: int, placement: str) -> ContainerSpec:
        return sleeper(
            f"node-{number}",
            debian,
            network="cluster",
            address=f"node-{number}.nodes",
            placement=placement,
        )

    client = sleeper("client", debian, network="cluster", placement="client-1")
    others = (node(2, "node-2"), node(3, "node-1"), client)
    with (
        platform.network("cluster", 2) as network,
        platform.running(node(1, "node-1")),
        at_once.entered([platform.running(one) for one in others]),
    ):
        assert network.addresses == ("node-1.nodes", "node-2.nodes")
        machines = {
            name: platform.container(name).find_machine().name
            for name in ("node-1", "node-2")
        }
        assert len(set(machines.values())) == 2
        assert platform.container("node-3").find_machine().name == machines["node-1"]
        assert platform.container("client").find_machine().name not in machines.values()
        for name in ("node-1", "node-2", "client"):
            done = platform.container(name).exec(
                ("getent", "hosts", "node-2.nodes"), timeout_s=20
            )
            assert done.exit_code == 0
    assert len(platform.machines()) == 3


def test_nodes_that_start_at_once_have_machines_of_their_own_while_there_are_some(
    platform: KubernetesPlatform, debian: str
) -> None:
    four = [sleeper(f"node-{n}", debian, placement=f"node-{n}") for n in range(1, 5)]
    with at_once.entered([platform.running(one) for one in four]):
        machines = [platform.container(one.name).find_machine().name for one in four]
    assert sorted(Counter(machines).values()) == [1, 1, 2]


def test_a_volume_of_a_device_is_mounted_and_removed(
    platform: KubernetesPlatform, debian: str, core: Any, tmp_path: Path
) -> None:
    image = tmp_path / "disk.img"
    with image.open("wb") as file:
        file.truncate(400 * 2**20)
    attach = ["losetup", "--find", "--show", str(image)]
    device = subprocess.run(
        attach, capture_output=True, text=True, check=True
    ).stdout.strip()
    try:
        with platform.volume("disk", device, "xfs", "node-1") as volume:
            mounts = (Mount(volume, "/data"),)
            spec = sleeper("uses", debian, mounts=mounts, placement="node-1")
            for script in (
                "echo kept > /data/file",
                "cat /data/file; grep ' /data ' /proc/mounts",
            ):
                with platform.running(spec):
                    out = (
                        platform.container("uses")
                        .exec(("sh", "-c", script), timeout_s=20)
                        .out
                    )
            assert out.startswith("kept\n") and "nouuid" in out and "noatime" in out
            assert (
                len(core.list_persistent_volume(label_selector="tierbench=1").items)
                == 1
            )
        assert core.list_persistent_volume(label_selector="tierbench=1").items == []
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


def test_claims_of_a_class_and_copies_of_them(
    platform: KubernetesPlatform, debian: str, core: Any
) -> None:
    manifest = {
        **FAST,
        "parameters": {"csi.storage.k8s.io/fstype": "xfs"},
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    size = 400 * 2**20

    def with_claim(name: str, script: str) -> str:
        spec = sleeper(
            "uses", debian, mounts=(Mount(name, "/data"),), placement="node-1"
        )
        with platform.running(spec):
            return (
                platform.container("uses").exec(("sh", "-c", script), timeout_s=20).out
            )

    with platform.claims.storage_class(manifest) as made:
        assert made.waits and made.provisioner == "disk.test"
        assert made.name in [one.name for one in platform.claims.storage_classes()]
        with platform.claims.claim("first", made.name, size) as claim:
            assert with_claim(claim, "echo loaded > /data/file; sync") == ""
            rented = platform.claims.rented(claim, timeout_s=30)
            assert (rented.size_bytes, rented.driver) == (size, "disk.test")
            with platform.claims.claim(
                "copy", made.name, size, VolumeSource("claim", claim)
            ) as copy:
                assert with_claim(copy, "cat /data/file") == "loaded\n"
        assert core.list_persistent_volume().items == []


def test_snapshots(platform: KubernetesPlatform, debian: str, cluster: Cluster) -> None:
    snapshot_class = {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshotClass",
        "metadata": {"name": "test-snapshots"},
        "driver": provisioner.NAME,
        "deletionPolicy": "Delete",
    }
    group = ("snapshot.storage.k8s.io", "v1", "volumesnapshotclasses")
    custom = kubernetes.client.CustomObjectsApi(cluster.api)
    with platform.claims.storage_class(FAST) as made:
        assert platform.claims.snapshot_class(made.provisioner) is None
        custom.create_cluster_custom_object(*group, snapshot_class)
        try:
            assert platform.claims.snapshot_class(made.provisioner) is not None
        finally:
            custom.delete_cluster_custom_object(*group, "test-snapshots")


# ------------------------------------------------------------------ what goes wrong


@pytest.mark.slow
def test_an_image_that_cannot_be_pulled(platform: KubernetesPlatform) -> None:
    platform.images.told_s = 2.0
    image = (
        "127.0.0.1:1/image:1"  # where nobody listens: a name would be looked for first
    )
    assert not platform.images.present(image)
    with pytest.raises(UnavailableError, match="cannot be pulled") as caught:
        platform.once(ContainerSpec("missing", image, (), "client"), 60)
    assert "TIERBENCH_REGISTRY" in caught.value.advice
    assert platform.container("missing").state().words == "gone"


def test_more_than_any_machine_has(platform: KubernetesPlatform, debian: str) -> None:
    platform.pods.start_s = 3
    with pytest.raises(UnavailableError, match="Insufficient cpu"):
        platform.once(sleeper("large", debian, cpus=1000), 60)


def test_a_quota_that_is_exceeded(
    platform: KubernetesPlatform, debian: str, core: Any
) -> None:
    quota = {"metadata": {"name": "small"}, "spec": {"hard": {"requests.cpu": "1"}}}
    asks = {
        "name": "asks",
        "image": debian,
        "resources": {"requests": {"cpu": "1500m"}},
    }

    def refused() -> bool:  # the API server may not see a new quota for up to 30 s
        try:
            pod = {"metadata": {"name": "asks"}, "spec": {"containers": [asks]}}
            return not core.create_namespaced_pod(
                platform.space.namespace, pod, dry_run="All"
            )
        except kubernetes.client.ApiException as error:
            return "exceeded quota" in error.body

    core.create_namespaced_resource_quota(platform.space.namespace, quota)
    try:
        assert wait_until(refused, deadline_s=60, clock=SystemClock())
        with pytest.raises(
            UnavailableError, match="quota of the namespace is exceeded"
        ):
            platform.once(sleeper("large", debian, cpus=1.5), 60)
    finally:
        core.delete_namespaced_resource_quota("small", platform.space.namespace)


def test_a_class_that_is_missing_and_one_that_never_gives_a_volume(
    platform: KubernetesPlatform, debian: str
) -> None:
    with (
        pytest.raises(UnavailableError, match="no storage class premium"),
        platform.claims.claim("never", "premium", 2**30),
    ):
        pass
    platform.pods.start_s = 4
    nobody = {
        **CLASS,
        "metadata": {"name": "tierbench-nobody"},
        "provisioner": "nobody.test",
    }
    with (
        platform.claims.storage_class(nobody) as made,
        platform.claims.claim("never", made.name, 2**30) as claim,
    ):
        with pytest.raises(RunError, match="no volume within 2 s"):
            platform.claims.rented(claim, timeout_s=2)
        with pytest.raises(
            TierbenchError, match="unbound immediate PersistentVolumeClaims"
        ):
            platform.once(sleeper("waits", debian, mounts=(Mount(claim, "/data"),)), 60)


def test_an_interrupted_run_leaves_nothing_in_the_namespace(
    platform: KubernetesPlatform, debian: str
) -> None:
    platform.pods.start(sleeper("left", debian, environment={"PGPASSWORD": "x"}))
    assert platform.sweep() == ("container left", "secret left")
    assert platform.sweep() == ()


# ------------------------------------------------------------------ ports


def test_many_connections_to_a_port(platform: KubernetesPlatform, debian: str) -> None:
    """A server of lines that answers each one; 20 connections at once, and again after it ended."""
    perl = (
        "use IO::Socket::INET; $SIG{CHLD}='IGNORE'; "
        "$s=IO::Socket::INET->new(LocalPort=>7000,Listen=>50,ReuseAddr=>1); "
        "while($c=$s->accept){if(!fork){while(<$c>){print $c 'got '.$_;$c->flush} exit}}"
    )
    spec = ContainerSpec(
        "serves",
        debian,
        ("-e", perl),
        "client",
        entrypoint=("perl",),
        ports={7000: None},
        stop_timeout_s=1,
    )
    with platform.running(spec) as container:
        assert container.host == "127.0.0.1"
        address = ("127.0.0.1", container.ports[7000])

        def answers() -> bool:
            with socket.create_connection(address, timeout=10) as one:
                one.sendall(b"hello\n")
                return one.recv(100) == b"got hello\n"

        assert wait_until(answers, deadline_s=20, clock=SystemClock())
        many = [socket.create_connection(address, timeout=10) for _ in range(20)]
        for number, one in enumerate(many):
            one.sendall(b"%d\n" % number)
        assert [one.recv(100) for one in many] == [b"got %d\n" % n for n in range(20)]
        for one in many:
            one.close()
        assert answers()


def test_a_connection_that_is_hung_up_while_data_comes_ends_quietly(
    platform: KubernetesPlatform, debian: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of a server that sends without end; no thread is left, and the next one is served."""
    perl = (
        "use IO::Socket::INET; $SIG{CHLD}='IGNORE'; $SIG{PIPE}='IGNORE'; "
        "$s=IO::Socket::INET->new(LocalPort=>7000,Listen=>50,ReuseAddr=>1); "
        "while($c=$s->accept){if(!fork){1 while print $c 'x' x 65536; exit}}"
    )
    spec = ContainerSpec(
        "sends",
        debian,
        ("-e", perl),
        "client",
        entrypoint=("perl",),
        ports={7000: None},
        stop_timeout_s=1,
    )
    before = threading.active_count()
    with platform.running(spec) as container:
        address = ("127.0.0.1", container.ports[7000])

        def comes() -> bool:
            with socket.create_connection(address, timeout=10) as one:
                return len(one.recv(TWENTY_MB)) > 0

        assert wait_until(comes, deadline_s=20, clock=SystemClock())
        for _ in range(10):
            assert comes()
    assert wait_until(
        lambda: threading.active_count() <= before, deadline_s=20, clock=SystemClock()
    )
    assert "Exception" not in capfd.readouterr().err
