"""The disk server's numbers at their borders: its C code (docker/disk/tierdisk), called directly.

Goal: no limit turns into none where a duration no longer fits in 64 bits, and no jump of the wall
clock holds up the start of a disk. Needs a C compiler.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from orchestrator.tier.slow_disk import SlowDisk
from orchestrator.tiers.common.emulated import server_limits
from orchestrator.tiers.common.emulated.running_disks import plain
from tests import ROOT
from tests.disk_programs import SERVING, Turn, built
from tests.tiers import a_tier

SERVER = ROOT / "docker/disk/tierdisk"
ROOM = 4096  # more than struct limits has
BLOCK_BYTES = 4096
READ = 0
YEAR_NS = 365 * 86_400 * 10**9
MOST_WHOLE = 2**53
HOLDING = ("-Dlseek=held_lseek", "-Dclock_gettime=early_clock_gettime")
LONGEST_WAIT_NS = 50_000_000


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(SERVING, tmp_path_factory.mktemp("borders"))


@pytest.fixture
def disk(build: Path, tmp_path: Path) -> ctypes.CDLL:
    """A library of its own, as it keeps the disk's state."""
    library = ctypes.CDLL(str(shutil.copy(build, tmp_path / "disk.so")))
    library.assign_limit.restype = ctypes.c_char_p
    library.check_limits.restype = ctypes.c_char_p
    library.begin_turn.restype = Turn
    library.begin_turn.argtypes = (ctypes.c_int, ctypes.c_size_t)
    return library


def limits_of(disk: ctypes.CDLL, *assignments: str) -> ctypes.Array[ctypes.c_char]:
    limits = ctypes.create_string_buffer(ROOM)
    for text in ("io_unit=262144", "slow_factor=1", *assignments):
        assert disk.assign_limit(limits, text.encode()) is None
    assert disk.check_limits(limits) is None
    return limits


@pytest.mark.parametrize("text", ["iops=1e-10", "bytes_per_s=1e-9", "iops=5e-324"])
def test_a_rate_of_almost_nothing_is_still_a_limit(
    disk: ctypes.CDLL, text: str
) -> None:
    """317 years and more for an I/O do not fit in nanoseconds of 64 bits: what was charged became
    a moment in the past, so the slowest disk of all let in whatever came."""
    disk.begin_disk(limits_of(disk, text))
    disk.begin_turn(READ, BLOCK_BYTES)
    for _ in range(100):
        turn = disk.begin_turn(READ, BLOCK_BYTES)
        assert turn.due_ns - turn.came_ns > YEAR_NS


def test_what_requests_have_waited_never_falls(
    disk: ctypes.CDLL, tmp_path: Path
) -> None:
    """The sum of waits passed 2^63 ns with the fifth request, and was below zero from then on."""
    place = str(tmp_path / "control").encode()
    disk.begin_disk(limits_of(disk, "iops=1e-10"))
    disk.answer_questions(place)
    waited_s: list[float] = []
    for _ in range(8):
        disk.begin_turn(READ, BLOCK_BYTES)
        text = ctypes.create_string_buffer(b"stats", ROOM)
        assert disk.ask_disk(place, text, ctypes.c_size_t(ROOM))
        waited_s.append(json.loads(text.value)["read"]["waited_s"])
    assert waited_s == sorted(waited_s)
    assert waited_s[-1] > YEAR_NS / 1e9


@pytest.mark.parametrize("text", ["read_latency_us=1e17", "read_latency_us=1e300"])
def test_a_latency_without_end_is_not_none(disk: ctypes.CDLL, text: str) -> None:
    disk.begin_disk(limits_of(disk, text))
    turn = disk.begin_turn(READ, BLOCK_BYTES)
    assert turn.due_ns - turn.came_ns > YEAR_NS


def test_whole_limits_are_told_with_all_their_digits(
    disk: ctypes.CDLL,
) -> None:
    """The largest seed that is taken was told as 9.00719925474099e+15, which is another one."""
    out = ctypes.create_string_buffer(ROOM)
    limits = limits_of(disk, f"latency_seed={MOST_WHOLE - 1}", "iops=833.3")
    disk.print_limits(limits, out, ctypes.c_size_t(ROOM))
    told = json.loads(out.value)
    assert told["latency_seed"] == MOST_WHOLE - 1
    assert told["io_unit"] == 262_144
    assert told["iops"] == 833.3


@pytest.fixture
def reading(tmp_path: Path) -> ctypes.CDLL:
    """read_ahead.c with a file whose reading lasts until `end_reading`."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    common = (compiler, "-std=gnu11", "-fPIC")
    held = tmp_path / "read_ahead.o"
    source = str(SERVER / "read_ahead.c")
    subprocess.run([*common, *HOLDING, "-c", source, "-o", str(held)], check=True)
    library = tmp_path / "reading.so"
    others = (str(Path(__file__).with_name("held_reading.c")), str(SERVER / "clock.c"))
    link = (*common, "-shared", str(held), *others, str(SERVER / "die.c"))
    subprocess.run([*link, "-lpthread", "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def test_a_wall_clock_that_is_set_back_holds_up_no_disk(
    reading: ctypes.CDLL, tmp_path: Path
) -> None:
    """It was waited for until a time of day, which came an hour later when clocks were set back."""
    data = os.open(tmp_path / "data", os.O_RDWR | os.O_CREAT)
    wait = ctypes.c_int64(LONGEST_WAIT_NS)
    start = threading.Thread(
        target=reading.start_reading_ahead, args=(data, wait), daemon=True
    )
    start.start()
    start.join(timeout=20)
    is_waiting = start.is_alive()
    reading.end_reading()
    start.join(timeout=20)
    assert not is_waiting


@pytest.mark.parametrize("share_pct", [50.0, 1e-6, 1e-9, 1e-300])
def test_a_disk_at_a_share_of_almost_nothing_is_not_without_limits(
    disk: ctypes.CDLL, share_pct: float
) -> None:
    """Six decimals were sent: at 0.00000001 % its IOPS were 0, and 0 is no limit."""
    slow = SlowDisk("node-1", "share", share_pct, 60.0)
    tier = a_tier("premium", "Premium", "emulated", 1100, 125_000_000)
    limits = server_limits.slow_limits(tier, slow)
    assignments = [f"{name}={plain(value)}" for name, value in limits.items()]
    assert not any(text.endswith("=0") for text in assignments)
    disk.begin_disk(limits_of(disk, *assignments))
    disk.begin_turn(READ, BLOCK_BYTES)
    turn = disk.begin_turn(READ, BLOCK_BYTES)
    assert turn.due_ns > turn.came_ns


@pytest.mark.parametrize(
    ("value", "text"),
    [(4000, "4000"), (4000.0, "4000"), (833.3, "833.3"), (1e-9, "1e-09")],
)
def test_a_limit_is_sent_as_it_is(disk: ctypes.CDLL, value: float, text: str) -> None:
    assert plain(value) == text
    out = ctypes.create_string_buffer(ROOM)
    limits = limits_of(disk, f"iops={plain(value)}")
    disk.print_limits(limits, out, ctypes.c_size_t(ROOM))
    assert json.loads(out.value)["iops"] == value
