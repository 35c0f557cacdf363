"""Intervals hold each miss that was measured (docs/research/PREDICTION.md)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import pandas as pd
import pytest

from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.telemetry.counters.sample_tables import Samples
from orchestrator.extensions.predict.model_errors import are_beside_others, rate_error
from orchestrator.extensions.predict.prediction import Predictor
from orchestrator.facts import BottleneckCause
from tests.campaign_tables import Shape
from tests.campaigns import build_campaign, build_tier
from tests.predicted_campaigns import run_of, syncing

HOST_CPUS = 32.0  # as `build_campaign` has them
FASTER = True
# A run that was at its cap for 45 % of its window.
AT_TIMES_WIDER = 1.9


@pytest.mark.parametrize(
    ("missed_pct", "upwards", "limit", "beside_others", "wider"),
    [
        # Beside other work that kept all of the CPU busy.
        (-62, FASTER, "latency_bound", True, AT_TIMES_WIDER),
        (160, FASTER, "latency_bound", True, AT_TIMES_WIDER),
        (-49, FASTER, "latency_bound", True, 1.0),
        (97, FASTER, "latency_bound", True, 1.0),
        (88, not FASTER, "latency_bound", True, 1.0),
        (-47, not FASTER, "latency_bound", True, 1.0),
        # From P15 with its log on P30, which was at its cap for 43 % of the window.
        (25, FASTER, "latency_bound", False, 1.87),
        (17, FASTER, "latency_bound", False, 1.87),
        # A query took less CPU on the faster tier.
        (-44, FASTER, "cpu_bound", False, 1.0),
        (-45, FASTER, "machine_bound", False, 1.0),
        (78, FASTER, "cpu_bound", False, 1.0),
    ],
)
def test_the_error_of_the_model_holds_what_was_missed(
    missed_pct: float,
    upwards: bool,
    limit: BottleneckCause,
    beside_others: bool,
    wider: float,
) -> None:
    missed = abs(math.log1p(missed_pct / 100))
    assert missed <= rate_error(upwards, limit, beside_others, wider)


def test_nothing_is_wider_where_nothing_was_missed() -> None:
    assert rate_error(False, "iops_cap", False, 1.0) == 0.2
    assert rate_error(FASTER, "iops_cap", False, 1.0) == 0.3
    assert rate_error(False, "cpu_bound", False, 1.0) == 0.2


def with_low_priority(run: RunData, used_pct: float) -> RunData:
    """The run on a machine of which work of low priority uses so much."""

    def parts() -> Iterator[pd.DataFrame]:
        for table in run.sampled.parts():
            busy = table[table["metric"] == "cpu_busy_seconds_total"]
            seconds = busy["time_s"] * HOST_CPUS * used_pct / 100
            low = busy.assign(metric="cpu_low_priority_seconds_total", value=seconds)
            yield pd.concat([table, low], ignore_index=True)

    return replace(run, sampled=Samples(parts))


def of_a_machine(host_cpu_pct: float, low_pct: float) -> Results:
    shape = Shape(600.0, 1800.0, 600.0, 0.0006, 20.0, host_cpu_pct=host_cpu_pct)
    results = build_campaign(
        profiles=["ultra"],
        workloads=["tpcc"],
        repetitions=3,
        nodes=1,
        cpus=8.0,
        change=syncing,
        shapes={("ultra", "tpcc"): shape},
    )
    runs = [with_low_priority(run, low_pct) for run in results.runs]
    return replace(results, runs=tuple(runs))


@pytest.mark.parametrize(
    ("host_cpu_pct", "low_pct", "is_beside_others"),
    [
        (45.0, 52.0, True),
        (32.0, 68.0, True),
        # Idle for a sixth of the time, or full of the database and its load alone.
        (32.0, 52.0, False),
        (45.0, 0.0, False),
    ],
)
def test_other_work_that_fills_the_machine_is_seen(
    host_cpu_pct: float, low_pct: float, is_beside_others: bool
) -> None:
    results = of_a_machine(host_cpu_pct, low_pct)
    assert are_beside_others(results.done, None) is is_beside_others


def test_beside_other_work_an_interval_is_wider() -> None:
    widths: list[float] = []
    for low_pct in (0.0, 60.0):
        results = of_a_machine(40.0, low_pct)
        predictor = Predictor(results, run_of(results, "ultra"))
        prediction = predictor.predict(build_tier("premium"))
        figure = prediction.figures["throughput_per_s"]
        widths.append(math.log(figure.high / figure.low))
    assert widths[1] > 2 * widths[0]
