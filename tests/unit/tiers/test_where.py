"""What is refused before anything starts if containers run on other machines than this computer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.cli.main import program
from orchestrator.errors import UnavailableError
from orchestrator.platforms import own_images
from orchestrator.powers import Machine, MachineFacts, World
from orchestrator.tier import NodeDisks, Snapshots
from orchestrator.tiers.common.real import snapshots
from orchestrator.tiers.mounted import MountedTier
from tests import ROOT
from tests.apps import an_app
from tests.fakes import FakePlatform, FarMachine, fake_world
from tests.tiers import a_tier, changed

REAL = a_tier("p15", "P15", "mounted", 1100, None, path="/mnt/p15")
MOUNTS = (
    "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n36 24 8:16 / /mnt/p15 rw - xfs /dev/sdb rw\n"
)


class Vm(FarMachine):
    """A machine with one disk of its own at /mnt/p15, and these other files."""

    def __init__(self, name: str, files: dict[str, str]) -> None:
        super().__init__(MachineFacts(name, "6.1", "Debian", 4, "", 2**34))
        block = "/sys/class/block/sdb"
        self.files = {
            "/proc/self/mountinfo": MOUNTS,
            "/dev/sdb": "",
            f"{block}/dev": "8:16",
        }
        self.files |= {"/mnt/p15": "", block: "", f"{block}/size": "99999999", **files}

    def read(self, path: str) -> str:  # type: ignore[override]
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def exists(self, path: str) -> bool:  # type: ignore[override]
        return path in self.files


class Elsewhere(FakePlatform):
    def __init__(self, machines: Sequence[Machine]) -> None:
        super().__init__(images=[own_images.tag(ROOT, "disk")])
        self._machines = tuple(machines)

    def machines(self) -> tuple[Machine, ...]:
        return self._machines

    def folder(self, cache: Path) -> Path:
        return Path("/var/lib/tierbench")


def world_of(*machines: Machine) -> World:
    return replace(fake_world(platform=Elsewhere(machines)), root=ROOT)


def test_real_disks_by_path_need_one_machine() -> None:
    tier = changed(REAL, path=None, disks={"node-1": NodeDisks("/mnt/p15")})
    with pytest.raises(
        UnavailableError, match="nodes are on several: vm1, vm2 and vm3"
    ):
        MountedTier().check(
            tier, world_of(*(Vm(name, {}) for name in ("vm1", "vm2", "vm3")))
        )


def test_commands_of_a_profile_run_where_its_disks_are() -> None:
    tier = changed(
        REAL, snapshots=Snapshots("command", save="lvcreate", restore="lvconvert")
    )
    with pytest.raises(UnavailableError, match="but containers run on vm1"):
        snapshots.check(tier, [], world_of(Vm("vm1", {})))


@pytest.mark.parametrize(
    "words", [["up", "azure/P15", "--at", "/mnt/x"], ["down", "x"]]
)
def test_a_disk_that_stays_is_mounted_here(words: list[str], tmp_path: Path) -> None:
    far = world_of(Vm("vm1", {}))

    app = an_app(tmp_path, far.platform, user=0)
    with pytest.raises(UnavailableError, match="but containers run on vm1") as refused:
        program(["disk", *words], standalone_mode=False, obj=app)
    assert "start this program there" in refused.value.advice
