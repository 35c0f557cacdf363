"""A cluster over several machines: each node is read on its own, and never on this computer.

Method: three agents read fixture trees whose values differ from each other and from this computer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from orchestrator.analysis.telemetry.counters.window_growth import Growth
from orchestrator.analysis.telemetry.use.machine_cpu import Machines, cores
from orchestrator.collectors import collectors
from orchestrator.errors import RunError
from orchestrator.model import Cluster, Node, Volume
from orchestrator.parts import Collector, Disks
from orchestrator.platforms.common.agent import AgentMachine
from orchestrator.powers import Machine
from orchestrator.run.record import identity
from orchestrator.run.record.readings import Readings
from orchestrator.run.record.telemetry import machines_of, read_once, sampling, watched
from orchestrator.system.clock import SystemClock
from orchestrator.tiers.common.emulated import host_load
from tests.agents import Agents
from tests.campaign_tables import growth_of
from tests.fakes import FakePlatform, fake_world

IDS = {"node-1": "a1" * 32, "node-2": "b2" * 32, "client": "c3" * 32}
PLACES = {"node-1": "vm1", "node-2": "vm2", "client": "vm3"}


def tree(root: Path, container: str, number: int) -> Path:
    """A machine with `number` cores that runs one container, whose process is 42 on each, on the
    disk `sdb` that each has; all its counters are multiples of `number`."""
    group = f"kubepods/pod1/{IDS[container]}"
    files = {
        "proc/cpuinfo": "processor\t: 0\n" * number,
        "proc/meminfo": f"MemTotal: {number * 2**20} kB\n",
        "proc/stat": f"cpu  {number * 1000} 0 0 0 0 0 0 0\n",
        "proc/diskstats": f"8 16 sdb {number} 0 8 1 0 0 0 0 0 0 0 0\n",
        "proc/42/cgroup": f"0::/{group}\n",
        "proc/42/stat": f"42 (postgres) S {' '.join(['0'] * 18)} 5 0\n",
        "proc/42/net/dev": f"head\nhead\n eth0: {number * 10} 0 0 0 0 0 0 0 {number * 20} 0\n",
        "proc/42/net/snmp": "Ip: A\nIp: 1\nTcp: OutSegs RetransSegs\nTcp: 9 0\nUdp: A\nUdp: 1\n",
        "proc/42/mountinfo": f"41 36 8:16 / /data rw,x{number} - xfs /dev/sdb rw\n",
        "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
        f"sys/fs/cgroup/{group}/cpu.stat": f"usage_usec {number}000000\n",
        f"sys/fs/cgroup/{group}/memory.current": f"{number * 4096}\n",
        f"sys/fs/cgroup/{group}/memory.stat": f"file {number}\n",
        "sys/devices/sdb/dev": "8:16\n",
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    (root / "sys/dev/block").mkdir(parents=True)
    (root / "sys/dev/block/8:16").symlink_to("../../devices/sdb")
    return root


class Several(FakePlatform):
    """Three machines, none of which is this computer."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        trees = [
            tree(root / vm, name, n)
            for n, (name, vm) in enumerate(PLACES.items(), start=2)
        ]
        self.agents = [Agents(each) for each in trees]
        self.all: list[Machine] = [
            agents.machine(vm)
            for agents, vm in zip(self.agents, PLACES.values(), strict=True)
        ]

    def machines(self) -> tuple[Machine, ...]:
        return tuple(self.all)

    def machine_of(self, container: str) -> Machine:
        if container not in PLACES:
            raise RunError(f"{container} is gone")
        return next(
            machine for machine in self.all if machine.name == PLACES[container]
        )


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Several]:
    several = Several(tmp_path)
    yield several
    for machine in several.all:
        if isinstance(machine, AgentMachine):
            machine.close()


def node(name: str, role: Any, **more: Any) -> Node:
    return Node(
        name, role, container=name, container_id=IDS.get(name, "f" * 64), **more
    )


def of_machines(platform: Any) -> tuple[Collector, ...]:
    """The collectors that read machines."""
    kinds = ("cgroup", "disk", "machine", "network")
    return tuple(one for one in collectors(platform) if one.name in kinds)


def nodes_of(platform: Any, *more: Node) -> tuple[Node, ...]:
    databases = (
        node("node-1", "database", device="sdb"),
        node("node-2", "database", device="sdb"),
    )
    cluster = Cluster("postgresql", "", (*databases, *more), (), "network")
    return watched(cluster, Disks((), {}), (node("client", "client"),), platform)


def test_each_node_is_read_on_its_own_machine(platform: Several) -> None:
    """Where the process of a container is not known, it is found by the container's id."""
    nodes = nodes_of(platform)
    assert [(one.name, one.machine, one.cpus) for one in nodes] == [
        ("node-1", "vm1", None),
        ("node-2", "vm2", None),
        ("client", "vm3", None),
        ("host-vm1", "vm1", 2.0),
        ("host-vm2", "vm2", 3.0),
        ("host-vm3", "vm3", 4.0),
    ]
    readings = Readings()
    read_once(nodes, of_machines(platform), readings, SystemClock())
    assert readings.misses == {}
    found = {
        (sample.node, sample.metric): sample.value for sample in readings.samples()
    }
    for number, name in enumerate(PLACES, start=2):
        assert found[name, "cpu_seconds_total"] == number
        assert found[name, "memory_used_bytes"] == number * 4096
        assert found[name, "network_sent_bytes_total"] == number * 20
        host = found[f"host-{PLACES[name]}", "cpu_busy_seconds_total"]
        assert host == pytest.approx(number * 10)
    assert (
        found["node-1", "disk_reads_total"],
        found["node-2", "disk_reads_total"],
    ) == (2, 3)


def test_a_tick_is_one_question_to_each_machine_and_clocks_are_recorded(
    platform: Several,
) -> None:
    nodes = nodes_of(platform)
    machines = machines_of(nodes, platform.machines())
    asked: list[list[int]] = []

    class Count:
        name = "count"

        def read(self, *_: Any) -> Sequence[Any]:
            asked.append([len(agents.asked) for agents in platform.agents])
            return ()

    members = (*of_machines(platform), Count())
    with sampling(nodes, members, SystemClock(), machines, every_s=0.01) as readings:
        while readings.ticks < 5:
            SystemClock().sleep(0.01)
    assert [
        after - before for before, after in zip(asked[2], asked[3], strict=True)
    ] == [1, 1, 1]
    clocks = readings.facts()["clocks"]
    assert clocks.keys() == {"vm1", "vm2", "vm3"}
    assert all(
        abs(clock["offset_s"]) <= clock["within_s"] + 1e-3 for clock in clocks.values()
    )


def test_a_machine_that_does_not_answer_is_a_miss_and_hides_no_other(
    platform: Several,
) -> None:
    def none() -> Any:
        raise RunError("the image is not here")

    platform.all[1] = AgentMachine("vm2", none, SystemClock())
    nodes = nodes_of(platform)
    assert next(one for one in nodes if one.name == "host-vm2").cpus is None
    readings = Readings()
    read_once(nodes, of_machines(platform), readings, SystemClock())
    seen = {sample.node for sample in readings.samples()}
    assert seen == {"node-1", "client", "host-vm1", "host-vm3"}
    assert "node-2: the machine vm2 does not answer: the image is not here" in str(
        readings.misses
    )


def test_a_node_whose_machine_cannot_be_told_is_read_nowhere(platform: Several) -> None:
    nodes = nodes_of(platform, node("lost", "database", device="sdb", process_id=42))
    readings = Readings()
    read_once(nodes, of_machines(platform), readings, SystemClock())
    assert "lost" not in {sample.node for sample in readings.samples()}
    assert "lost: the machine '' is not known" in str(readings.misses)


def test_disks_and_file_systems_are_those_of_the_nodes_machine(
    platform: Several, tmp_path: Path
) -> None:
    world = fake_world(cache=tmp_path, platform=platform)
    nodes = nodes_of(platform)
    server = replace(node("node-2", "disk"), device=None)
    reading = host_load.read(Volume("v", "/dev/sdb", False, server), world)
    assert reading.busy == 3000
    assert [side["disk_reads_total"] for side in reading.kernel] == [3, 3]
    assert host_load.read(Volume("v", "/dev/sdb", False), world) == host_load.Reading(
        0.0, 0.0
    ), "nobody says which machine has the disk"
    found = dict(identity._file_systems(nodes, world))
    assert found == {"node-1": "xfs rw,x2", "node-2": "xfs rw,x3"}


def grown(per_s: dict[tuple[str, str], float]) -> Growth:
    """Node and metric → how much it grew per second, for ten seconds."""
    rows: list[tuple[float, str, str, str, float, str]] = []
    for (name, metric), value in per_s.items():
        for time_s in (0.0, 10.0):
            rows.append((time_s, name, metric, "s", value * time_s, "measure"))
    columns = ["time_s", "node", "metric", "unit", "value", "phase"]
    return growth_of(pd.DataFrame(rows, columns=columns), 0.0, 10.0)


@pytest.mark.parametrize(("busy", "core_pct"), [(1.5, 99.0), (1.75, None)])
def test_a_core_is_a_nodes_while_others_use_half_a_core_at_most(
    busy: float, core_pct: float | None
) -> None:
    nodes = (
        Node("node-1", "database", machine="vm1"),
        Node("host-vm1", "host", machine="vm1", cpus=4.0),
    )
    growth = grown(
        {
            ("node-1", "cpu_seconds_total"): 1.0,
            ("host-vm1", "cpu_busy_seconds_total"): busy,
        }
    )
    machines = Machines(nodes, growth, None, {"host-vm1": 99.0})
    assert machines.around(nodes[0]).host.busiest_core_pct == core_pct


@pytest.mark.parametrize(("machines", "known"), [(1, 64.0), (2, None)])
def test_of_several_machines_nobody_knows_which_has_so_many_cores(
    machines: int, known: float | None
) -> None:
    hosts: list[Node] = []
    for number in range(machines):
        hosts.append(Node(f"host-{number}", "host", machine=f"vm{number}"))
    node = Node("node-1", "database", machine="vm0")
    assert cores([node, *hosts], node, 64.0) == known


@pytest.mark.parametrize(("machines", "other_pct"), [(1, None), (2, 25.0)])
def test_what_others_use_of_a_clients_machine_is_known_beside_another_one(
    machines: int, other_pct: float | None
) -> None:
    """The node was not sampled: on the only machine it may be what used the rest."""
    nodes = [
        Node("node-1", "database", machine="vm1"),
        Node("client", "client", machine="vm1"),
        Node("host-vm1", "host", machine="vm1", cpus=4.0),
        Node("host-vm2", "host", machine="vm2", cpus=4.0),
    ]
    growth = grown(
        {
            ("client", "cpu_seconds_total"): 1.0,
            ("host-vm1", "cpu_busy_seconds_total"): 2.0,
        }
    )
    of_machines = Machines(nodes[: 2 + machines], growth, None)
    assert of_machines.around(nodes[0]).host.other_cpu_pct == other_pct


def test_a_client_without_a_limit_uses_so_much_of_its_machine_and_no_more() -> None:
    nodes = (
        Node("node-1", "database", machine="vm1"),
        Node("client", "client", machine="vm1"),
        Node("host-vm1", "host", machine="vm1", cpus=4.0),
    )
    growth = grown(
        {
            ("node-1", "cpu_seconds_total"): 1.0,
            ("client", "cpu_seconds_total"): 0.02,
            ("host-vm1", "cpu_busy_seconds_total"): 2.0,
        }
    )
    use = Machines(nodes, growth, None).around(nodes[0])
    assert use.client.client_cpu_pct == 0.5


def test_of_several_clients_the_fullest_counts_and_nothing_is_left_below_zero() -> None:
    nodes = (
        # It uses all that it may use, and is no client.
        Node("node-1", "database", machine="vm1", cpus=2.0),
        Node("client-1", "client", machine="vm1", cpus=2.0),
        Node("client-2", "client", machine="vm1", cpus=1.0),
        Node("host-vm1", "host", machine="vm1", cpus=8.0),
    )
    growth = grown(
        {
            ("node-1", "cpu_seconds_total"): 2.0,
            ("client-1", "cpu_seconds_total"): 0.5,
            ("client-2", "cpu_seconds_total"): 0.75,
            # A sample that is a moment older than those of the nodes.
            ("host-vm1", "cpu_busy_seconds_total"): 3.0,
        }
    )
    use = Machines(nodes, growth, None).around(nodes[0])
    assert use.client.client_cpu_pct == 75.0
    assert use.host.other_cpu_pct == 0.0


@pytest.mark.parametrize(("second_on", "other_pct"), [("vm2", 25.0), ("", None)])
def test_others_are_not_told_while_a_node_may_be_on_the_machine(
    second_on: str, other_pct: float | None
) -> None:
    """No database node was sampled, and one of them does not name its machine."""
    nodes = [
        Node("node-1", "database", machine="vm2"),
        Node("node-2", "database", machine=second_on),
        Node("client", "client", machine="vm1"),
        Node("host-vm1", "host", machine="vm1", cpus=4.0),
        Node("host-vm2", "host", machine="vm2", cpus=4.0),
    ]
    growth = grown(
        {
            ("client", "cpu_seconds_total"): 1.0,
            ("host-vm1", "cpu_busy_seconds_total"): 2.0,
        }
    )
    machines = Machines(nodes, growth, None)
    assert machines.busiest().other_cpu_pct == other_pct


def test_each_machine_is_judged_by_itself() -> None:
    """node-1's machine is nearly idle, node-2's and the client's are busy; every use of CPU is
    known, and what is left of a machine's is somebody else's."""
    nodes = (
        Node("node-1", "database", machine="vm1", cpus=2.0),
        Node("node-2", "database", machine="vm2"),
        Node("client", "client", machine="vm3"),
        Node("host-vm1", "host", machine="vm1", cpus=4.0),
        Node("host-vm2", "host", machine="vm2", cpus=8.0),
        Node("host-vm3", "host", machine="vm3", cpus=2.0),
    )
    per_s = {
        ("node-1", "cpu"): 0.4,
        ("node-2", "cpu"): 6.0,
        ("client", "cpu"): 1.5,
        ("host-vm1", "host"): 0.8,
        ("host-vm2", "host"): 7.2,
        ("host-vm3", "host"): 1.9,
    }
    metric = {"cpu": "cpu_seconds_total", "host": "cpu_busy_seconds_total"}
    rows = [
        (time_s, name, metric[kind], "s", value * time_s, "measure")
        for (name, kind), value in per_s.items()
        for time_s in (0.0, 10.0)
    ]
    samples = pd.DataFrame(
        rows, columns=["time_s", "node", "metric", "unit", "value", "phase"]
    )
    machines = Machines(nodes, growth_of(samples, 0.0, 10.0), cpus=64.0)
    assert [cores(nodes, one, 64.0) for one in nodes[:3]] == [4.0, 8.0, 2.0]
    first, second = machines.around(nodes[0]), machines.around(nodes[1])
    assert first.host.host_cpu_pct == pytest.approx(20)
    assert second.host.host_cpu_pct == 90
    assert first.host.other_cpu_pct == pytest.approx(10)
    assert second.host.other_cpu_pct == 15
    assert first.client.client_cpu_pct == second.client.client_cpu_pct == 75
    assert first.client.client_machine_cpu_pct == 95
    assert machines.busiest().host_cpu_pct == 95
    assert machines.busiest().client_cpu_pct == 75
