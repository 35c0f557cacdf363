"""`restore` of the image `disk`: a directory that a run has changed is its snapshot again.

Goal: byte for byte, whatever a run did, and without touching what it left alone. Method: the script
itself, with small blocks, on trees like PostgreSQL's; a random run (hypothesis) on a file system in
memory, where making durable takes no time.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests import ROOT
from tests.file_systems import no_file_grows
from tests.name_space import in_a_name_space

SCRIPT = ROOT / "docker/disk/restore"
BLOCK = 4096
IN_MEMORY = Path("/dev/shm")


def loaded() -> Any:
    """The script as a module. Not by a loader: it would leave bytecode in the image's folder."""
    module = ModuleType("restore")
    exec(compile(SCRIPT.read_text(), SCRIPT, "exec"), module.__dict__)
    module.BLOCK_BYTES = BLOCK  # type: ignore[attr-defined]
    return module


restore = loaded()


def shown(root: Path) -> dict[str, tuple[object, ...]]:
    """Everything below `root` by which two trees could differ, but for inode and ctime."""
    found: dict[str, tuple[object, ...]] = {}
    names: dict[int, list[str]] = defaultdict(list)
    for place in sorted([root, *root.rglob("*")]):
        status, path = place.lstat(), str(place.relative_to(root))
        content: object = ""
        if place.is_symlink():
            content = str(place.readlink())
        elif stat.S_ISREG(status.st_mode):
            content = hashlib.sha256(place.read_bytes()).hexdigest()
            names[status.st_ino].append(path)
        more = {
            name: os.getxattr(place, name, follow_symlinks=False)
            for name in _names(place)
        }
        own = (status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns)
        found[path] = (*own, content, tuple(sorted(more.items())))
    found["names of one file"] = tuple(sorted(map(tuple, names.values())))
    return found


def _names(place: Path) -> list[str]:
    with suppress(OSError):
        return os.listxattr(place, follow_symlinks=False)
    return []


def a_cluster(
    root: Path, sizes: tuple[int, ...] = (0, 100, BLOCK, 3 * BLOCK + 7)
) -> None:
    """As PostgreSQL keeps it: tables in segments, a tablespace, WAL, configuration."""
    for folder in (
        "base/1",
        "base/16384",
        "pg_wal/archive_status",
        "pg_tblspc",
        "space",
    ):
        (root / folder).mkdir(parents=True)
    for number, size in enumerate(sizes):
        (root / "base/16384" / str(number)).write_bytes(bytes([number + 1]) * size)
        (root / "pg_wal" / f"{number:024X}").write_bytes(os.urandom(2 * BLOCK))
    (root / "pg_tblspc/16400").symlink_to("../space")
    (root / "PG_VERSION").write_text("17\n")
    (root / "PG_VERSION").chmod(0o600)
    os.link(root / "PG_VERSION", root / "base/1/PG_VERSION")
    with (root / "base/1/holes").open("wb") as file:
        file.seek(5 * BLOCK)
        file.write(b"end")
    os.mkfifo(root / "pipe")
    (root / "base").chmod(0o700)


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    """A snapshot, and the restored copy of it."""
    snapshot, target = tmp_path / "snapshot", tmp_path / "node-1"
    snapshot.mkdir()
    a_cluster(snapshot)
    target.mkdir()
    restore.restored(str(snapshot), str(target))
    return snapshot, target


def again(trees: tuple[Path, Path]) -> Counter[str]:
    """Restores once more, and requires the snapshot."""
    snapshot, target = trees
    before = shown(snapshot)
    done: Counter[str] = restore.restored(str(snapshot), str(target))
    assert shown(target) == before == shown(snapshot)
    return done


FILES = 4 + 4 + 3  # tables, WAL, and others; each name counts


def test_what_a_run_left_alone_is_not_even_read(trees: tuple[Path, Path]) -> None:
    for _ in range(2):
        done = again(trees)
        assert done["compared_bytes"] == done["written_bytes"] == 0
        assert done["files"] == FILES and done["unchanged_files"] == FILES


def test_only_the_blocks_that_differ_are_written_where_they_lie(
    trees: tuple[Path, Path],
) -> None:
    file = trees[1] / "base/16384/3"
    inode = file.stat().st_ino
    with file.open("r+b") as table:
        table.seek(BLOCK)
        table.write(b"changed")
    done = again(trees)
    assert (done["compared_bytes"], done["written_bytes"]) == (3 * BLOCK + 7, BLOCK)
    assert file.stat().st_ino == inode


def test_nothing_behind_the_end_of_a_file_is_read_ahead() -> None:
    """A cluster has thousands of small files, and such calls cost each of them time."""
    blocks = [0, BLOCK, 2 * BLOCK, 3 * BLOCK]
    assert list(restore.blocks_ahead(0, 3 * BLOCK + 7)) == blocks
    ahead = restore.blocks_ahead(0, 4 * restore.AHEAD_BYTES)
    assert ahead[-1] + BLOCK == 2 * restore.AHEAD_BYTES


def test_a_change_that_hides_its_time_is_found(trees: tuple[Path, Path]) -> None:
    """Same size, same mtime, same inode: only the ctime cannot be set."""
    file = trees[1] / "base/16384/2"
    before = file.stat()
    with file.open("r+b") as table:
        table.write(b"changed")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_ino) == (before.st_size, before.st_ino)
    assert again(trees)["written_bytes"] == BLOCK


def test_holes_stay_holes_and_what_has_blocks_keeps_them(
    trees: tuple[Path, Path],
) -> None:
    """A table in which a run has made a hole would be slower to write than the snapshot's."""
    _, target = trees
    table, holes = target / "base/16384/3", target / "base/1/holes"
    blocks = table.stat().st_blocks, holes.stat().st_blocks
    os.truncate(table, 0)
    os.truncate(table, 3 * BLOCK + 7)
    holes.write_bytes(bytes(5 * BLOCK) + b"end")
    again(trees)
    assert (table.stat().st_blocks, holes.stat().st_blocks) == blocks


def noted(target: Path) -> Path:
    return Path(restore.note_of(str(target)))


def test_a_restore_that_was_cut_short_is_followed_by_a_whole_one(
    trees: tuple[Path, Path],
) -> None:
    (trees[1] / "base/16384/2").write_bytes(b"changed")
    with no_file_grows(), pytest.raises(OSError, match="File too large"):
        again(trees)
    assert not noted(trees[1]).exists()
    assert again(trees)["unchanged_files"] == 0
    assert again(trees)["unchanged_files"] == FILES


@pytest.mark.parametrize("change", [{"boot": "another"}, {"noted_ns": 2**62}])
def test_a_note_of_another_boot_or_of_the_future_is_not_believed(
    trees: tuple[Path, Path], change: dict[str, object]
) -> None:
    note = noted(trees[1])
    note.write_text(json.dumps({**json.loads(note.read_text()), **change}))
    done = again(trees)
    assert done["unchanged_files"] == 0 and done["compared_bytes"] > 0


def test_no_note_is_left_where_the_clock_stands_still(
    trees: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    standing_still = {"touched_ns": lambda _path: 0, "CLOCK_S": 0.0}
    for name, value in standing_still.items():
        monkeypatch.setattr(restore, name, value)
    again(trees)
    assert [
        entry.name for entry in trees[1].parent.iterdir() if "restored" in entry.name
    ] == []


def test_another_snapshot_under_the_same_name_is_seen(trees: tuple[Path, Path]) -> None:
    """Loaded anew for another tier, with files of the same size and time."""
    snapshot, _ = trees
    file = snapshot / "base/16384/2"
    before = file.stat()
    file.unlink()
    file.write_bytes(b"x" * before.st_size)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert again(trees)["written_bytes"] == before.st_size


@pytest.mark.parametrize("where", ["target", "snapshot"])
@pytest.mark.parametrize(
    ("name", "mounting"),
    [
        ("their own", 'mount --bind "$1" "$2"; shown=$2/golden'),
        (
            "theirs",
            'mount -t tmpfs none "$2"; cp "$1/golden" "$2/golden"; shown=$2/golden',
        ),
        ("base/16384/1", 'mount --bind "$1/golden" "$2"; shown=$2'),
    ],
    ids=["a folder of the same disk", "another file system", "a file"],
)
def test_a_mount_is_not_entered_and_nothing_is_changed(
    trees: tuple[Path, Path], tmp_path: Path, name: str, mounting: str, where: str
) -> None:
    """A golden copy that somebody mounted in a node's directory is theirs."""
    snapshot, target = trees
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "golden").write_text("copy")
    place = (target if where == "target" else snapshot) / name
    if not place.exists():
        place.mkdir()
    (target / "base/1/of-a-run").touch()
    script = mounting + (
        '; if "$3" "$4" "$5" 2> "$1/said"; then exit 1; fi; test "$(cat "$shown")" = copy'
    )
    in_a_name_space(script, *map(str, (theirs, place, SCRIPT, snapshot, target)))
    said = (theirs / "said").read_text()
    assert (
        said
        == f"restore: {place}: something is mounted there, and no mount is entered\n"
    )
    assert (target / "base/1/of-a-run").exists() and (
        theirs / "golden"
    ).read_text() == "copy"


def test_as_a_program_it_restores_data_and_wal_at_once(tmp_path: Path) -> None:
    pairs = []
    for name in ("node-1", "node-1-wal"):
        (tmp_path / "snapshots" / name).mkdir(parents=True)
        (tmp_path / "data" / name).mkdir(parents=True)
        (tmp_path / "snapshots" / name / "file").write_bytes(name.encode())
        pairs += [str(tmp_path / "snapshots" / name), str(tmp_path / "data" / name)]
    done = subprocess.run([SCRIPT, *pairs], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {
        "files": 2, "unchanged_files": 0, "compared_bytes": 0, "written_bytes": 16
    }  # fmt: skip
    assert (tmp_path / "data/node-1-wal/file").read_text() == "node-1-wal"
    failed = subprocess.run(
        [SCRIPT, *pairs[:1], "/none"], capture_output=True, text=True
    )
    assert failed.returncode == 1 and "/none" in failed.stderr
    assert subprocess.run([SCRIPT, pairs[0]], capture_output=True).returncode == 64


# ------------------------------------------------------------------ random runs


def files_of(root: Path) -> list[Path]:
    return [
        one for one in sorted(root.rglob("*")) if one.is_file() and not one.is_symlink()
    ]


def overwrite(one: Path, _other: Path, number: int) -> None:
    with one.open("r+b") as file:
        file.seek(number % max(1, one.stat().st_size))
        file.write(b"written")


def hide(one: Path, other: Path, number: int) -> None:
    before = one.stat()
    overwrite(one, other, number)
    os.truncate(one, before.st_size)
    os.utime(one, ns=(before.st_atime_ns, before.st_mtime_ns))


def resize(one: Path, _other: Path, number: int) -> None:
    os.truncate(one, number)


def renamed(one: Path, other: Path, _number: int) -> None:
    one.rename(other)


def swapped(one: Path, other: Path, _number: int) -> None:
    if one != other:
        third = one.with_name("third")
        one.rename(third)
        other.rename(one)
        third.rename(other)


def linked(one: Path, other: Path, _number: int) -> None:
    if one != other:
        other.unlink()
        os.link(one, other)


def made(one: Path, _other: Path, number: int) -> None:
    one.with_name(f"new {number}").write_bytes(bytes(number))


def became_a_link(one: Path, other: Path, _number: int) -> None:
    one.unlink()
    one.symlink_to(other.name)


def became_a_folder(one: Path, _other: Path, number: int) -> None:
    one.unlink()
    (one / "below").mkdir(parents=True)
    (one / "below" / "file").write_bytes(bytes(number))


def folder_gone(one: Path, _other: Path, _number: int) -> None:
    shutil.rmtree(one.parent)


def folder_renamed(one: Path, _other: Path, number: int) -> None:
    one.parent.rename(one.parent.with_name(f"moved {number}"))


def mode_changed(one: Path, _other: Path, number: int) -> None:
    one.chmod(0o600 | number % 0o100)
    one.parent.chmod(0o700 | number % 0o70)


def labelled(one: Path, _other: Path, number: int) -> None:
    with suppress(OSError):  # a file system may have no such attributes
        os.setxattr(one, "user.label", str(number).encode())


CHANGES: list[Callable[[Path, Path, int], None]] = [
    overwrite, hide, resize, renamed, swapped, linked, made, became_a_link, became_a_folder,
    folder_gone, folder_renamed, mode_changed, labelled,
]  # fmt: skip
STEPS = st.lists(
    st.tuples(
        st.sampled_from(CHANGES),
        st.integers(0, 99),
        st.integers(0, 99),
        st.integers(0, 5 * BLOCK),
    ),
    max_size=8,
)


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root gives what root then may not take"
)
def test_an_attribute_that_may_not_be_removed_stops_no_other(tmp_path: Path) -> None:
    """Root of a name space may not remove those by which the kernel judges security."""
    snapshot = tmp_path / "snapshot"
    target = tmp_path / "node-1"
    for root in (snapshot, target):
        root.mkdir()
        (root / "file").write_bytes(b"rows")
    try:
        os.setxattr(snapshot / "file", "user.b", b"2")
        os.setxattr(target / "file", "security.tierbench", b"1")
    except OSError:
        pytest.skip("this file system has no such attributes")
    script = 'python3 "$1" "$2" "$3"'
    in_a_name_space(script, str(SCRIPT), str(snapshot), str(target))
    assert os.getxattr(target / "file", "user.b") == b"2"
    assert os.getxattr(target / "file", "security.tierbench") == b"1"


@pytest.fixture(scope="module")
def memory() -> Iterator[Path]:
    within = IN_MEMORY if IN_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=within) as folder:
        yield Path(folder)


def change(
    target: Path, steps: list[tuple[Callable[..., None], int, int, int]]
) -> None:
    for act, first, second, number in steps:
        if files := [one for one in files_of(target) if one.parent != target]:
            with suppress(
                OSError
            ):  # such as a rename onto what an earlier step has made
                act(files[first % len(files)], files[second % len(files)], number)


@settings(max_examples=150, deadline=None)
@given(runs=st.lists(STEPS, min_size=1, max_size=3))
def test_whatever_runs_do_each_begins_with_the_snapshot(
    runs: list[list[tuple[Callable[..., None], int, int, int]]], memory: Path
) -> None:
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        snapshot, target = Path(folder) / "snapshot", Path(folder) / "node-1"
        snapshot.mkdir()
        a_cluster(snapshot)
        target.mkdir()
        wanted = shown(snapshot)
        restore.restored(str(snapshot), str(target))
        for steps in runs:
            change(target, steps)
            restore.restored(str(snapshot), str(target))
            assert shown(target) == wanted
