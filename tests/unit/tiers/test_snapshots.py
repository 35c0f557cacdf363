"""Snapshots on real disks: saved and restored by the very scripts, on directories of this machine.

Only what a container does (to see the machine's paths below /host) is done here without one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import RunError, TierbenchError, UsageError, VoidError
from orchestrator.parts import NodesData
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import World
from orchestrator.run.data import datasets
from orchestrator.system import marked, marked_folders
from orchestrator.tier import NodeDisks, Snapshots, Tier
from orchestrator.tiers import tier_mechanisms
from orchestrator.tiers.common.real import (
    node_places,
    quiet_disks,
    real_disk,
    restoring,
    snapshots,
)
from tests import ROOT
from tests.disk_scripts import IDLE, Engine, Shell
from tests.fakes import fake_world, this_machine_has
from tests.tiers import a_tier, changed

MOUNTS = """\
22 1 8:2 / / rw - ext4 /dev/sda2 rw
31 22 8:16 / {}/disk rw - xfs /dev/sdb rw
32 22 8:32 / {}/other rw - ext4 /dev/sdc rw
"""
SIZES = [2**10, 2**10]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("disk", "other", "proc/self", "cache", "sys/dev/block"):
        (tmp_path / name).mkdir(parents=True)
    for number, name in (("8:2", "sda2"), ("8:16", "sdb"), ("8:32", "sdc")):
        device = tmp_path / "sys/class/block" / name
        device.mkdir(parents=True)
        (tmp_path / "sys/dev/block" / number).symlink_to(device)
    (tmp_path / "proc/self/mountinfo").write_text(MOUNTS.format(tmp_path, tmp_path))
    (tmp_path / "proc/diskstats").write_text(IDLE.format(7, 0))
    return tmp_path


@pytest.fixture(name="world")
def snapshot_world(root: Path) -> World:
    return replace(
        fake_world(platform=Engine(root), shell=Shell()),
        cache=root / "cache",
        root=ROOT,
    )


def real_tier(root: Path, way: Snapshots | None = None) -> Tier:
    return a_tier(
        "real", "R", "mounted", None, None, path=str(root / "disk"), snapshots=way
    )


def load(tier: Tier, world: World, resumed: bool = False) -> tuple[Path, ...]:
    """Loads a little on two nodes; returns the snapshots."""
    found = restoring.snapshots_of(tier, SIZES, "key", world)
    with restoring.loading(tier, NodesData(SIZES, found, resumed), world) as volumes:
        for number, volume in enumerate(volumes, 1):
            assert volume.kept and volume.restored == resumed
            file = Path(volume.name) / "base" / "1"
            file.parent.mkdir(exist_ok=True)
            file.write_text(f"data of node {number}")
            file.chmod(0o640)
            file.parent.chmod(0o700)
            Path(volume.name).chmod(0o750)
    return found


def attach(tier: Tier, found: Sequence[Path], world: World) -> Any:
    return restoring.attached(tier, NodesData(SIZES, found), world)


EVERY_WAY = pytest.mark.parametrize("way", ["copy", "elsewhere", "command"])


def given(way: str, root: Path) -> Snapshots:
    """`command`: what a person might write, for a file system without snapshots of its own."""
    kept = f"{root}/kept-$TIERBENCH_SNAPSHOT"
    return {
        "copy": Snapshots("copy"),
        "elsewhere": Snapshots("elsewhere", path=str(root / "other")),
        "command": Snapshots(
            "command",
            save=f'cp -a "$TIERBENCH_DATA" "{kept}"; echo "saved $TIERBENCH_NODES"',
            restore=f'cp -a "{kept}/." "$TIERBENCH_DATA/"; echo "restored $TIERBENCH_PATH"',
        ),
    }[way]


@EVERY_WAY
def test_every_run_starts_from_what_was_loaded(
    way: str, root: Path, world: World
) -> None:
    tier = real_tier(root, given(way, root))
    found = load(tier, world)
    assert all(world.machine.exists(str(one)) for one in found)
    assert not (root / "disk" / node_places.FOLDER).exists()
    for _ in range(2):  # what the first run wrote is not there in the second
        with attach(tier, found, world) as disks:
            for number, volume in enumerate(disks.volumes, 1):
                place = Path(volume.name)
                assert volume.restored and not volume.kept
                assert (place / "base/1").read_text() == f"data of node {number}"
                modes = [
                    path.stat().st_mode & 0o777 for path in (place, place / "base/1")
                ]
                assert modes == [0o750, 0o640]
                (place / "base/1").write_text("changed by a run")
                (place / "more").touch()
            facts = disks.facts["restored"]
            assert facts["way"] == way and facts["took_s"] >= 0
            assert (facts["caches_dropped"], facts["quiet"]) == ("of the files", True)
            if way == "command":
                said = facts["commands"][str(root / "disk")]["output"]
                assert said == f"restored {root}/disk\n"
        assert (root / "disk" / node_places.FOLDER).exists() == (way != "command")


def written(tier: Tier, found: Sequence[Path], world: World) -> int:
    """Bytes that a restore wrote."""
    with attach(tier, found, world) as disks:
        return int(disks.facts["restored"]["written_bytes"])


@pytest.mark.parametrize("way", ["copy", "elsewhere"])
def test_the_next_run_writes_only_what_the_one_before_has_changed(
    way: str, root: Path, world: World
) -> None:
    tier = real_tier(root, given(way, root))
    found, ours = load(tier, world), root / "disk" / node_places.FOLDER
    size = len("data of node 1")
    assert written(tier, found, world) == 2 * size
    (ours / "node-2/base/1").write_text("DATA of node 2")
    assert snapshots.held_bytes(ours / "node-2", world.machine) >= size
    assert written(tier, found, world) == size
    assert written(tier, found, world) == 0
    (ours / ".node-2.restored").unlink()  # as a restore leaves it that was cut short
    assert written(tier, found, world) == 2 * size
    with pytest.raises(KeyError), attach(tier, found, world):
        raise KeyError
    assert not ours.exists(), "what a failed run left is not trusted"
    assert written(tier, found, world) == 2 * size
    with real_disk.folders(root / "disk", ["gate"], world) as (folder,):
        assert list(folder.parent.iterdir()) == [folder, folder.parent / snapshots.MARK]
    assert not ours.exists(), "a gate needs the disk for itself"


def test_what_lay_on_a_disk_that_vanished_is_not_trusted(
    root: Path, world: World
) -> None:
    """What the kernel had not yet written may be lost, times of the files with it."""
    tier = real_tier(root)
    found = load(tier, world)
    elsewhere = (root / "proc/self/mountinfo").read_text().replace("8:16", "8:48")
    with pytest.raises(VoidError), attach(tier, found, world):
        (root / "proc/self/mountinfo").write_text(elsewhere)
    assert not (root / "disk" / node_places.FOLDER).exists()


def test_what_was_loaded_becomes_the_snapshot_without_being_copied(
    root: Path, world: World
) -> None:
    tier = real_tier(root)
    found = restoring.snapshots_of(tier, SIZES[:1], "key", world)
    with restoring.loading(tier, NodesData(SIZES[:1], found), world) as (volume,):
        (Path(volume.name) / "data").touch()
        before = (Path(volume.name) / "data").stat().st_ino
    assert (found[0] / "data").stat().st_ino == before
    with restoring.attached(tier, NodesData(SIZES[:1], found), world) as disks:
        assert (Path(disks.volumes[0].name) / "data").stat().st_ino != before


def test_the_wal_of_a_node_is_kept_with_its_data(root: Path, world: World) -> None:
    disks = {"node-1": NodeDisks(str(root / "disk"), wal=str(root / "other"))}
    tier = changed(real_tier(root), path=None, disks=disks)
    found = restoring.snapshots_of(tier, SIZES[:1], "key", world)
    assert [one.name for one in found] == ["node-1", "node-1-wal"]
    with restoring.loading(tier, NodesData(SIZES[:1], found), world) as (volume,):
        (Path(volume.name) / "table").write_text("data")
        (Path(volume.wal) / "segment").write_text("WAL")
    with restoring.attached(tier, NodesData(SIZES[:1], found), world) as restored:
        (volume,) = restored.volumes
        assert (Path(volume.name) / "table").read_text() == "data"
        assert volume.wal.startswith(str(root / "other"))
        assert (Path(volume.wal) / "segment").read_text() == "WAL"


def test_a_load_that_fails_leaves_no_snapshot_and_one_that_goes_on_starts_from_its_own(
    root: Path, world: World
) -> None:
    tier = real_tier(root)
    found = load(tier, world)
    with (
        pytest.raises(KeyError),
        restoring.loading(tier, NodesData(SIZES, found), world),
    ):
        raise KeyError
    assert not any(one.exists() for one in found), (
        "the one before is gone too: it was not wanted"
    )
    load(tier, world)
    load(tier, world, resumed=True)


def test_what_a_killed_program_left_is_removed_by_the_next_load(
    root: Path, world: World
) -> None:
    tier = real_tier(root, given("elsewhere", root))
    folder = restoring.snapshots_of(tier, SIZES, "key", world)[0].parent
    assert marked.make(str(folder), marked_folders.owner(world)) == ""
    for name in ("node-1", "node-2.partial"):
        (folder / name / "left").mkdir(parents=True)
    found = load(tier, world)
    assert sorted(folder.glob("[!.]*")) == list(found)
    assert not (found[0] / "left").exists()


def test_a_second_disk_is_shared_by_tiers_and_the_first_is_not(
    root: Path, world: World
) -> None:
    other = Snapshots("elsewhere", path=str(root / "other"))
    one, two = real_tier(root), changed(real_tier(root), path=str(root / "other"))
    paths = [restoring.snapshots_of(tier, SIZES, "key", world) for tier in (one, two)]
    assert paths[0][0].parent.name != paths[1][0].parent.name
    shared = [
        restoring.snapshots_of(changed(tier, snapshots=other), SIZES, "key", world)
        for tier in (one, changed(two, path=str(root)))
    ]
    assert shared[0] == shared[1]
    elsewhere = replace(world, cache=root)
    assert restoring.snapshots_of(one, SIZES, "key", elsewhere) != paths[0]
    by_command = changed(one, snapshots=given("command", root))
    assert restoring.snapshots_of(by_command, SIZES[:1], "key", world)[
        0
    ].is_relative_to(world.cache)


@pytest.mark.parametrize(
    ("way", "error", "words"),
    [
        (Snapshots("elsewhere", path="{}/none"), UsageError, "not a directory"),
        (
            Snapshots("elsewhere", path="{}/disk/below"),
            UsageError,
            "the disk that is measured",
        ),
        (
            Snapshots("elsewhere", path="{}/foreign"),
            UsageError,
            "was not made by tierbench",
        ),
        (Snapshots("copy"), None, ""),
        (Snapshots("none"), None, ""),
    ],
)
def test_ways_that_cannot_be_meant(
    way: Snapshots,
    error: type[TierbenchError] | None,
    words: str,
    root: Path,
    world: World,
) -> None:
    (root / "disk/below").mkdir()
    (root / "foreign" / snapshots.FOLDER / "of others").mkdir(parents=True)
    way = replace(way, path=way.path.format(root) if way.path else None)
    tier = real_tier(root, way)
    disk = real_disk.believable(tier, tier.disk.path or "", 0, world.machine)
    with pytest.raises(error, match=words) if error else nullcontext():
        snapshots.check(tier, [disk], world)
    assert not list((root / "disk").glob(".tierbench*"))


def test_without_room_for_a_copy_every_run_loads(
    root: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    tier = real_tier(root)
    found = restoring.snapshots_of(tier, SIZES, "key", world)
    this_machine_has(monkeypatch, free_bytes=4 * SIZES[0])
    assert restoring.snapshots_of(tier, SIZES, "key", world)
    this_machine_has(monkeypatch, free_bytes=4 * SIZES[0] - 1)
    assert not restoring.snapshots_of(tier, SIZES, "key", world)
    assert "each run loads its data" in world.progress.said[0]  # type: ignore[attr-defined]
    for one in found:
        one.mkdir(parents=True)
    assert restoring.snapshots_of(tier, SIZES, "key", world), "there already"
    said = changed(tier, snapshots=Snapshots("copy"))
    assert restoring.snapshots_of(said, SIZES, "key", world), (
        "checked before the campaign"
    )
    unkept = changed(tier, snapshots=Snapshots("none"))
    assert not restoring.snapshots_of(unkept, SIZES, "key", world)


def test_room_for_a_copy_is_that_of_the_largest_node(
    root: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which node lies on which disk is not known before they start."""
    this_machine_has(monkeypatch, free_bytes=4 * 3000 - 1)
    assert not restoring.snapshots_of(real_tier(root), [1000, 3000], "key", world)


def test_a_copy_takes_the_space_of_the_data_once_more(root: Path, world: World) -> None:
    def needed(way: Snapshots | None) -> dict[str, int]:
        counted = restoring.places(real_tier(root, way), 3, world)
        return {path.name: count for path, count in counted.items()}

    assert needed(None) == needed(given("command", root)) == {"disk": 3}
    assert needed(given("copy", root)) == {"disk": 6}
    assert needed(given("elsewhere", root)) == {"disk": 3, "other": 3}


@pytest.mark.parametrize(
    ("save", "restore", "words"),
    [
        ("exit 7", "true", "`save` command ended with 7"),
        ("true", "echo why >&2; exit 8", "`restore` command ended with 8"),
        ("true", "mkdir $TIERBENCH_DATA/node-1", "has no node-2"),
    ],
)
def test_a_command_of_the_profile_that_fails_fails_the_run(
    save: str, restore: str, words: str, root: Path, world: World
) -> None:
    tier = real_tier(root, Snapshots("command", save=save, restore=restore))
    with (
        pytest.raises(RunError, match=words) as raised,
        attach(tier, load(tier, world), world),
    ):
        pass
    assert "why" in raised.value.evidence or "why" not in restore
    assert not (root / "disk" / node_places.FOLDER).exists()


def test_values_never_become_a_part_of_a_command(root: Path, world: World) -> None:
    path = root / "disk; touch evil"
    path.mkdir()
    tier = real_tier(
        root, Snapshots("command", save='echo "$TIERBENCH_PATH"', restore="true")
    )
    directories, taken = (
        {path / node_places.FOLDER / "node-1": path},
        [root / "key/node-1.saved"],
    )
    said = snapshots.by_command("save", tier, path, directories, taken, world)
    assert said["output"] == f"{path}\n"
    assert isinstance(world.shell, Shell) and world.shell.asked == [
        ("bash", "-c", 'echo "$TIERBENCH_PATH"')
    ]


# ------------------------------------------------------------------ quiet


def test_a_disk_that_writes_on_is_waited_for(root: Path, world: World) -> None:
    counts = iter([7, 5_000, 10_000, 10_000])
    in_flight = iter([0, 0, 0, 3])

    class Busy(LocalMachine):
        def read(self, path: str) -> str:
            return IDLE.format(next(counts, 10_010), next(in_flight, 0))

    world.platform._machine = Busy(root)  # type: ignore[attr-defined]
    facts = quiet_disks.after_copying(["sdb"], [root / "disk"], world)
    assert (facts["quiet"], facts["quiet_wait_s"]) == (True, 4.0), (
        "the fourth second is calm"
    )


@pytest.mark.parametrize(
    ("ios", "sectors", "waited_s"),
    [
        (20, 20, 1.0),  # hardly anything
        (21, 21, 2.0),  # one more
        (1, 2000, 1.0),  # 1,024,000 bytes
        (1, 2001, 2.0),
    ],
)
def test_a_disk_rests_that_is_asked_for_little_in_a_second(
    ios: int, sectors: int, waited_s: float, root: Path, world: World
) -> None:
    at_first = IDLE.format(0, 0)
    then = f"8 16 sdb {ios} 0 {sectors} 0 5 0 5 0 0 0 0 0"
    read = iter([at_first, then, then])

    class Calm(LocalMachine):
        def read(self, path: str) -> str:
            return next(read)

    world.platform._machine = Calm(root)  # type: ignore[attr-defined]
    facts = quiet_disks.after_copying(["sdb"], [root / "disk"], world)
    assert (facts["quiet"], facts["quiet_wait_s"]) == (True, waited_s)


@pytest.mark.parametrize("in_flight", [0, 1])
def test_a_disk_that_never_rests_is_said_not_to(
    root: Path, world: World, in_flight: int
) -> None:
    (root / "proc/diskstats").write_text(IDLE.format(7, in_flight))
    facts = quiet_disks.after_copying(["sdb"], [root / "disk"], world)
    assert facts["quiet"] is (in_flight == 0)
    if in_flight:
        assert facts["quiet_wait_s"] == 121.0, "a second, and then two minutes"
    assert bool(world.progress.said) is (in_flight == 1)  # type: ignore[attr-defined]
    (root / "proc/diskstats").write_text("")
    assert quiet_disks.after_copying(["sdb"], [root / "disk"], world)["quiet"] is None


# ------------------------------------------------------------------ left behind


def test_clean_finds_snapshots_by_the_cache_and_by_what_is_mounted(
    root: Path, world: World
) -> None:
    load(real_tier(root), world)
    load(real_tier(root, given("elsewhere", root)), world)
    (root / "disk" / node_places.FOLDER / "of others").mkdir(parents=True)
    listed = list(datasets.forget(tier_mechanisms(), world, only_list=True))
    removed = list(datasets.forget(tier_mechanisms(), world, only_list=False))
    assert removed == listed and not any(one.kept for one in removed)
    on_disks = {one.place: one.foreign for one in removed}
    assert on_disks.pop(str(root / "disk" / node_places.FOLDER)) == marked.UNMARKED
    shelves = {str(Path(place).parent): why for place, why in on_disks.items()}
    assert shelves == {
        str(root / name / snapshots.FOLDER): "" for name in ("disk", "other")
    }
    assert not (root / "disk" / snapshots.FOLDER).exists()
    assert (root / "disk" / node_places.FOLDER / "of others").is_dir(), (
        "not ours, so left alone"
    )


@pytest.mark.parametrize("key", ["machine", "cache"])
def test_data_of_another_machine_or_cache_are_neither_used_nor_removed(
    key: str, root: Path, world: World
) -> None:
    tier = real_tier(root)
    found = load(tier, world)
    with attach(tier, found, world):
        pass
    ours = root / "disk" / node_places.FOLDER
    for folder in (ours, found[0].parent):
        mark = json.loads((folder / snapshots.MARK).read_text())
        (folder / snapshots.MARK).write_text(json.dumps({**mark, key: "/another"}))
    with (
        pytest.raises(RunError, match="belongs to the cache"),
        attach(tier, found, world),
    ):
        pass
    left = {
        one.place: one.foreign
        for one in datasets.forget(tier_mechanisms(), world, only_list=False)
    }
    for folder in (ours, found[0].parent):
        assert left[str(folder)].startswith("belongs to the cache ")
        assert (folder / "node-1/base/1").exists()


def test_what_lost_its_mark_meanwhile_stays(root: Path, world: World) -> None:
    """As where another disk was mounted there during the run."""
    ours = root / "disk" / node_places.FOLDER
    with (
        pytest.raises(RunError, match="has no mark of tierbench"),
        real_disk.folders(root / "disk", ["node-1"], world),
    ):
        (ours / snapshots.MARK).unlink()
        (ours / "golden").write_text("theirs")
    assert (ours / "golden").read_text() == "theirs"
