"""What is removed and what is not. Where mounts matter they are real ones, in a name space of their
own: the test that needs one is skipped where the kernel gives none to this user."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.system import marked
from tests import ROOT
from tests.name_space import in_a_name_space


@pytest.fixture
def ours(tmp_path: Path) -> str:
    return marked.owner(tmp_path / "cache", "c1")


def filled(folder: Path, whose: str) -> Path:
    """A folder with our mark and something in it."""
    assert marked.make(str(folder), whose) == ""
    (folder / "node-1/base").mkdir(parents=True)
    (folder / "node-1/base/1").write_text("rows")
    (folder / "node-1" / marked.MARK).touch()
    return folder


def test_what_is_ours_goes_and_so_does_what_was_made_for_it(
    tmp_path: Path, ours: str
) -> None:
    folder = filled(tmp_path / "tierbench-snapshots" / "key", ours)
    listed = marked.remove(str(folder), ours, only_list=True)
    assert listed and listed["bytes"] >= 4096 and folder.exists()
    assert (
        marked.remove(
            str(folder), marked.owner(tmp_path / "cache", "another"), only_list=False
        )
        == listed
    )
    assert not folder.parent.exists() and tmp_path.exists()
    assert marked.remove(str(folder), ours, only_list=False) is None


def test_a_folder_without_a_mark_stays_and_is_not_used(
    tmp_path: Path, ours: str
) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets/a.bin").write_text("theirs")
    left = marked.remove(str(tmp_path / "datasets"), ours, only_list=False)
    assert left and left["foreign"] == "has no mark of tierbench"
    assert "no mark" in marked.make(str(tmp_path / "datasets"), ours)
    assert (tmp_path / "datasets/a.bin").read_text() == "theirs"


@pytest.mark.parametrize("key", ["host", "machine", "cache"])
def test_what_belongs_to_another_stays(tmp_path: Path, key: str) -> None:
    """By its id; by its name where an earlier release kept no id."""
    ours = marked.owned_by("vm1", "1", tmp_path / "other's cache", "c1")
    mark = json.loads(ours)
    if key == "host":
        del mark["machine"]
    folder = filled(tmp_path / "tierbench-data", json.dumps({**mark, key: "other"}))
    left = marked.remove(str(folder), ours, only_list=False)
    assert (
        left
        and left["foreign"].startswith("belongs to the cache ")
        and "other" in str(left)
    )
    assert (folder / "node-1/base/1").read_text() == "rows"


def test_a_machine_that_was_renamed_removes_what_it_made(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    folder = filled(tmp_path / "data", marked.owned_by("before", "1", cache, "c1"))
    marked.remove(
        str(folder), marked.owned_by("renamed", "1", cache, "c2"), only_list=False
    )
    assert not folder.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"host": "h"}', "\xff"])
def test_a_mark_that_says_nothing_removes_nothing(
    tmp_path: Path, ours: str, text: str
) -> None:
    folder = filled(tmp_path / "tierbench-data", ours)
    (folder / marked.MARK).write_text(text, encoding="latin-1")
    left = marked.remove(str(folder), ours, only_list=False)
    assert left and left["foreign"] == "has a mark that does not say whose it is"
    assert (folder / "node-1/base/1").exists()


def test_no_link_is_followed(tmp_path: Path, ours: str) -> None:
    theirs = filled(tmp_path / "theirs", ours)
    (tmp_path / "link").symlink_to(theirs)
    left = marked.remove(str(tmp_path / "link"), ours, only_list=False)
    assert left and "is not a folder that can be opened" in left["foreign"]
    folder = filled(tmp_path / "ours", ours)
    (folder / "node-1/link").symlink_to(theirs)
    assert marked.remove(str(folder), ours, only_list=False) and not folder.exists()
    assert (theirs / "node-1/base/1").read_text() == "rows"


@pytest.mark.parametrize(
    "mounting",
    ['mount --bind "$1" "$2"', 'mount -t tmpfs none "$2"; cp "$1/golden" "$2/golden"'],
    ids=["a folder of the same disk", "another file system"],
)
def test_no_mount_is_entered_and_the_rest_goes(
    tmp_path: Path, ours: str, mounting: str
) -> None:
    folder, theirs = filled(tmp_path / "tierbench-data", ours), tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "golden").write_text("copy")
    (folder / "node-2").mkdir()
    script = mounting + (
        '; "$3" "$4" remove "$5" "$6" > "$6/../said"; test "$(cat "$2/golden")" = copy; '
        'test -e "$6"/.made-by-tierbench; test ! -e "$6/node-1"'
    )
    words = [str(theirs), str(folder / "node-2"), sys.executable, marked.__file__, ours]
    in_a_name_space(script, *words, str(folder))
    (kept,) = json.loads((tmp_path / "said").read_text())["kept"]
    assert (
        kept == f"{folder}/node-2: something is mounted there, and no mount is entered"
    )
    assert (theirs / "golden").read_text() == "copy"


def test_what_cannot_be_removed_is_told_and_the_rest_goes(
    tmp_path: Path, ours: str
) -> None:
    """Another mount of a whole disk, seen from where the folder itself is the place of a mount."""
    folder = filled(tmp_path / "tierbench-data", ours)
    (folder / "busy").touch()
    script = (
        'mount --bind /etc/hostname "$1/busy"; "$2" "$3" remove "$4" "$1" > "$1/../said"; '
        'test -e "$1/busy"; test ! -e "$1/node-1"'
    )
    in_a_name_space(script, str(folder), sys.executable, marked.__file__, ours)
    (kept,) = json.loads((tmp_path / "said").read_text())["kept"]
    assert kept == f"{folder}/busy: Device or resource busy"


def test_anew_empties_what_is_ours_and_nothing_else(tmp_path: Path, ours: str) -> None:
    folder, theirs = filled(tmp_path / "tierbench-data", ours), tmp_path / "theirs"
    for place, code in ((folder, 0), (theirs, 1)):
        theirs.mkdir(exist_ok=True)
        (theirs / "file").touch()
        argv = [sys.executable, marked.__file__, "anew", ours, str(place), "node-2"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
    assert sorted(one.name for one in folder.iterdir()) == [marked.MARK, "node-2"]
    assert done.stdout == f"{theirs} has no mark of tierbench\n"
    assert [one.name for one in theirs.iterdir()] == ["file"]


def test_what_a_cut_removal_leaves_is_still_known_as_ours(
    tmp_path: Path, ours: str
) -> None:
    """A directory of data without our mark would be refused until a person removes it."""
    folder = filled(tmp_path / "tierbench-data", ours)
    killed = f"""
import os, signal, sys
from orchestrator.system import marked
sys.addaudithook(lambda event, _: event == "os.rmdir" and os.kill(os.getpid(), signal.SIGKILL))
marked.remove({str(folder)!r}, {ours!r}, only_list=False)
"""
    done = subprocess.run([sys.executable, "-c", killed], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert (folder / marked.MARK).exists() and (folder / "node-1").exists()
    assert marked.remove(str(folder), ours, only_list=False) and not folder.exists()
