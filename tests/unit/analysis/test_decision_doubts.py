"""What doubts, failed transactions and figures that are not there do to a decision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.analysis.conclusions import Decision, Verdict
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.design import slo
from orchestrator.model import Record
from orchestrator.report.document import arrange
from orchestrator.tier import Burst
from tests.campaigns import build_campaign, with_tail
from tests.decision_scenarios import Change, failing, on, without_p99
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


def status(campaign: Results, verdict: Verdict) -> str:
    return arrange(campaign, verdict).status


def test_without_doubts_the_cheapest_of_equal_tiers_is_named() -> None:
    campaign = campaign_of()
    verdict, found = decided(campaign)
    assert (found.tier, found.cheaper_open) == ("premium", ())
    assert status(campaign, verdict) == "conclusive"


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
