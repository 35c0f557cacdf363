"""Whose folder `device` of the image `disk` makes and removes files in. The script's own functions
run here; only what serves the device needs a container."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from orchestrator.system import marked
from tests import ROOT

DEVICE = ROOT / "docker/disk/device"
BYTES = "314572800"
# The image has it; this machine only where it was installed (tests with real disks have it too).
NEEDS_XFS = pytest.mark.skipif(
    not shutil.which("mkfs.xfs"), reason="mkfs.xfs is not installed"
)


def provided(*options: str) -> subprocess.CompletedProcess[str]:
    """Makes an image as `device serve` does before it serves it, and ends as it does."""
    script = (
        'words=("${@:2}"); device=$1; set -- help; . "$device" >/dev/null; set -- "${words[@]}"; '
        "trap '[ \"$temporary\" != 1 ] || drop_image' EXIT; "
        'while [ $# -gt 0 ]; do image_option "$1" "$2"; shift 2; done; provide_image'
    )
    argv = ["bash", "-c", script, "x", str(DEVICE), *options]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def options_of(image: Path, source: Path, whose: str, kind: str) -> list[str]:
    made = {"a copy": ["--copy-of", str(source)], "anew": ["--bytes", BYTES]}[kind]
    return ["--image", str(image), *made, *(["--owner", whose] if whose else [])]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "snapshot.img"
    file.write_text("rows")
    return file


@pytest.mark.parametrize("kind", ["a copy", pytest.param("anew", marks=NEEDS_XFS)])
def test_a_new_folder_gets_our_mark_and_a_leftover_in_it_goes(
    tmp_path: Path, source: Path, kind: str
) -> None:
    ours, image = marked.owner(tmp_path, "c1"), tmp_path / "machine/disks/node-1.img"
    for campaign in ("c1", "c2"):
        whose = marked.owner(tmp_path, campaign)
        done = provided(*options_of(image, source, whose, kind))
        assert done.returncode == 0 and image.stat().st_size in (4, int(BYTES)), (
            done.stderr
        )
    listed = marked.remove(str(image.parent), ours, only_list=True)
    assert listed and not listed["foreign"], "the program knows the folder by its mark"
    assert (
        provided(*options_of(image, source, ours, kind), "--temporary", "1").returncode
        == 0
    )
    assert [one.name for one in image.parent.iterdir()] == [marked.MARK]
    assert (
        marked.remove(str(image.parent), ours, only_list=False)
        and not (tmp_path / "machine").exists()
    )


@pytest.mark.parametrize("kind", ["a copy", "anew"])
@pytest.mark.parametrize(
    ("mark", "why"),
    [
        (None, "has no mark of tierbench"),
        ("", "has a mark that does not say whose it is"),
        ("[]", "has a mark that does not say whose it is"),
        ('{"host": "vm9", "cache": "/data"}', "belongs to the cache /data of vm9"),
    ],
)
def test_a_file_in_a_folder_of_others_stays(
    tmp_path: Path, source: Path, kind: str, mark: str | None, why: str
) -> None:
    image = tmp_path / "node-1.img"
    image.write_text("theirs")
    if mark is not None:
        (tmp_path / marked.MARK).write_text(mark)
    options = options_of(image, source, marked.owner(tmp_path, "c1"), kind)
    done = provided(*options, "--temporary", "1")
    assert done.returncode == 64 and f"{tmp_path} {why}" in done.stderr, done.stderr
    assert image.read_text() == "theirs"


def test_without_an_owner_no_file_is_replaced(tmp_path: Path, source: Path) -> None:
    image = tmp_path / "node-1.img"
    assert provided(*options_of(image, source, "", "a copy")).returncode == 0
    done = provided(*options_of(image, source, "", "a copy"), "--temporary", "1")
    assert done.returncode == 64 and "exists already" in done.stderr
    assert image.read_text() == "rows"


def test_no_link_is_taken_for_the_folder_or_its_mark(
    tmp_path: Path, source: Path
) -> None:
    whose, real = marked.owner(tmp_path, "c1"), tmp_path / "real"
    assert (
        provided(*options_of(real / "node-1.img", source, whose, "a copy")).returncode
        == 0
    )
    (tmp_path / "link").symlink_to(real)
    done = provided(*options_of(tmp_path / "link/node-1.img", source, whose, "a copy"))
    assert done.returncode == 64 and "is a link" in done.stderr
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "node-1.img").write_text("theirs")
    (theirs / marked.MARK).symlink_to(real / marked.MARK)
    done = provided(*options_of(theirs / "node-1.img", source, whose, "a copy"))
    assert done.returncode == 64 and (theirs / "node-1.img").read_text() == "theirs"
