"""Machines, and what a new platform needs: one file, and one line in the registry.

Method: a fixture tree for /proc and /etc; a platform that starts nothing, on which a whole campaign
of do-nothing parts is carried out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.collectors.machine import MachineCollector
from orchestrator.errors import UnavailableError
from orchestrator.kernel import mounts
from orchestrator.model import Node, Volume
from orchestrator.platforms import platforms
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import Clock, Machine, MachineFacts, Network
from orchestrator.run import experiment
from orchestrator.run.record.readings import Readings
from orchestrator.run.record.telemetry import read_once
from orchestrator.system import store
from orchestrator.tiers.common.emulated import disk_server, host_load
from tests.apps import an_app
from tests.fake_parts import fake_parts
from tests.fakes import FakeClock, FakePlatform, FarMachine, Log, fake_world
from tests.plans import a_plan

FAR = FarMachine(MachineFacts("far", "6.1", "Debian", 4, "", 2**34))


def test_facts_of_this_computer(tmp_path: Path) -> None:
    for name, text in (
        ("proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n"),
        ("proc/cpuinfo", "processor : 0\nmodel name\t: Fast CPU @ 3 GHz\n"),
        ("etc/os-release", 'NAME="x"\nPRETTY_NAME="Debian 13"\n'),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    facts = LocalMachine(tmp_path).facts()
    assert (facts.memory_bytes, facts.cpu_model) == (2**24, "Fast CPU @ 3 GHz")
    assert facts.system == "Debian 13"
    assert LocalMachine(tmp_path / "empty").facts().memory_bytes == 0


def test_what_a_machine_has_is_looked_up_and_an_absent_file_is_an_error(
    tmp_path: Path,
) -> None:
    (tmp_path / "sys/block").mkdir(parents=True)
    (tmp_path / "sys/loop").symlink_to("block")
    here = LocalMachine(tmp_path)
    assert here.exists("/sys/block") and not here.exists("/sys/none")
    assert here.is_folder("/sys/loop") and here.listing("/sys") == ("block", "loop")
    assert here.real_path("/sys/loop") == str(tmp_path / "sys/block")
    # Others write to this disk meanwhile: what is free is near, not equal.
    nearby = (
        here.free_bytes(str(tmp_path / "not/there/yet")),
        here.free_bytes(str(tmp_path)),
    )
    assert min(nearby) > 0 and abs(nearby[0] - nearby[1]) < 2**34
    with pytest.raises(FileNotFoundError):
        here.read("/proc/stat")


def test_a_machine_out_of_reach_gives_no_values_or_an_error(tmp_path: Path) -> None:
    """This machine's values must never be read instead."""
    readings = Readings()
    read_once(
        [Node("host", "host")], [MachineCollector(lambda _: FAR)], readings, FakeClock()
    )
    assert not list(readings.samples())
    assert "the machine far is not reachable from here" in str(readings.misses)
    platform: Any = FakePlatform(Log())
    platform.machines = lambda: (FAR,)
    world = replace(fake_world(Log(), tmp_path), platform=platform)
    assert host_load.read(Volume("v", "", False), world) == host_load.Reading(0.0, 0.0)
    with pytest.raises(UnavailableError, match=r"/dev/fuse.* on far: .*not reachable"):
        disk_server.need_kernel((("/dev/fuse", "fuse"),), [FAR])
    with pytest.raises(UnavailableError, match="not reachable"):
        mounts.find(tmp_path, FAR)


class Nowhere(FakePlatform):
    """A platform that starts nothing. Its nodes have names for addresses."""

    name = "nowhere"
    campaign = "1f2e3d"

    def __init__(self, clock: Clock) -> None:
        super().__init__(Log())

    def machines(self) -> tuple[Machine, ...]:
        return (FAR,)

    @contextmanager
    def network(
        self, name: str, nodes: int, addresses: Sequence[str] = ()
    ) -> Iterator[Network]:
        yield Network(
            name, tuple(f"node-{number}.cluster" for number in range(1, nodes + 1))
        )


def test_a_platform_is_one_class_and_one_line_in_the_registry(tmp_path: Path) -> None:
    assert "docker" in platforms()
    registry = {"nowhere": lambda clock, _: Nowhere(clock)}
    parts = fake_parts(Log())
    # Nobody waits for the made-up load.
    app = replace(
        an_app(tmp_path, clock=FakeClock()), root=tmp_path, platforms=lambda: registry
    )
    world = app.world("nowhere")
    assert isinstance(world.platform, Nowhere)
    folder = experiment.execute(a_plan(), parts, world, tmp_path / "results", {})
    records = [data.record for data in store.load(folder).runs]
    assert {record.outcome for record in records} == {"done"}
    hosts = [node for record in records for node in record.nodes if node.role == "host"]
    assert {(node.cpus, node.memory_bytes) for node in hosts} == {(4.0, 2**34)}
    kept = json.loads(next((tmp_path / "datasets").rglob("dataset.json")).read_text())
    assert kept["addresses"] == ["node-1.cluster"]
