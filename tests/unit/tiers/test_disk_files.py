"""Files of disks on machines that are not this computer: what is asked for, and where.

The platform runs scripts in a folder of its own for each placement, so that they do what they say.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.design import factors, varied_workloads
from orchestrator.design.rehearsal import Model
from orchestrator.errors import RunError, UnavailableError, UsageError
from orchestrator.keys.shipped_yaml import shipped
from orchestrator.model import Volume
from orchestrator.parts import NodesData
from orchestrator.planning import data_sizes
from orchestrator.platforms import own_images
from orchestrator.powers import (
    Completed,
    ContainerSpec,
    ContainerState,
    Machine,
    MachineFacts,
    World,
)
from orchestrator.run.beforehand import resource_needs
from orchestrator.run.data import datasets
from orchestrator.system import marked, marked_folders
from orchestrator.tier import Limits, Tier
from orchestrator.tiers.common.emulated import disk_files
from orchestrator.tiers.common.emulated.server_limits import limits_of
from orchestrator.tiers.emulated import EmulatedTier
from orchestrator.tiers.unlimited import UnlimitedTier
from tests import ROOT
from tests.fake_parts import FakeTier, fake_parts
from tests.fakes import FakePlatform, FarMachine, Log, QuietProgress, fake_world
from tests.plans import a_plan, a_profile, a_workload
from tests.tiers import a_tier, changed

FOLDER = Path("/var/lib/tierbench")
TIER = a_tier("premium", "Premium", "emulated", 1100, 125_000_000, 0.003, 0.002)
READY = json.dumps({"device": "/dev/loop3", "limits": limits_of(TIER)})


class Vm(FarMachine):
    """A machine of 16 GiB with devices and 10 GiB free."""

    def __init__(self, name: str, devices: Sequence[str]) -> None:
        super().__init__(MachineFacts(name, "6.1", "Debian", 4, "", 2**34))
        self._devices = devices

    def exists(self, path: str) -> bool:  # type: ignore[override]
        return path in self._devices

    def free_bytes(self, path: str) -> int:  # type: ignore[override]
        return 10 * 2**30


class Far(FakePlatform):
    """Machines vm1 and vm2; node-1 and node-3 run on vm1, node-2 on vm2."""

    def __init__(
        self, root: Path, devices: Sequence[str] = ("/dev/fuse", "/dev/loop-control")
    ):
        super().__init__(images=[own_images.tag(ROOT, "disk")])
        self.root, self.lacks = root, devices
        self.said.default_factory = lambda: f"device: the image is there\n{READY}"
        self.volumes: list[tuple[str, str, str]] = []

    def machines(self) -> tuple[Machine, ...]:
        return (Vm("vm1", ("/dev/fuse", "/dev/loop-control")), Vm("vm2", self.lacks))

    def folder(self, cache: Path) -> Path:
        return FOLDER

    def folder_of(self, placement: str) -> Path:
        """What stands for the machines' folder where `placement` runs."""
        return (
            self.root / {"node-1": "vm1", "node-2": "vm2", "node-3": "vm1"}[placement]
        )

    def once(self, spec: ContainerSpec, timeout_s: float) -> Completed:
        (mount,) = spec.mounts
        assert (mount.source, mount.target) == (str(FOLDER), "/images")
        place = self.folder_of(spec.placement)
        place.mkdir(parents=True, exist_ok=True)
        argv = [*(spec.entrypoint or ()), *spec.command]
        argv = [word.replace("/images", str(place)) for word in argv]
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, env=os.environ
        )
        out = done.stdout.replace(str(place), "/images")
        return Completed(tuple(argv), done.returncode, out, done.stderr, 0.0)

    @contextmanager
    def volume(
        self, name: str, device: str, fstype: str, placement: str = ""
    ) -> Iterator[str]:
        self.volumes.append((name, device, placement))
        yield name


@pytest.fixture
def far(tmp_path: Path) -> Far:
    return Far(tmp_path / "machines")


@pytest.fixture(name="world")
def far_world(far: Far, tmp_path: Path) -> World:
    return replace(fake_world(platform=far), cache=tmp_path / "cache")


def written(far: Far, snapshots: Sequence[Path]) -> list[Path]:
    """Puts a file for each snapshot on the machine of its node."""
    files = []
    for number, snapshot in enumerate(snapshots, start=1):
        file = far.folder_of(f"node-{number}") / snapshot.relative_to(FOLDER)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("rows")
        files.append(file)
    return files


def test_disk_volume_and_file_of_a_node_are_on_its_machine(
    far: Far, world: World
) -> None:
    snapshots = disk_files.snapshots(TIER, [1, 1], "key", world)
    folder = snapshots[1].parent
    assert snapshots[1].name == "node-2.img" and folder.parent == FOLDER / "datasets"
    assert folder.name.startswith("key-"), "not the name of a data set of this computer"
    with EmulatedTier().attached(
        TIER, NodesData([2**30] * 2, snapshots), world
    ) as disks:
        spec = far.specs["tierbench-disk-node-2"]
    assert (spec.placement, spec.mounts[0].source) == ("node-2", str(FOLDER))
    options = dict(zip(spec.command[1::2], spec.command[2::2], strict=True))
    assert options["--image"].startswith("/images/disks-"), "each cache has its own"
    assert options["--image"].endswith("/node-2.img")
    assert json.loads(options["--owner"])["cache"] == str(world.cache)
    assert options["--copy-of"] == f"/images/datasets/{folder.name}/node-2.img"
    assert options["--temporary"] == "1" and "--bytes" not in options
    assert {placement for *_, placement in far.volumes} == {
        "node-1",
        "node-2",
    }  # made at once
    assert not any(volume.name.startswith("/") for volume in disks.volumes)
    assert not world.cache.exists(), "nothing of it is on this computer"


def test_a_disk_in_memory_is_a_whole_copy_in_its_servers_container(
    far: Far, world: World
) -> None:
    snapshots, tier = (
        disk_files.snapshots(TIER, [1], "key", world),
        changed(TIER, in_memory=True),
    )
    with EmulatedTier().attached(tier, NodesData([2**30], snapshots), world):
        command = far.specs["tierbench-disk-node-1"].command
    options = dict(zip(command[1::2], command[2::2], strict=True))
    assert options["--image"] == "/tmp/node-1.img"
    assert options["--copy-of"].startswith("/images/datasets/")
    assert "--temporary" not in options, (
        "else the bytes below would be read from the host's disk"
    )
    assert "--owner" not in options, "which would mark a folder of the container"
    rights = shipped("orchestrator.platforms.docker", "rights.yaml")["block_devices"]
    assert "/tmp" in rights["tmpfs"]


def test_disks_that_share_a_limit_keep_it_in_one_file_of_their_run(
    far: Far, world: World
) -> None:
    tier, said = replace(TIER, shared=Limits(600, 40_000_000)), json.loads(READY)
    said["limits"] |= {"shared_iops": 600, "shared_bytes_per_s": 40_000_000}
    far.said.default_factory = lambda: f"device: the image is there\n{json.dumps(said)}"
    with EmulatedTier().attached(tier, NodesData([2**30] * 2), world):
        commands = [
            far.specs[f"tierbench-disk-node-{number}"].command for number in (1, 2)
        ]
    first, second = (dict(zip(of[1::2], of[2::2], strict=True)) for of in commands)
    assert first["--shared"] == second["--shared"]
    assert first["--shared"].startswith("/images/") and world.scope in first["--shared"]
    assert (
        first["--shared-iops"] == "600" and first["--shared-bytes-per-s"] == "40000000"
    )


def test_disks_of_several_machines_share_no_limit(world: World) -> None:
    with pytest.raises(UsageError, match="are on several machines"):
        EmulatedTier().check(replace(TIER, shared=Limits(600)), world)


def test_disks_of_one_machine_may_share_a_limit(tmp_path: Path) -> None:
    """Then it is only asked for the image of the disks, which is not here."""
    world = replace(fake_world(platform=FakePlatform(images=())), cache=tmp_path)
    with pytest.raises(UnavailableError, match="image"):
        EmulatedTier().check(replace(TIER, shared=Limits(600)), world)


def test_data_in_memory_must_fit_into_half_of_it(far: Far, world: World) -> None:
    plan = a_plan(workloads=("insert",))
    values = factors.parse("without=disk")
    loads = [
        varied_workloads.at(load, value) for load in plan.workloads for value in values
    ]
    plan = replace(plan, workloads=tuple(loads))
    needs = list(resource_needs.needs(plan, {"emulated": EmulatedTier()}, world))
    size_bytes, nodes = (
        data_sizes.data_bytes(loads[0]) or 0,
        plan.profiles[0].cluster.nodes,
    )
    assert (
        size_bytes
        and [need.needed_bytes for need in needs[-2:]] == [2 * nodes * size_bytes] * 2
    )
    assert (
        "twice the data of 1 node that --without disk keeps there; this machine"
        in str(needs[-1])
    )


def test_empty_disks_are_made_where_they_are_served(far: Far, world: World) -> None:
    with EmulatedTier().attached(TIER, NodesData([2**30]), world):
        command = far.specs["tierbench-disk-node-1"].command
    options = dict(zip(command[1::2], command[2::2], strict=True))
    assert options["--bytes"] == str(2**30) and "--copy-of" not in options
    with UnlimitedTier().attached(
        changed(TIER, enforcement="none"), NodesData([1, 1]), world
    ) as disks:
        # Nothing is copied, so each run loads.
        assert [volume.restored for volume in disks.volumes] == [False, False]
    assert [one[2] for one in far.volumes[-2:]] == ["node-1", "node-2"]


def test_what_is_loaded_stays_and_a_resumed_load_makes_nothing_anew(
    far: Far, world: World
) -> None:
    snapshots = disk_files.snapshots(TIER, [1], "key", world)
    for resumed in (False, True):
        with EmulatedTier().loading(
            TIER, NodesData([2**30], snapshots, resumed), world
        ):
            command = far.specs["tierbench-disk-node-1"].command
        assert command[0] == "raw" and "--temporary" not in command
        assert ("--bytes" in command) != resumed


def test_a_copy_that_fails_is_an_error_with_the_containers_words(
    far: Far, world: World
) -> None:
    far.said["tierbench-disk-node-1"] = "cp: error writing: No space left on device"
    far.states["tierbench-disk-node-1"] = ContainerState("exited (70)", exit_code=70)
    snapshots = disk_files.snapshots(TIER, [1], "key", world)
    with (
        pytest.raises(RunError, match="could not start") as raised,
        EmulatedTier().attached(TIER, NodesData([2**30], snapshots), world),
    ):
        pass
    assert "No space left" in (raised.value.evidence or "")


def test_snapshots_are_looked_for_where_their_nodes_run(far: Far, world: World) -> None:
    snapshots = disk_files.snapshots(TIER, [1] * 3, "key", world)
    assert disk_files.are_far(snapshots, world) and not disk_files.are_on_nodes(
        snapshots, world
    )
    files = written(far, snapshots)
    assert disk_files.are_on_nodes(snapshots, world)
    files[1].rename(files[0].with_name("node-2.img"))
    assert not disk_files.are_on_nodes(snapshots, world), (
        "on another machine than its node's"
    )


def marked_for(world: World, files: Sequence[Path]) -> None:
    """Puts the mark of the cache of `world` beside each file, as the disk's container does."""
    for file in files:
        (file.parent / marked.MARK).write_text(marked_folders.owner(world))


def test_all_machines_forget_what_has_the_mark_of_this_cache(
    far: Far, world: World
) -> None:
    assert not list(disk_files.forget((), fake_world(cache=world.cache), False)), (
        "this computer has none"
    )
    files = written(far, disk_files.snapshots(TIER, [1] * 2, "key", world))
    marked_for(world, files)
    theirs = replace(world, cache=Path("/home/other/cache"))
    others = written(far, disk_files.snapshots(TIER, [1] * 2, "key", theirs))
    marked_for(theirs, others)
    older = written(far, [FOLDER / "disks/node-1.img", FOLDER / "disks/node-2.img"])
    beside = far.folder_of("node-1") / "of-others"
    beside.write_text("kept")
    listed = list(disk_files.forget((), world, True))
    assert all(file.exists() for file in files)
    removed = list(disk_files.forget((), world, False))
    assert removed == listed
    key, other = files[0].parent.name, others[0].parent.name
    theirs_said = f" belongs to the cache /home/other/cache of {socket.gethostname()}"
    assert sorted(str(one).split(",")[0] for one in removed) == sorted(
        line
        for vm in ("vm1", "vm2")
        for line in (
            f"{FOLDER}/datasets/{key} of {vm} (8 KiB)",
            f"{FOLDER}/datasets/{other} of {vm}{theirs_said}: it is left alone",
            f"{FOLDER}/disks of {vm} has no mark of tierbench",
        )
    )
    (older_said,) = [
        str(one) for one in removed if one.place.endswith("disks") and "vm1" in str(one)
    ]
    assert older_said.endswith(
        f"nobody needs it: rm -r --one-file-system -- {FOLDER}/disks"
    )
    assert not any(file.exists() for file in files) and beside.read_text() == "kept"
    assert all(file.read_text() == "rows" for file in (*others, *older))


def test_snapshots_of_a_failed_load_go_only_if_they_are_ours(
    far: Far, world: World
) -> None:
    snapshots = disk_files.snapshots(TIER, [1] * 2, "key", world)
    first, second = written(far, snapshots)
    marked_for(world, [first])
    marked_for(replace(world, cache=Path("/home/other/cache")), [second])
    disk_files.discard(snapshots, world)
    assert not first.exists() and second.exists()


def test_a_machine_that_cannot_be_asked_is_said(tmp_path: Path, world: World) -> None:
    class Bare(Far):
        def once(self, spec: ContainerSpec, timeout_s: float) -> Completed:
            code = int(spec.placement == "node-1")
            return Completed((), code, "no such program" if code else "", "", 0.0)

    bare: Any = Bare(tmp_path)
    world = replace(world, platform=bare)
    world.cache.joinpath("datasets").mkdir(parents=True)
    (found,) = disk_files.forget((), world, False)
    assert str(found).startswith(f"{FOLDER} of vm1 (0 B); these stay: files of disks")
    assert "no such program" in str(found)


@pytest.mark.parametrize(
    ("mark", "why"),
    [(None, marked.UNMARKED), ('{"host": "vm9", "cache": "/x"}', "of vm9")],
)
def test_files_of_disks_are_not_made_beside_those_of_others_until_the_advice_is_followed(
    tmp_path: Path, mark: str | None, why: str
) -> None:
    world = fake_world(cache=tmp_path)
    theirs = tmp_path / "disks/node-1.img"
    theirs.parent.mkdir()
    theirs.write_text("theirs")
    if mark is not None:
        (theirs.parent / marked.MARK).write_text(mark)
    with pytest.raises(UsageError, match=why) as refused:
        disk_files.mounted(world)
    assert theirs.read_text() == "theirs"
    assert "TIERBENCH_CACHE" in refused.value.advice
    disk_files.mounted(replace(world, cache=tmp_path / "another"))
    _, found, command = refused.value.what.partition("nobody needs it: ")
    assert bool(found) == ("vm9" not in why)
    if found:
        subprocess.run(command, shell=True, check=True)
        disk_files.mounted(world)
        assert [one.name for one in theirs.parent.iterdir()] == [marked.MARK]


@pytest.mark.parametrize("mark", ["", '{"host": "a'])
def test_files_of_disks_whose_mark_was_cut_are_set_aside(
    tmp_path: Path, mark: str
) -> None:
    world, folder = fake_world(cache=tmp_path), tmp_path / "disks"
    folder.mkdir()
    (folder / "node-1.img").write_text("whose?")
    (folder / marked.MARK).write_text(mark)
    disk_files.mounted(world)
    assert [one.name for one in folder.iterdir()] == [marked.MARK]
    (aside,) = tmp_path.glob("disks-aside-*")
    assert (aside / "node-1.img").read_text() == "whose?"
    assert isinstance(world.progress, QuietProgress)
    assert f"rm -r --one-file-system -- {aside}" in world.progress.said[-1]


class Loading(FakeTier):
    """Its snapshots are on the machines."""

    def __init__(self, log: Log, far: Far) -> None:
        super().__init__(log, True)
        self._far = far

    @contextmanager
    def loading(
        self, tier: Tier, data: NodesData, world: World
    ) -> Iterator[tuple[Volume, ...]]:
        written(self._far, data.snapshots)
        yield tuple(
            Volume(str(Model(1e6, 1e-6)), "", restored=False) for _ in data.snapshots
        )


def test_a_data_set_whose_machine_lost_its_snapshot_is_loaded_anew(
    far: Far, world: World
) -> None:
    log = Log()
    parts = fake_parts(log)
    parts = replace(parts, tiers={"emulated": Loading(log, far)})

    def ensure() -> Sequence[Path] | None:
        return datasets.ensure(a_profile(nodes=2), a_workload(), 1, parts, world)

    snapshots = ensure()
    assert snapshots and ensure() == snapshots
    assert log.words.count("load") == 1
    assert datasets.addresses_of(snapshots, world) == ("10.0.0.11", "10.0.0.12")
    for file in far.folder_of("node-2").rglob("*.img"):
        file.unlink()
    ensure()
    assert log.words.count("load") == 2


def test_each_machine_must_have_what_its_nodes_need(tmp_path: Path) -> None:
    far = Far(tmp_path, devices=("/dev/loop-control",))
    world = replace(fake_world(platform=far), root=ROOT)
    with pytest.raises(
        UnavailableError, match="/dev/fuse, which the kernel of vm2"
    ) as raised:
        EmulatedTier().check(TIER, world)
    assert "modprobe fuse" in raised.value.advice
    plan = a_plan()
    needs = list(resource_needs.needs(plan, {"emulated": EmulatedTier()}, world))
    assert [(one.machine, one.place) for one in needs] == [
        ("vm1", str(FOLDER)),
        ("vm2", str(FOLDER)),
        ("vm1", None),
        ("vm2", None),
    ]
    assert str(needs[1]).endswith("/var/lib/tierbench of vm2 has 10 GiB free")
    assert "; vm2 has 16 GiB" in str(needs[3])
