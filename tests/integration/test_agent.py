"""The agent in its container, reading this computer as if it were another.

Goal: what it reads is what this computer reads itself, and it comes and goes as it should.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.analysis.telemetry.use import telemetry_metrics
from orchestrator.cli.main import program
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.collectors.cgroup import CgroupCollector
from orchestrator.collectors.machine import MachineCollector
from orchestrator.collectors.network import NetworkCollector
from orchestrator.model import Node
from orchestrator.platforms import own_images
from orchestrator.platforms.common import agent
from orchestrator.platforms.common.agent import AgentMachine
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import Container, ContainerSpec, Machine
from orchestrator.system import store
from orchestrator.system.clock import SystemClock
from tests import ROOT
from tests.integration.conftest import leftovers

pytestmark = pytest.mark.docker

NAME = "tierbench-test-agent"


class Far(DockerPlatform):
    """This computer's engine, as if it were another's: its machine is read by the agent alone."""

    def machines(self) -> tuple[Machine, ...]:
        if not isinstance(self._machine, AgentMachine):
            talking = partial(agent.conversation, self, f"{NAME}-{self.campaign}")
            self._machine = AgentMachine("far", talking, self._clock)
        return (self._machine,)

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        if isinstance(self._machine, AgentMachine):
            self._machine.close()
        return super().sweep(only_list)


@pytest.fixture
def far(engine: DockerPlatform) -> Iterator[AgentMachine]:
    machine = AgentMachine(
        "far", partial(agent.conversation, engine, NAME), SystemClock()
    )
    yield machine
    machine.close()


@pytest.fixture
def busy(engine: DockerPlatform) -> Iterator[Container]:
    """A container that uses its CPU, at most a tenth of a core."""
    spec = ContainerSpec(
        name="tierbench-test-busy",
        image=own_images.need(ROOT, "disk", engine),
        entrypoint=("sh",),
        command=("-c", "while true; do :; done"),
        role="client",
        cpus=0.1,
        init=True,
        stop_timeout_s=1,
    )
    with engine.running(spec) as container:
        yield container


def values(
    machine: LocalMachine | AgentMachine, nodes: list[Node]
) -> dict[tuple[str, str], float]:
    collectors = [kind(lambda _: machine) for kind in KINDS]
    samples = (
        s for collector in collectors for s in collector.read(nodes, time.time())
    )
    return {(sample.node, sample.metric): sample.value for sample in samples}


KINDS = (CgroupCollector, MachineCollector, NetworkCollector)


@pytest.mark.parametrize(
    "known", [True, False], ids=["process known", "process unknown"]
)
def test_its_samples_lie_between_two_of_this_computer(
    far: AgentMachine, busy: Container, known: bool
) -> None:
    """Counters only grow: what the agent reads lies between what is read here before and after."""
    process = busy.process_id if known else None
    node = Node("node-1", "database", busy.name, process, container_id=busy.id)
    host = Node("host", "host")
    at_home = Node(
        "node-1", "database", busy.name, busy.process_id, container_id=busy.id
    )
    values(far, [node, host])  # learns what is asked for
    before = values(LocalMachine(), [at_home, host])
    far.refresh()
    found = values(far, [node, host])
    after = values(LocalMachine(), [at_home, host])
    assert found.keys() == before.keys()
    for key, value in found.items():
        if key[1].endswith("_total"):
            assert before[key] <= value <= after[key], key
    assert found["node-1", "memory_used_bytes"] == pytest.approx(
        before["node-1", "memory_used_bytes"], rel=0.5
    )


def test_it_sees_disks_facts_and_folders_of_the_machine(far: AgentMachine) -> None:
    here = LocalMachine()
    theirs, own = far.facts(), here.facts()
    assert (theirs.kernel, theirs.cpus, theirs.memory_bytes) == (
        (own.kernel, own.cpus, own.memory_bytes)
    )
    assert far.listing("/sys/block") == here.listing("/sys/block")
    assert far.exists("/dev/fuse") == here.exists("/dev/fuse")
    assert far.read("/proc/self/mountinfo") and far.is_folder(str(ROOT))
    assert {line.split()[2] for line in far.read("/proc/diskstats").splitlines()} == {
        line.split()[2] for line in here.read("/proc/diskstats").splitlines()
    }


def test_it_ends_with_its_conversation_and_is_started_anew_when_killed(
    far: AgentMachine, engine: DockerPlatform
) -> None:
    assert far.exists("/proc/stat")
    assert engine.container(NAME).state().words == "running"
    engine.container(NAME).exec(("sh", "-c", "kill -9 $(pidof -x agent)"), timeout_s=10)
    with pytest.raises(OSError, match="does not answer"):
        far.refresh()
    time.sleep(agent.SILENCE_S)
    assert (
        far.exists("/proc/stat") and engine.container(NAME).state().words == "running"
    )
    far.close()
    assert engine.container(NAME).state().words == "gone"
    assert [left for left in leftovers() if NAME in left] == []


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_left")
def test_a_campaign_reads_nothing_of_this_computer_where_its_machine_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An emulated disk, its gate, a database and a load: telemetry is whole. What a plan says ahead
    of this computer's cores, memory and system is all that is read of it."""
    read_here: set[str] = set()

    def remembered(here: LocalMachine, path: str) -> str:
        read_here.add(path)
        return Path(path).read_text()

    monkeypatch.setattr(LocalMachine, "read", remembered)
    app = CampaignApp(platforms=lambda: {"docker": lambda clock, _: Far(clock)})
    words = [
        "run",
        "--profile",
        "premium",
        "--workload",
        "point-select",
        "--scale",
        "smoke",
    ]
    more = ["--nodes", "1", "--db", "postgresql", "--results", str(tmp_path)]
    done = CliRunner().invoke(program, [*words, *more], obj=app, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    of_plan = {
        "/proc/meminfo",
        "/proc/cpuinfo",
        "/etc/os-release",
        "/proc/sys/kernel/osrelease",
    }
    assert read_here <= of_plan
    (run,) = store.load(tmp_path / "latest").runs
    telemetry = run.record.facts["telemetry"]
    assert telemetry["misses"] == {} and telemetry["clocks"].keys() == {"far"}
    assert {node.machine for node in run.record.nodes} == {"far"}
    figures = {
        measurement.metric for measurement in telemetry_metrics.telemetry_of(run)
    }
    assert figures >= {"cpu_pct", "disk_iops", "host_cpu_pct", "client_cpu_pct"}
    counted = run.telemetry.by_second["held_back_pct"]
    assert counted.notna().any(), "the disk's own account of each second"
    (disk,) = run.record.facts["disks"].values()
    assert disk["read"]["apart_pct"] < 1, (
        "the kernel's counts are those of this very moment"
    )
