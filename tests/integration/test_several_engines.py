"""Several Docker engines as the machines of one campaign: three nodes on three of them, and ssh.

Goal: a person with three machines writes `machines:` and gets a report, and nothing stays on any.
Method: engines in network name spaces that reach one another; one of them behind an ssh server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.errors import NodeError, UnavailableError, UsageError
from orchestrator.model import Placing
from orchestrator.platforms import own_images, platforms
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.platforms.docker.many import DockerMachines
from orchestrator.powers import ContainerSpec
from orchestrator.system import store
from orchestrator.system.clock import SystemClock
from tests import ROOT
from tests.campaign_tables import sampled_in
from tests.integration.conftest import tierbench
from tests.integration.engines import (
    NEEDS_ENGINES,
    PORT,
    RemoteEngine,
    disks_kept,
    left_on,
    remote_engines,
)
from tests.integration.mount_points import made, mounted_at
from tests.integration.ssh_server import ssh_to

pytestmark = NEEDS_ENGINES  # three, and our images are brought to each

PROFILE = """\
question: are three machines with such disks enough?
title: three machines
tier: {tier}
cluster:
  database: postgresql
  nodes: {nodes}
  replication_factor: {nodes}
  node: {{smoke: {{cpus: 1, memory: 192MiB, disk: 2GiB}}}}
machines: [{machines}]
"""
EMULATED = (
    "{iops: 3000, throughput: 150MB/s, read_latency: 500us, write_latency: 800us}"
)
REAL = "{enforcement: mounted, disks: 'PLACE/p15-{node}', snapshots: copy}"


@dataclass(frozen=True)
class Machines:
    """Two contexts and an ssh address, in the environment that knows them."""

    engines: tuple[RemoteEngine, ...]
    names: tuple[str, ...]
    environment: dict[str, str]

    def left(self) -> str:
        return left_on(self.engines)


@pytest.fixture(scope="module")
def machines(
    engine: DockerPlatform, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machines]:
    configuration = tmp_path_factory.mktemp("configuration")
    with (
        remote_engines(3) as engines,
        ssh_to(engines[0], tmp_path_factory.mktemp("ssh")) as (address, environment),
    ):
        for name, one in zip(("vm2", "vm3"), engines[1:], strict=True):
            one.is_context(name, configuration)
        environment = {**environment, "DOCKER_CONFIG": str(configuration)}
        yield Machines(engines, (address, "vm2", "vm3"), environment)


@pytest.fixture
def placing(machines: Machines, monkeypatch: pytest.MonkeyPatch) -> Placing:
    for name, value in machines.environment.items():
        monkeypatch.setenv(name, value)
    return Placing(machines=machines.names)


def idle(name: str, placement: str, network: str | None = None) -> ContainerSpec:
    return ContainerSpec(
        name=f"tierbench-{name}",
        image=own_images.tag(ROOT, "disk"),
        entrypoint=("sleep",),
        command=("infinity",),
        role="client",
        init=True,
        stop_timeout_s=1,
        placement=placement,
        network=network,
        ports={5432: None},
    )


def test_a_container_runs_on_the_machine_of_its_placement(
    placing: Placing, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        own_images, "OURS", ("disk",)
    )  # bringing the others takes a minute
    platform = platforms()["docker"](SystemClock(), placing)
    with (
        platform.guard.held(),
        platform.network("tierbench-cluster", 3) as network,
        platform.running(idle("two", "node-2", network.name)) as second,
        platform.running(idle("three", "node-3", network.name)) as third,
        platform.running(idle("client", "client-1", network.name)) as client,
    ):
        assert network.addresses == tuple(one.address for one in machines.engines)
        assert (second.host, dict(second.ports)) == (
            machines.engines[1].address,
            {5432: 5432},
        )
        assert [one.docker("ps", "--quiet") != "" for one in machines.engines] == [
            False,
            True,
            True,
        ]
        assert [one.name for one in platform.machines()][:3] == ["vm1", "vm2", "vm3"]
        assert platform.container("tierbench-two").find_machine().name == "vm2"
        assert platform.container("tierbench-two").find_machine().read("/proc/uptime")
        assert (
            platform.container(client.name).exec(("hostname",), timeout_s=20).exit_code
            == 0
        )
        machines.engines[2].docker("kill", "tierbench-three")
        with pytest.raises(NodeError, match="tierbench-three died"):
            platform.container(client.name).exec(
                ("sleep", "30"), timeout_s=60, watch=[third]
            )
        assert "tierbench-two" in [
            one.name for one in platform.find_containers("client")
        ]
    first, second_campaign = (DockerMachines(SystemClock(), placing) for _ in range(2))
    with (
        first.guard.held(),
        pytest.raises(UnavailableError, match="vm1: another campaign"),
        second_campaign.guard.held(),
    ):
        pass
    platform.sweep()
    assert machines.left() == ""


def test_commands_are_carried_by_ssh_and_talked_with(placing: Placing) -> None:
    platform = DockerPlatform(SystemClock(), placing.machines[0])
    if not platform.images.present(own_images.tag(ROOT, "disk")):
        platform.images.take_from(
            DockerPlatform(SystemClock()).images, own_images.tag(ROOT, "disk")
        )
    with platform.running(idle("ssh", "")) as container:
        script = "echo one; sleep 0.2; echo two; echo three >&2; exit 3"
        lines: list[str] = []
        said = container.exec(("sh", "-c", script), timeout_s=20, on_line=lines.append)
        assert (lines, said.err, said.exit_code) == (["one", "two"], "three\n", 3)
        many = container.exec(("seq", "200000"), timeout_s=60)
        assert many.out.split()[-1] == "200000"
        with container.conversation(("cat",)) as talk:
            for line in ("one", "two"):
                talk.send(line)
                assert talk.receive(5.0) == line
    assert platform.sweep() == ()


def test_what_cannot_be_one_cluster_is_refused_by_name(
    placing: Placing, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, _ = machines.names
    with pytest.raises(
        UnavailableError, match=r"tcp://127\.0\.0\.1:9: .*does not answer"
    ):
        DockerMachines(SystemClock(), Placing(machines=(two, "tcp://127.0.0.1:9")))
    with pytest.raises(UnavailableError, match="ssh://vm9: ssh does not connect"):
        DockerMachines(SystemClock(), Placing(machines=("ssh://vm9",)))
    with pytest.raises(UsageError, match="default is reached over a socket"):
        DockerMachines(SystemClock(), Placing(machines=("default", two)))
    for name, value in machines.engines[1].environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match="are one machine"):
        same = f"tcp://{machines.engines[1].address}:{PORT}"
        DockerMachines(SystemClock(), Placing(machines=(one, two, same)))


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[Path]:
    """p15-1 to p15-3, the disk of each machine, in one folder."""
    with ExitStack() as up:
        for number in (1, 2, 3):
            image = made(tmp_path / f"p15-{number}.img", "ext4", 6 * 2**30)
            up.enter_context(
                mounted_at(tmp_path / f"p15-{number}", str(image), "loop,noatime")
            )
        yield tmp_path


@pytest.mark.parametrize("tier", ["{enforcement: none}", EMULATED, REAL])
def test_a_cluster_on_three_machines_to_a_report(
    tier: str, machines: Machines, disks: Path, tmp_path: Path
) -> None:
    profile, before = tmp_path / "three.yaml", disks_kept()
    tier = tier.replace("PLACE", str(disks))
    profile.write_text(
        PROFILE.format(tier=tier, nodes=3, machines=", ".join(machines.names))
    )
    environment = {**machines.environment, "TIERBENCH_CACHE": str(tmp_path / "cache")}
    code, text = tierbench(
        *[
            "run",
            "--profile",
            str(profile),
            "--workload",
            "point-select",
            "--scale",
            "smoke",
        ],
        *["--set", "table_size=5000", "--results", str(tmp_path / "results")],
        **environment,
    )
    assert code == 0, text
    (run,) = store.load(tmp_path / "results/latest").runs
    assert run.record.outcome == "done", run.record.failure
    assert (tmp_path / "results/latest/report.html").is_file()
    nodes = {"node-1", "node-2", "node-3", "host-vm1", "host-vm2", "host-vm3"}
    assert nodes <= set(sampled_in(run)["node"])
    if "mounted" in tier:
        found = run.record.facts["tier"]
        assert list(found["disks"]) == [f"vm{n}:{disks}/p15-{n}" for n in (1, 2, 3)]
        assert set(found["restored"]["machines"]) == {"vm1", "vm2", "vm3"}
        assert (
            len({node.device for node in run.record.nodes if node.role == "database"})
            == 3
        )
        assert run.record.gate is not None
        of_gate = {check.nodes: check.disk for check in run.record.gate.checks}
        assert of_gate["node-2",] == f"node-2 (vm2:{disks}/p15-2)"
        assert all(any(disks.glob(f"p15-{n}/tierbench-snapshots")) for n in (1, 2, 3))
    code, text = tierbench("clean", "--yes", "--profile", str(profile), **environment)
    assert code == 0, text
    for place in disks.glob("p15-?"):
        assert {child.name for child in place.iterdir()} == {"lost+found"}
    # The three machines share one folder here, so the first of them finds all there is.
    assert tier != EMULATED or re.search(
        r"/var/lib/tierbench/datasets/\S+ of vm1", text
    ), text
    assert disks_kept() <= before
    assert machines.left() == ""
