"""Which of several disks are worth measuring for an SLO, and how likely that is, in words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.analysis.predictions import Estimate, FigureKey, Prediction
from orchestrator.extensions.predict import answer
from orchestrator.extensions.predict.nearest import nearest
from tests.campaigns import build_campaign

SLO = ["p99 < 9 ms"]
RATE = FigureKey("throughput_per_s")


def likely(
    tier: str,
    chance: float,
    cost: float = 10.0,
    doubts: tuple[str, ...] = (),
    per_s: float = 100.0,
) -> Prediction:
    figures = {RATE.stored_name: Estimate(per_s, per_s, per_s)}
    return Prediction(
        tier,
        False,
        "iops_cap",
        figures,
        cost,
        "USD",
        chance=chance,
        doubts=doubts,
        run="1",
    )


@pytest.mark.parametrize(("chance", "is_possible"), [(0.1, True), (0.09, False)])
def test_a_disk_may_meet_an_slo_from_a_chance_of_10_pct_on(
    chance: float, is_possible: bool
) -> None:
    assert bool(answer.possible_tiers([likely("a", chance)])) is is_possible


@pytest.mark.parametrize(
    ("chances", "named"),
    [
        # The cheapest at 90 %, at 50 % and at 10 %.
        ((0.1, 0.5, 0.9), ["a", "b", "c"]),
        ((0.1, 0.49, 0.89), ["a", "c"]),
        ((0.9, 0.95, 0.99), ["a"]),
    ],
)
def test_the_cheapest_of_each_chance_is_worth_measuring(
    chances: tuple[float, float, float], named: list[str]
) -> None:
    """`a` costs least, and `c` most."""
    predictions: list[Prediction] = []
    for cost, (tier, chance) in enumerate(zip("abc", chances, strict=True), start=1):
        predictions.append(likely(tier, chance, float(cost)))
    chosen = answer.worth_measuring(predictions)
    assert sorted(prediction.tier for prediction in chosen) == named


@pytest.mark.parametrize(
    ("chance", "words"), [(0.5, "is predicted to"), (0.49, "may meet")]
)
def test_a_disk_that_more_likely_does_not_may_meet_it(
    chance: float, words: str
) -> None:
    made = answer.prediction_answer("tpcc", SLO, [likely("azure/a", chance)], [])
    assert words in made.brief.why


@pytest.mark.parametrize(
    ("chance", "doubts", "words"),
    [
        (0.9, ("n = 2",), "at most 90 %"),
        (0.89, ("n = 2",), "89 %"),
        (0.9, (), "90 %"),
    ],
)
def test_a_high_chance_is_a_bound_where_there_are_doubts(
    chance: float, doubts: tuple[str, ...], words: str
) -> None:
    assert answer.chance_in_words(likely("a", chance, doubts=doubts)) == words


@pytest.mark.parametrize(("repetitions", "is_said"), [(2, True), (3, False)])
def test_fewer_than_three_repetitions_limit_a_prediction(
    repetitions: int, is_said: bool
) -> None:
    campaign = build_campaign(
        profiles=["ultra"],
        workloads=["tpcc"],
        repetitions=repetitions,
        nodes=1,
        frames=False,
    )
    without_doubts: Any = SimpleNamespace(doubts=())
    run = campaign.runs[0].record.run
    texts = answer.doubts_of_cell(campaign, without_doubts, run)
    assert (f"n = {repetitions}" in texts) is is_said


def test_a_disk_that_is_predicted_to_do_nothing_is_not_the_nearest() -> None:
    found = nearest([likely("a", 0.0, per_s=0.0), likely("b", 0.0, per_s=50.0)])
    assert found is not None
    assert found.tier == "b"
