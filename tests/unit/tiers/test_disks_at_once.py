"""Disks of nodes on machines of their own start at once; those on one kernel in turn."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import RunError
from orchestrator.parts import NodesData
from orchestrator.platforms import own_images
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import ContainerSpec, ContainerState, Machine
from orchestrator.tiers.common.emulated import disk_files, disk_server
from orchestrator.tiers.common.emulated.disk_files import DiskFile
from tests import ROOT
from tests.fakes import FakeContainer, FakePlatform, fake_world

NODES = ("node-1", "node-2", "node-3")
OWN, ONE, SHARED, UNKNOWN = (1, 2, 3), (1,), (1, 1, 2), (0, 0, 0)


class Booted(LocalMachine):
    """A machine with a kernel of its own; of `number` 0 one whose kernel cannot be told."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def read(self, path: str) -> str:
        if self.number == 0:
            raise PermissionError(path)
        return f"boot {self.number}\n"


class Machines(FakePlatform):
    """Machines with these kernels; `failing`: the disk that ends at once."""

    def __init__(self, kernels: Sequence[int], failing: str = "") -> None:
        super().__init__(images=[own_images.tag(ROOT, "disk")])
        self.kernels, self.failing = kernels, failing
        self.at_once = kernels == OWN
        self.removed: list[str] = []
        self.together = threading.Barrier(len(NODES))

    def machines(self) -> tuple[Machine, ...]:
        return tuple(map(Booted, self.kernels))

    @contextmanager
    def running(self, spec: ContainerSpec) -> Iterator[FakeContainer]:
        try:
            with super().running(spec) as container:
                yield container
        finally:
            self.removed.append(spec.name[-6:])

    def logs(self, name: str, tail: int | None = None) -> str:
        if self.at_once and tail is None:
            self.together.wait(20)  # for all of them
        if self.failing and name.endswith(self.failing):
            self.states[name] = ContainerState("exited (1)", exit_code=1)
            return ""
        return json.dumps({"device": f"/dev/loop-of-{name[-6:]}"})


def serving(platform: FakePlatform, folder: Path) -> Any:
    files = [
        DiskFile(folder / f"disks/{node}.img", node, temporary=False, in_memory=False)
        for node in NODES
    ]
    world = replace(fake_world(platform=platform), cache=folder)
    return disk_server.devices("raw", files, {}, world)


@pytest.mark.parametrize("kernels", [OWN, ONE, SHARED, UNKNOWN])
def test_each_node_has_its_own_device(kernels: Sequence[int], tmp_path: Path) -> None:
    platform = Machines(kernels)
    with serving(platform, tmp_path) as disks:
        assert [volume.placement for volume in disks.volumes] == list(NODES)
        assert [volume.device[-6:] for volume in disks.volumes] == list(NODES)
    began = [asked[1][-6:] for asked in platform.asked if asked[0] == "start"]
    assert began == list(NODES) if not platform.at_once else set(began) == set(NODES)


@pytest.mark.parametrize("kernels", [OWN, ONE, SHARED, UNKNOWN])
def test_all_that_began_are_removed_where_one_fails(
    kernels: Sequence[int], tmp_path: Path
) -> None:
    platform = Machines(kernels, failing="node-3")
    with pytest.raises(RunError, match="could not start"), serving(platform, tmp_path):
        pass
    assert sorted(platform.removed) == list(NODES)


@pytest.mark.parametrize("with_data", [True, False])
def test_a_volume_is_restored_and_kept_as_its_file_says(
    with_data: bool, tmp_path: Path
) -> None:
    """Loaded on snapshots themselves, a load that goes on or a new one; copied to be measured."""
    world = replace(fake_world(platform=Machines(ONE)), cache=tmp_path)
    snapshots = tuple(tmp_path / f"datasets/a/{node}.img" for node in NODES[:1])
    loaded = disk_files.of_load(
        NodesData((2**30,), snapshots, resumed=with_data), logs=False
    )
    measured = disk_files.of_run(
        NodesData((2**30,), snapshots if with_data else ()), world, logs=False
    )
    for files, kept in ((loaded, True), (without_copying(measured), False)):
        with disk_server.devices("raw", files, {}, world) as disks:
            (volume,) = disks.volumes
        assert (volume.restored, volume.kept) == (with_data, kept)


def without_copying(files: Sequence[DiskFile]) -> list[DiskFile]:
    """The same without waiting for the copy, of which this platform's logs say nothing."""
    return [replace(file, copy_of=None) for file in files]
