"""Which real disk is behind a path, and when it is refused: on a fixture of /proc and /sys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import RunError, UnavailableError, UsageError
from orchestrator.model import Tier
from orchestrator.tiers import mounted, mounts

LINES = """\
22 1 8:2 / / rw,relatime - ext4 /dev/sda2 rw,discard
30 22 8:3 / {place}/home rw,relatime shared:4 - xfs /dev/sda3 rw,noquota
31 22 259:1 / {place}/disk rw,noatime - xfs /dev/nvme0n1p1 rw,noquota
32 22 0:40 / {place}/memory rw - tmpfs tmpfs rw,size=4k
33 22 253:0 / {place}/with\\040space rw,noatime - ext4 /dev/mapper/vg-data rw
34 22 0:45 /sub {place}/btrfs ro,noatime - btrfs /dev/sdb ro,subvol=/sub
"""
DEVICES = {
    "8:2": "pci/block/sda/sda2",
    "8:3": "pci/block/sda/sda3",
    "259:1": "pci/nvme/nvme0n1/nvme0n1p1",
    "253:0": "virtual/block/dm-0",
}
DISKS = ["pci/block/sda", "pci/nvme/nvme0n1", "pci/block/sdb", "virtual/block/dm-0"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """/proc and /sys of a machine, with its mount points beside them."""
    root = tmp_path
    for name in ("home", "disk/below", "memory", "with space", "btrfs", "proc/self", "dev"):
        (root / name).mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text(LINES.format(place=root))
    devices = root / "sys/devices"
    numbers, names = root / "sys/dev/block", root / "sys/class/block"
    numbers.mkdir(parents=True)
    names.mkdir(parents=True)
    for place in DISKS:
        queue = devices / place / "queue"
        queue.mkdir(parents=True)
        (queue / "write_cache").write_text("write back\n")
        (devices / place / "size").write_text("2048\n")
        (names / Path(place).name).symlink_to(devices / place)
    for number, place in DEVICES.items():
        (devices / place).mkdir(exist_ok=True)
        if Path(place).name not in {Path(disk).name for disk in DISKS}:
            (devices / place / "partition").write_text("1\n")
            (names / Path(place).name).symlink_to(devices / place)
        (numbers / number).symlink_to(devices / place)
    (root / "dev/sdb").touch()
    return root


def tier(path: Path | str | None, **more: object) -> Tier:
    text = None if path is None else str(path)
    return replace(Tier("real", "Real", "mounted", None, None, path=text), **more)  # type: ignore[arg-type]


def test_a_partition_is_watched_and_its_disk_is_known(root: Path) -> None:
    disk = mounts.find(root / "disk", root)
    assert (disk.device, disk.whole, disk.node) == ("nvme0n1p1", "nvme0n1", "/dev/nvme0n1p1")
    assert disk.facts["file_system"] == "xfs"
    assert disk.facts["mount_options"] == "rw,noatime,noquota"
    assert disk.facts["write_cache"] == "write back"
    assert not mounts.on_root_disk(disk, root)


@pytest.mark.parametrize(
    ("name", "device"), [("with space", "dm-0"), ("btrfs", "sdb"), ("disk/below", "nvme0n1p1")]
)
def test_mapped_and_many_device_file_systems_are_found(root: Path, name: str, device: str) -> None:
    assert mounts.find(root / name, root).device == device


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none", "is not a directory"),
        ("memory", "is on tmpfs, which no disk"),
        ("disk/below", "is not a mount point: it is a directory of"),
        ("home", "is on sda, the disk of the system itself"),
    ],
)
def test_paths_that_cannot_be_meant(root: Path, name: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        mounted.believable(tier(root / name), 0, root)
    assert said in refused.value.what


def test_a_path_must_be_given_in_full(root: Path) -> None:
    with pytest.raises(UsageError, match="give it in full"):
        mounted.believable(tier("disk"), 0, root)
    with pytest.raises(UsageError, match="give `path`"):
        mounted.believable(tier(None), 0, root)


def test_the_root_disk_when_told_so(root: Path) -> None:
    allowed = tier(root / "home", allow_root_disk=True)
    assert mounted.believable(allowed, 0, root).device == "sda3"


def test_too_little_space_and_read_only(root: Path) -> None:
    with pytest.raises(UnavailableError, match=r"free; .* are needed"):
        mounted.believable(tier(root / "disk"), 2**60, root)
    with pytest.raises(UnavailableError, match="mounted read-only"):
        mounted.believable(tier(root / "btrfs"), 0, root)


def test_a_device_that_vanished(root: Path) -> None:
    disk = mounts.find(root / "disk", root)
    assert mounts.is_there(disk, root)
    (root / "sys/class/block/nvme0n1p1").unlink()
    assert not mounts.is_there(disk, root)


def test_another_disk_mounted_at_the_same_place_is_not_the_same(root: Path) -> None:
    disk = mounts.find(root / "disk", root)
    file = root / "proc/self/mountinfo"
    file.write_text(file.read_text() + f"50 22 8:17 / {root}/disk rw - xfs /dev/sdc1 rw\n")
    (root / "sys/dev/block/8:17").symlink_to(root / "sys/devices/pci/block/sdb")
    assert mounts.find(root / "disk", root).device == "sdb", "the last one mounted is seen"
    file.write_text(file.read_text().replace("31 22 259:1", "51 22 259:1"))
    assert not mounts.is_there(disk, root), "mounted anew: what was in flight is lost"


def test_a_failing_run_on_a_disk_that_is_still_there_keeps_its_own_error(root: Path) -> None:
    disk = mounted.believable(tier(root / "disk"), 0, root)
    with (
        pytest.raises(RunError, match="the database died"),
        mounted.MountedTier(root)._watched(disk),
    ):
        raise RunError("the database died")


def test_a_disk_that_vanished_explains_the_failure(root: Path) -> None:
    disk = mounted.believable(tier(root / "disk"), 0, root)
    with (
        pytest.raises(RunError, match="nvme0n1p1 vanished from") as raised,
        mounted.MountedTier(root)._watched(disk),
    ):
        (root / "proc/self/mountinfo").write_text(LINES.splitlines()[0].format(place=root) + "\n")
        raise RunError("the database died")
    assert raised.value.evidence == "the database died"
