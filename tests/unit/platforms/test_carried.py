"""Carried files: only what changed is sent and brought back. The far side is a folder of this
computer, reached through the very commands that a container would run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from orchestrator.errors import RunError
from orchestrator.platforms.common.carried import Carried


class Far:
    """Runs commands here, counts them, and keeps how many bytes went each way."""

    def __init__(self) -> None:
        self.calls = self.sent = self.brought = 0

    def __call__(self, argv: Sequence[str], data: bytes, out: Callable[[bytes], None]) -> None:
        done = subprocess.run(argv, input=data, capture_output=True, check=True)
        self.calls += 1
        self.sent += len(data)
        self.brought += len(done.stdout)
        out(done.stdout)


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path, Far]:
    here, there = tmp_path / "here", tmp_path / "there"
    (here / "empty").mkdir(parents=True)
    (here / "deep" / "er").mkdir(parents=True)
    (here / "a b.txt").write_text("as it was")
    (here / "deep" / "er" / "run.sh").write_text("#!/bin/sh\n")
    (here / "deep" / "er" / "run.sh").chmod(0o755)
    return here, there, Far()


def test_a_folder_arrives_whole(sides: tuple[Path, Path, Far]) -> None:
    here, there, far = sides
    Carried(here, str(there), True, far).put()
    assert (there / "a b.txt").read_text() == "as it was"
    assert os.access(there / "deep" / "er" / "run.sh", os.X_OK)
    assert (there / "empty").is_dir()


def test_what_did_not_change_is_not_sent_again(sides: tuple[Path, Path, Far]) -> None:
    here, there, far = sides
    (here / "big").write_bytes(bytes(500_000))
    carried = Carried(here, str(there), True, far)
    carried.put()
    calls, sent = far.calls, far.sent
    carried.put()
    carried.take()
    assert far.calls == calls
    (here / "a b.txt").write_text("changed")
    carried.put()
    assert (there / "a b.txt").read_text() == "changed" and far.sent - sent < 50_000


def test_what_the_container_wrote_comes_back_once(sides: tuple[Path, Path, Far]) -> None:
    here, there, far = sides
    carried = Carried(here, str(there), False, far)
    carried.put()
    (there / "out").mkdir()
    (there / "out" / "raw.csv").write_bytes(bytes(range(256)) * 4000)
    (there / "a b.txt").write_text("and more")
    carried.take()
    assert (here / "out" / "raw.csv").read_bytes() == bytes(range(256)) * 4000
    assert (here / "a b.txt").read_text() == "and more"
    brought, sent = far.brought, far.sent
    carried.take()
    carried.put()
    assert far.brought - brought < 1000 and far.sent == sent, "neither brought nor sent again"


def test_what_was_removed_on_one_side_goes_on_the_other(sides: tuple[Path, Path, Far]) -> None:
    here, there, far = sides
    carried = Carried(here, str(there), False, far)
    carried.put()
    (there / "a b.txt").unlink()
    carried.take()
    assert not (here / "a b.txt").exists()
    (here / "deep" / "er" / "run.sh").unlink()
    carried.put()
    assert not (there / "deep" / "er" / "run.sh").exists()


def test_a_file_stays_the_same_file(tmp_path: Path) -> None:
    """Its place in the container is mounted: another file of that name would not be seen there."""
    here, there, far = tmp_path / "key.pem", tmp_path / "there" / "client.key", Far()
    here.write_text("secret")
    carried = Carried(here, str(there), False, far)
    carried.put()
    assert there.read_text() == "secret"
    number = there.stat().st_ino
    here.write_text("another secret")
    carried.put()
    assert (there.read_text(), there.stat().st_ino) == ("another secret", number)
    there.write_text("written there")
    carried.take()
    assert here.read_text() == "written there"


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "out/../../x"])
def test_names_of_a_listing_cannot_leave_their_folder(tmp_path: Path, name: str) -> None:
    """A file that an image of others lists, and then no more, would be removed here."""
    here = tmp_path / "a/b"
    here.mkdir(parents=True)
    lists = iter([f"4 1.0 {name}\0".encode(), b""])

    def pipe(argv: Sequence[str], _data: bytes, out: Callable[[bytes], None]) -> None:
        if argv[2].startswith("find"):
            out(next(lists))

    with pytest.raises(RunError, match="outside of its folder"):
        Carried(here, "/out", False, pipe).take()
