"""Loop devices of the disk server: its C code (docker/disk/tierdisk/loops.c), compiled and called.

Goal: nobody loses a device to a disk that starts. Method: real loop devices of
this machine, with nothing mounted; settings are files of a test. Needs root and a C compiler.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import ROOT

SOURCES = [ROOT / "docker/disk/tierdisk" / name for name in ("loops.c", "die.c")]
TAKEN = 75
OURS = {"write_cache": "write through\n", "max_sectors_kb": "256\n"}
KERNELS = {"write_cache": "write back\n", "max_sectors_kb": "1280\n"}

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/dev/loop-control").exists(),
    reason="needs root and loop devices",
)


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    library = tmp_path_factory.mktemp("loops") / "loops.so"
    argv = [compiler, "-std=gnu11", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run([*argv, *map(str, SOURCES)], check=True)
    return ctypes.CDLL(str(library))


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """The free device that one test finds is not the one that another, on another core, finds."""
    with Path("/run/tierbench-tests-loops.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def image(tmp_path: Path) -> Path:
    file = tmp_path / "disk.img"
    with file.open("wb") as new:
        new.truncate(2**20)
    return file


@contextmanager
def free_device() -> Iterator[tuple[int, str]]:
    """One that nobody uses, open; and its path."""
    found = subprocess.run(
        ["losetup", "--find"], capture_output=True, text=True, check=True
    )
    path = found.stdout.strip()
    device = os.open(path, os.O_RDWR)
    try:
        yield device, path
    finally:
        os.close(device)


def shown(path: str) -> dict[str, object]:
    """What the kernel has of a device; empty if it is free."""
    columns = "NAME,AUTOCLEAR,BACK-FILE"
    argv = ["losetup", "--json", "--output", columns, path]
    listed = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    if not listed.strip():
        return {}
    (one,) = json.loads(listed)["loopdevices"]
    return dict(one)


def attached(loops: ctypes.CDLL, device: int, path: Path) -> int:
    return int(loops.attach(device, str(path).encode(), False))


def test_a_device_goes_with_its_holder_from_the_first_moment(
    loops: ctypes.CDLL, image: Path
) -> None:
    """Between losetup and the mark it was a left-over to others, which detached it."""
    for _ in range(5):  # somebody else may take the number
        with free_device() as (device, path):
            if attached(loops, device, image) == TAKEN:
                continue
            one = shown(path)
            assert one["autoclear"] and one["back-file"] == str(image)
        assert shown(path).get("back-file") != str(image)
        return
    pytest.fail("no loop device could be had in five attempts")


def test_a_device_that_another_took_is_not_shared(
    loops: ctypes.CDLL, image: Path, tmp_path: Path
) -> None:
    other = Path(shutil.copy(image, tmp_path / "other.img"))
    with free_device() as (device, path):
        first = os.open(path, os.O_RDWR)
        try:
            attached(loops, first, other)
            assert attached(loops, device, image) == TAKEN
            assert shown(path)["back-file"] == str(other)
        finally:
            os.close(first)


def settings_of(sys: Path, path: str, settings: dict[str, str]) -> Path:
    queue = sys / "block" / Path(path).name / "queue"
    queue.mkdir(parents=True)
    (queue / "max_hw_sectors_kb").write_text("1280\n")
    for name, value in settings.items():
        (queue / name).write_text(value)
    return queue


def reset(loops: ctypes.CDLL, sys: Path) -> None:
    assert loops.reset_unused(b"/dev", str(sys).encode()) == 0


def test_settings_of_a_killed_disk_go(loops: ctypes.CDLL, tmp_path: Path) -> None:
    with free_device() as (_, path):
        queue = settings_of(tmp_path, path, OURS)
        reset(loops, tmp_path)
    assert (queue / "write_cache").read_text() == "write back"
    assert (queue / "max_sectors_kb").read_text() == "0"


@pytest.mark.parametrize(
    "settings",
    [
        KERNELS,
        {**OURS, "max_sectors_kb": "1280\n"},
        {**OURS, "write_cache": "write back\n"},
    ],
)
def test_no_device_of_others_is_written_to(
    loops: ctypes.CDLL, tmp_path: Path, settings: dict[str, str]
) -> None:
    with free_device() as (_, path):
        queue = settings_of(tmp_path, path, settings)
        reset(loops, tmp_path)
    assert {name: (queue / name).read_text() for name in settings} == settings


def test_no_device_in_use_or_held_is_written_to(
    loops: ctypes.CDLL, image: Path, tmp_path: Path
) -> None:
    """The kernel's settings for one that is being configured are its own."""
    with free_device() as (device, path):
        queue = settings_of(tmp_path, path, OURS)
        assert attached(loops, device, image) in (0, TAKEN)
        reset(loops, tmp_path)
    assert (queue / "write_cache").read_text() == "write through\n"
    with free_device() as (_, path):
        shutil.rmtree(tmp_path / "block")
        queue = settings_of(tmp_path, path, OURS)
        held = os.open(path, os.O_RDONLY | os.O_EXCL)
        reset(loops, tmp_path)
        os.close(held)
    assert (queue / "write_cache").read_text() == "write through\n"
