"""What an open decision says that it takes: repetitions, time, cost, and what is at stake."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from orchestrator.analysis.decisions import decision
from orchestrator.analysis.results import Results
from orchestrator.analysis.statistics import looks, repetitions_needed, stats
from orchestrator.model import Record
from orchestrator.units import format_seconds
from tests import decision_scenarios
from tests.campaigns import build_campaign
from tests.decision_scenarios import asked_for
from tests.plans import changed_plan

FAST = (600.0, 603.0, 597.0, 601.0, 599.0)
UNSURE = (560.0, 585.0, 570.0, 590.0, 566.0)  # 4 % below, with noise of 2 %
NEARLY = (620.0, 565.0, 606.0, 575.0, 594.0)  # 1 % below, with noise of 4 %
WILD = (420.0, 720.0, 560.0, 810.0, 470.0)


def of(rates: Mapping[str, Sequence[float]], **shape: object) -> Results:
    repetitions = len(next(iter(rates.values())))
    return build_campaign(
        profiles=tuple(rates),
        workloads=["insert"],
        repetitions=repetitions,
        values={(tier, "insert"): values for tier, values in rates.items()},
        frames=False,
        **shape,  # type: ignore[arg-type]
    )


def reason(campaign: Results) -> str:
    return decision.decide_all(campaign, ())[0][0].reason


def test_an_open_decision_weighs_itself() -> None:
    """Two runs of 130 s a repetition; a month of three disks costs 676.32 USD more on ultra."""
    text = reason(of({"premium": NEARLY, "ultra": FAST}))
    found = re.search(r"it takes (\d+) to (\d+) more repetitions, ", text)
    assert found, text
    least, most = int(found[1]), int(found[2])
    assert 1 <= least < most
    times = f"{format_seconds(260 * least)} to {format_seconds(260 * most)}"
    assert f"more repetitions, {times}; at stake" in text
    assert "; at stake 676.32 USD a month" in text


def test_a_cheaper_open_tier_beside_the_one_named_says_it_too() -> None:
    text = reason(of({"premium": UNSURE, "premium-v2": FAST, "ultra": FAST}))
    assert text.startswith("premium-v2 is the cheapest tier proven")
    assert "Whether premium, which is cheaper, is enough is open: it takes" in text
    assert "at stake 151.32 USD a month" in text


@pytest.mark.parametrize(
    ("premium", "settle"),
    [
        (NEARLY, True),
        # The spread of two tells next to nothing, and noise may be too much for any number.
        (NEARLY[:2], False),
        (WILD, False),
    ],
)
def test_whether_more_repetitions_are_expected_to_settle_it(
    premium: Sequence[float], settle: bool
) -> None:
    campaign = of({"premium": premium, "ultra": FAST[: len(premium)]})
    found, *_ = decision.decide_all(campaign, ())[0]
    assert found.is_open and found.repetitions_settle is settle


def test_one_repetition_misses_no_clause() -> None:
    campaign = asked_for(of({"premium": (1.0,), "ultra": (2.0,)}), "throughput > 568")
    found, *_ = decision.decide_all(campaign, ())[0]
    assert dict(found.missed) == {}


def test_two_repetitions_tell_no_range() -> None:
    text = reason(of({"premium": UNSURE[:2], "ultra": FAST[:2]}))
    assert "a third repetition tells how many more it takes" in text
    assert "it takes" not in text.replace("more it takes", "")


@pytest.mark.parametrize(
    ("count", "words"),
    [(2, "a third repetition tells how many more it takes"), (3, ": it takes ")],
)
def test_from_three_repetitions_on_an_slo_tells_how_many_it_takes(
    count: int, words: str
) -> None:
    campaign = of({"premium": UNSURE[:count], "ultra": FAST[:count]})
    assert words in reason(asked_for(campaign, "throughput > 560"))


def test_hopeless_noise_says_what_would_lower_it() -> None:
    text = reason(of({"premium": WILD, "ultra": FAST}))
    assert "repetitions" in text
    assert "`--windows many`, longer windows" in text


def test_the_level_is_that_of_the_looks_to_come() -> None:
    """Judged again after every repetition, more of them are needed than at once."""
    once = of({"premium": UNSURE, "ultra": FAST})
    growing = replace(once, plan=changed_plan(once.plan, looks=looks.shares(3, 30)))
    assert _least(reason(growing)) > _least(reason(once))


def _least(text: str) -> int:
    return int(text.partition("it takes ")[2].partition(" ")[0])


def test_an_slo_in_doubt_says_how_many_too() -> None:
    campaign = of({"premium": UNSURE, "ultra": FAST})
    text = reason(asked_for(campaign, "throughput > 568"))
    assert "ultra is the cheapest tier proven to meet" in text
    assert "Whether premium, which is cheaper, is enough is open: it takes" in text


def test_the_nearer_a_figure_is_to_the_slo_the_more_repetitions_it_takes() -> None:
    """Premium does 574 a second."""
    campaign = of({"premium": UNSURE, "ultra": FAST})
    far = _least(reason(asked_for(campaign, "throughput > 566")))
    near = _least(reason(asked_for(campaign, "throughput > 569")))
    assert 1 < far < near


def test_of_failures_that_some_runs_do_not_have_only_more_is_known() -> None:
    def change(record: Record) -> Record:
        share_pct = 1.2 * (record.run.repetition > 1)
        return decision_scenarios.failing(share_pct)(record)

    campaign = of({"premium": FAST}, change=change)
    found, *_ = decision.decide_all(asked_for(campaign, "failures < 1 %"), ())[0]
    assert "more repetitions are needed" in found.reason
    assert found.repetitions_settle


@pytest.mark.parametrize("count", [3, 5, 10])
def test_the_range_of_the_spread_holds_in_four_of_five(count: int) -> None:
    """With a normal spread of 3 %: of 400 ranges the standard error is 2 %."""
    import numpy as np

    random = np.random.default_rng(4)
    wanted = repetitions_needed.repetitions_range
    true = 0.03 / math.sqrt(12) * 1.0
    held = 0
    for _ in range(400):
        values = np.exp(random.normal(0, 0.03, count)).tolist()
        mean = stats.geometric_mean(values)
        found = wanted(mean, count, true, lambda _n: 0.6827)
        least, most = found.least or 51, found.most or 51
        held += least <= 13 and most >= 12
    assert 0.72 <= held / 400 <= 0.9
