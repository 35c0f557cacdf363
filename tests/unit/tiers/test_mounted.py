"""Which real disk is behind a path, and when it is refused: on a fixture of /proc and /sys."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import (
    RunError,
    TierbenchError,
    UnavailableError,
    UsageError,
    VoidError,
)
from orchestrator.extensions.standing_disks import recording
from orchestrator.kernel import mounts
from orchestrator.model import Volume
from orchestrator.parts import Disks, NodesData
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import HOST_NETWORK, World
from orchestrator.tier import Gate, GateCheck, NodeDisks, RealDisks, Tier
from orchestrator.tiers import mounted
from orchestrator.tiers.common.real import node_places, real_disk
from orchestrator.tiers.common.real.cloud_metadata import of_clouds
from tests.disk_scripts import Engine
from tests.fakes import (
    FakePlatform,
    FarPlatform,
    completed,
    fake_world,
    this_machine_has,
)
from tests.tiers import a_tier, changed

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
    for name in (
        "home",
        "disk/below",
        "memory",
        "with space",
        "btrfs",
        "proc/self",
        "dev",
    ):
        (root / name).mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text(LINES.format(place=root))
    devices, numbers, names = (
        root / "sys" / place for place in ("devices", "dev/block", "class/block")
    )
    for folder in (numbers, names):
        folder.mkdir(parents=True)
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


def tier(path: Path | str | None, **more: Any) -> Tier:
    text = None if path is None else str(path)
    return changed(
        a_tier("real", "Real", "mounted", None, None), **{"path": text, **more}
    )


def believable(
    root: Path, path: Path | str | None, needed_bytes: int = 0, **more: object
) -> Any:
    declared = tier(path, **more)
    at = node_places.chosen(declared, ())
    (disk,) = real_disk.disks_at(
        declared, at, lambda _: needed_bytes, LocalMachine(root)
    ).values()
    return disk


def found(root: Path, name: str = "disk") -> mounts.RealDisk:
    return mounts.find(root / name, LocalMachine(root))


def test_a_partition_is_watched_and_its_disk_is_known(root: Path) -> None:
    disk = found(root)
    assert (disk.device, disk.whole, disk.node) == (
        "nvme0n1p1",
        "nvme0n1",
        "/dev/nvme0n1p1",
    )
    assert disk.facts["file_system"] == "xfs"
    assert disk.facts["mount_options"] == "rw,noatime,noquota"
    assert disk.facts["write_cache"] == "write back"
    assert not mounts.on_root_disk(disk, LocalMachine(root))


@pytest.mark.parametrize(
    ("name", "device"),
    [("with space", "dm-0"), ("btrfs", "sdb"), ("disk/below", "nvme0n1p1")],
)
def test_mapped_and_many_device_file_systems_are_found(
    root: Path, name: str, device: str
) -> None:
    assert found(root, name).device == device


@pytest.mark.parametrize(
    ("path", "needed_bytes", "error", "words"),
    [
        ("{}/none", 0, UsageError, "is not a directory"),
        ("{}/memory", 0, UsageError, "is on tmpfs, which no disk"),
        ("{}/disk/below", 0, UsageError, "is not a mount point: it is a directory of"),
        ("{}/home", 0, UsageError, "is on sda, the disk of the system itself"),
        ("disk", 0, UsageError, "disk is not a full path"),
        ("", 0, UsageError, "names no disk"),
        ("{}/disk", 2**60, UnavailableError, r"free; .* are needed"),
        ("{}/btrfs", 0, UnavailableError, "mounted read-only"),
    ],
)
def test_paths_that_cannot_be_meant_or_used(
    root: Path, path: str, needed_bytes: int, error: type[TierbenchError], words: str
) -> None:
    with pytest.raises(error, match=words):
        believable(root, path.format(root) or None, needed_bytes)


def test_a_disk_may_be_filled_to_its_last_byte(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    this_machine_has(monkeypatch, free_bytes=2**30)
    assert believable(root, root / "disk", needed_bytes=2**30)
    with pytest.raises(UnavailableError, match="are needed"):
        believable(root, root / "disk", needed_bytes=2**30 + 1)


@pytest.mark.parametrize(
    ("path", "file_bytes", "advice"),
    [
        ("none", 1, "mount the disk there first, or correct the path"),
        ("home", 1, "take another disk, or say --allow-root-disk. The system's own"),
        ("disk/below", 1, "Or say --allow-root-disk to take whatever disk is there"),
        ("disk", 2**60, "say --quick for a smaller file, or make room"),
    ],
)
def test_whoever_records_a_disk_is_told_options_not_keys_of_a_profile(
    root: Path, path: str, file_bytes: int, advice: str
) -> None:
    class OnRoot(FakePlatform):
        def machines(self) -> tuple[LocalMachine, ...]:
            return (LocalMachine(root),)

    world = fake_world(platform=OnRoot())
    with (
        pytest.raises(TierbenchError) as refusal,
        recording.fio_at(root / path, file_bytes, world, allow_root_disk=False),
    ):
        pass
    assert advice in refusal.value.advice
    assert "profile" not in refusal.value.advice
    assert "allow_root_disk" not in refusal.value.advice


def test_the_root_disk_when_told_so(root: Path) -> None:
    assert believable(root, root / "home", allow_root_disk=True).device == "sda3"


def test_a_device_that_vanished(root: Path) -> None:
    disk = found(root)
    assert mounts.is_there(disk, LocalMachine(root))
    (root / "sys/class/block/nvme0n1p1").unlink()
    assert not mounts.is_there(disk, LocalMachine(root))


def test_another_disk_mounted_at_the_same_place_is_not_the_same(root: Path) -> None:
    disk = found(root)
    file = root / "proc/self/mountinfo"
    file.write_text(
        file.read_text() + f"50 22 8:17 / {root}/disk rw - xfs /dev/sdc1 rw\n"
    )
    (root / "sys/dev/block/8:17").symlink_to(root / "sys/devices/pci/block/sdb")
    assert found(root).device == "sdb", "the last one mounted is seen"
    file.write_text(file.read_text().replace("31 22 259:1", "51 22 259:1"))
    assert not mounts.is_there(disk, LocalMachine(root)), (
        "mounted anew: what was in flight is lost"
    )


@pytest.mark.parametrize("vanishes", [False, True])
def test_a_disk_that_vanished_explains_the_failure_of_a_run(
    root: Path, vanishes: bool
) -> None:
    """On a disk that is still there a run keeps its own error."""
    disk = believable(root, root / "disk")
    error, words = (
        (VoidError, "nvme0n1p1 vanished from")
        if vanishes
        else (RunError, "the database died")
    )
    with (
        pytest.raises(error, match=words) as raised,
        real_disk.watched(disk, LocalMachine(root)),
    ):
        if vanishes:
            system = LINES.splitlines()[0].format(place=root)
            (root / "proc/self/mountinfo").write_text(f"{system}\n")
        raise RunError("the database died")
    assert raised.value.evidence == ("the database died" if vanishes else "")


# ------------------------------------------------------------------ one disk, or one for each node


@pytest.fixture(name="world")
def mounted_world(tmp_path: Path) -> World:
    return fake_world(platform=Engine(tmp_path))


def test_each_node_gets_its_own_disk(root: Path, world: World) -> None:
    paths = {"node-1": str(root / "disk"), "node-2": str(root / "with space")}
    mine = {name: NodeDisks(path) for name, path in paths.items()}
    mechanism = mounted.MountedTier()
    with mechanism.attached(
        tier(None, disks=mine), NodesData([2**20, 2**20]), world
    ) as disks:
        volumes = disks.volumes
        assert [one.device for one in volumes] == ["/dev/nvme0n1p1", "/dev/dm-0"]
        assert [Path(one.name) for one in volumes] == [
            root / "disk/tierbench-data/node-1",
            root / "with space/tierbench-data/node-2",
        ]
        assert all(Path(one.name).is_dir() for one in volumes)
        assert set(disks.facts["disks"]) == set(paths.values())
    assert not (root / "disk/tierbench-data").exists()


def test_a_node_with_a_disk_for_its_wal(root: Path, world: World) -> None:
    """It may be another node's data disk; each use has a directory of its own."""
    disk, volume = str(root / "disk"), str(root / "with space")
    disks = {"node-1": NodeDisks(disk, wal=volume), "node-2": NodeDisks(volume)}
    attached = mounted.MountedTier().attached(
        tier(None, disks=disks), NodesData([1, 1]), world
    )
    with attached as made:
        first, second = made.volumes
        assert (first.device, first.wal_device) == ("/dev/nvme0n1p1", "/dev/dm-0")
        assert (
            first.wal == f"{volume}/tierbench-data/node-1-wal"
            and Path(first.wal).is_dir()
        )
        assert second.name == f"{volume}/tierbench-data/node-2" and second.wal == ""
        assert made.facts["disks"][volume]["used_by"] == ["node-1's WAL", "node-2"]
    assert not (root / "with space/tierbench-data").exists()


def test_the_data_disks_limits_are_not_those_of_a_disk_for_the_wal(
    root: Path, world: World
) -> None:
    judged = {}

    def take(tier: Tier, disks: Disks, world: World, **_: bool) -> Gate:
        judged[disks.volumes[0].device] = tier.limits.iops
        check = GateCheck("IOPS", "1/s", None, 1.0, None, "not declared")
        return Gate("real", 0.0, (check,))

    disks = {"node-1": NodeDisks(str(root / "disk"), wal=str(root / "with space"))}
    declared = tier(None, disks=disks, iops=500)
    mounted.MountedTier(take=take).gate(declared, world, thorough=False)
    assert judged == {"/dev/nvme0n1p1": 500, "/dev/dm-0": None}
    log = replace(tier("/w", iops=90), disk=RealDisks())
    taken = mounted.MountedTier(take=take).gate(
        replace(declared, wal=log), world, thorough=False
    )
    assert [check.is_of_log for check in taken.checks] == [False, True]
    assert judged == {"/dev/nvme0n1p1": 500, "/dev/dm-0": 90}, (
        "a tier of its own holds for it"
    )


@pytest.mark.parametrize(
    ("seconds", "word"),
    [(130e6, "does not show"), (132e6, "shows"), (None, "not tried")],
)
def test_a_second_pass_that_no_disk_can_be_as_fast_as(
    seconds: float | None, word: str
) -> None:
    class Passes:
        def run(self, job: str, settings: dict[str, str]) -> list[dict[str, Any]]:
            assert job == "reread"
            rates = (90e6, seconds)
            return [
                {"read": {"bw_bytes": rate}, "write": {"bw_bytes": 0}} for rate in rates
            ]

    passes: Any = nullcontext(Passes())
    declared = tier(
        "/a", **({"iops": 10_000, "bytes_per_s": 125_000_000} if seconds else {})
    )
    volume = Volume("/a", "/dev/x", False)
    found = mounted.host_cache(declared, volume, fake_world(), lambda *_: passes)
    assert found["host_cache"] == word


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        ({"file_system": "ext4"}, "disk has xfs, but the profile expects ext4"),
        ({"mount_options": ("noatime", "discard")}, "is not mounted with discard"),
    ],
)
def test_another_file_system_than_expected(
    root: Path, expected: dict[str, Any], words: str
) -> None:
    assert believable(
        root, root / "disk", file_system="xfs", mount_options=("noatime",)
    )
    with pytest.raises(UsageError, match=words):
        believable(root, root / "disk", **expected)


def test_all_disks_that_are_wrong_are_named_at_once(root: Path) -> None:
    disks = {
        "node-1": NodeDisks(str(root / "none")),
        "node-2": NodeDisks(str(root / "home")),
    }
    both = tier(None, disks=disks)
    at = node_places.chosen(both, list(disks))
    with pytest.raises(UsageError) as raised:
        real_disk.disks_at(both, at, lambda _: 0, LocalMachine(root))
    assert [mistake.where for mistake in raised.value.mistakes] == [
        f"node-1 ({root}/none)",
        f"node-2 ({root}/home)",
    ]


def test_a_volume_on_the_disk_of_the_system_is_found_out(root: Path) -> None:
    """Its own device is another than the root's; the disk under both is one."""
    dm = root / "sys/devices/virtual/block/dm-0"
    (dm / "slaves").mkdir()
    (dm / "slaves/sda3").symlink_to(root / "sys/devices/pci/block/sda/sda3")
    with pytest.raises(UsageError, match="dm-0, the disk of the system itself"):
        believable(root, root / "with space")


def test_the_cloud_is_asked_before_anything_starts_and_in_each_run(
    root: Path, world: World
) -> None:
    asked = []

    def ask(method: str, url: str, headers: Any) -> str:
        asked.append(url)
        raise OSError("no route to host")

    mechanism = mounted.MountedTier(ask)
    declared = tier(root / "disk", cloud="azure")
    mechanism.check(declared, world)
    assert "told nothing: no route to host" in world.progress.said[0]  # type: ignore[attr-defined]
    with mechanism.attached(declared, NodesData([1]), world) as disks:
        assert "told nothing" in disks.facts["cloud"]["failure"]
    mechanism.check(tier(root / "disk"), world)
    assert len(asked) == 2


def test_the_cloud_is_asked_about_disks_elsewhere_on_their_machine(
    root: Path, world: World
) -> None:

    def ask(method: str, url: str, headers: Any) -> str:
        raise AssertionError("asked here")

    class Far(Engine):
        folder = FarPlatform.folder
        once = FakePlatform.once

    far = Far(root)
    refused = "urllib.error.URLError: <urlopen error timed out>"
    far.answer = lambda *_: completed(refused, exit_code=1)
    world = replace(world, platform=far)
    mounted.MountedTier(ask).check(tier(root / "disk", cloud="azure"), world)
    said = world.progress.said[0]  # type: ignore[attr-defined]
    assert said.endswith(
        "told nothing: urllib.error.URLError: <urlopen error timed out>"
    )
    (spec,) = far.specs.values()
    assert (
        spec.network == HOST_NETWORK
        and of_clouds("clouds")["azure"]["url"] in spec.command
    )


def test_the_gate_measures_every_disk_once(root: Path, world: World) -> None:
    measured = []

    def take(
        tier: Tier, disks: Disks, world: World, thorough: bool, drained: bool
    ) -> Gate:
        measured.append((disks.volumes[0].device, disks.facts["device"]))
        check = GateCheck("IOPS", "1/s", None, 1.0, None, "not declared")
        return Gate("real", 0.0, (check,), disks.facts)

    disk, volume = str(root / "disk"), str(root / "with space")
    disks = {
        "node-1": NodeDisks(disk, wal=volume),
        "node-2": NodeDisks(volume),
        "node-3": NodeDisks(disk),
    }
    taken = mounted.MountedTier(take=take).gate(
        tier(None, disks=disks), world, thorough=False
    )
    assert measured == [("/dev/nvme0n1p1", "nvme0n1p1"), ("/dev/dm-0", "dm-0")]
    assert [check.disk_key for check in taken.checks] == list(taken.device["disks"])
    assert [(check.disk, check.nodes) for check in taken.checks] == [
        (f"node-1 and node-3 ({disk})", ("node-1", "node-3")),
        (f"node-1's WAL and node-2 ({volume})", ("node-2",)),
    ]
    assert set(taken.device["disks"]) == {disk, volume}
