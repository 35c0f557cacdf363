"""The first lines where a factor was varied: which tier to buy at which values, and its price."""

from __future__ import annotations

from orchestrator.analysis.answers.record import Answer
from orchestrator.analysis.verdicts import judge
from tests import loads

Points = tuple[tuple[float, float], ...]

_FLAT: Points = ((1000, 0.010),) * 3
_FALLS: Points = ((1000, 0.010), (300, 0.033), (250, 0.040))
_SLOW: Points = ((300, 0.033),) * 3


def _answer(text: str, **tiers: Points) -> Answer:
    figures = loads.at_values(tiers, text)
    campaign = loads.build(loads.varied(text), figures, profiles=list(tiers))
    answer = judge(campaign).answer
    assert answer is not None
    return answer


def test_a_price_is_for_the_nodes_of_its_value() -> None:
    """Amounts are of the nodes at each value; "your 3 nodes" beside that of 9 would be wrong."""
    answer = _answer("nodes=3,6,9", premium=_SLOW, ultra=_FLAT)
    for part, nodes in zip(answer.parts, (3, 6, 9), strict=True):
        purchase = part.purchase
        assert purchase is not None
        assert purchase.price is not None
        assert purchase.price.amount == nodes * 260.0
        assert purchase.price.nodes == nodes
        assert purchase.nodes == nodes
        assert purchase.disks == nodes
    assert answer.brief.price == (
        "A month for the disks: ultra 780.00 USD at 3 nodes, 1,560.00 USD at 6 nodes and "
        "2,340.00 USD at 9 nodes."
    )


def test_one_tier_that_is_enough_at_every_value_is_the_one_to_buy() -> None:
    answer = _answer("nodes=3,6,9", premium=_SLOW, ultra=_FLAT)
    assert answer.brief.what == "Buy ultra from 3 to 9 nodes"
    assert "premium is not enough even at 3 nodes" in answer.brief.why
    assert answer.brief.how_sure == (
        "Proven for each of the 3 values at 95 % confidence, by 3 repetitions."
    )


def test_of_two_tiers_each_is_told_with_its_values() -> None:
    answer = _answer("data=10,20,30 tables", premium=_FALLS, ultra=_FLAT)
    assert (
        answer.brief.what == "Buy premium up to 10 tables, ultra from 20 to 30 tables"
    )
    assert answer.brief.why.startswith(
        "premium is enough up to 10 tables (6 GiB a node"
    )
    assert answer.brief.price == (
        "premium 103.68 USD, ultra 780.00 USD a month for the disks of your 3 nodes."
    )


def test_a_size_stands_once_in_a_sentence() -> None:
    answer = _answer("data=10,20,30 tables", premium=_FALLS, ultra=_FLAT)
    assert answer.brief.why.count("a node") == 1
