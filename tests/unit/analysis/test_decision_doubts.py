"""What doubts, failed transactions and figures that are not there do to a decision."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.analysis.conclusions import Decision, Verdict
from orchestrator.analysis.decisions.candidates import THROUGHPUT, Candidate
from orchestrator.analysis.decisions.contest_rules import Circumstances, ContestRules
from orchestrator.analysis.decisions.contests import make_contest
from orchestrator.analysis.decisions.decision import decide
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.design import slo
from orchestrator.doubt_effects import DOUBT_EFFECTS
from orchestrator.facts import DoubtEffect
from orchestrator.model import Doubt, Record
from orchestrator.report.document import arrange
from orchestrator.tier import Burst
from tests.campaigns import build_campaign, build_profile, with_tail
from tests.decision_scenarios import (
    RATES,
    TIERS,
    Change,
    failing,
    on,
    status,
    without_p99,
)
from tests.documented import table_below
from tests.tiers import changed

ALIKE = {
    (name, "insert"): (600.0, 603.0, 597.0)
    for name in ("premium", "premium-v2", "ultra")
}


def bursting(record: Record) -> Record:
    """Above its base of 500 IOPS with credit left; all tiers do about 710."""
    burst = Burst(iops=3_500, bytes_per_s=None, duration_s=1_800.0, start_pct=100.0)
    tier = changed(record.profile.tier, iops=500, burst=burst)
    return replace(record, profile=replace(record.profile, tier=tier))


def database(**facts: object) -> Change:
    return lambda record: replace(record, facts={**record.facts, "database": facts})


def campaign_of(change: Change | None = None, **shape: Any) -> Results:
    return build_campaign(
        **{"workloads": ["insert"], "values": ALIKE, "change": change, **shape}
    )


def decided(campaign: Results) -> tuple[Verdict, Decision]:
    verdict = judge(campaign)
    return verdict, verdict.decisions[0]


def test_without_doubts_the_cheapest_of_equal_tiers_is_named() -> None:
    campaign = campaign_of()
    verdict, found = decided(campaign)
    assert (found.tier, found.cheaper_open) == ("premium", ())
    assert status(campaign, verdict) == "conclusive"
    assert arrange(campaign, verdict).status == "conclusive"


def test_commits_as_released_leave_the_answer_and_are_said_in_it() -> None:
    change = database(durable=False, durability_as_released=True)
    campaign = campaign_of(on("premium", change))
    verdict, found = decided(campaign)
    assert found.tier == "premium"
    assert "commits not synced" in {doubt.kind for doubt in verdict.doubts}
    assert status(campaign, verdict) == "conclusive"


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (bursting, "burst credit left"),
        (database(durable=False), "commits not durable"),
        (failing(20), "failures"),
    ],
)
def test_a_tier_that_looks_better_than_it_is_is_not_named(
    change: Change, kind: str
) -> None:
    """Its equals are, as far as they are; then the cheaper one is open or proven to fail."""
    campaign = campaign_of(on("premium", change))
    verdict, found = decided(campaign)
    assert kind in {doubt.kind for doubt in verdict.doubts}
    assert found.tier == "premium-v2", found.reason
    if kind == "failures":
        assert "premium misses failures < 1 %: 20 %" in found.reason
    else:
        assert found.cheaper_open == ("premium",)
        assert status(campaign, verdict) == "enough; cheaper not excluded"
        assert "Whether premium, which is cheaper, is enough is open" in found.reason


@pytest.mark.parametrize("change", [bursting, database(durable=False), failing(20)])
def test_where_all_tiers_look_better_than_they_are_none_is_named(
    change: Change,
) -> None:
    campaign = campaign_of(change)
    verdict, found = decided(campaign)
    assert (
        found.tier is None and not found.is_open
    )  # repeating it as it was does not help
    assert status(campaign, verdict) == "not conclusive"


def test_nothing_is_worse_than_a_tier_that_looks_better_than_it_is() -> None:
    values = {**ALIKE, ("premium", "insert"): (500.0, 503.0, 497.0)}
    proven = decided(campaign_of(values=values))[1]
    assert (proven.tier, proven.offers[0].standing) == ("premium-v2", "not enough")
    beside = campaign_of(on("premium-v2 ultra", bursting), values=values)
    assert decided(beside)[1].offers[0].standing == "open"


@pytest.mark.parametrize(
    ("change", "shape", "words"),
    [
        (
            database(data_bytes=2**20, cache_bytes=2**30),
            {},
            "data fits in the cache (9 runs)",
        ),
        (None, {"measure_s": 7.0}, "short window (9 runs)"),
        (
            on("premium", database(leaders_moved="node-1 lost 4 of 8")),
            {},
            "leaders moved (3 runs)",
        ),
        (None, {}, "scale laptop"),
    ],
)
def test_what_an_answer_is_good_for_is_said_in_it(
    change: Change | None, shape: dict[str, Any], words: str
) -> None:
    found = decided(campaign_of(change, **shape))[1]
    assert found.tier == "premium", found.reason
    assert "What limits this answer: " in found.reason
    assert words in found.reason.split("What limits this answer: ")[1]


# ------------------------------------------------------------------ every kind of doubt


def decided_with(*doubts: Doubt) -> Decision:
    """Of three equal tiers, with these doubts about the runs of the cheapest."""
    candidates: list[Candidate] = []
    for tier in TIERS:
        profile = build_profile(tier)
        candidates.append(Candidate(profile, {THROUGHPUT: RATES}, "unattributed"))
    contest = make_contest(
        "insert",
        candidates,
        TIERS,
        ContestRules(5.0, (THROUGHPUT,)),
        Circumstances(doubts={"premium": doubts}),
    )
    return decide(contest)


def done_by(kind: str) -> str:
    """What a doubt of this kind does to the answer, in the words of docs/METHOD.md."""
    doubt = Doubt(kind, "what was seen", "repeat it", 1, DOUBT_EFFECTS[kind])
    found = decided_with(doubt)
    if found == decided_with():
        return "stands beside the figures"
    if found.tier == "premium-v2" and found.cheaper_open == ("premium",):
        return "nothing is concluded in its favour"
    if found.tier == "premium":
        assert f"What limits this answer: {kind} (1 run)" in found.reason
        return "limits this answer"
    return f"an answer that no effect has: {found.reason}"


DOES: dict[DoubtEffect, str] = {
    "forbids": "nothing is concluded in its favour",
    "limits": "limits this answer",
    "told": "stands beside the figures",
}


def test_every_kind_of_doubt_does_to_an_answer_what_its_effect_says() -> None:
    """Those that exclude a run never come so far: `test_validity.py` tries each."""
    found: dict[str, str] = {}
    expected: dict[str, str] = {}
    for kind, effect in DOUBT_EFFECTS.items():
        if effect != "excludes":
            found[kind] = done_by(kind)
            expected[kind] = DOES[effect]
    assert found == expected


def test_the_kinds_that_forbid_a_conclusion_are_documented() -> None:
    first, *_ = table_below("METHOD.md", "Which tier to buy", "a note")
    forbidding = [kind for kind in DOUBT_EFFECTS if DOUBT_EFFECTS[kind] == "forbids"]
    assert sorted(re.findall("`(.*?)`", first[0])) == sorted(forbidding)


def test_a_doubt_of_several_runs_is_said_once_with_their_number() -> None:
    doubts: list[Doubt] = []
    for run in (1, 2, 2):
        doubts.append(
            Doubt("host cache", "what was seen", "turn it off", run, "limits")
        )
    doubts.append(Doubt("fewer nodes", "one of three", "take three", None, "limits"))
    reason = decided_with(*doubts).reason
    assert "What limits this answer: host cache (2 runs), fewer nodes" in reason


# ------------------------------------------------------------------ failed transactions


@pytest.mark.parametrize(
    ("share_pct", "clause", "tier", "words"),
    [
        (0.5, "throughput > 100", "premium", "proven to meet"),
        (
            0.5,
            "throughput > 100, failures < 0.1 %",
            "premium-v2",
            "premium misses failures < 0.1",
        ),
        (0.5, "failures < 1 %", "premium", "proven to meet failures < 1 %: 0.5"),
        (20.0, "throughput > 100", "premium-v2", "premium misses failures < 1 %"),
    ],
)
def test_the_share_of_failed_transactions_can_be_a_clause(
    share_pct: float, clause: str, tier: str, words: str
) -> None:
    campaign = campaign_of(on("premium", failing(share_pct)))
    workloads = slo.applied(campaign.plan.workloads, clause, "--slo")
    found = decided(
        replace(campaign, plan=replace(campaign.plan, workloads=workloads))
    )[1]
    assert found.tier == tier, found.reason
    assert words in found.reason


def test_a_figure_that_only_some_tiers_lack_leaves_the_decision_open() -> None:
    found = decided(with_tail(campaign_of(on("premium", without_p99))))[1]
    assert found.tier is None
    assert "not every run of premium has a p99 latency" in found.reason
    assert (
        decided(with_tail(campaign_of(without_p99)))[1].tier == "premium"
    )  # where all do, none is ahead
