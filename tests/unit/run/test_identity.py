"""What took part in a run is in its record, as far as it can be read, and never ends the run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from orchestrator.analysis import results
from orchestrator.errors import LoadError, UnavailableError
from orchestrator.load_generators.sysbench.generator import content_hash
from orchestrator.model import Node
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import Machine, MachineFacts
from orchestrator.run.record import identity
from tests import ROOT
from tests.fakes import FakePlatform, FarMachine, Log, fake_world
from tests.plans import a_workload
from tests.unit.run.conftest import Make

HERE = LocalMachine().name
MOUNTS = """\
36 25 0:32 / / rw,relatime - overlay overlay rw
41 36 7:3 / /var/lib/data rw,noatime - xfs /dev/loop3 rw,attr2,noquota
"""


class Engine(FakePlatform):
    """On a machine whose process 77 sees loop3 mounted; `gone` has no image any more."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        (root / "proc/77").mkdir(parents=True)
        (root / "proc/77/mountinfo").write_text(MOUNTS)
        (root / "sys/dev/block").mkdir(parents=True)
        (root / "sys/devices/loop3").mkdir(parents=True)
        (root / "sys/dev/block/7:3").symlink_to(root / "sys/devices/loop3")
        self.machine = LocalMachine(root)

    def machines(self) -> tuple[Machine, ...]:
        return (self.machine,)

    def find_image(self, container: str) -> str:
        if container == "silent":
            raise UnavailableError("the engine does not answer")
        return {"gone": ""}.get(container, "sha256:0123456789abcdef")


def of(root: Path, *nodes: Node, scripts: Any = lambda *_: "abc") -> dict[str, Any]:
    here: Any = SimpleNamespace(
        draft=SimpleNamespace(nodes=nodes),
        generator=SimpleNamespace(scripts=scripts),
        workload=a_workload(),
        world=fake_world(platform=Engine(root)),
    )
    return identity.identity_of(here).recorded()


def test_scripts_images_and_file_systems_are_recorded(tmp_path: Path) -> None:
    database = Node(
        "node-1",
        "database",
        container="db",
        process_id=77,
        device="loop3",
        machine=HERE,
    )
    client = Node("client", "client", container="client")
    assert of(tmp_path, database, client) == {
        "scripts": "abc",
        "images": {"database": "0123456789ab", "client": "0123456789ab"},
        "file_systems": {"node-1": "xfs rw,noatime,attr2,noquota"},
    }


def test_file_systems_are_those_of_databases_disks_alone(tmp_path: Path) -> None:
    database = Node("node-1", "database", process_id=77, machine=HERE)
    client = Node("client", "client", process_id=77, device="loop3", machine=HERE)
    assert "file_systems" not in of(tmp_path, database, client)


def test_the_machines_of_nodes_are_of_the_type_that_the_platform_says() -> None:
    """Not those of clients; nor where it says none, as an engine does."""
    facts = MachineFacts("vm-0", "6.1", "Debian", 4, "", 2**34, "Standard_D8s_v5")
    engine: Any = FakePlatform()
    far: Any = [
        FarMachine(facts),
        FarMachine(replace(facts, hostname="vm-1", instance_type="")),
    ]
    for one in far:
        one.facts_told = one.facts()
    engine.machines = lambda: (*far, LocalMachine())
    nodes = (
        Node("node-1", "database", machine="vm-0"),
        Node("node-2", "database", machine="vm-1"),
        Node("node-3", "database", machine=HERE),
        Node("client", "client", machine="vm-0"),
    )
    assert identity._machine_types(nodes, engine) == {"node-1": "Standard_D8s_v5"}


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    def no_scripts(*_: object) -> str:
        raise FileNotFoundError("removed meanwhile")

    other_device = Node(
        "node-1",
        "database",
        container="gone",
        process_id=77,
        device="sda",
        machine=HERE,
    )
    no_process = Node(
        "node-2",
        "database",
        container="silent",
        process_id=78,
        device="loop3",
        machine=HERE,
    )
    others = Node("node-3", "database")
    assert of(tmp_path, other_device, no_process, others, scripts=no_scripts) == {}


def test_every_run_says_it(make: Make) -> None:
    (record,) = make().execute()
    assert "identity" in record.facts
    assert results.identity(record).scripts is None  # the made-up generator runs none


def test_a_run_that_fails_says_what_was_known_before_it(make: Make) -> None:
    broken = Log(
        broken={"run point-select": LoadError("sysbench ended with exit code 1")}
    )
    (record,) = make(broken).execute()
    assert record.outcome == "failed"
    assert {"tier", "database_before", "identity"} <= set(record.facts)
    assert "database" not in record.facts, "which is read after the run"


# ------------------------------------------------------------------ scripts of ours


def copied(tmp_path: Path) -> Path:
    for name in ("sysbench", "lib"):
        folder = tmp_path / name
        folder.mkdir()
        for file in (ROOT / "workloads" / name).glob("*.lua"):
            (folder / file.name).write_text(file.read_text())
    return tmp_path


def test_the_hash_follows_what_a_script_requires_and_nothing_else(
    tmp_path: Path,
) -> None:
    workloads = copied(tmp_path)
    before = content_hash(workloads, "sysbench/insert.lua")
    assert before == content_hash(ROOT / "workloads", "sysbench/insert.lua")
    assert before != content_hash(workloads, "sysbench/point_select.lua")
    (workloads / "sysbench" / "point_select.lua").write_text("-- another workload's")
    (workloads / "sysbench" / "update.lua").write_text("-- a new one")
    assert content_hash(workloads, "sysbench/insert.lua") == before
    for needed in (
        "sysbench/common.lua",
        "sysbench/load.lua",
        "lib/pq_codec.lua",
        "lib/rows.lua",
    ):
        file = workloads / needed
        text = file.read_text()
        file.write_text(text + "\n")
        assert content_hash(workloads, "sysbench/insert.lua") != before, needed
        file.write_text(text)
