"""Real disks on the machines of their nodes: each is looked for, filled and named where it is.

Method: two fixture machines with a disk each; scripts run here as on one (test_snapshots).
"""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import NodeError, UnavailableError, UsageError, VoidError
from orchestrator.parts import Disks, NodesData
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import Completed, ContainerSpec, PlatformAbilities, World
from orchestrator.run.beforehand import resource_needs
from orchestrator.tier import Gate, GateCheck, NodeDisks, RealDisks, Snapshots, Tier
from orchestrator.tiers.common.any_disk import removal
from orchestrator.tiers.common.real import restoring, snapshots
from orchestrator.tiers.mounted import MountedTier
from tests import ROOT
from tests.disk_scripts import IDLE, Engine, Shell
from tests.fakes import FakePlatform, fake_world
from tests.plans import a_plan, a_profile
from tests.tiers import a_tier, changed

MOUNTS = (
    "22 1 8:2 / / rw - ext4 /dev/sda2 rw\n31 22 8:16 / {}/disk rw - xfs /dev/sdb rw\n"
)
SIZES = [2**10, 2**10]


class Vm(Engine):
    """An engine on a machine of this name."""

    def __init__(self, root: Path, name: str) -> None:
        super().__init__(root)
        self._machine.name = name

    def folder(self, cache: Path) -> Path:
        return Path("/var/lib/tierbench")


class Vms(FakePlatform):
    """The engines of node-1 and node-2."""

    @property
    def abilities(self) -> PlatformAbilities:
        return PlatformAbilities(engine_of=self.engine_of)

    def __init__(self, engines: list[Vm]) -> None:
        super().__init__()
        self.engines = engines
        self.images = engines[0].images

    def machines(self) -> tuple[LocalMachine, ...]:
        return tuple(engine.machines()[0] for engine in self.engines)

    def engine_of(self, placement: str) -> Vm:
        return self.engines[int(placement.rpartition("-")[2]) - 1]


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    found = [tmp_path / "vm1", tmp_path / "vm2"]
    for root in found:
        for name in ("disk", "proc/self", "sys/dev/block"):
            (root / name).mkdir(parents=True)
        for number, name in (("8:2", "sda2"), ("8:16", "sdb")):
            device = root / "sys/class/block" / name
            device.mkdir(parents=True)
            (root / "sys/dev/block" / number).symlink_to(device)
        (root / "proc/self/mountinfo").write_text(MOUNTS.format(root))
        (root / "proc/diskstats").write_text(IDLE.format(7, 0))
    return found


@pytest.fixture(name="world")
def world_of_machines(roots: list[Path], tmp_path: Path) -> World:
    platform = Vms([Vm(root, root.name) for root in roots])
    made = fake_world(platform=platform, shell=Shell())
    return replace(made, cache=tmp_path / "cache", root=ROOT)


@pytest.fixture
def tier(roots: list[Path]) -> Tier:
    disks = {
        f"node-{number}": NodeDisks(str(root / "disk"), machine=root.name)
        for number, root in enumerate(roots, 1)
    }
    return a_tier("real", "R", "mounted", None, None, disks=disks)


def loaded(tier: Tier, world: World) -> tuple[Path, ...]:
    found = restoring.snapshots_of(tier, SIZES, "key", world)
    with restoring.loading(tier, NodesData(SIZES, found), world) as volumes:
        for number, volume in enumerate(volumes, 1):
            (Path(volume.name) / "who").write_text(f"node {number}")
    return found


def test_no_snapshot_is_taken_where_the_profile_wants_none_or_there_is_no_room(
    tier: Tier, world: World
) -> None:
    assert isinstance(tier.disk, RealDisks)
    wants_none = replace(tier, disk=replace(tier.disk, snapshots=Snapshots("none")))
    assert restoring.snapshots_of(wants_none, SIZES, "key", world) == ()
    assert restoring.snapshots_of(tier, [2**60, 2**60], "key", world) == ()


def test_each_node_starts_from_its_snapshot_on_its_machine(
    tier: Tier, world: World, roots: list[Path]
) -> None:
    found = loaded(tier, world)
    assert [
        one.is_relative_to(root / "disk")
        for one, root in zip(found, roots, strict=True)
    ] == [
        True,
        True,
    ]
    assert restoring.are_there(found, world) and restoring.snapshots_of(
        tier, SIZES, "key", world
    )
    for _ in range(2):
        with restoring.attached(tier, NodesData(SIZES, found), world) as disks:
            for number, volume in enumerate(disks.volumes, 1):
                file = Path(volume.name) / "who"
                assert file.read_text() == f"node {number}"
                file.write_text("spoilt")
    keys = [f"vm{number}:{root}/disk" for number, root in enumerate(roots, 1)]
    assert list(disks.facts["disks"]) == keys
    assert [one["machine"] for one in disks.facts["disks"].values()] == ["vm1", "vm2"]
    restored = disks.facts["restored"]
    assert (restored["way"], restored["quiet"]) == ("copy", True)
    assert restored["machines"]["vm2"]["caches_dropped"] == "of the files"


class Together(Vm):
    """Restores when the others do too."""

    def __init__(self, root: Path, all_restore: threading.Barrier) -> None:
        super().__init__(root, root.name)
        self._all_restore = all_restore

    def once(self, spec: ContainerSpec, timeout_s: float) -> Completed:
        if "restore" in (*(spec.entrypoint or ()), *spec.command):
            self._all_restore.wait(20)
        return super().once(spec, timeout_s)


def test_machines_with_kernels_of_their_own_restore_at_once(
    tier: Tier, world: World, roots: list[Path]
) -> None:
    for root in roots:
        boot = root / "proc/sys/kernel/random/boot_id"
        boot.parent.mkdir(parents=True)
        boot.write_text(f"boot of {root.name}\n")
    found = loaded(tier, world)
    all_restore = threading.Barrier(len(roots))
    platform = Vms([Together(root, all_restore) for root in roots])
    together = replace(world, platform=platform)
    with restoring.attached(tier, NodesData(SIZES, found), together) as disks:
        assert len(disks.volumes) == len(roots)


def test_caches_of_this_computer_are_not_those_of_the_machines(
    tier: Tier, world: World
) -> None:
    shell: Any = world.shell
    with restoring.attached(tier, NodesData(SIZES, loaded(tier, world)), world):
        assert not any("drop_caches" in argv[-1] for argv in shell.asked)


def test_snapshots_are_removed_from_each_machine(tier: Tier, world: World) -> None:
    found = loaded(tier, world)
    removed = removal.forget((), world, only_list=False)
    assert [one.machine for one in removed if snapshots.FOLDER in one.place] == [
        "vm1",
        "vm2",
    ]
    assert not restoring.are_there(found, world)


def test_what_is_wrong_with_a_disk_is_said_of_its_machine(
    tier: Tier, world: World, roots: list[Path]
) -> None:
    MountedTier().check(tier, world)
    (roots[1] / "proc/self/mountinfo").write_text(
        "22 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
    )
    with pytest.raises(UsageError, match=r"^vm2: .*not a mount point"):
        MountedTier().check(tier, world)


def test_only_what_fails_at_a_disk_is_said_of_its_machine(
    tier: Tier, world: World, roots: list[Path]
) -> None:
    with (
        pytest.raises(NodeError, match=r"^node-2 died$"),
        restoring.attached(tier, NodesData(SIZES), world),
    ):
        raise NodeError("node-2 died")
    with (
        pytest.raises(VoidError, match=r"^vm2: the disk /dev/sdb vanished"),
        restoring.attached(tier, NodesData(SIZES), world),
    ):
        (roots[1] / "proc/self/mountinfo").write_text(
            "22 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
        )


def test_disks_whose_machines_are_not_told_need_one_machine(
    tier: Tier, world: World
) -> None:
    disks = {node: replace(one, machine="") for node, one in tier.disk.of_nodes.items()}
    with pytest.raises(UnavailableError, match="nodes are on several: vm1 and vm2"):
        MountedTier().check(changed(tier, disks=disks), world)


def test_the_gate_measures_each_disk_on_its_machine(tier: Tier, world: World) -> None:
    asked: list[str] = []

    def take(judged: Tier, disks: Disks, there: World, **_: bool) -> Gate:
        asked.append(there.machine.name)
        check = GateCheck("IOPS", "1/s", 100.0, 99.0, 5.0, "ok")
        return Gate(judged.name, 0.0, (check,), {**disks.facts, "host_cpu_pct": 1.0})

    gate = MountedTier(take=take).gate(tier, world, thorough=False)
    assert asked == ["vm1", "vm2"]
    assert [check.nodes for check in gate.checks] == [("node-1",), ("node-2",)]
    for check, key in zip(gate.checks, gate.device["disks"], strict=True):
        assert check.disk == f"{check.nodes[0]} ({key})" and key.startswith("vm")


def test_space_is_counted_where_each_disk_is(tier: Tier, world: World) -> None:
    profile = replace(a_profile(nodes=2), tier=tier)
    plan = replace(a_plan(), profiles=(profile,))
    needs = resource_needs.needs(plan, {"mounted": MountedTier()}, world)
    asked = [
        (need.machine, need.place, need.needed_bytes) for need in needs if need.place
    ]
    places = [one.data for one in tier.disk.of_nodes.values()]
    assert asked == [("vm1", places[0], 2**30), ("vm2", places[1], 2**30)]
