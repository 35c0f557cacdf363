"""Distributions of latency: exact percentiles of every transaction, few enough to be drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.figures.transactions import COMMITTED, FAILED
from orchestrator.analysis.results import RunData
from orchestrator.report.sections import latency
from tests.campaigns import START_S, build_campaign


def _runs(*tables: pd.DataFrame | None, workload: str = "insert") -> list[RunData]:
    """Runs whose window is the 20 s after a warm-up of 10."""
    campaign = build_campaign(
        profiles=["ultra"],
        workloads=[workload],
        repetitions=len(tables),
        measure_s=20.0,
    )
    first = campaign.runs[0].record.phases
    return [
        replace(
            run,
            record=replace(run.record, phases=first),
            transactions=partial(_kept, table),
        )
        for run, table in zip(campaign.runs, tables, strict=True)
    ]


def _kept(table: pd.DataFrame | None) -> Iterator[pd.DataFrame]:
    """In parts, as they are stored; without those of a run that kept none."""
    if table is not None:
        yield from (table[:7], table[7:])


def _table(latency_s: Sequence[float] | np.ndarray, **columns: Any) -> pd.DataFrame:
    """Transactions that all begin a second after the window does."""
    rows = {
        "start_s": START_S + 11.0,
        "latency_s": latency_s,
        "queue_s": 0.0,
        "type": "insert",
    }
    table = pd.DataFrame(
        {**rows, "outcome": COMMITTED, "retries": 0, "sqlstate": "", **columns}
    )
    return table.assign(type=table["type"].astype("category"))


def test_every_point_is_the_exact_percentile_of_all_runs_together() -> None:
    generator = np.random.default_rng(1)
    one, two = generator.lognormal(-4, 1, 7_001), generator.lognormal(-3, 1, 3_002)
    found = latency.of_runs(_runs(_table(one), _table(two)), ["all"])["all"]
    assert (found.runs, found.transactions) == (2, 10_003)
    together = np.concatenate((one, two))
    percents = -100 * np.expm1(-found.nines * np.log(10.0))
    for percent, latency_s in zip(percents, found.latency_s, strict=True):
        if percent > 0:
            assert latency_s == np.percentile(together, percent, method="inverted_cdf")
    assert found.latency_s[0] == together.min()
    for named in (50.0, 90.0, 95.0, 99.0, 99.9):
        assert np.isclose(percents, named, rtol=0, atol=1e-9).sum() == 1


def test_it_ends_where_ten_transactions_are_slower() -> None:
    found = latency.of_runs(_runs(_table(np.arange(1, 10_001) / 1e4)), ["all"])["all"]
    assert found.nines[-1] == pytest.approx(3.0)
    assert found.latency_s[-1] == 0.999  # ten of the ten thousand are above it


def test_many_transactions_are_thinned_and_rise() -> None:
    many = np.random.default_rng(2).exponential(0.01, 400_000)
    found = latency.of_runs(_runs(_table(many)), ["all"])["all"]
    assert 200 < len(found.latency_s) <= latency.MAX_POINTS
    assert (np.diff(found.latency_s) >= 0).all()
    assert (np.diff(found.nines) > 0).all()


def test_failed_ones_the_warm_up_and_other_types_are_left_out() -> None:
    latency_s = [0.001] * 30 + [5.0] * 30 + [6.0] * 30 + [7.0] * 30
    table = _table(
        latency_s,
        type=["new_order"] * 30 + ["delivery"] * 30 + ["new_order"] * 60,
        outcome=[COMMITTED] * 90 + [FAILED] * 30,
    )
    table.loc[60:89, "start_s"] = START_S  # ended in the warm-up
    found = latency.of_runs(_runs(table, workload="tpcc"), ["all", "new_order"])
    assert {scope: one.transactions for scope, one in found.items()} == {
        "all": 30,
        "new_order": 30,
    }
    assert set(found["all"].latency_s) == {0.001}


def test_with_think_time_the_wait_for_a_connection_is_not_latency() -> None:
    (run,) = _runs(_table([0.5] * 40, queue_s=[0.3] * 20 + [float("nan")] * 20))
    workload = replace(run.record.workload, options={"think": "spec"})
    thinking = replace(run, record=replace(run.record, workload=workload))
    assert workload.thinks
    found = latency.of_runs([thinking], ["all"])["all"]
    assert (found.latency_s[0], found.latency_s[-1]) == (pytest.approx(0.2), 0.5)


def test_too_few_make_no_curve() -> None:
    assert latency.of_runs(_runs(_table([0.1] * 19)), ["all"]) == {}
    twenty = latency.of_runs(_runs(_table(np.arange(1, 21) / 10)), ["all"])["all"]
    assert twenty.nines[-1] == np.log10(2), "ten lie beyond the median"
    assert twenty.latency_s[-1] == 1.0
    assert latency.of_runs(_runs(None), ["all"]) == {}
