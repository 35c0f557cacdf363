"""Several Docker engines as one platform: which of them does what, and what is said of one that
fails.

Method: engines that only write down what they are asked; the platform over them is the real one.
"""

from __future__ import annotations

import threading
from typing import Any
from unittest.mock import Mock

import pytest

from orchestrator.collectors import collectors
from orchestrator.errors import RunError, UnavailableError, UsageError
from orchestrator.model import Cluster, Node, Placing
from orchestrator.parts import Disks
from orchestrator.platforms import own_images
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.platforms.docker.many import DockerMachines
from orchestrator.powers import HOST_NETWORK, ContainerSpec
from orchestrator.run.record.readings import Readings
from orchestrator.run.record.telemetry import read_once, watched
from tests import ROOT
from tests.fake_engines import Engine
from tests.fakes import FakeClock


def platform(
    *machines: str, engine_type: type[Engine] = Engine, **more: Any
) -> tuple[Any, Any]:
    """The platform of these machines, and its engines by name."""
    made: dict[str | None, Engine] = {}

    def engine(clock: Any, name: str | None, *more: Any) -> Engine:
        made[name] = engine_type(clock, name, *more)
        return made[name]

    connect: Any = engine
    return DockerMachines(
        FakeClock(), Placing(machines=machines, **more), connect
    ), made


def spec(name: str, placement: str, address: str | None = None) -> ContainerSpec:
    return ContainerSpec(
        name,
        "image",
        (),
        "database",
        network="cluster" if address else None,
        address=address,
        ports={5432: None},
        placement=placement,
    )


def test_a_node_is_in_its_machines_own_network() -> None:
    together, engines = platform("vm1", "vm2")
    with (
        together.network("cluster", 2, ("10.201.77.11", "10.201.77.12")) as network,
        together.running(spec("second", "node-2", network.addresses[1])) as node,
    ):
        assert network.addresses == ("192.0.2.1", "192.0.2.2")
        assert (node.address, node.host, node.ports) == (
            "192.0.2.2",
            "192.0.2.2",
            {5432: 5432},
        )
        (asked,) = engines["vm2"].asked
        assert (asked.network, asked.address, asked.ports) == (HOST_NETWORK, None, {})
        assert together.container("second").logs() == "second on vm2"
    assert [one.campaign for one in engines.values()] == [together.campaign] * 3


def test_what_is_in_no_network_is_as_its_engine_has_it() -> None:
    together, engines = platform("vm1", "vm2")
    with (
        together.running(spec("disk", "")) as disk,
        together.volume("data", "", "", "node-2"),
    ):
        assert (disk.host, disk.ports) == ("0", {5432: 49152})
    assert [one.name for one in engines["vm1"].asked] == ["disk"]
    assert engines["vm2"].asked == ["data"]


def test_no_tick_asks_an_engine_or_starts_threads_for_one() -> None:
    """Reading counters of three machines on this computer, by what the engines are asked."""
    asked: list[str] = []

    class Counted(Engine):
        def machines(self) -> tuple[Any, ...]:
            asked.append(self.known_as)
            machine = LocalMachine()
            machine.name = self.known_as
            return (machine,)

    together, engines = platform("vm1", "vm2", engine_type=Counted)
    together.find_containers()
    names = ("old-vm1", "old-vm2", "lost")
    databases = tuple(
        Node(name, "database", container=name, container_id="f") for name in names
    )
    cluster = Cluster("postgresql", "", databases, (), "network")
    nodes = watched(cluster, Disks((), {}), (), together)
    assert [node.machine for node in nodes] == ["vm1", "vm2", "", "vm1", "vm2"]
    with pytest.raises(RunError, match="lost: it is not known which machine"):
        together.container("lost").find_machine()
    machines = together.machines()
    assert set(asked) == {"vm1", "vm2", "this computer"}
    asked.clear()
    readings, started = Readings(), list[str]()
    told: Any = Mock(
        wraps=together, machines=lambda: machines
    )  # of real ones it asks nothing
    threading.setprofile(lambda *_: started.append(threading.current_thread().name))
    try:
        for _ in range(3):
            read_once(nodes, collectors(told), readings, FakeClock())
    finally:
        threading.setprofile(None)
    assert asked == started == []
    assert {"host-vm1", "host-vm2"} <= {sample.node for sample in readings.samples()}
    assert len(engines) == 3


@pytest.mark.parametrize(
    ("client_machine", "expected"),
    [
        (None, None),
        ("vm2", "vm2"),
        ("tcp://vm3:2376", "tcp://vm3:2376"),
        ("ssh://vm1", "vm1"),
    ],
)
def test_clients_run_on_their_own_machine(
    client_machine: str | None, expected: str | None
) -> None:
    together, engines = platform("vm1", "vm2", client_machine=client_machine)
    for name in ("client-1", "client-2"):
        with together.running(spec(name, name)):
            pass
    assert [one.name for one in engines[expected].asked] == ["client-1", "client-2"]


def test_the_machine_of_clients_only_is_asked_for_nothing_that_nodes_need() -> None:
    together, _ = platform("vm1", "vm2")
    assert together.machines() == (
        "machine of vm1",
        "machine of vm2",
        "machine of None",
    )
    assert list(map(str, together.machines_of_nodes())) == [
        "machine of vm1",
        "machine of vm2",
    ]


def test_the_record_names_every_engine() -> None:
    together, engines = platform("vm1", "vm2")
    engines["vm1"].groups = None
    facts = together.facts()
    assert (facts["CgroupVersion"], facts["OperatingSystem"]) == ("unknown, 2", None)
    assert facts["Name"] == "vm1, vm2, this computer"
    assert facts["ID"] == "id of vm1, id of vm2, id of None"
    assert (facts["ServerVersion"], facts["Machines"]) == ("29.1", 3)


def test_containers_of_another_program_are_known_when_they_are_found() -> None:
    together, _ = platform("vm1", "vm2")
    with pytest.raises(RunError, match="old-vm2: it is not known which machine"):
        together.container("old-vm2").find_machine()
    assert "old-vm2" in [entry.name for entry in together.find_containers()]
    assert together.container("old-vm2").logs() == "old-vm2 on vm2"


def test_images_of_ours_are_brought_to_where_they_are_missing() -> None:
    tags = [own_images.tag(ROOT, name) for name in own_images.OURS]
    together, engines = platform("vm1", "vm2")
    engines[None].here.update(tags)
    engines["vm2"].here.update(tags)
    assert {id(engine.guard.beats) for engine in (engines["vm1"], engines["vm2"])} == {
        id(together.guard.beats)
    }
    with together.guard.held():
        assert engines["vm1"].asked == [(tag, "vm2") for tag in tags]
    assert not engines["vm2"].asked and not engines[None].asked


def test_an_image_of_another_architecture_is_not_brought() -> None:
    """Programs for x86-64 would be emulated on ARM, or not start at all."""
    tags = [own_images.tag(ROOT, name) for name in own_images.OURS]
    together, engines = platform("vm1", "vm2")
    engines[None].here.update(tags)
    engines["vm1"].architecture = "arm64"
    with together.guard.held():
        assert engines["vm2"].asked == [(tag, None) for tag in tags]
        assert engines["vm1"].asked == []
    assert together.images.architecture == ""
    assert together.images.mismatch(tags[0]) == ""
    engines["vm2"].built_for = {tags[0]: "arm64"}
    assert together.images.mismatch(tags[0]) == (
        f"of {engines['vm2'].known_as} is built for arm64; the engine runs on amd64"
    )


def test_who_only_reads_has_one_image_brought_and_needs_no_engine_of_clients() -> None:
    tags = {name: own_images.tag(ROOT, name) for name in own_images.OURS}
    together, engines = platform("vm1", "vm2", client_machine="vm1")
    engines["vm2"].here.update(tags.values())
    together.bring_only(("disk",))
    assert together.abilities.shared_network is None
    with together.guard.held():
        assert engines["vm1"].asked == [(tags["disk"], "vm2")]
    assert set(engines) == {"vm1", "vm2"}


def test_an_engine_that_fails_is_named() -> None:
    together, engines = platform("vm1", "vm2")
    engines["vm2"].fails = UnavailableError(
        "vm2: another campaign is running on this engine"
    )
    with (
        pytest.raises(UnavailableError, match=r"^vm2: another campaign"),
        together.guard.held(),
    ):
        pass
    engines["vm1"].fails = RunError("volume data could not be removed")
    with pytest.raises(
        RunError, match=r"volume data could not be removed; vm2: another campaign"
    ):
        together.sweep()
    engines["vm1"].fails = engines["vm2"].fails = None
    lines = [f"container x of {name}" for name in ("vm1", "vm2", "this computer")]
    assert together.sweep() == tuple(lines)
    assert together.sweep(only_list=True)[0] == "container y of vm1"


@pytest.mark.parametrize(
    ("machines", "words"),
    [
        (("vm1", "default"), "default is reached over a socket"),
        (("vm1", "ssh://vm1"), "one mach"),
    ],
)
def test_machines_that_cannot_be_one_cluster_are_refused(
    machines: tuple[str, ...], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        platform(*machines)
