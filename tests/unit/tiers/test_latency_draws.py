"""What the disk server draws: its own C code (docker/disk/tierdisk/latency.c), compiled and called.

Goal: a tail can be trusted without a device. Method: the two files that draw, as a library; needs a
C compiler, which whoever builds images need not have.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import shutil
import statistics
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from orchestrator.design import latency_quantiles
from orchestrator.tiers.common.emulated import disk_server
from tests import ROOT
from tests.fakes import fake_world

NAMES = ("latency", "limits", "lock")
SOURCES = [ROOT / "docker/disk/tierdisk" / f"{name}.c" for name in NAMES]
READ, WRITE = 0, 1
TABLE = ((0.0, 0.0003), (0.5, 0.0005), (0.9, 0.001), (0.99, 0.004), (1.0, 0.02))
EPOCHS = {"slow_factor": 4, "slow_dwell_s": 2, "good_dwell_s": 6}
ROOM = 4096  # more than struct limits has


class Server:
    """The disk's draws: one at a time, like the server's, whose library keeps their state."""

    def __init__(self, library: ctypes.CDLL) -> None:
        library.next_latency_us.restype = ctypes.c_double
        library.slow_s.restype = ctypes.c_double
        library.drawn_s.restype = ctypes.c_double
        for name in ("prepare_tables", "assign_limit", "check_limits"):
            getattr(library, name).restype = ctypes.c_char_p
        self.library = library
        library.lock_disk()  # as whoever asks does
        self.limits = ctypes.create_string_buffer(ROOM)

    def begin(self, *table: Path, **limits: float) -> None:
        """Starts anew, with these limits and no others."""
        ctypes.memset(self.limits, 0, ROOM)
        for name, value in {"io_unit": 4096, "slow_factor": 1, **limits}.items():
            assert (
                self.library.assign_limit(self.limits, f"{name}={value!r}".encode())
                is None
            )
        for file in table:
            assert self.take(file) is None
        self.library.begin_draws(self.limits, ctypes.c_int64(0))

    def take(self, table: Path) -> str | None:
        """Takes a table for both directions; what is wrong with it."""
        wrong = self.library.prepare_tables(str(table).encode(), str(table).encode())
        if wrong:
            return str(wrong.decode())
        self.library.use_tables()
        return None

    def draw_us(self, way: int = READ, at_s: float = 0.0) -> float:
        at_ns = ctypes.c_int64(round(at_s * 1e9))
        return float(self.library.next_latency_us(way, self.limits, at_ns))

    def slow_share(self, at_s: float) -> float:
        of_s = ctypes.c_double()
        at_ns = ctypes.c_int64(round(at_s * 1e9))
        slow_s = self.library.slow_s(self.limits, at_ns, ctypes.byref(of_s))
        assert of_s.value == pytest.approx(at_s)
        return float(slow_s) / at_s


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    library = tmp_path_factory.mktemp("draws") / "draws.so"
    argv = [compiler, "-std=gnu11", "-O2", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run([*argv, *map(str, SOURCES), "-lm"], check=True)
    return library


@pytest.fixture
def server(build: Path, tmp_path: Path) -> Server:
    """With a library of its own, so that no test sees the tables of another."""
    return Server(ctypes.CDLL(str(shutil.copy(build, tmp_path / "draws.so"))))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return written(tmp_path, TABLE)


def written(folder: Path, table: Any) -> Path:
    file = folder / "table"
    file.write_bytes(disk_server.table_text(table))
    return file


def test_without_a_table_each_latency_is_the_constant(server: Server) -> None:
    server.begin(read_latency_us=300, write_latency_us=700)
    assert {server.draw_us(READ, at_s) for at_s in range(1000)} == {300}
    assert {server.draw_us(WRITE, at_s) for at_s in range(1000)} == {700}


def test_draws_have_the_quantiles_and_the_mean_of_the_table(
    server: Server, table: Path
) -> None:
    server.begin(table, latency_seed=7)
    draws_s = sorted(server.draw_us() * 1e-6 for _ in range(100_000))
    assert TABLE[0][1] <= draws_s[0] and draws_s[-1] <= TABLE[-1][1]
    for probability in (0.1, 0.5, 0.9, 0.99):
        expected_s = latency_quantiles.quantile_s(TABLE, probability)
        assert draws_s[int(probability * len(draws_s))] == pytest.approx(
            expected_s, rel=0.03
        )
    assert statistics.fmean(draws_s) == pytest.approx(
        latency_quantiles.mean_s(TABLE), rel=0.01
    )
    count = ctypes.c_uint64()
    total_s = server.library.drawn_s(READ, ctypes.byref(count))
    assert (count.value, total_s) == (100_000, pytest.approx(math.fsum(draws_s)))


def test_the_same_seed_draws_the_same_and_another_nothing_alike(
    server: Server, table: Path
) -> None:
    def series(seed: int, way: int = READ) -> list[float]:
        server.begin(table, latency_seed=seed)
        return [server.draw_us(way) for _ in range(20_000)]

    first = series(1)
    assert series(1) == first
    for other in (series(2), series(1, WRITE)):
        assert abs(statistics.correlation(first, other)) < 0.03  # 4 standard errors


def test_reads_do_not_change_what_writes_draw(server: Server, table: Path) -> None:
    server.begin(table, latency_seed=1)
    alone = [server.draw_us(WRITE) for _ in range(100)]
    server.begin(table, latency_seed=1)
    mixed = []
    for _ in range(100):
        server.draw_us(READ)
        mixed.append(server.draw_us(WRITE))
    assert mixed == alone


def test_seeds_of_nodes_differ_and_repeat() -> None:
    world = fake_world()
    seeds = [disk_server.seed_of(f"node-{number}", world) for number in (1, 2, 3)]
    assert len(set(seeds)) == 3 and all(0 <= seed < 2**53 for seed in seeds)
    assert seeds == [
        disk_server.seed_of(f"node-{number}", world) for number in (1, 2, 3)
    ]


def test_slow_epochs_take_their_share_of_time_and_their_factor(server: Server) -> None:
    server.begin(read_latency_us=100, latency_seed=3, **EPOCHS)
    seen = [server.draw_us(READ, at_s / 10) for at_s in range(400_000)]
    assert set(seen) == {100.0, 400.0}
    share = seen.count(400.0) / len(seen)
    # 5,000 pairs of epochs: the share's standard error is below 0.004
    assert share == pytest.approx(2 / (2 + 6), abs=0.016)
    assert server.slow_share(40_000.0) == pytest.approx(share, abs=0.001)
    changes = sum(a != b for a, b in itertools.pairwise(seen))
    assert changes == pytest.approx(2 * 40_000 / (2 + 6), rel=0.1), (
        "epochs last, not requests"
    )


def test_slow_epochs_come_at_the_same_times_however_often_is_asked(
    server: Server,
) -> None:
    server.begin(read_latency_us=100, latency_seed=3, **EPOCHS)
    often = [server.draw_us(READ, at_s / 100) for at_s in range(10_000)][::100]
    server.begin(read_latency_us=100, latency_seed=3, **EPOCHS)
    assert [server.draw_us(READ, float(at_s)) for at_s in range(100)] == often


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "does not end with probability 1"),
        ("0 300\n", "does not end with probability 1"),
        ("0 300\n0.9 400\n", "does not end with probability 1"),
        ("0.1 300\n1 400\n", "do not rise from 0"),
        ("0 300\n0.5 400\n0.5 500\n1 600\n", "do not rise from 0"),
        ("0 300\nnan 400\n1 600\n", "do not rise from 0"),
        ("0 300\n0.5 200\n1 600\n", "a latency below that of a lower probability"),
        ("0 0\n1 600\n", "not above 0 and at most a minute"),
        ("0 300\n1 inf\n", "not above 0 and at most a minute"),
        ("0 300 us\n1 600\n", "each line has a probability and a latency"),
        ("0 300\n\n1 600\n", "each line has a probability and a latency"),
        (
            "".join(f"{k / 1024!r} {k + 1}\n" for k in range(1025)),
            "more than 1024 points",
        ),
    ],
)
def test_a_file_that_is_no_table_is_refused(
    server: Server, tmp_path: Path, text: str, words: str
) -> None:
    file = tmp_path / "table"
    file.write_text(text)
    assert words in (server.take(file) or "")
    assert "No such file" in (server.take(tmp_path / "none") or "")


def test_a_refused_table_leaves_the_one_in_force(
    server: Server, table: Path, tmp_path: Path
) -> None:
    server.begin(table, latency_seed=1)
    first = server.draw_us()
    assert server.take(tmp_path / "none")
    server.begin(latency_seed=1)
    assert server.draw_us() == first


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"slow_factor": 0.5}, "slow_factor is 1"),
        ({"slow_factor": 2}, "needs slow_dwell_s and good_dwell_s"),
        (
            {"slow_factor": 2, "slow_dwell_s": 1, "good_dwell_s": 0.001},
            "of 0.01 or more",
        ),
    ],
)
def test_epochs_that_cannot_be_are_refused(
    server: Server, limits: dict[str, float], words: str
) -> None:
    server.begin(**limits)
    assert words in server.library.check_limits(server.limits).decode()


@st.composite
def tables(draw: Callable[..., Any]) -> Any:
    inner = draw(st.sets(st.integers(1, 9_999), max_size=40))
    probabilities = [0.0, *(number / 10_000 for number in sorted(inner)), 1.0]
    count = len(probabilities)
    latencies_us = draw(st.lists(st.integers(1, 10**7), min_size=count, max_size=count))
    return tuple(
        (p, us * 1e-6)
        for p, us in zip(probabilities, sorted(latencies_us), strict=True)
    )


@pytest.fixture(scope="module")
def any_server(build: Path) -> Iterator[Server]:
    yield Server(ctypes.CDLL(str(build)))


@settings(max_examples=60, deadline=None)
@given(made=tables(), seed=st.integers(0, 2**48))
def test_draws_of_any_table_stay_within_it(
    any_server: Server, tmp_path_factory: pytest.TempPathFactory, made: Any, seed: int
) -> None:
    assert list(latency_quantiles.mistakes(made)) == [], (
        "what Python takes, the server takes"
    )
    any_server.begin(written(tmp_path_factory.mktemp("any"), made), latency_seed=seed)
    draws_us = [any_server.draw_us() for _ in range(200)]
    low_us, high_us = made[0][1] * 1e6, made[-1][1] * 1e6
    assert all(low_us - 0.001 <= one <= high_us + 0.001 for one in draws_us)
