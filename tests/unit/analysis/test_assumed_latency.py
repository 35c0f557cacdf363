"""An emulated latency that nobody measured on the real disk chooses no tier."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.analysis.decisions.candidates import THROUGHPUT, Candidate
from orchestrator.analysis.decisions.contests import make_contest
from orchestrator.analysis.decisions.moot import moot
from orchestrator.facts import BottleneckCause
from orchestrator.model import Objective
from orchestrator.planning import project_files
from orchestrator.planning.profiles import ANY_SCALE
from orchestrator.tier import Latencies, Tier
from tests import ROOT
from tests.campaigns import build_profile


def of_catalog(row: str) -> Tier:
    tier, _ = project_files.tier(ROOT, row, [], ANY_SCALE)
    return tier


def candidate(name: str, latency: Latencies, cause: BottleneckCause) -> Candidate:
    profile = build_profile(name)
    tier = replace(profile.tier, latency=latency)
    values = {THROUGHPUT: (100.0, 101.0, 102.0)}
    return Candidate(replace(profile, tier=tier), values, cause)


ASSUMED = Latencies(0.002, 0.002, assumed=("read", "write"))
OTHER = Latencies(0.0008, 0.0008, assumed=("read", "write"))


def words(one: Candidate, other: Candidate) -> tuple[str, ...]:
    contest = make_contest(
        "insert", [one, other], ["premium", "ultra"], 5.0, [THROUGHPUT]
    )
    return moot(one, contest, ())


@pytest.mark.parametrize(
    ("latency", "cause", "is_moot"),
    [
        (ASSUMED, "latency_bound", True),
        (ASSUMED, "iops_cap", False),  # a declared limit decides
        (OTHER, "latency_bound", False),  # both alike
        (Latencies(0.002, 0.002), "latency_bound", True),  # the other one is assumed
        (replace(ASSUMED, measured="a paper"), "latency_bound", True),
    ],
)
def test_a_rival_that_an_assumed_latency_limited_decides_nothing(
    latency: Latencies, cause: BottleneckCause, is_moot: bool
) -> None:
    named = candidate("ultra", OTHER, "latency_bound")
    rival = candidate("premium", latency, cause)
    assert ("assumed latency" in words(named, rival)) is is_moot


@pytest.mark.parametrize(
    ("cause", "is_moot"), [("cpu_bound", True), ("iops_cap", False)]
)
def test_a_tier_named_at_an_assumed_latency_may_be_worse_than_its_rival(
    cause: BottleneckCause, is_moot: bool
) -> None:
    named = candidate("premium", ASSUMED, "latency_bound")
    rival = candidate("ultra", OTHER, cause)
    assert ("assumed latency" in words(named, rival)) is is_moot


@pytest.mark.parametrize(
    ("latency", "cause", "is_moot"),
    [
        (ASSUMED, "latency_bound", True),
        (ASSUMED, "iops_cap", False),
        (Latencies(0.002, 0.002), "latency_bound", False),
    ],
)
def test_an_slo_is_not_met_by_a_latency_that_is_assumed(
    latency: Latencies, cause: BottleneckCause, is_moot: bool
) -> None:
    named = candidate("premium", latency, cause)
    clause = Objective("throughput_per_s", "all", 50.0)
    contest = make_contest("insert", [named], ["premium"], 5.0, slo=(clause,))
    assert ("assumed latency" in moot(named, contest, (clause,))) is is_moot


def test_what_was_measured_or_stated_of_both_decides() -> None:
    named = candidate("ultra", replace(OTHER, measured="a paper"), "latency_bound")
    rival = candidate("premium", Latencies(0.002, 0.002), "latency_bound")
    assert words(named, rival) == ()


def test_every_row_of_the_catalog_is_marked_as_an_assumption() -> None:
    """Until somebody publishes reads and writes of its type."""
    tier = of_catalog("azure/P15")
    assert tier.latency.is_assumption
    stated = replace(tier.latency, assumed=())
    assert not stated.is_assumption
