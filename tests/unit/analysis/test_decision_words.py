"""What a decision says beside its answer: texts of contests that are made to need them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

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
            under(overload=Overload(asked=True)),
            "All tiers are asked for the same rate, so latency ranks",
        ),
        (
            under(overload=Overload(always=("io2", "gp3"))),
            "Overloaded at this rate are io2 and gp3: latency there depends on how long was "
            "measured and is not compared",
        ),
        (
            under(overload=Overload(unproven=("io2",))),
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
