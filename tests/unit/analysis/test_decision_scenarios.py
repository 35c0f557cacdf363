"""Campaigns in which a decision is easily wrong or needlessly silent: what it answers."""

from __future__ import annotations

import pytest

from tests.decision_scenarios import SCENARIOS, answer


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_answer_is_neither_wrong_nor_needlessly_silent(name: str) -> None:
    scenario = SCENARIOS[name]
    verdict, status = answer(scenario)
    made = verdict.decisions[0]
    assert made.tier == scenario.tier, made.reason
    for words in scenario.says:
        assert words in made.reason
    for words in scenario.never_says:
        assert words not in made.reason
    if scenario.status:
        assert status == scenario.status
    if scenario.standings:
        assert tuple(offer.standing for offer in made.offers) == scenario.standings
    if made.tier is None:
        assert status == "not conclusive"
