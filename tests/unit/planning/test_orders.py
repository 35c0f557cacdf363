"""The order of tiers within rounds: no tier is favoured by its place, nor by the tier before it."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from orchestrator.planning.orders import balanced_orders
from tests.plans import a_plan

TIERS = "abcdefg"


def _whole(tiers: int) -> int:
    """Rounds after which everything is balanced."""
    return tiers if tiers % 2 == 0 else 2 * tiers


@pytest.mark.parametrize("tiers", range(1, 8))
def test_each_tier_stands_at_each_place_equally_often(tiers: int) -> None:
    names = TIERS[:tiers]
    orders = balanced_orders(names, _whole(tiers))
    places = Counter(
        (place, name) for order in orders for place, name in enumerate(order)
    )
    assert set(places.values()) == {_whole(tiers) // tiers}
    assert len(places) == tiers * tiers


@pytest.mark.parametrize("tiers", range(2, 8))
def test_each_tier_follows_each_other_equally_often(tiers: int) -> None:
    orders = balanced_orders(TIERS[:tiers], _whole(tiers))
    pairs = Counter(pair for order in orders for pair in itertools.pairwise(order))
    assert set(pairs.values()) == {_whole(tiers) // tiers}
    assert len(pairs) == tiers * (tiers - 1)


@pytest.mark.parametrize("tiers", range(1, 8))
def test_a_round_is_turned_in_the_next_so_that_a_steady_drift_favours_none(
    tiers: int,
) -> None:
    orders = balanced_orders(TIERS[:tiers], 12)
    assert [order[::-1] for order in orders[::2]] == orders[1::2]


@pytest.mark.parametrize("tiers", range(2, 6))
@pytest.mark.parametrize("rounds", range(1, 13))
def test_at_any_number_of_rounds_no_tier_is_first_much_more_often(
    tiers: int, rounds: int
) -> None:
    firsts = Counter(order[0] for order in balanced_orders(TIERS[:tiers], rounds))
    most, least = max(firsts.values()), min(firsts[name] for name in TIERS[:tiers])
    assert most - least <= 1


def test_a_plan_of_three_tiers_has_each_of_them_first_in_the_middle_and_last() -> None:
    plan = a_plan(("premium", "premium-v2", "ultra"), ("insert", "tpcc"), repetitions=6)
    for workload in ("insert", "tpcc"):
        runs = [run.profile for run in plan.runs if run.workload == workload]
        blocks = [runs[first : first + 3] for first in range(0, len(runs), 3)]
        for place in range(3):
            assert set(Counter(block[place] for block in blocks).values()) == {2}
