"""Cells from text, and what tables of known figures say: ceilings, native I/O size, depth law."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import pytest

from orchestrator.analysis.figures import matrix_laws
from orchestrator.design import disk_matrix
from orchestrator.design.disk_matrix import MatrixCell
from orchestrator.planning import workloads
from tests import ROOT
from tests.plans import disk

KIB, MIB = 2**10, 2**20


def cells(text: str) -> tuple[MatrixCell, ...]:
    return disk_matrix.planned({"cells": text})


# ------------------------------------------------------------------ planning


def test_a_line_is_a_product() -> None:
    found = cells("random read 0,100 block 4KiB depth 1,32 threads 2")
    assert [cell.name for cell in found] == [
        "random-read0-4KiB-1x2",
        "random-read0-4KiB-32x2",
        "random-read100-4KiB-1x2",
        "random-read100-4KiB-32x2",
    ]
    assert [cell.in_flight for cell in found] == [2, 64, 2, 64]


def test_a_cell_named_twice_is_measured_once() -> None:
    found = cells("""
        sequential read 100 block 1MiB depth 1,8
        sequential block 1024KiB depth 8,16 read 100
    """)
    assert [(cell.depth, cell.threads) for cell in found] == [(1, 1), (8, 1), (16, 1)]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("shuffled read 100 block 4KiB depth 1", "begin with `random` or `sequential`"),
        ("random read 100 block 4KiB", "give `read`, `block` and `depth`"),
        (
            "random read 100 block 4KiB depth 1 wide 3",
            "give `read`, `block` and `depth`",
        ),
        (
            "random read 100 block 4KiB depth 1 threads",
            "give `read`, `block` and `depth`",
        ),
        ("random read 101 block 4KiB depth 1", "`read` must lie between 0 and 100"),
        ("random read 0,101 block 4KiB depth 1", "`read` must lie between 0 and 100"),
        ("random read 100 block 1KiB depth 1", "`block` must lie between 4096"),
        ("random read 100 block 5000B depth 1", "multiple of 4096"),
        ("random read 100 block 4KiB depth 0", "`depth` must lie between 1"),
        ("random read -1 block 4KiB depth 1", "'-1' is not a whole number"),
        ("random read 100 block 4parsec depth 1", "unknown size unit"),
    ],
)
def test_a_wrong_line_is_refused_with_its_reason(line: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as error:
        cells(f"random read 100 block 4KiB depth 1\n{line}")
    assert f"`{line}`" in str(error.value)


def test_workloads_without_cells_measure_once() -> None:
    assert disk_matrix.planned({"think": "none"}) == ()
    assert disk_matrix.stretches({"think": "none"}) == 1
    assert (
        disk_matrix.stretches({"cells": "random read 0,100 block 4KiB depth 1,2"}) == 4
    )


@pytest.mark.parametrize(
    ("scale", "number"), [("smoke", 13), ("laptop", 48), ("study", 200)]
)
def test_the_shipped_matrix(scale: str, number: int) -> None:
    text = (ROOT / "workloads/disk-matrix.yaml").read_text()
    workload = workloads.read_workload("disk-matrix", text, scale)
    found = disk_matrix.planned(workload.options)
    assert len(found) == number
    assert len({cell.name for cell in found}) == number
    assert max(cell.in_flight for cell in found) <= 128  # what a loop device queues


# ------------------------------------------------------------------ a disk that follows the rules


LADDER = """
    random read 100 block 4KiB,64KiB,256KiB,1MiB depth 1,2,4,8,16,32
    sequential read 0 block 4KiB,256KiB depth 1,16,32
"""


def test_ceilings_are_found() -> None:
    rows = matrix_laws.table(cells(LADDER), disk(LADDER, 500, 60e6, 0.0125))
    iops = matrix_laws.ceilings(rows, "iops")
    assert {way: found.value for way, found in iops.items()} == {
        "all": 500.0,
        "read": 500.0,
        "write": 500.0,
    }
    # 8, 16 and 32 in flight on two blocks when reading, 16 and 32 on one when writing
    assert [iops[way].cells for way in ("all", "read", "write")] == [8, 6, 2]
    assert all(found.reached for found in iops.values())
    rate = matrix_laws.ceilings(rows, "bytes_per_s")["read"]
    assert rate.value == pytest.approx(60e6) and rate.reached


def test_one_lucky_cell_sets_no_ceiling() -> None:
    figures = disk(LADDER, 500, 60e6, 0.0125)
    figures["iops", "random-read100-4KiB-16x1"] = 512.0
    rows = matrix_laws.table(cells(LADDER), figures)
    assert matrix_laws.ceilings(rows, "iops")["read"].value == 500.0


def measured_cells(
    text: str, iops: Sequence[float], bytes_per_s: Sequence[float]
) -> pd.DataFrame:
    """Cells of these rates, which take a hundredth of a second for each I/O in flight."""
    figures: dict[tuple[str, str], float] = {}
    for cell, of_ios, of_bytes in zip(cells(text), iops, bytes_per_s, strict=True):
        figures["iops", cell.name] = of_ios
        figures["bytes_per_s", cell.name] = of_bytes
        figures["latency_avg_s", cell.name] = cell.in_flight / 100
    return matrix_laws.table(cells(text), figures)


TWO_DEPTHS = "random read 100 block 4KiB depth 2,3\nrandom read 0 block 1MiB depth 1"


@pytest.mark.parametrize(
    ("iops", "bytes_per_s", "cells_on_it", "reached"),
    [
        # Within 5 % of the highest, and half as much again in flight.
        (950.0, 4e6, 2, True),
        (949.0, 4e6, 1, False),
        # The other limit may hold them back from 95 % of its highest rate on.
        (950.0, 9.4e6, 2, True),
        (950.0, 9.5e6, 2, False),
    ],
)
def test_both_sides_of_a_plateau(
    iops: float, bytes_per_s: float, cells_on_it: int, reached: bool
) -> None:
    rates = [bytes_per_s, bytes_per_s, 1e7]
    rows = measured_cells(TWO_DEPTHS, [iops, 1_000.0, 10.0], rates)
    found = matrix_laws.ceilings(rows, "iops")["read"]
    assert (found.cells, found.reached) == (cells_on_it, reached)
    # One cell of large blocks does not show that more in flight give no more.
    assert matrix_laws.native_io_bytes(rows) is None


@pytest.mark.parametrize(
    ("depths", "lowest_iops", "laws"),
    [
        ("4,5,6", 950.0, 1),
        ("4,5,6", 949.0, 0),
        ("5,6,7", 950.0, 0),  # 7 is less than half as many again
        ("4,6", 950.0, 0),  # any two points lie on a line
    ],
)
def test_a_law_needs_three_depths_on_a_plateau(
    depths: str, lowest_iops: float, laws: int
) -> None:
    text = f"random read 100 block 4KiB depth {depths}"
    iops = [lowest_iops, 1_000.0, 1_000.0][: len(cells(text))]
    rows = measured_cells(text, iops, [4e6] * len(iops))
    assert len(matrix_laws.depth_laws(rows)) == laws


def test_a_disk_that_was_never_busy_has_shown_no_ceiling() -> None:
    rows = matrix_laws.table(cells(LADDER), disk(LADDER, 100_000, 10e9, 0.0125))
    assert not matrix_laws.ceilings(rows, "iops")["all"].reached
    assert matrix_laws.native_io_bytes(rows) is None
    assert matrix_laws.depth_laws(rows) == ()
    assert matrix_laws.block_steps(rows) == ()


def test_small_blocks_show_no_bandwidth_ceiling() -> None:
    text = "random read 100 block 4KiB depth 16,32\nrandom read 0 block 4KiB,1MiB depth 16,32"
    rows = matrix_laws.table(cells(text), disk(text, 500, 60e6, 0.0125))
    rate = matrix_laws.ceilings(rows, "bytes_per_s")
    assert rate["write"].reached and not rate["read"].reached
    assert matrix_laws.ceilings(rows, "iops")["read"].reached


def test_native_io_size_where_bandwidth_binds() -> None:
    rows = matrix_laws.table(cells(LADDER), disk(LADDER, 500, 60e6, 0.0125))
    assert matrix_laws.native_io_bytes(rows) == pytest.approx(120_000)


def test_native_io_size_where_large_ios_count_as_several() -> None:
    rows = matrix_laws.table(cells(LADDER), disk(LADDER, 500, 1e9, 0.0125))
    assert matrix_laws.native_io_bytes(rows) == pytest.approx(256 * KIB)
    steps = {
        (step.small_bytes, step.large_bytes): step
        for step in matrix_laws.block_steps(rows)
    }
    assert steps[4 * KIB, 64 * KIB].latency_ratio == pytest.approx(1.0)
    assert steps[64 * KIB, 256 * KIB].latency_ratio == pytest.approx(1.0)
    native = steps[256 * KIB, MIB]
    assert native.large_bytes / native.small_bytes == 4.0
    assert native.latency_ratio == pytest.approx(4.0)


def test_latency_is_linear_beyond_saturation() -> None:
    rows = matrix_laws.table(cells(LADDER), disk(LADDER, 500, 60e6, 0.0125))
    law = matrix_laws.depth_laws(rows)[0]
    assert law.scope == "random-read100-4KiB"
    assert (law.saturated_from, law.points) == (8, 3)  # 500 × 12.5 ms = 6.25 in flight
    assert law.slope_s == pytest.approx(1 / 500)
    assert law.off_pct == pytest.approx(0, abs=1e-6)
    assert law.alone_s == pytest.approx(0.0125)


def test_a_bend_shows_as_distance_from_the_line() -> None:
    figures = disk(LADDER, 500, 60e6, 0.0125)
    figures["latency_avg_s", "random-read100-4KiB-16x1"] = 0.048
    law = matrix_laws.depth_laws(matrix_laws.table(cells(LADDER), figures))[0]
    assert law.off_pct > 10


def test_the_law_is_one_of_medians() -> None:
    """What is in flight at the end lengthens the mean of deep queues, not the median."""
    figures = disk(LADDER, 500, 60e6, 0.0125)
    for metric, name in list(figures):
        if metric == "latency_avg_s":
            figures["latency_p50_s", name] = figures[metric, name]
            figures[metric, name] *= 1 + figures[metric, name] / (2 * 1.5)
    law = matrix_laws.depth_laws(matrix_laws.table(cells(LADDER), figures))[0]
    assert law.slope_s == pytest.approx(1 / 500)
    assert law.off_pct == pytest.approx(0, abs=1e-6)


def test_the_lightest_cell_is_one_small_random_read() -> None:
    rows = matrix_laws.table(cells(LADDER), disk(LADDER, 500, 60e6, 0.0125))
    assert matrix_laws.lightest(rows)["name"] == "random-read100-4KiB-1x1"


def test_cells_that_were_not_measured_are_absent() -> None:
    figures = disk(LADDER, 500, 60e6, 0.0125)
    del figures["iops", "random-read100-4KiB-1x1"]
    rows = matrix_laws.table(cells(LADDER), figures)
    assert len(rows) == len(cells(LADDER)) - 1
    assert rows["latency_p99_s"].isna().all()
    assert matrix_laws.table(cells(LADDER), {}).empty


def test_the_published_study() -> None:
    """Its figures: 496 IOPS; 96 to 100 MB/s reading, 400 IOPS at 256 KiB; 1 MiB costs 4 times."""
    text = "random read 100 block 4KiB,256KiB,1MiB depth 1,2,16,32 threads 2"
    rows = matrix_laws.table(cells(text), disk(text, 496, 100e6, 0.0078))
    assert matrix_laws.ceilings(rows, "iops")["read"].value == 496.0
    assert matrix_laws.ceilings(rows, "bytes_per_s")["read"].value == pytest.approx(
        100e6
    )
    at_256 = rows[(rows["block_bytes"] == 256 * KIB) & (rows["depth"] == 32)].iloc[0]
    assert at_256["iops"] == pytest.approx(381.5, abs=0.1)
    assert matrix_laws.block_steps(rows)[-1].latency_ratio == pytest.approx(4.0)
