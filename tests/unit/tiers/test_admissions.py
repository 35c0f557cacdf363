"""When the disk server lets a request start: its own C code (docker/disk/tierdisk/throttle.c).

Goal: a tier's rates hold however long the machine has run, and no caller forgets the disk's lock.
Method: the files that admit, as a library, at moments that the test chooses; needs a C compiler.
"""

from __future__ import annotations

import ctypes
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.tier import Burst
from orchestrator.tier.slow_disk import SlowDisk
from orchestrator.tiers.common.emulated import server_limits
from tests import ROOT
from tests.tiers import a_tier

NAMES = ("throttle", "bucket", "shared", "limits", "lock", "die")
SOURCES = [ROOT / "docker/disk/tierdisk" / f"{name}.c" for name in NAMES]
ROOM = 4096  # more than struct limits has
DAY_S = 86_400
IOPS, BYTES = 0, 1


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    library = tmp_path_factory.mktemp("admissions") / "admissions.so"
    argv = [compiler, "-std=gnu11", "-O2", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run([*argv, *map(str, SOURCES), "-lm"], check=True)
    return library


class Disk:
    """A disk whose requests come one after another, on a machine that has run since `begun_s`."""

    def __init__(self, build: Path, copy: Path, begun_s: float, **limits: float):
        self._library = ctypes.CDLL(str(shutil.copy(build, copy)))
        self._library.admit.restype = ctypes.c_int64
        self._library.credit_left.restype = ctypes.c_double
        self._library.assign_limit.restype = ctypes.c_char_p
        self._library.check_limits.restype = ctypes.c_char_p
        self._limits = ctypes.create_string_buffer(ROOM)
        self.now_ns = round(begun_s * 1e9)
        self._library.lock_disk()
        self.set(**{"io_unit": 262_144, "slow_factor": 1, "credit_ms": 20, **limits})
        self._library.set_credit(ctypes.c_double(100), ctypes.c_int64(self.now_ns))

    def set(self, **limits: float) -> None:
        """Other limits; those that are not named stay."""
        for name, value in limits.items():
            text = f"{name}={value!r}".encode()
            assert self._library.assign_limit(self._limits, text) is None
        assert self._library.check_limits(self._limits) is None
        self._library.shape_buckets(self._limits, ctypes.c_int64(self.now_ns))

    def start_ns(self, size_bytes: int) -> int:
        """When a request of that size that comes now may start."""
        size = ctypes.c_int64(size_bytes)
        return int(self._library.admit(ctypes.c_int64(self.now_ns), size))

    def rate_per_s(self, size_bytes: int, count: int) -> float:
        """At which requests start that wait for each other's start, once the credit is spent."""
        first_ns = self.start_ns(size_bytes)
        while first_ns == self.now_ns:
            first_ns = self.start_ns(size_bytes)
        last_ns = first_ns
        for _ in range(count):
            last_ns = self.start_ns(size_bytes)
        return count / ((last_ns - first_ns) / 1e9)

    def credit_left(self, resource: int) -> float:
        at_ns = ctypes.c_int64(self.now_ns)
        return float(self._library.credit_left(resource, at_ns))


@pytest.mark.parametrize("begun_s", [1.0, 104 * DAY_S, 400 * DAY_S, 3650 * DAY_S])
@pytest.mark.parametrize(
    ("limits", "size_bytes", "declared"),
    [
        ({"bytes_per_s": 10**10}, 512, 10**10 / 512),
        ({"iops": 10**6}, 4096, 10**6),
        ({"iops": 833.3}, 4096, 833.3),
        ({"bytes_per_s": 7 * 10**6}, 4096, 7e6 / 4096),
    ],
)
def test_a_rate_is_the_declared_one_however_long_the_machine_has_run(
    build: Path,
    tmp_path: Path,
    begun_s: float,
    limits: dict[str, float],
    size_bytes: int,
    declared: float,
) -> None:
    """Moments that were doubles were exact for 104 days: after 400 days 512 bytes at 10 GB/s ran
    60 % too fast. Of a nanosecond nothing may be lost: 512 bytes at 10 GB/s take 51.2 ns."""
    disk = Disk(build, tmp_path / "disk.so", begun_s, **limits)
    measured = disk.rate_per_s(size_bytes, 20_000)
    assert measured == pytest.approx(declared, rel=1e-5)


def test_a_larger_request_counts_as_one_for_each_unit_begun(
    build: Path, tmp_path: Path
) -> None:
    disk = Disk(build, tmp_path / "disk.so", 1.0, iops=1000, io_unit=4096)
    assert disk.rate_per_s(2 * 4096, 1000) == pytest.approx(500, rel=1e-6)
    assert disk.rate_per_s(2 * 4096 + 1, 1000) == pytest.approx(1000 / 3, rel=1e-6)


def test_a_burst_lasts_as_long_as_its_credit_and_then_the_base_holds(
    build: Path, tmp_path: Path
) -> None:
    """3,000 a second for 3 s, then 500, as 7,500 I/Os of credit say."""
    limits = {"iops": 500, "iops_burst": 3000, "iops_burst_length": 3}
    disk = Disk(build, tmp_path / "disk.so", 100.0, **limits)
    assert disk.credit_left(IOPS) == 1.0
    assert disk.credit_left(BYTES) == -1
    begun_ns = disk.now_ns
    seconds = [0] * 6
    start_ns = begun_ns
    while start_ns < begun_ns + 6e9:
        start_ns = disk.start_ns(4096)
        disk.now_ns = start_ns
        if start_ns < begun_ns + 6e9:
            seconds[(start_ns - begun_ns) // 10**9] += 1
    assert seconds[:2] == pytest.approx([3060, 3000], abs=2)
    assert sum(seconds[:3]) == pytest.approx(9000, abs=5)
    assert seconds[3:] == pytest.approx([500] * 3, abs=2)
    assert disk.credit_left(IOPS) == pytest.approx(0, abs=0.001)


def test_what_was_spent_stays_when_a_rate_is_changed(
    build: Path, tmp_path: Path
) -> None:
    """Half a bucket of I/Os takes twice as long at half of the rate, and no more than it holds."""
    limits = {"iops": 500, "iops_burst": 3000, "iops_burst_length": 3}
    disk = Disk(build, tmp_path / "disk.so", 100.0, **limits)
    for _ in range(3750):
        disk.start_ns(4096)
    assert disk.credit_left(IOPS) == pytest.approx(0.5, abs=1e-6)
    disk.set(iops=250)  # the bucket holds 3 s × 2,750 by now
    assert disk.credit_left(IOPS) == pytest.approx(1 - 3750 / 8250, abs=1e-6)
    disk.set(iops_burst=260)  # 30: what was spent beyond that is forgiven
    assert disk.credit_left(IOPS) == 0


def test_a_slow_disk_that_bursts_keeps_its_credit(build: Path, tmp_path: Path) -> None:
    """A smaller bucket would forgive what was spent: the disk would burst for longer later."""
    burst = Burst(3000, None, 3.0, 100.0)
    tier = a_tier("gp", "Bursts", "emulated", 500, None, burst=burst)
    declared = {
        name: value
        for name, value in server_limits.limits_of(tier).items()
        if name.startswith("iops")
    }
    disk = Disk(build, tmp_path / "disk.so", 100.0, **declared)
    for _ in range(3750):
        disk.start_ns(4096)
    disk.set(**server_limits.slow_limits(tier, SlowDisk("node-1", "share", 10.0, 60.0)))
    assert disk.credit_left(IOPS) == pytest.approx(0.5, abs=1e-6)
    disk.set(**declared)
    assert disk.credit_left(IOPS) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        "admit(ctypes.c_int64(1), ctypes.c_int64(512))",
        "shape_buckets(limits, ctypes.c_int64(1))",
        "set_credit(ctypes.c_double(100), ctypes.c_int64(1))",
        "credit_left(0, ctypes.c_int64(1))",
        "admit_shared(limits, ctypes.c_int64(1), limits)",
        "unlock_disk()",
    ],
)
def test_who_has_not_taken_the_lock_is_stopped(build: Path, call: str) -> None:
    """That callers hold it was said in prose alone."""
    lines = (
        "import ctypes, sys",
        "library = ctypes.CDLL(sys.argv[1])",
        f"limits = ctypes.create_string_buffer({ROOM})",
        "library.assign_limit(limits, b'io_unit=4096')",
        f"library.{call}",
    )
    argv = [sys.executable, "-c", "\n".join(lines), str(build)]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGABRT, ended
    assert "this thread holds" in ended.stderr


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("io_unit=4096.5", "a whole number up to 2^53 is needed"),
        ("latency_seed=1e17", "a whole number up to 2^53 is needed"),
        ("flush=0.5", "0 or 1 is needed"),
        ("iops=nan", "not a number of 0 or more"),
    ],
)
def test_what_is_counted_is_whole(build: Path, text: str, wrong: str) -> None:
    library = ctypes.CDLL(str(build))
    library.assign_limit.restype = ctypes.c_char_p
    limits = ctypes.create_string_buffer(ROOM)
    said = library.assign_limit(limits, text.encode())
    assert said.decode() == f"{said.decode().partition(':')[0]}: {text}"
    assert wrong in said.decode()
