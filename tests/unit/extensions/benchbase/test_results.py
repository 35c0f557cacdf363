"""BenchBase's files become the table of transactions: each attempt belongs to one row.

Method: two captured executions, changed where a fault is wanted; literals for single rules.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from orchestrator.errors import LoadError
from orchestrator.extensions.benchbase import config, results
from tests.benchbase import WITH_ATTEMPTS


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A copy of the execution with attempts, to be changed."""
    return Path(shutil.copytree(WITH_ATTEMPTS, tmp_path / "out"))


def test_a_transaction_given_up_was_repeated_as_often_as_allowed() -> None:
    """Holds only if every attempt was given to the transaction it belongs to."""
    table, _ = results.read_table(WITH_ATTEMPTS)
    failed = table[table["outcome"] == 2]
    assert set(failed["retries"]) == {2} and set(failed["sqlstate"]) == {"40001"}
    assert table[table["outcome"] < 2]["retries"].max() <= 2


def test_the_table_is_the_one_all_figures_are_made_from() -> None:
    table, _ = results.read_table(WITH_ATTEMPTS)
    columns = [
        "start_s",
        "latency_s",
        "queue_s",
        "type",
        "outcome",
        "retries",
        "sqlstate",
    ]
    assert list(table.columns) == columns
    assert table["start_s"].is_monotonic_increasing
    assert table["start_s"].iloc[0] == pytest.approx(1795228337.15, abs=0.02)  # seconds
    assert table["queue_s"].isna().all()  # written down nowhere, so not 0
    assert list(table["type"].cat.categories) == [kind["ours"] for kind in config.TYPES]


def test_the_certain_range_holds_the_truth(out: Path) -> None:
    """Without attempts, but with counts over all phases: what is proven of New-Orders."""
    (out / results.ATTEMPTS).unlink()
    _, facts = results.read_table(out)
    assert facts["outcomes_known"] is False
    assert facts["new_orders_committed"] == [326 - 9 - 12, 326]  # the truth is 320


def test_attempts_that_disagree_with_the_counts_are_not_used(out: Path) -> None:
    lines = (out / results.ATTEMPTS).read_text().splitlines(keepends=True)
    (out / results.ATTEMPTS).write_text("".join(lines[:-1]))
    _, facts = results.read_table(out)
    assert facts["outcomes_known"] is False


def test_a_clock_that_was_set_is_noticed(out: Path) -> None:
    text = (out / results.ATTEMPTS).read_text()
    (out / results.ATTEMPTS).write_text(text.replace("T02:32:18.", "T02:32:17."))
    _, facts = results.read_table(out)
    assert facts["outcomes_known"] is False
    assert facts["attempts_unplaced"] > 0


PAYMENT, NEW_ORDER = "payment", "new_order"


@pytest.mark.parametrize(
    ("rows", "attempts", "places"),
    [
        pytest.param(
            [(0, 10.0, 0.010, PAYMENT), (0, 10.0101, 0.010, PAYMENT)],
            [
                (0, 10.004, PAYMENT, "refused", 0, False),
                (0, 10.0101, PAYMENT, "refused", 1, True),  # the first row's end
                (0, 10.0102, PAYMENT, "refused", 0, False),  # the second row's begin
            ],
            [0, 0, 1],
            id="at a boundary it goes by order, not by the clock",
        ),
        pytest.param(
            [
                (0, 10.0, 0.5, PAYMENT),
                (1, 10.0, 0.5, NEW_ORDER),
                (1, 10.5, 0.5, PAYMENT),
            ],
            [
                (1, 10.4999, NEW_ORDER, "rolled back", -1, True),
                (1, 10.9, PAYMENT, "error", -1, True),
                (0, 10.2, PAYMENT, "refused", 0, False),
            ],
            [1, 2, 0],
            id="to its own terminal and type",
        ),
        pytest.param(
            [(0, 10.0, 0.5, NEW_ORDER), (0, 10.5, 0.5, NEW_ORDER)],
            [
                (0, 10.1, NEW_ORDER, "refused", 0, False),
                (0, 10.5, NEW_ORDER, "rolled back", -1, True),
            ],
            [0, 0],
            id="a repetition that rolls back stays in its row",
        ),
        pytest.param(
            [(0, 10.0, 0.5, PAYMENT)],
            [
                (0, 9.0, PAYMENT, "refused", 0, False),
                (
                    0,
                    9.9999,
                    PAYMENT,
                    "refused",
                    1,
                    True,
                ),  # ends where the first row begins
                (0, 10.8, PAYMENT, "refused", 0, False),
                (7, 10.2, PAYMENT, "refused", 0, False),
            ],
            [-1, -1, -1, -1],
            id="to none, of transactions outside the window",
        ),
    ],
)
def test_which_row_an_attempt_belongs_to(
    rows: list[Any], attempts: list[Any], places: list[int]
) -> None:
    table = pd.DataFrame(rows, columns=["terminal", "start_s", "latency_s", "type"])
    table = table.sort_values("start_s", ignore_index=True)
    columns = ["terminal", "time_s", "type", "kind", "number", "last"]
    assert (
        list(results._rows_of_attempts(table, pd.DataFrame(attempts, columns=columns)))
        == places
    )


def attempt(time: str, terminal: str, procedure: str, sqlstate: str) -> str:
    """A line of attempts.tsv, of an error that is not retried."""
    return (
        f"2026-11-21T02:32:{time}\tTPCCWorker<{terminal}>\tSQLException occurred during "
        f"[com.oltpbenchmark.benchmarks.tpcc.procedures.{procedure}] and will not be retried... "
        f"sql state [{sqlstate}], error code [0].\n"
    )


def test_a_lost_connection_fails_the_run(out: Path) -> None:
    with (out / results.ATTEMPTS).open("a") as file:
        file.write(attempt("19.900", "001", "NewOrder/01", "57P01"))
    with pytest.raises(LoadError, match="lost its connection"):
        results.read_table(out)


def test_an_error_that_is_not_retried_is_counted_with_its_state(tmp_path: Path) -> None:
    file = tmp_path / results.ATTEMPTS
    file.write_text(attempt("17.900", "012", "Delivery/04", "40P01"))
    (row,) = results._read_attempts(file).to_dict("records")
    error = {"type": "delivery", "kind": "error", "sqlstate": "40P01"}
    assert row == {
        "time_s": 1795228337.9,
        "terminal": 12,
        "number": -1,
        "last": True,
        **error,
    }


@pytest.mark.parametrize("copies", [0, 2])
def test_there_must_be_one_execution(tmp_path: Path, copies: int) -> None:
    for number in range(copies):
        shutil.copy(WITH_ATTEMPTS / "tpcc.raw.csv", tmp_path / f"tpcc_{number}.raw.csv")
    with pytest.raises(LoadError, match=f"holds {copies} files"):
        results.read_table(tmp_path)


def test_bold_letters_are_made_plain() -> None:
    assert results.plain("\x1b[0;1mMEASURE\x1b[0;0m :: go") == "MEASURE :: go"
