"""Which figures of runs count: sound ones, of all runs or none, and those that two sides share."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import pytest

from orchestrator.analysis import metric_values, overload, recoveries
from orchestrator.analysis.results import RunData
from orchestrator.metrics import measured
from orchestrator.model import Measurement, Objective, Record
from orchestrator.tier.slow_disk import SlowDisk
from tests.doubted import small

RATE = ("throughput_per_s", "all")
AVERAGE = Objective("latency_avg_s", "all", 1.0)


@cache
def a_run() -> RunData:
    return small(frames=False, repetitions=1).runs[0]


def with_figures(*figures: Measurement, repetition: int = 1) -> RunData:
    record = a_run().record
    run = replace(record.run, repetition=repetition)
    return replace(a_run(), record=replace(record, measurements=figures, run=run))


@pytest.mark.parametrize(
    ("figures", "values"),
    [
        ([measured(RATE[0], 2.0)], (2.0,)),
        # Nothing can be a multiple of zero.
        ([measured(RATE[0], 0.0)], ()),
        ([measured(RATE[0], 2.0, "new_order")], ()),
        ([], ()),
    ],
)
def test_a_figure_counts_above_zero(
    figures: list[Measurement], values: tuple[float, ...]
) -> None:
    assert metric_values.whole([with_figures(*figures)], RATE) == values


def test_what_one_run_lacks_counts_of_none() -> None:
    runs = [with_figures(measured(RATE[0], 2.0)), with_figures()]
    assert metric_values.whole(runs, RATE) == ()
    assert metric_values.whole(runs[:1] * 2, RATE) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("failures", "transactions", "pct"),
    [(0, 10, 0.0), (1, 3, 25.0), (None, 10, None), (1, None, None), (2, 0, 100.0)],
)
def test_the_share_of_failures_may_be_zero(
    failures: float | None, transactions: float | None, pct: float | None
) -> None:
    figures: list[Measurement] = []
    if failures is not None:
        figures.append(measured("failures", failures))
    if transactions is not None:
        figures.append(measured("transactions", transactions))
    run = with_figures(*figures)
    assert metric_values.failed_pct(run.record) == pct
    expected: tuple[float, ...] = ()
    if pct is not None:
        expected = (pct,)
    assert metric_values.whole([run], ("failed_pct", "all")) == expected


@pytest.mark.parametrize(
    ("count", "is_sound"), [(999, False), (1000, True), (None, True)]
)
def test_a_percentile_has_ten_transactions_beyond_it(
    count: int | None, is_sound: bool
) -> None:
    figures = [measured("latency_p99_s", 0.1), measured("latency_avg_s", 0.05)]
    if count is not None:
        figures.append(measured("transactions", count))
    found = metric_values.sound(figures)
    assert (("latency_p99_s", "all") in found) is is_sound
    assert ("latency_avg_s", "all") in found


def test_what_is_no_number_is_no_figure() -> None:
    nothing = replace(measured(RATE[0], 1.0), value=math.nan)
    assert metric_values.sound([nothing]) == {}
    assert metric_values.value_of(with_figures(nothing).record, RATE[0]) is None


@pytest.mark.parametrize(
    ("names", "rate"),
    [
        (["throughput_per_s", "nopm"], "nopm"),
        (["throughput_per_s", "payload_bytes_per_s"], "payload_bytes_per_s"),
        (["throughput_per_s"], "throughput_per_s"),
        ([], "throughput_per_s"),
    ],
)
def test_what_counts_as_throughput(names: list[str], rate: str) -> None:
    first = with_figures(*[measured(name, 2.0) for name in names])
    assert metric_values.rate_of([with_figures(), first]) == rate


def test_sides_are_compared_in_the_repetitions_that_all_have() -> None:
    left = [with_figures(repetition=number) for number in (3, 1, 2)]
    right = [with_figures(repetition=number) for number in (2, 3, 4)]
    common = metric_values.in_common(left, right)
    numbers = [[run.record.run.repetition for run in side] for side in common]
    assert numbers == [[3, 2], [2, 3]]


def of_types(
    new_orders: bool, transactions: float, delivery_s: float | None
) -> RunData:
    figures = [measured("latency_avg_s", 0.1), measured("transactions", transactions)]
    figures.append(measured("transactions", 4, "delivery"))
    if new_orders:
        figures.append(measured("transactions", 45, "new_order"))
    if delivery_s is not None:
        figures.append(measured("latency_avg_s", delivery_s, "delivery"))
    return with_figures(*figures)


@pytest.mark.parametrize(
    ("run", "average_s"),
    [
        # (0.1 × 100 − 1.0 × 4) ÷ 96
        (of_types(True, 100, 1.0), 0.0625),
        (of_types(False, 100, 1.0), 0.1),
        (of_types(True, 100, None), 0.1),
        (of_types(True, 4, 1.0), 0.1),
        (of_types(True, 5, 0.05), 0.3),
    ],
)
def test_an_average_of_all_types_leaves_out_delivery(
    run: RunData, average_s: float
) -> None:
    assert metric_values.objective_values([run], AVERAGE) == pytest.approx([average_s])
    # Each type alone has its own.
    alone = replace(AVERAGE, scope="delivery")
    if metric_values.value_of(run.record, "latency_avg_s", "delivery"):
        assert metric_values.objective_values([run], alone) != (average_s,)


def slowed(rate: float | None, before_per_s: float | None, begin_s: float) -> Record:
    """A load of one thread, whose disk is slow from `begin_s` of the window on for 5 s."""
    record = a_run().record
    options = {}
    if rate is not None:
        options["arrival_rate"] = rate
    slow = (SlowDisk("node-1", "stall", 0.0, 5.0, begin_s),)
    load = replace(record.workload, slow=slow, options=options, threads=1)
    figures: tuple[Measurement, ...] = ()
    if before_per_s is not None:
        figures = (measured("throughput_per_s", before_per_s, "before_slow"),)
    return replace(record, workload=load, measurements=figures)


@pytest.mark.parametrize(
    ("record", "is_only_then"),
    [
        (slowed(1000.0, 1000.0, 20.0), True),
        # 20,000 are due before: 3 roots of that are 424, which is more than 1 %.
        (slowed(1000.0, 1000.0 - 21.1, 20.0), True),
        (slowed(1000.0, 1000.0 - 21.4, 20.0), False),
        # Of 400,000 that are due 1 % is more: 4,000.
        (slowed(20_000.0, 20_000 - 200.0, 20.0), True),
        (slowed(20_000.0, 20_000 - 201.0, 20.0), False),
        # It is not known of which rate, or what was served before.
        (slowed(None, 100.0, 20.0), True),
        (slowed(1000.0, None, 20.0), True),
        (a_run().record, False),
    ],
)
def test_whether_a_rate_is_served_but_for_the_slow_disk(
    record: Record, is_only_then: bool
) -> None:
    assert overload.only_with_slow_disk(record) is is_only_then


@pytest.mark.parametrize(
    ("left_s", "gap"),
    [
        # The load is as before when five seconds in a row are; the disk is late by a second.
        (6.0, "not recovered"),
        (5.9, "ended too soon"),
    ],
)
def test_what_ends_soon_after_a_slow_disk_has_no_time_to_recover(
    left_s: float, gap: str
) -> None:
    record = slowed(None, 100.0, 20.0)
    load = replace(record.workload, measure_s=25.0 + left_s)
    assert recoveries.recovery_gap(replace(record, workload=load)) == gap


def counted(**facts: float) -> Record:
    """A run of one thread and 60 s, of which its generator counted this."""
    record = a_run().record
    load = replace(record.workload, threads=1, measure_s=60.0)
    return replace(record, workload=load, facts={**record.facts, "generator": facts})


@pytest.mark.parametrize(
    ("unstarted", "begun", "behind"),
    [
        # 1 % of what was due, and more than two a thread.
        (10.0, 990.0, (10.0, 1000.0)),
        (9.0, 991.0, None),
        (3.0, 97.0, (3.0, 100.0)),
        (2.0, 98.0, None),
        (0.0, 1000.0, None),
    ],
)
def test_what_was_due_and_had_not_begun_shows_a_queue(
    unstarted: float, begun: float, behind: tuple[float, float] | None
) -> None:
    record = counted(unstarted=unstarted, recorded_transactions=begun)
    assert overload.not_begun(record) == behind


@pytest.mark.parametrize(
    ("rate_per_s", "served", "is_behind"),
    [
        # Of 144 arrivals chance explains three roots, which are a quarter of them.
        (2.4, 0.75, False),
        (2.4, 0.74, True),
        # Of 600,000 it explains less than 1 %.
        (10_000.0, 0.991, False),
        (10_000.0, 0.989, True),
    ],
)
def test_a_rate_is_not_served_if_chance_does_not_explain_what_is_missing(
    rate_per_s: float, served: float, is_behind: bool
) -> None:
    record = counted(served_of_asked=served, arrival_rate_per_s=rate_per_s)
    assert (overload.not_served(record) is not None) is is_behind
