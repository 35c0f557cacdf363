"""Disks that stand outside of a campaign, without a disk: what is put up, refused and undone.

The whole path on a real device: tests/integration/test_standing.py.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import RunError, TierbenchError, UsageError
from orchestrator.extensions.standing_disks import requests, standing
from orchestrator.powers import ContainerState
from orchestrator.tiers.common.emulated import standing_notes
from tests.fakes import FakeClock, this_machine_has
from tests.standing import GIB, LIMITS, Place


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    this_machine_has(monkeypatch, free_bytes=100 * GIB)
    return Place(tmp_path)


# ------------------------------------------------------------------ up and down


def test_a_disk_stays_until_it_is_taken_down(place: Place) -> None:
    disk = place.up()
    (one,) = standing.standing_disks(place.world)
    assert (one.disk, one.state) == (disk, "up")
    assert place.state() == (True, True, True)
    assert (
        "`tierbench disk down p15`" in standing_notes.reminders(place.world.platform)[0]
    )
    assert place.down() is None
    assert place.is_clean() and standing.standing_disks(place.world) == ()


@pytest.mark.parametrize("refuses", ["create", "stand", "mount", "the block"])
def test_up_is_all_or_nothing(place: Place, refuses: str) -> None:
    place.engine.refuses = place.shell.refuses = refuses
    with pytest.raises(TierbenchError):
        if refuses != "the block":
            place.up()
        disk = requests.prepared("p15", place.at, "P15", None, GIB, None, place.world)
        with standing.put_up(disk, LIMITS, place.world):
            raise RunError("the gate could not run")
    assert place.is_clean()


def test_a_failure_never_removes_data_that_were_there(
    place: Place, tmp_path: Path
) -> None:
    data = tmp_path / "mine.img"
    data.write_text("rows")
    place.shell.refuses = "mount"
    with pytest.raises(RunError, match="could not be mounted"):
        place.up(data=data)
    assert (data.read_text(), place.state()[0]) == ("rows", False)


def test_data_stay_if_asked_and_are_used_again(place: Place) -> None:
    place.up()
    kept = place.down(keep_data=True)
    assert kept is not None and kept.exists()
    with pytest.raises(
        UsageError, match="has data that an earlier disk left"
    ) as refused:
        place.up()
    assert f"--data {kept}" in refused.value.advice
    kept.write_text("rows")
    assert place.up(data=kept).size_bytes == len("rows")
    assert place.down() == kept, "a file that was named is not ours to remove"
    assert kept.read_text() == "rows"


def test_a_folder_that_was_there_stays(place: Place) -> None:
    place.at.mkdir()
    place.up()
    place.down()
    assert place.at.is_dir()


# ------------------------------------------------------------------ in use, and dead


@pytest.mark.parametrize(
    ("refuses", "words"),
    [
        ("umount", "target is busy; used by postgres (4711)"),
        ("fuser", "install `fuser`"),
    ],
)
def test_a_busy_disk_stays_up(place: Place, refuses: str, words: str) -> None:
    place.up()
    place.shell.refuses = refuses
    with pytest.raises(RunError) as busy:
        place.down()
    assert words in busy.value.what and place.state() == (True, True, True)


def test_a_disk_that_a_container_has_mounted_stays_up(place: Place) -> None:
    """Its own mount outlives ours, and its files would fail when the device goes."""
    place.up()
    (place.proc / "4711/mountinfo").write_text(
        "50 1 7:7 / /data rw - xfs /dev/loop7 rw"
    )
    with pytest.raises(RunError, match=r"also mounted for postgres \(4711\)"):
        place.down()
    assert place.state() == (True, True, True)


@pytest.mark.parametrize(
    ("count", "names"),
    [
        (3, r"p1 \(4001\), p2 \(4002\), p3 \(4003\)"),
        (5, r"p1 \(4001\), p2 \(4002\), p3 \(4003\) and 2 more"),
    ],
)
def test_at_most_three_of_those_that_have_it_mounted_are_named(
    place: Place, count: int, names: str
) -> None:
    place.up()
    for number in range(1, count + 1):
        folder = place.proc / str(4000 + number)
        folder.mkdir()
        (folder / "comm").write_text(f"p{number}\n")
        (folder / "mountinfo").write_text("50 1 7:7 / /data rw - xfs /dev/loop7 rw")
    with pytest.raises(RunError, match=rf"also mounted for {names}(?!,| and)"):
        place.down()


class UntilItSleeps(FakeClock):
    """Removes a file when it sleeps first."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.file.unlink(missing_ok=True)


def test_a_container_that_is_being_made_meanwhile_does_not_keep_it_up(
    place: Place,
) -> None:
    """For a moment it has all mounts of this machine: runc was seen so."""
    place.up()
    mounted = place.proc / "4711/mountinfo"
    mounted.write_text("50 1 7:7 / /data rw - xfs /dev/loop7 rw")
    place.world = replace(place.world, clock=UntilItSleeps(mounted))
    place.down()
    assert place.is_clean()


@pytest.mark.parametrize(
    "mounted", [False, True], ids=["after a reboot", "after a killed engine"]
)
def test_a_disk_that_does_not_run_comes_up_with_its_data(
    place: Place, mounted: bool
) -> None:
    disk = place.up()
    Path(disk.image).write_text("rows")
    (container,) = place.engine.stood.values()
    place.engine.stood[container.name] = replace(
        container, state=ContainerState("exited")
    )
    place.backing.write_text("/\n")  # as Linux 6.18 was seen to say it
    if not mounted:
        place.shell.run(("umount", disk.at), timeout_s=1)
    assert [one.state for one in standing.standing_disks(place.world)] == [
        "not running"
    ]
    assert standing_notes.reminders(place.world.platform) == ()
    again = place.up()
    assert (again.image, again.own_image, again.own_folder) == (disk.image, True, True)
    assert Path(again.image).read_text() == "rows" and place.state() == (
        True,
        True,
        True,
    )
    place.down()
    assert place.is_clean()


def test_what_others_have_mounted_there_since_is_left_alone(place: Place) -> None:
    place.up()
    place.backing.write_text("/home/somebody/disk.img\n")
    assert [one.state for one in standing.standing_disks(place.world)] == [
        "not mounted"
    ]
    with pytest.raises(UsageError, match="something is mounted at"):
        place.up()
    place.down()
    assert place.state() == (False, True, False)


# ------------------------------------------------------------------ refused before anything is made


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"name": "P 15"}, "cannot be the name of a disk"),
        ({"at": Path("p15")}, "--at is p15"),
        ({"at": Path("/no/such/p15")}, "/no/such does not exist"),
        ({"size_bytes": 200 * GIB}, "has 107 GB free|has 100 GiB free"),
    ],
)
def test_refusals(place: Place, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(TierbenchError, match=words):
        place.up(**asked)
    assert place.is_clean() and place.shell.ran == []


def test_a_disk_may_take_all_that_is_free(place: Place) -> None:
    assert place.up(size_bytes=100 * GIB).size_bytes == 100 * GIB


def test_a_place_that_is_taken(place: Place) -> None:
    place.at.mkdir()
    (place.at / "file").touch()
    with pytest.raises(UsageError, match="is not an empty directory"):
        place.up()
    (place.at / "file").unlink()
    place.up()
    with pytest.raises(UsageError, match="something is mounted at"):
        place.up(name="other")


def test_one_disk_for_one_name_and_one_file(place: Place, tmp_path: Path) -> None:
    disk = place.up()
    with pytest.raises(UsageError, match="the disk p15 is up already"):
        place.up()
    with pytest.raises(UsageError, match="has the data of the disk p15 already"):
        place.up(name="other", at=tmp_path / "other", data=Path(disk.image))
    with pytest.raises(UsageError, match="no disk named 'p20'; there are p15"):
        standing.named("p20", place.world)


def test_a_file_is_named_from_where_one_is(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dev").mkdir()
    monkeypatch.chdir(tmp_path)
    assert place.up(data=Path("dev/mine.img")).image == str(tmp_path / "dev/mine.img")


def test_a_disk_of_other_bytes_than_its_file(place: Place, tmp_path: Path) -> None:
    data = tmp_path / "mine.img"
    data.write_text("rows")
    with pytest.raises(UsageError, match="which cannot be changed"):
        place.up(data=data, size_bytes=GIB)


def test_the_note_says_all_that_is_known(place: Place) -> None:
    disk = place.up()
    (container,) = place.engine.stood.values()
    assert json.loads(container.note) == asdict(disk)
