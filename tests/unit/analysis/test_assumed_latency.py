"""An emulated latency that nobody measured on the real disk chooses no tier."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator import tier_catalog
from orchestrator.analysis.conclusions import Bottleneck
from orchestrator.analysis.decisions import decision
from orchestrator.analysis.decisions.awaited_ways import awaited_ways
from orchestrator.analysis.decisions.candidates import (
    THROUGHPUT,
    Candidate,
    without_tail,
)
from orchestrator.analysis.decisions.contest_rules import ContestRules
from orchestrator.analysis.decisions.contests import make_contest
from orchestrator.analysis.decisions.moot import moot
from orchestrator.facts import BottleneckCause
from orchestrator.model import Objective
from orchestrator.tier import WAYS, Latencies, LatencyModel, Tier
from tests import loads
from tests.campaigns import build_profile, with_tier
from tests.catalog import CATALOG


def of_catalog(row: str) -> Tier:
    """As bought with 256 GiB, where it is sold by size."""
    asked = {"type": row}
    if row in CATALOG.types:
        asked["size"] = "256GiB"
    if row in ("aws/io1", "aws/io2", "azure/ultra"):
        asked["iops"] = "1000"
    if row == "azure/ultra":
        asked["throughput"] = "100MB/s"
    return tier_catalog.choose(CATALOG, asked, "a").tier


def candidate(name: str, latency: Latencies, cause: BottleneckCause) -> Candidate:
    profile = build_profile(name)
    tier = replace(profile.tier, latency=latency)
    values = {THROUGHPUT: (100.0, 101.0, 102.0)}
    return Candidate(replace(profile, tier=tier), values, cause)


ASSUMED = Latencies(0.002, 0.002, assumed=("read", "write"))
OTHER = Latencies(0.0008, 0.0008, assumed=("read", "write"))


def words(one: Candidate, other: Candidate) -> tuple[str, ...]:
    contest = make_contest(
        "insert", [one, other], ["premium", "ultra"], ContestRules(5.0, (THROUGHPUT,))
    )
    return moot(one, contest, ())


@pytest.mark.parametrize(
    ("latency", "cause", "is_moot"),
    [
        (ASSUMED, "latency_bound", True),
        (ASSUMED, "iops_cap", False),  # a declared limit decides
        (OTHER, "latency_bound", False),  # both alike
        (Latencies(0.002, 0.002), "latency_bound", True),  # the other one is assumed
        (replace(ASSUMED, read_measured="a paper"), "latency_bound", True),
    ],
)
def test_a_rival_that_an_assumed_latency_limited_decides_nothing(
    latency: Latencies, cause: BottleneckCause, is_moot: bool
) -> None:
    named = candidate("ultra", OTHER, "latency_bound")
    rival = candidate("premium", latency, cause)
    assert ("assumed latency" in words(named, rival)) is is_moot


def test_a_constant_latency_of_the_log_has_no_tail() -> None:
    profile = build_profile("premium")
    point = ((0.0, 0.001), (1.0, 0.002))
    drawn = Latencies(model=LatencyModel(point, point, "a paper", "2026-01"))
    tier = replace(profile.tier, latency=drawn)
    assert without_tail([replace(profile, tier=tier)]) == ()
    log = replace(tier, latency=ASSUMED)
    with_log = replace(profile, tier=replace(tier, wal=log))
    assert without_tail([with_log]) == ("premium",)


@pytest.mark.parametrize(
    ("latency", "is_moot"),
    [
        (ASSUMED, True),  # the log's disk ranks them, and nobody promises its latency
        (OTHER, False),  # as the other tier's writes
    ],
)
def test_writes_wait_for_the_disk_of_the_log(latency: Latencies, is_moot: bool) -> None:
    promised = replace(OTHER, assumed=())
    named = candidate("ultra", promised, "cpu_bound")
    rival = candidate("premium", promised, "wal_disk_bound")
    tier = rival.profile.tier
    with_log = replace(tier, wal=replace(tier, latency=latency))
    rival = replace(rival, profile=replace(rival.profile, tier=with_log))
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
    contest = make_contest(
        "insert", [named], ["premium"], ContestRules(5.0, slo=(clause,))
    )
    assert ("assumed latency" in moot(named, contest, (clause,))) is is_moot


def test_a_latency_that_grows_with_depth_decides_nothing() -> None:
    """Hyperdisk Balanced answers in 0.5 ms at depth 1 and in 1.3 at 32: what is emulated is one
    figure between the two, and so an assumption."""
    disk = of_catalog("gcp/hyperdisk-balanced").latency
    assert all(disk.is_assumption(way) for way in WAYS)
    published = Latencies(0.0006, 0.0006, read_measured="it", write_measured="it")
    hyperdisk = candidate("premium", disk, "latency_bound")
    rival = candidate("ultra", published, "latency_bound")
    assert "assumed latency" in words(hyperdisk, rival)
    assert "assumed latency" in words(rival, hyperdisk)


def test_what_was_measured_or_stated_of_both_decides() -> None:
    published = replace(OTHER, read_measured="a paper", write_measured="a paper")
    named = candidate("ultra", published, "latency_bound")
    rival = candidate("premium", Latencies(0.002, 0.002), "latency_bound")
    assert words(named, rival) == ()


@pytest.mark.parametrize(
    ("told", "is_moot"),
    [
        ({"sessions_reading_pct": 80.0, "log_syncing_pct": 1.0}, False),
        ({"seen_reading_pct": 80.0, "seen_syncing_pct": 0.0}, False),
        ({"sessions_reading_pct": 80.0}, True),  # nobody told of syncs
        ({"sessions_reading_pct": 2.0, "log_syncing_pct": 70.0}, True),
        ({"log_syncing_pct": 1.0, "seen_syncing_pct": 30.0}, True),
        # One of twenty sessions is somebody who waits.
        ({"sessions_reading_pct": 80.0, "log_syncing_pct": 5.0}, True),
        ({"sessions_reading_pct": 80.0, "log_syncing_pct": 4.9}, False),
        ({}, True),
    ],
)
def test_a_direction_that_nobody_waits_for_decides_nothing(
    told: dict[str, float], is_moot: bool
) -> None:
    """Of both tiers somebody measured reads; of writes both are assumptions."""
    awaited = awaited_ways(told)
    named = candidate("ultra", replace(OTHER, read_measured="a paper"), "latency_bound")
    slower = replace(ASSUMED, read_measured="a paper")
    rival = candidate("premium", slower, "latency_bound")
    limited = [replace(one, awaited=awaited) for one in (named, rival)]
    assert ("assumed latency" in words(*limited)) is is_moot


def test_bottlenecks_tell_a_campaigns_decision_which_direction_is_awaited() -> None:
    load = loads.at_rate(1000.0)
    campaign = loads.build([load], loads.overloaded_unless_ultra)
    for tier in ("premium", "ultra"):
        campaign = with_tier(
            campaign,
            tier,
            latency_assumed=("read", "write"),
            read_latency_measured="a paper",
        )
    evidence = {"sessions_reading_pct": 80.0, "log_syncing_pct": 1.0}
    for told, moot_words in ((evidence, ()), ({}, ("assumed latency",))):
        cells = [
            Bottleneck(tier, load.name, "node-1", "latency_bound", "", told)
            for tier in ("premium", "ultra")
        ]
        decisions, _ = decision.decide_all(campaign, cells)
        assert (decisions[0].tier, decisions[0].moot) == ("ultra", moot_words)


# ------------------------------------------------------------------ rows of the catalog


@pytest.mark.parametrize(
    ("row", "assumed"),
    [
        ("azure/P15", ()),
        ("azure/premium-v2", ()),
        ("azure/ultra", ()),
        ("azure/E15", ()),
        ("azure/S15", ("read",)),
        ("aws/gp2", ("write",)),
        ("aws/gp3", ("write",)),
        ("aws/io1", ("read", "write")),
        ("aws/io2", ("read", "write")),
        ("gcp/pd-ssd", ("read", "write")),
        ("gcp/hyperdisk-balanced", ("read", "write")),
    ],
)
def test_directions_that_nobody_measured_are_marked_as_assumptions(
    row: str, assumed: tuple[str, ...]
) -> None:
    latency = of_catalog(row).latency
    assert tuple(way for way in WAYS if latency.is_assumption(way)) == assumed
    stated = replace(latency, assumed=())
    assert not any(stated.is_assumption(way) for way in WAYS)


def test_reads_of_gp3_are_no_slower_than_those_of_premium_v2() -> None:
    """Published are 0.53 and 0.7 ms."""
    gp3 = of_catalog("aws/gp3").latency
    premium_v2 = of_catalog("azure/premium-v2").latency
    assert (gp3.read_s, premium_v2.read_s) == pytest.approx((0.00053, 0.0007))
    assert gp3.write_s and premium_v2.write_s and gp3.write_s <= premium_v2.write_s


def test_a_row_says_whose_measurement_it_follows_and_what_is_assumed() -> None:
    assert "with 4 KiB" in of_catalog("azure/P15").latency.read_measured
    notes = of_catalog("aws/gp3").origin.notes
    assert "Emulated read latency: as measured by J. Nidzwetzki" in notes
    assert "2022-09-21, at depth 1 with 4 KiB." in notes
    assert "Emulated write latency: our assumption." in notes
    assert "our assumption" not in of_catalog("azure/ultra").origin.notes


def test_a_latency_of_the_profile_is_nobody_elses_measurement() -> None:
    asked = {"type": "azure/P15", "read_latency": "1ms"}
    tier = tier_catalog.choose(CATALOG, asked, "a").tier
    assert (tier.latency.read_s, tier.latency.read_measured) == (0.001, "")
    assert not any(tier.latency.is_assumption(way) for way in WAYS)
    assert "Emulated write latency: as measured by" in tier.origin.notes
