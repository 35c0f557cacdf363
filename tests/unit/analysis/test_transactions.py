"""Figures of a window from single transactions, with literal numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.figures import transactions
from orchestrator.analysis.figures.transactions import Window
from orchestrator.model import Measurement
from tests.fakes import transaction_table


def values(found: tuple[Measurement, ...], scope: str = "all") -> dict[str, float]:
    return {one.metric: one.value for one in found if one.scope == scope}


def with_think_time(table: pd.DataFrame, start_s: float, end_s: float) -> Window:
    """The figures of terminals that share connections."""
    window = Window(start_s, end_s, pooled=True, at_a_rate=False)
    window.add(table)
    return window


def test_a_transaction_belongs_to_the_window_in_which_it_ends() -> None:
    table = transaction_table(
        [
            (9.0, 0.5, "a", 0),
            (9.8, 0.3, "a", 0),
            (10.5, 0.1, "a", 0),
            (11.9, 0.2, "a", 0),
        ]
    )
    found = values(transactions.measurements(table, 10.0, 12.0, None))
    assert found["transactions"] == 2
    assert found["throughput_per_s"] == 1.0
    assert found["latency_avg_s"] == pytest.approx(0.2)


def test_what_ends_with_the_window_is_of_the_next_one() -> None:
    table = transaction_table([(9.0, 1.0, "a", 0), (11.0, 1.0, "a", 0)])
    assert (
        values(transactions.measurements(table, 10.0, 12.0, None))["transactions"] == 1
    )
    assert (
        values(transactions.measurements(table, 12.0, 14.0, None))["transactions"] == 1
    )


def at_a_rate(table: pd.DataFrame, start_s: float, end_s: float) -> Window:
    """The figures of a load that comes at a pace of its own."""
    window = Window(start_s, end_s, pooled=False, at_a_rate=True)
    window.add(table)
    return window


def test_what_falls_due_as_the_window_ends_is_of_the_next_one() -> None:
    table = transaction_table([(10.0, 5.0, "a", 0), (12.0, 1.0, "a", 0)])
    assert at_a_rate(table, 10.0, 12.0).fell_due == 1
    assert at_a_rate(table, 12.0, 14.0).fell_due == 1


def test_what_had_been_due_since_the_begin_was_due_in_the_window() -> None:
    """The window is of two seconds, and ends with the load."""
    table = transaction_table([(10.0, 0.1, "a", 0)])
    window = at_a_rate(table, 10.0, 12.0)
    window.add_unstarted({"a": np.array([2.0, 2.1])})
    assert values(window.measurements(None))["latency_max_s"] == 2.0


@pytest.mark.parametrize(("begun", "has_median"), [(9, False), (10, True)])
def test_a_percentile_that_may_be_of_what_never_began_is_left_out(
    begun: int, has_median: bool
) -> None:
    """The tenth of twenty is the median: it must have begun."""
    window = at_a_rate(transaction_table([(10.0, 0.1, "a", 0)] * begun), 10.0, 12.0)
    window.add_unstarted({"a": np.full(20 - begun, 1.0)})
    assert ("latency_p50_s" in values(window.measurements(None))) is has_median


@pytest.mark.parametrize(("due", "offered_per_s"), [(130, 13.0), (131, 10.0)])
def test_more_than_chance_brings_is_not_of_the_window(
    due: int, offered_per_s: float
) -> None:
    """Of 100 that are asked for 130 may come by chance: three roots of 100 more."""
    window = Window(0.0, 10.0, pooled=False, at_a_rate=True)
    flow = {one.metric: one.value for one in window.flow(10.0, unstarted=due)}
    assert flow["offered_per_s"] == offered_per_s


def test_failures_are_counted_apart_and_never_as_throughput() -> None:
    table = transaction_table(
        [
            (0.1, 0.1, "new_order", 0),
            (0.2, 0.1, "new_order", 1),
            (0.3, 9e-2, "new_order", 2),
        ]
    )
    found = values(transactions.measurements(table, 0.0, 1.0, None))
    assert (found["throughput_per_s"], found["failures"], found["rollbacks"]) == (
        2.0,
        1.0,
        1.0,
    )
    assert found["nopm"] == 60.0  # one committed New-Order in one second


def test_the_statement_latency_is_a_share_of_the_transaction() -> None:
    table = transaction_table([(0.0, 0.02, "a", 0)])
    found = values(transactions.measurements(table, 0.0, 1.0, 10))
    assert found["statement_latency_avg_s"] == pytest.approx(0.002)


def test_a_percentile_needs_enough_transactions_beyond_it() -> None:
    table = transaction_table([(i * 1e-3, 1e-3 * (i + 1), "a", 0) for i in range(300)])
    found = values(transactions.measurements(table, 0.0, 10.0, None))
    assert found["latency_p50_s"] == pytest.approx(
        0.150
    )  # nearest rank: the 150th of 300
    assert found["latency_p90_s"] == pytest.approx(0.270)
    assert found["latency_p95_s"] == pytest.approx(0.285)
    assert "latency_p99_s" not in found


def test_one_type_has_no_figures_beside_those_of_all() -> None:
    table = transaction_table([(0.0, 0.1, "a", 0), (0.0, 0.3, "a", 0)])
    found = transactions.measurements(table, 0.0, 1.0, None)
    assert {figure.scope for figure in found} == {"all"}


def test_each_type_has_its_own_figures() -> None:
    table = transaction_table([(0.0, 0.1, "new_order", 0), (0.0, 0.3, "payment", 0)])
    found = transactions.measurements(table, 0.0, 1.0, None)
    assert values(found, "payment")["latency_avg_s"] == pytest.approx(0.3)
    assert values(found)["latency_avg_s"] == pytest.approx(0.2)


def test_the_p90_of_a_type_needs_a_hundred_transactions_of_it() -> None:
    rows = [(0.0, 1e-3 * (i + 1), "new_order", 0) for i in range(100)]
    rows += [(0.0, 2.0, "stock_level", 0)] * 99
    found = transactions.measurements(transaction_table(rows), 0.0, 10.0, None)
    assert values(found, "new_order")["latency_p90_s"] == pytest.approx(0.090)
    assert "latency_p90_s" not in values(found, "stock_level")


def test_an_empty_window_has_no_latency_but_zero_throughput() -> None:
    table = transaction_table([(0.0, 0.1, "a", 0)])
    found = values(transactions.measurements(table, 5.0, 6.0, None))
    assert found["throughput_per_s"] == 0.0
    assert "latency_avg_s" not in found


def test_a_second_without_transactions_is_a_row_of_zero() -> None:
    table = transaction_table([(10.1, 0.1, "a", 0), (12.1, 0.1, "a", 2)])
    rows = transactions.intervals(
        table, {"warm-up": (9.0, 10.0), "measure": (10.0, 13.0)}
    )
    assert list(rows["phase"]) == ["warm-up", "measure", "measure", "measure"]
    assert list(rows["throughput_per_s"]) == [0, 1, 0, 0]
    assert list(rows["errors"]) == [0, 0, 0, 1]


def test_what_ended_as_a_second_began_is_kept_for_it() -> None:
    """The second that begins at 1 s is still open when the later table comes."""
    seconds = transactions.Seconds({"measure": (0.0, 3.0)}, pooled=False)
    seconds.add(transaction_table([(0.5, 0.5, "a", 0), (0.9, 0.3, "a", 0)]))
    seconds.add(transaction_table([(1.5, 0.1, "a", 0)]))
    assert list(seconds.intervals()["throughput_per_s"]) == [0, 3, 0]


def test_the_wait_for_a_connection_is_not_in_latency_but_a_figure_of_its_own() -> None:
    table = transaction_table([(9.0, 0.9, "new_order", 0), (9.5, 1.1, "new_order", 0)])
    table["queue_s"] = [0.8, 0.9]
    found = with_think_time(table, 10.0, 11.0).measurements(None)
    assert (
        values(found)["transactions"] == 1
    )  # the window goes by when it ended, as ever
    assert values(found)["latency_avg_s"] == pytest.approx(0.2)
    assert values(found)["latency_max_s"] == pytest.approx(0.2)
    assert values(found)["connection_wait_avg_s"] == pytest.approx(0.9)
    seconds = transactions.Seconds({"measure": (9.0, 11.0)}, pooled=True)
    seconds.add(table)
    rows = seconds.intervals()
    assert list(rows["throughput_per_s"]) == [1, 1]
    assert list(rows["latency_avg_s"]) == pytest.approx([0.1, 0.2])


def test_in_an_open_loop_latency_has_the_queue_in_it() -> None:
    table = transaction_table([(9.0, 1.1, "a", 0)])
    table["queue_s"] = 0.9
    found = values(transactions.measurements(table, 10.0, 11.0, None))
    assert found["latency_avg_s"] == pytest.approx(1.1)
    assert "connection_wait_avg_s" not in found


def test_the_p99_of_the_wait_needs_a_thousand_transactions() -> None:
    table = transaction_table([(0.0, 0.5, "a", 0)] * 1000)
    table["queue_s"] = [0.0] * 989 + [0.1] * 11
    found = values(with_think_time(table, 0.0, 1.0).measurements(None))
    assert found["connection_wait_p99_s"] == pytest.approx(0.1)
    found = values(with_think_time(table[1:], 0.0, 1.0).measurements(None))
    assert "connection_wait_p99_s" not in found


def test_the_percentiles_of_all_leave_delivery_out_and_its_counts_stay() -> None:
    rows = [(0.1, 1e-3 * (i + 1), "new_order", 0) for i in range(1000)]
    table = transaction_table([*rows, *[(0.1, 5.0, "delivery", 0)] * 40])
    found = transactions.measurements(table, 0.0, 10.0, None)
    assert values(found)["transactions"] == 1040
    assert values(found)["latency_p99_s"] == pytest.approx(
        0.990
    )  # of the 1,000 New-Orders
    assert values(found)["latency_avg_s"] == pytest.approx((500.5 + 200.0) / 1040)
    assert values(found)["latency_max_s"] == pytest.approx(5.0)
    assert values(found, "delivery")["latency_avg_s"] == pytest.approx(5.0)
    seconds = transactions.intervals(table, {"measure": (5.0, 6.0)})
    assert list(seconds["throughput_per_s"]) == [40]
    assert list(seconds["latency_avg_s"]) == pytest.approx([5.0])
    assert (
        seconds["latency_p99_s"].isna().all()
    )  # nothing but Delivery ended in that second


def test_a_delivery_of_another_workload_is_a_transaction_like_any_other() -> None:
    table = transaction_table([(0.0, 0.1, "delivery", 0)] * 200)
    assert (
        values(transactions.measurements(table, 0.0, 1.0, None))["latency_p95_s"] == 0.1
    )
