"""What a decision says beside its answer: texts of contests that are made to need them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.analysis.conclusions import Offer
from orchestrator.analysis.decisions import decision, remarks
from orchestrator.analysis.decisions.candidates import THROUGHPUT, Candidate
from orchestrator.analysis.decisions.contest_rules import Circumstances, ContestRules
from orchestrator.analysis.decisions.contests import Contest, make_contest
from orchestrator.analysis.overload import Overload
from orchestrator.model import Objective
from tests.campaigns import build_profile

RATES = (2000.0, 2010.0, 1990.0)
TIERS = ("premium", "ultra")
SLOWER_THAN = Objective("latency_p99_s", "all", 0.05)


def a_contest(cause: str = "unattributed", **changes: Any) -> Contest:
    """Both tiers are alike, so that the cheaper one is named."""
    tiers = [
        Candidate(build_profile(name), {THROUGHPUT: RATES}, cause) for name in TIERS
    ]
    contest = make_contest("insert", tiers, TIERS, ContestRules(5.0, (THROUGHPUT,)))
    return replace(contest, **changes)


def under(**circumstances: Any) -> Contest:
    """The same, with what bears on it."""
    return a_contest(circumstances=Circumstances(**circumstances))


def said_of(contest: Contest) -> list[str]:
    return remarks.remarks(contest.candidates[0], contest)


@pytest.mark.parametrize(
    ("contest", "text"),
    [
        (
            a_contest(absent=("io2",)),
            "Left out, having no figures of every run: io2; what the disk can do is not known",
        ),
        (
            under(at_ceiling=True),
            "Think time holds throughput at its ceiling on every tier: latency ranks",
        ),
        (
            under(overload=Overload(asked=True, slow_disk=False)),
            "All tiers are asked for the same rate, so latency ranks",
        ),
        (
            under(
                overload=Overload(always=("io2", "gp3"), asked=False, slow_disk=False)
            ),
            "Overloaded at this rate are io2 and gp3: latency there depends on how long was "
            "measured and is not compared",
        ),
        (
            under(overload=Overload(unproven=("io2",), asked=False, slow_disk=False)),
            "io2 did not serve the rate in every run, without proof: latency there depends on "
            "how long was measured and is not compared",
        ),
        (a_contest("cpu_bound"), "The disk is not the limit on any tier"),
        (
            a_contest("client_bound"),
            "With premium this machine was the limit: on a larger one dearer tiers may do more",
        ),
        (under(scale="laptop"), "What limits this answer: scale laptop"),
        (
            under(constant_latency=TIERS),
            "p99 latency is not compared: the emulated latency of premium and ultra is constant",
        ),
        (
            a_contest(left_out=(THROUGHPUT,)),
            "Not compared, as not every run has it: throughput",
        ),
        (
            a_contest(no_prices="no price is known for ultra"),
            "Chosen by declared limits: no price is known for ultra",
        ),
    ],
)
def test_what_a_reader_must_know_besides_is_said(contest: Contest, text: str) -> None:
    assert text in said_of(contest)


def offered(tier: str, least_pct: float, p99_pct: float | None = None) -> Offer:
    return Offer(
        tier, "open", None, None, "", "", None, "", "", "", (), (), least_pct, p99_pct
    )


@pytest.mark.parametrize(
    ("offers", "words"),
    [
        (
            [offered("premium", 100.0), offered("ultra", 12.0, 31.0)],
            "premium is at most 100 % worse than the best and ultra 12 % (p99: 31 %)",
        ),
        # More than twice as long is no loss to be offered.
        (
            [offered("premium", 100.1), offered("ultra", 12.0)],
            "ultra is at most 12 % worse than the best",
        ),
    ],
)
def test_the_least_margins_are_told_up_to_twice_as_long(
    offers: Sequence[Offer], words: str
) -> None:
    assert remarks.least_margins(offers) == words


def test_prices_that_may_be_off_are_held_against_the_cheapest_of_the_others() -> None:
    """A month of three disks costs 103.68, 255 and 780 USD; all tiers are enough."""
    names = ("premium", "premium-v2", "ultra")
    tiers = [Candidate(build_profile(name), {THROUGHPUT: RATES}, "") for name in names]
    contest = make_contest("insert", tiers, names, ContestRules(5.0, (THROUGHPUT,)))
    contest = replace(contest, unlike_prices="prices are of unlike days")
    cost = contest.candidates[0].monthly_cost
    assert (
        "prices are of unlike days: this holds unless premium-v2 costs less than the "
        f"{cost:.2f} USD a month of premium"
    ) in said_of(contest)


def test_prices_that_may_be_off_are_held_against_nothing_where_no_other_is_enough() -> (
    None
):
    contest = a_contest(unlike_prices="prices are of unlike days")
    alone = replace(contest, candidates=contest.candidates[:1])
    assert "prices are of unlike days" in said_of(alone)


def test_a_tier_without_a_price_is_held_against_no_other() -> None:
    contest = a_contest(unlike_prices="prices are of unlike days")
    first, *others = contest.candidates
    unpriced = replace(first.profile, tier=replace(first.profile.tier, price=None))
    first = replace(first, profile=unpriced)
    without = replace(contest, candidates=(first, *others))
    assert "prices are of unlike days" in said_of(without)


def test_at_one_rate_nothing_ranks_if_one_tier_is_left() -> None:
    contest = under(overload=Overload(asked=True, slow_disk=False))
    alone = replace(contest, candidates=contest.candidates[:1])
    assert said_of(alone) == []


def test_nothing_is_said_where_there_is_nothing() -> None:
    assert said_of(a_contest()) == []


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        (
            (0.010, 0.011, 0.010, 0.011, 0.010),
            "Of p99 < 50 ms it is the mean that is below; 9 of 10 single windows keep it or "
            "more, with 95 % confidence",
        ),
        (
            (0.040, 0.045, 0.030),
            "Of p99 < 50 ms it is the mean that is below; whether single windows keep it is "
            "not proven",
        ),
    ],
)
def test_of_a_percentile_the_windows_are_told(
    figures: Sequence[float], text: str
) -> None:
    contest = a_contest(rules=ContestRules(5.0, (THROUGHPUT,), slo=(SLOWER_THAN,)))
    tier = replace(contest.candidates[0], measured={SLOWER_THAN: tuple(figures)})
    texts = remarks.remarks(tier, replace(contest, candidates=(tier,)))
    assert texts == [text, remarks.NOT_ITS_DISK]


def test_without_figures_there_is_no_answer() -> None:
    nothing = make_contest("insert", [], TIERS, ContestRules(5.0))
    assert decision.decide(nothing).reason == "no tier has figures"
