"""Answers to questions that are moot, or that more repetitions cannot settle, say so on top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.analysis.answers import campaign as answers
from orchestrator.analysis.conclusions import Bottleneck, Verdict
from orchestrator.analysis.decisions import decision
from orchestrator.analysis.results import Results
from orchestrator.analysis.telemetry import cap_causes
from orchestrator.analysis.telemetry.node_values import Evidence
from orchestrator.analysis.verdicts import judge
from orchestrator.model import Record
from orchestrator.planning import slo
from tests.campaign_tables import GIB
from tests.campaigns import build_campaign, build_tier
from tests.decision_scenarios import ALIKE, TIERS, Change, on


def campaign_of(**shape: Any) -> Results:
    usual = {
        "workloads": ["insert"],
        "repetitions": 5,
        "values": ALIKE,
        "frames": False,
    }
    return build_campaign(**{**usual, **shape})


def cached(record: Record) -> Record:
    facts = {**record.facts["database"], "data_bytes": GIB, "cache_bytes": 2 * GIB}
    return replace(record, facts={**record.facts, "database": facts})


def asked_for(campaign: Results, clause: str) -> Results:
    loads = slo.applied(campaign.plan.workloads, clause, "--slo")
    return replace(campaign, plan=replace(campaign.plan, workloads=loads))


def sureness(campaign: Results) -> tuple[str, str, bool]:
    """Word and sentence on top, and whether the program ends with another code than 0."""
    verdict: Verdict = judge(campaign)
    answer = answers.campaign_answer(campaign, verdict)
    told = answer.sureness
    return told.word, told.text, answers.is_undecided(answer)


# ------------------------------------------------------------------ moot questions


@pytest.mark.parametrize(
    ("shape", "word", "says"),
    [
        (
            {"change": cached},
            "for cached data only",
            "Most runs of insert had all data in the cache",
        ),
        (
            {"measure_s": 7.0},
            "for short windows only",
            "Most runs of insert were measured for less than 30 s",
        ),
        (
            {"change": cached, "measure_s": 7.0},
            "for cached data only",
            "background writes do not show",
        ),
    ],
)
def test_what_makes_the_question_moot_is_the_status(
    shape: Mapping[str, Any], word: str, says: str
) -> None:
    status, text, ends_undecided = sureness(campaign_of(**shape))
    assert status == word
    assert says in text
    assert ends_undecided


def test_a_machine_that_limited_the_tier_named_is_the_status() -> None:
    """The dearer ones do no more without it, so the cheapest is named."""
    campaign = campaign_of()
    causes = dict.fromkeys(TIERS, "iops_cap") | {"premium": "client_bound"}
    cells = [
        Bottleneck(tier, "insert", "node-1", cause, "", {})  # type: ignore[arg-type]
        for tier, cause in causes.items()
    ]
    decisions, _ = decision.decide_all(campaign, cells)
    assert (decisions[0].tier, decisions[0].moot) == ("premium", ("this machine",))
    verdict = replace(judge(campaign), decisions=decisions)
    answer = answers.campaign_answer(campaign, verdict)
    assert answer.sureness.word == "for this machine only"
    assert "This machine was the limit of insert" in answer.sureness.text


def test_an_slo_that_is_met_on_a_machine_that_held_back_is_met() -> None:
    campaign = asked_for(campaign_of(), "throughput > 500")
    cells = [
        Bottleneck(tier, "insert", "node-1", "client_bound", "", {}) for tier in TIERS
    ]
    decisions, _ = decision.decide_all(campaign, cells)
    assert (decisions[0].tier, decisions[0].moot) == ("premium", ())


def test_a_few_short_runs_lower_nothing() -> None:
    few = on("premium", cached)
    status, _, ends_undecided = sureness(campaign_of(change=few))
    assert (status, ends_undecided) == ("conclusive", False)


# ------------------------------------------------------------------ figures that no run has


def without(metric: str) -> Change:
    def change(record: Record) -> Record:
        kept = tuple(one for one in record.measurements if one.metric != metric)
        return replace(record, measurements=kept)

    return change


@pytest.mark.parametrize("tiers", ["premium premium-v2 ultra", "premium"])
def test_an_slo_on_a_figure_that_runs_lack_asks_for_longer_windows(tiers: str) -> None:
    """More of the same runs would lack it too: `--until` does not chase it."""
    campaign = campaign_of(change=on(tiers, without("latency_p99_s")))
    answer = judge(asked_for(campaign, "p99 < 1 ms")).decisions[0]
    assert answer.tier is None
    if tiers == "premium":
        assert (
            answer.reason.startswith("premium-v2 misses") or "premium" in answer.reason
        )
    assert not answer.is_open, answer.reason
    assert "measure for longer, so that every run has the figure" in answer.reason
    assert "more repetitions" not in answer.reason


# ------------------------------------------------------------------ tiers without figures


def test_a_tier_that_lost_all_its_runs_bars_no_other() -> None:
    lost = [run.number for run in campaign_of().plan.runs if run.profile == "premium"]
    campaign = campaign_of(failed=lost)
    verdict = judge(campaign)
    answer = verdict.decisions[0]
    assert answer.tier == "premium-v2"
    assert "Left out, having no figures of every run: premium" in answer.reason
    assert "premium" in answer.cheaper_open
    assert answers.campaign_answer(campaign, verdict).sureness.word == (
        "partly conclusive"
    )


# ------------------------------------------------------------------ burst


@pytest.mark.parametrize(
    ("above_pct", "title"), [(0.0, "IOPS cap"), (100.0, "burst's IOPS cap")]
)
def test_an_empty_bucket_is_at_its_base(above_pct: float, title: str) -> None:
    """Seconds just below the base save up a little credit, which is no burst."""
    values = Evidence(
        disk_iops=500.0,
        disk_queue_depth=16.0,
        iops_of_cap_pct=100.0,
        time_at_iops_cap_pct=100.0,
        burst_credit_left_pct=0.01,
        time_above_base_pct=above_pct,
    )
    cause, *_ = cap_causes.cap_causes(values, build_tier("premium"), "node-1")
    assert cause.text.startswith(
        f"At the {title} 100 % of the time on node-1 (500 IOPS)"
    )
