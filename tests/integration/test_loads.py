"""A workload at loads of its own, on real parts: the rate that a capacity gives, and far beyond it.

Goal: offered and served are what was asked for and done, and overload is seen. Method: a database
in memory, whose capacity is measured first; then a third of it, and three times as much.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from orchestrator.analysis import metric_values, overload
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.model import Record
from orchestrator.system import store
from tests.integration.conftest import HERE, measured, tierbench

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.usefixtures("nothing_left"),
]

SHORT = str(HERE / "workloads" / "short.yaml")
UNLIMITED = str(HERE / "profiles" / "unlimited.yaml")


def run(folder: Path, *options: str) -> Results:
    code, text = tierbench(
        *["run", "--profile", UNLIMITED, "--workload", SHORT, "--scale", "smoke"],
        *["--db", "postgresql", "--results", str(folder), *options],
    )
    assert code == 0, text
    return store.load(folder / "latest")


def flow(record: Record) -> tuple[float, float]:
    values = [
        metric_values.value_of(record, name)
        for name in ("offered_per_s", "served_per_s")
    ]
    offered, served = (value for value in values if value is not None)
    return offered, served


def by_chance(rate_per_s: float, record: Record) -> float:
    """Five standard deviations of the rate of what falls due in the window."""
    return 5 * math.sqrt(rate_per_s / record.workload.measure_s)


@measured
def test_a_rate_found_by_capacity_is_served_and_one_far_beyond_is_not(
    tmp_path: Path,
) -> None:
    campaign = run(tmp_path / "first", "--latency-at", "33%")
    closed, at_rate = (data.record for data in campaign.runs)
    capacity = metric_values.value_of(closed, "throughput_per_s") or 0.0
    rate = float(at_rate.workload.options["arrival_rate"])
    assert rate == pytest.approx(0.33 * capacity, rel=0.01)
    assert at_rate.run.workload == f"short-at-{rate:.12g}-per-s"
    offered, served = flow(at_rate)
    assert abs(offered - rate) < by_chance(rate, at_rate)
    assert served == pytest.approx(offered, rel=0.02) and not overload.overloaded(
        at_rate
    )

    swept = run(tmp_path / "second", "--sweep", f"rate={rate:.12g},{3 * capacity:.0f}")
    records = {data.record.run.workload: data.record for data in swept.runs}
    low, high = (
        records[load.name] for load in swept.plan.workloads
    )  # runs are balanced
    assert not overload.overloaded(low)
    offered, served = flow(high)
    assert abs(offered - 3 * capacity) < by_chance(3 * capacity, high)
    assert overload.overloaded(high) and served < offered / 2
    (sweep,) = judge(swept).sweeps
    assert sweep.numbers == (rate, float(f"{3 * capacity:.0f}"))
    assert (
        tmp_path / "second" / "latest" / "charts" / "short-load-throughput.svg"
    ).is_file()
