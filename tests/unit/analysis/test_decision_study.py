"""Decisions on the founding study's own TPC-C figures, with the shipped profiles and prices.

The study measured each cell once: three repetitions with 0.4 % noise around its figures stand for
what a campaign would have found. Its p99 is not published; it is taken as three times the average.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.analysis.conclusions import Bottleneck, Decision
from orchestrator.analysis.decisions import decision
from orchestrator.design import slo
from orchestrator.facts import BottleneckCause
from orchestrator.metrics import measured
from orchestrator.model import Dataset, Record
from orchestrator.planning import project_files
from tests import ROOT
from tests.campaigns import build_campaign
from tests.tiers import changed

STUDY = {
    "premium": (25_135.0, 0.1772),
    "premium-v2": (25_600.1, 0.11034),
    "ultra": (25_616.27, 0.09413),
}
STEADY = (0.996, 1.0, 1.004)
SHIPPED, _ = project_files.read(ROOT, list(STUDY), [], "study")


def decide(
    objectives: str | None = None,
    *,
    cause: BottleneckCause = "cpu_bound",
    repetitions: int = 3,
    enforcement: str = "emulated",
) -> Decision:
    def as_figured(record: Record) -> Record:
        nopm, latency_s = STUDY[record.run.profile]
        noise = STEADY[record.run.repetition - 1]
        found = (
            measured("throughput_per_s", nopm / 27 * noise),
            measured("nopm", nopm * noise),
            measured("transactions", 1e6, "new_order"),
            measured("latency_avg_s", latency_s * noise, "new_order"),
            measured("latency_p99_s", 3 * latency_s * noise, "new_order"),
        )
        thinking = replace(
            record.workload,
            options={"think": "spec"},
            dataset=Dataset("tpcc", {"warehouses": 2000}),
        )
        return replace(record, measurements=found, workload=thinking)

    campaign = build_campaign(
        workloads=["tpcc"], repetitions=repetitions, frames=False, change=as_figured
    )
    workloads = slo.applied(campaign.plan.workloads, objectives, "--slo")
    profiles = tuple(
        replace(p, tier=changed(p.tier, enforcement=enforcement)) for p in SHIPPED
    )
    plan = replace(campaign.plan, profiles=profiles, workloads=workloads)
    bottlenecks = [Bottleneck(name, "tpcc", "node-1", cause, "", {}) for name in STUDY]
    return decision.decide_all(replace(campaign, plan=plan), bottlenecks)[0][0]


def test_latency_ranks_and_the_cheapest_is_not_named() -> None:
    found = decide()
    assert found.tier == "ultra", found.reason
    assert found.criterion == "average New-Order latency"
    assert "Think time holds throughput at its ceiling" in found.reason
    assert [offer.standing for offer in found.offers] == [
        "not enough",
        "not enough",
        "enough",
    ]


def test_whole_clusters_are_priced_in_one_currency_and_region() -> None:
    offers = decide().offers
    # 3 × 38.012142; 3 × (250 × 0.0803 + 7,000 × 0.00511 + 125 × 0.04015); 3 × (250 × 0.11972
    # + 10,000 × 0.04964 + 250 × 0.34967); each price is rounded to cents first.
    assert [offer.monthly_cost for offer in offers] == pytest.approx(
        [114.03, 182.58, 1841.25]
    )
    assert {(offer.currency, offer.price_region) for offer in offers} == {
        ("USD", "eastus")
    }
    assert all(offer.price_as_of and offer.price_source for offer in offers)
    assert offers[0].cost_per_unit == pytest.approx(114.03 / 25.135, rel=1e-4)
    assert (offers[0].unit, [offer.on_front for offer in offers]) == (
        "1,000 NOPM",
        [True] * 3,
    )


@pytest.mark.parametrize(
    ("objectives", "tier", "words"),
    [
        (
            "new_order average < 120 ms, nopm > 25000",
            "premium-v2",
            "premium misses new_order",
        ),
        ("new_order average < 200 ms, nopm > 24000", "premium", "proven to meet"),
        ("new_order average < 100 ms", "ultra", "premium-v2 misses"),
        ("new_order average < 50 ms", None, "no tier meets the SLO"),
        ("nopm > 25550, new_order average < 95 ms", None, "whether ultra meets"),
        ("new_order p99.9 < 1 s", None, "not every run has it"),
    ],
)
def test_with_an_slo_the_cheapest_proven_to_meet_it(
    objectives: str, tier: str | None, words: str
) -> None:
    found = decide(objectives)
    assert found.tier == tier, found.reason
    assert words in found.reason


def test_one_step_up_and_down_with_intervals() -> None:
    found = decide("new_order average < 120 ms, nopm > 25000")
    assert found.dearer and found.cheaper
    assert (found.dearer.tier, found.cheaper.tier) == ("ultra", "premium")
    assert found.dearer.cost_change == pytest.approx(1658.67)
    assert found.cheaper.cost_change == pytest.approx(-68.55)
    slower = next(
        one for one in found.cheaper.changes if one.title == "average New-Order latency"
    )
    assert slower.change_pct == pytest.approx(60.6, abs=0.1)
    assert slower.ci_low_pct is not None and slower.ci_low_pct < 60 < (
        slower.ci_high_pct or 0
    )


def test_an_slo_met_on_an_emulated_disk_says_so() -> None:
    found = decide("new_order average < 120 ms")
    assert (
        "An SLO asks for absolute figures, and these are of this machine"
        in found.reason
    )
    real = decide("new_order average < 120 ms", enforcement="mounted")
    assert "absolute figures" not in real.reason


def test_the_study_s_single_runs_decide_nothing() -> None:
    for objectives in (None, "new_order average < 120 ms"):
        found = decide(objectives, repetitions=1)
        assert found.tier is None
        assert "gives no interval" in found.reason


def test_what_this_machine_held_back_is_not_proven_to_miss_an_slo() -> None:
    found = decide("new_order average < 120 ms", cause="machine_bound")
    assert found.tier == "premium-v2", found.reason
    assert found.offers[0].standing == "open"
    assert "Whether premium, which is cheaper, is enough is open" in found.reason
    assert not found.is_open  # repeating it here would not help
    none = decide("new_order average < 50 ms", cause="client_bound")
    assert none.tier is None
    assert (
        "this machine was the limit, so what the disk could do was not measured"
        in none.reason
    )
