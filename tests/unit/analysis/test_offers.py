"""What a tier costs and gives beside the others: nothing of it is said by means alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from orchestrator.analysis.conclusions import Decision
from orchestrator.analysis.decisions import decision
from orchestrator.analysis.decisions.candidates import THROUGHPUT, Candidate
from orchestrator.analysis.decisions.contest_rules import ContestRules, ContestRuns
from orchestrator.analysis.decisions.contests import make_contest
from orchestrator.tier import Price
from tests.campaigns import build_profile

ALIKE = (1000.0, 1004.0, 997.0, 1001.0, 999.0)
HIGHER = tuple(2 * value for value in ALIKE)
NOISY = (1000.0, 1300.0, 800.0, 1150.0, 900.0)


def tier(
    name: str, values: Sequence[float], monthly: float, numbers: Sequence[int] = ()
) -> Candidate:
    profile = build_profile(name)
    price = Price(monthly, "USD", "westus2", "2026-01-01", "example price list")
    priced = replace(profile, tier=replace(profile.tier, price=price))
    return Candidate(
        priced, {THROUGHPUT: tuple(values)}, "", repetitions=tuple(numbers)
    )


def decide(*tiers: Candidate, window_s: float = 0.0) -> Decision:
    runs = ContestRuns(window_s=window_s)
    names = [one.name for one in tiers]
    contest = make_contest("insert", tiers, names, ContestRules(5.0), runs=runs)
    return decision.decide(contest)


@pytest.mark.parametrize(
    ("cheap", "dear", "monthly", "fronts"),
    [
        (ALIKE, HIGHER, (10.0, 20.0), [True, True]),
        (HIGHER, ALIKE, (10.0, 20.0), [True, False]),
        (
            ALIKE,
            tuple(0.999 * v for v in ALIKE),
            (10.0, 20.0),
            [True, False],
        ),  # within the margin
        (
            ALIKE,
            tuple(1.03 * v for v in ALIKE),
            (10.0, 20.0),
            [True, True],
        ),  # proven better
        (
            NOISY,
            tuple(0.98 * v for v in ALIKE),
            (10.0, 20.0),
            [True, None],
        ),  # lower by its mean
        (HIGHER, ALIKE, (10.0, 10.0), [True, False]),
        (
            ALIKE,
            tuple(0.999 * v for v in ALIKE),
            (10.0, 10.0),
            [None, None],
        ),  # chance alone
        (ALIKE[:1], HIGHER[:1], (10.0, 20.0), None),
    ],
)
def test_the_front_is_what_is_proven(
    cheap: Sequence[float],
    dear: Sequence[float],
    monthly: tuple[float, float],
    fronts: list[bool | None] | None,
) -> None:
    found = decide(tier("premium", cheap, monthly[0]), tier("ultra", dear, monthly[1]))
    by_name = {offer.tier: offer.on_front for offer in found.offers}
    assert (by_name or None) == (
        fronts and dict(zip(("premium", "ultra"), fronts, strict=True))
    )


@pytest.mark.parametrize("noise", [0.005, 0.02, 0.05])
def test_between_equal_tiers_at_one_price_chance_seldom_beats_one(noise: float) -> None:
    """In at most 5 % of campaigns any is called beaten; 35 of 500 may be by chance."""
    random, beaten = np.random.default_rng(3), 0
    for _ in range(500):
        runs = [np.exp(random.normal(7, noise, 5)).tolist() for _ in range(2)]
        found = decide(tier("premium", runs[0], 10.0), tier("ultra", runs[1], 10.0))
        beaten += any(offer.on_front is False for offer in found.offers)
    assert beaten <= 35


def test_cost_for_a_unit_has_the_bounds_of_its_throughput() -> None:
    found = decide(tier("premium", ALIKE, 10.0), tier("ultra", NOISY, 20.0))
    steady, noisy = found.offers
    for offer in (steady, noisy):
        assert (
            offer.cost_per_unit_low and offer.cost_per_unit_high and offer.cost_per_unit
        )
        assert offer.cost_per_unit_low < offer.cost_per_unit < offer.cost_per_unit_high
    assert steady.cost_per_unit == pytest.approx(1000 * 30 / 1000.2)
    assert steady.cost_per_unit_high == pytest.approx(30.12, abs=0.05)
    assert noisy.cost_per_unit_high == pytest.approx(71.03, abs=0.01)


def test_where_fewer_nodes_were_measured_a_unit_costs_what_these_do() -> None:
    """Six nodes are bought, and two gave this throughput."""
    whole = tier("premium", ALIKE, 10.0)
    cluster = replace(whole.profile.cluster, nodes=2, profile_nodes=6)
    small = replace(whole, profile=replace(whole.profile, cluster=cluster))
    offer, _ = decide(small, tier("ultra", HIGHER, 30.0)).offers
    assert offer.monthly_cost == 60.0
    assert offer.cost_per_unit == pytest.approx(1000 * 20 / 1000.2)


@pytest.mark.parametrize(
    ("monthly", "stake"), [(20.0, "at stake 30.00 USD a month"), (10.0, "")]
)
def test_at_stake_is_what_the_other_tier_costs_more(monthly: float, stake: str) -> None:
    """On three nodes; of two tiers at one price nothing is."""
    found = decide(tier("premium", NOISY, 10.0), tier("ultra", ALIKE, monthly))
    assert found.tier is None
    assert stake in found.reason and ("at stake" in found.reason) is bool(stake)


def test_an_answer_says_what_its_figures_rest_on() -> None:
    found = decide(
        tier("premium", ALIKE, 10.0, (1, 2, 3, 4, 5)),
        tier("ultra", HIGHER[:3], 20.0, (1, 2, 4)),
        window_s=60.0,
    )
    assert found.basis == (
        "each bound in brackets holds at 95 %; n = 5 (repetitions 1 to 5) of premium, "
        "n = 3 (repetitions 1, 2 and 4) of ultra, windows of 60 s"
    )
    assert found.tier == "ultra"
    assert found.cheaper and found.cheaper.cost_change == -30.0
    assert [change.words for change in found.cheaper.changes] == [
        "−49.9 % (−50.5 % to −49.3 %)"
    ]
