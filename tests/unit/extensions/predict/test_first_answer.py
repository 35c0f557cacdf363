"""What is to be measured first: the cheapest of the fast disks, of each currency, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.analysis.predictions import Estimate, FigureKey, Prediction
from orchestrator.extensions.predict import first_answer
from orchestrator.extensions.predict.measured_cell import MeasuredCell

RATE = FigureKey("throughput_per_s")
LATENCY = FigureKey("latency_avg_s")
CELL = MeasuredCell(
    "x/1",
    "premium",
    "tpcc",
    {RATE: 200.0},
    False,
    5.0,
    "postgresql",
    3,
    is_rehearsed=False,
)
PACED = replace(CELL, is_paced=True, means={LATENCY: 0.02})


def of(tier: str, value: float, cost: float | None, **more: Any) -> Prediction:
    """A disk with that throughput, or latency, which an interval of a fifth surrounds."""
    estimate = Estimate(value, 0.8 * value, 1.2 * value)
    figures = {key.stored_name: estimate for key in (RATE, LATENCY)}
    made = Prediction(tier, False, "iops_cap", figures, cost, "USD", run="1")
    return replace(made, **more)


def brief(cell: MeasuredCell, *predictions: Prediction) -> Any:
    return first_answer.first_answer(cell, predictions, ["measure it"]).brief


@pytest.mark.parametrize(
    ("cell", "predictions", "named", "why"),
    [
        (
            CELL,
            [of("aws/a", 380.0, 10.0), of("aws/b", 400.0, 25.0)],
            "aws/a",
            "It is the cheapest disk predicted within 5 % of the fastest, aws/b, which costs 2.50 "
            "times as much. With 380 transactions/s it would be 1.90 times as fast as premium "
            "(200 transactions/s, measured).",
        ),
        # 5.25 % below the fastest are no longer within the margin.
        (
            CELL,
            [of("aws/a", 379.0, 10.0), of("aws/b", 400.0, 25.0)],
            "aws/b",
            "It is predicted to be the fastest. No cheaper disk comes within 5 % of it. With 400 "
            "transactions/s it would be 2 times as fast as premium (200 transactions/s, "
            "measured).",
        ),
        # Of a latency less is faster; 0.021 s of 0.02 s are within the margin.
        (
            PACED,
            [of("aws/a", 0.021, 10.0), of("aws/b", 0.02, 25.0)],
            "aws/a",
            "It is the cheapest disk predicted within 5 % of the fastest, aws/b, which costs 2.50 "
            "times as much. With 21 ms it would be as fast as premium (20 ms, measured).",
        ),
        (
            PACED,
            [of("aws/a", 0.03, 10.0), of("aws/b", 0.01, 25.0)],
            "aws/b",
            "It is predicted to be the fastest. No cheaper disk comes within 5 % of it. With 10 "
            "ms it would be 2 times as fast as premium (20 ms, measured).",
        ),
        # Nothing is a multiple of a price of nothing.
        (
            replace(CELL, means={}),
            [of("aws/a", 400.0, 0.0), of("aws/b", 401.0, 25.0)],
            "aws/a",
            "It is the cheapest disk predicted within 5 % of the fastest, aws/b.",
        ),
    ],
)
def test_the_cheapest_of_the_fast_is_to_be_measured_first(
    cell: MeasuredCell, predictions: list[Prediction], named: str, why: str
) -> None:
    made = brief(cell, *predictions)
    assert made.what.startswith("Worth measuring first: ") and named in made.what
    assert made.why == why


@pytest.mark.parametrize(
    ("per_s", "words"),
    [
        # 5 % more, or less, are within the margin.
        (210.0, "it would be as fast as premium"),
        (190.0, "it would be as fast as premium"),
        (212.0, "it would be 1.10 times as fast as premium"),
    ],
)
def test_within_the_margin_a_disk_is_as_fast_as_the_measured(
    per_s: float, words: str
) -> None:
    assert words in brief(CELL, of("aws/a", per_s, 10.0)).why


@pytest.mark.parametrize(("per_s", "is_kept"), [(210.0, False), (211.0, True)])
def test_a_dearer_disk_is_worth_its_price_beyond_the_margin(
    per_s: float, is_kept: bool
) -> None:
    dearer = of("aws/b", per_s, 20.0)
    kept = first_answer.worth_the_price(CELL, [of("aws/a", 200.0, 10.0), dearer])
    assert (dearer in kept) is is_kept


def test_of_disks_alike_the_cheapest_is_the_fastest() -> None:
    made = brief(CELL, of("aws/a", 400.0, 10.0), of("aws/b", 400.0, 25.0))
    assert "aws/a" in made.what
    assert "aws/b" not in made.why


def test_one_disk_alone_is_told_with_its_figure_and_compared_with_no_other() -> None:
    made = brief(CELL, of("aws/a", 208.0, 10.0))
    assert made.what.startswith("Predicted 208 transactions/s: ")
    assert made.why == (
        "With 208 transactions/s it would be as fast as premium (200 transactions/s, measured)."
    )


def test_without_prices_there_is_no_disk_to_measure_first() -> None:
    made = brief(CELL, of("aws/a", 208.0, None), of("aws/b", 300.0, None))
    assert made.what == (
        "No disk to measure first: no price is known of 2 disks predicted"
    )
    assert made.why == ""
    assert made.how_sure.startswith("Predicted, not measured.")


def test_each_currency_has_a_disk_of_its_own() -> None:
    made = brief(
        CELL, of("aws/a", 300.0, 10.0), of("azure/b", 400.0, 20.0, currency="EUR")
    )
    assert "aws/a" in made.what and " and " in made.what and "azure/b" in made.what


def test_what_was_measured_too_is_held_against_its_prediction() -> None:
    known = of("aws/a", 300.0, 10.0, measured={RATE.stored_name: 280.0})
    made = brief(CELL, known, of("aws/b", 310.0, 20.0))
    assert (
        "For aws/a the prediction is 300 transactions/s; 280 transactions/s was measured."
    ) in made.how_sure
    assert "Nine results in ten are expected within 248 to 372" in made.how_sure
    assert made.not_tested == "All of these disks but aws/a."
    assert brief(CELL, of("aws/a", 3.0, 1.0)).not_tested == "All of these disks."
