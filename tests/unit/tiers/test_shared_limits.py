"""A limit of several disks together: the disk server's C code (docker/disk/tierdisk/shared.c).

Goal: what is in force does not change when a disk comes, goes, or is started anew. Method:
processes that open the file as servers do; `close_down` of the script `device`. Needs a C compiler.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import ROOT
from tests.disk_programs import built

DISK = ROOT / "docker/disk"
NAMES = ("shared", "bucket", "limits", "lock", "die")
ROOM = 4096  # more than struct limits has
RATE = 1000  # I/Os a second
SERVER = """
import ctypes, sys
ctypes.CDLL(sys.argv[1]).open_shared(sys.argv[2].encode())
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(NAMES, tmp_path_factory.mktemp("shared"))


@contextmanager
def server(library: Path, file: Path) -> Iterator[subprocess.Popen[str]]:
    """A disk that has the file open, until it is killed."""
    argv = [sys.executable, "-c", SERVER, str(library), str(file)]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()


class Disk:
    """A disk in this process; its state is its own copy of the library."""

    def __init__(self, library: Path, copy: Path, file: Path) -> None:
        self._library = ctypes.CDLL(str(shutil.copy(library, copy)))
        self._library.admit_shared.restype = ctypes.c_int64
        self._limits = ctypes.create_string_buffer(ROOM)
        self._library.assign_limit(self._limits, f"shared_iops={RATE}".encode())
        self._library.open_shared(str(file).encode())
        self._library.lock_disk()

    def start_s(self, ios: int, now_s: float) -> float:
        """When a request of so many I/Os that comes now may start."""
        now_ns = ctypes.c_int64(round(now_s * 1e9))
        costs = (ctypes.c_int64 * 2)(ios, 0)
        start_ns = self._library.admit_shared(self._limits, now_ns, costs)
        return float(start_ns) / 1e9


def close_down(file: Path) -> None:
    """As a disk does whose server has ended."""
    script = (
        'device=$1; file=$2; set -- help; . "$device" >/dev/null; '
        'device="" shared=$file; close_down'
    )
    argv = ["bash", "-c", script, "x", str(DISK / "device"), str(file)]
    env = {"PATH": "/usr/bin:/bin", "TIERBENCH_DISK": f"test-{file.parent.name}"}
    subprocess.run(argv, check=False, capture_output=True, env=env)


def test_who_joins_finds_what_the_others_have_used(
    library: Path, tmp_path: Path
) -> None:
    file = tmp_path / "shared"
    first = Disk(library, tmp_path / "first.so", file)
    assert first.start_s(2 * RATE, now_s=100.0) == 100.0
    second = Disk(library, tmp_path / "second.so", file)
    assert second.start_s(1, now_s=100.0) == pytest.approx(102.0)


def test_the_file_stays_until_the_last_disk_goes(library: Path, tmp_path: Path) -> None:
    """A disk that was started anew made another, and the limit was twice as high."""
    file = tmp_path / "shared"
    with server(library, file) as other:
        with server(library, file):
            pass
        close_down(file)
        assert file.exists()
        other.kill()
        other.wait()
        close_down(file)
    assert not file.exists()


def test_what_killed_disks_left_is_forgiven(library: Path, tmp_path: Path) -> None:
    file = tmp_path / "shared"
    with server(library, file):
        pass
    file.write_bytes(b"\x42" * 16)
    assert Disk(library, tmp_path / "next.so", file).start_s(1, now_s=100.0) == 100.0
