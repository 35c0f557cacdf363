"""One tier for all workloads of a cluster: literal throughputs and prices in, one tier or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from orchestrator.analysis.conclusions import ClusterDecision
from orchestrator.analysis.decisions import cluster_decision
from orchestrator.analysis.decisions.candidates import THROUGHPUT, Candidate
from orchestrator.analysis.decisions.contest_rules import Circumstances, ContestRules
from orchestrator.analysis.decisions.contests import Contest, make_contest
from orchestrator.analysis.decisions.weights import weighed
from orchestrator.analysis.verdicts import judge
from orchestrator.design import slo
from orchestrator.report import document as documents
from tests.bench import bench_cluster
from tests.campaigns import build_campaign, build_profile, with_tail
from tests.decision_scenarios import Change, failing, on, without_p99
from tests.plans import changed_plan

SLOW, FAST = (1000.0, 1005.0, 995.0), (2000.0, 2010.0, 1990.0)
NOISY = (1900.0, 2300.0, 1700.0)
TIERS = ("premium", "premium-v2", "ultra")


def decide(
    rates: Mapping[str, Mapping[str, Sequence[float]]],
    obstacles: Mapping[str, str] | None = None,
    weights: Mapping[str, float] | None = None,
) -> ClusterDecision | None:
    """`rates`: workload → tier → a rate of each repetition."""
    contests = []
    for workload, of_tiers in rates.items():
        candidates = [
            Candidate(build_profile(name), {THROUGHPUT: tuple(values)}, "unattributed")
            for name, values in of_tiers.items()
        ]
        obstacle, tiers = (obstacles or {}).get(workload, ""), TIERS[-len(candidates) :]
        contests.append(
            make_contest(
                workload,
                candidates,
                tiers,
                ContestRules(5.0),
                Circumstances(obstacle=obstacle),
            )
        )
    return cluster_decision.decide_cluster(contests, weights)


def answer(
    rates: Mapping[str, Mapping[str, Sequence[float]]],
    obstacles: Mapping[str, str] | None = None,
    weights: Mapping[str, float] | None = None,
) -> ClusterDecision:
    made = decide(rates, obstacles, weights)
    assert made is not None
    return made


ALIKE = {"premium-v2": FAST, "ultra": FAST}
FORCED = {"point-select": ALIKE, "tpcc": {"premium-v2": SLOW, "ultra": FAST}}


def test_the_cheapest_tier_that_is_enough_for_each_is_named() -> None:
    made = answer({"point-select": ALIKE, "tpcc": ALIKE})
    assert (made.tier, made.monthly_cost, made.currency) == ("premium-v2", 255.0, "USD")
    assert made.without == ()
    assert "proven enough for both workloads together" in made.reason


def test_the_workload_that_forces_a_dearer_tier_is_named_with_what_giving_it_up_saves() -> (
    None
):
    made = answer(FORCED)
    assert (made.tier, made.monthly_cost) == ("ultra", 780.0)
    assert [(one.workload, one.tier, one.monthly_cost) for one in made.without] == [
        ("tpcc", "premium-v2", 255.0)
    ]
    assert "premium-v2 is not enough for tpcc" in made.reason
    assert made.reason.endswith("Without tpcc: premium-v2, 255.00 USD a month")


def at_look(workload: str, share: float) -> Contest:
    """Judged at a look that has this share of the chance of error."""
    tiers = [
        Candidate(build_profile(name), {THROUGHPUT: FAST}, "unattributed")
        for name in TIERS
    ]
    return make_contest(workload, tiers, TIERS, ContestRules(5.0, share=share))


@pytest.mark.parametrize("shares", [(1.0, 0.5), (0.5, 1.0)])
def test_an_answer_for_all_is_as_strict_as_its_strictest_workload(
    shares: tuple[float, float],
) -> None:
    contests = [at_look("insert", shares[0]), at_look("tpcc", shares[1])]
    made = cluster_decision.decide_cluster(contests)
    assert made is not None
    assert made.basis.startswith("that a tier is enough for all holds at 97.5 %")
    assert made.confidence_pct == 95.0
    (mean,) = weighed(contests, {"insert": 1.0, "tpcc": 1.0}).contests
    assert mean.rules.share == 0.5


def test_of_two_workloads_that_force_it_neither_alone_is_worth_giving_up() -> None:
    made = answer({**FORCED, "insert": FORCED["tpcc"]})
    assert (made.tier, made.without) == ("ultra", ())


def test_a_tier_that_is_open_for_one_workload_is_not_named() -> None:
    made = answer({"point-select": ALIKE, "tpcc": {"premium-v2": NOISY, "ultra": FAST}})
    assert made.standings == {"premium-v2": "open", "ultra": "open"}
    assert made.tier is None
    # Both are open for the same workload, which is said once.
    assert "whether premium-v2 and ultra are enough for tpcc is open" in made.reason


def test_a_workload_without_an_answer_leaves_none_and_that_of_the_others_is_said() -> (
    None
):
    made = answer(FORCED, {"tpcc": "the machine was the limit"})
    assert made.tier is None
    assert "tpcc has no answer" in made.reason
    # Of the others there is one workload, for which the cheapest is enough.
    assert made.reason.endswith("Without tpcc: premium-v2, 255.00 USD a month")


def test_a_tier_without_figures_in_one_workload_is_open() -> None:
    made = answer({"point-select": ALIKE, "tpcc": {"ultra": FAST}})
    assert made.standings["premium-v2"] == "open"


@pytest.mark.parametrize(
    "rates", [{"tpcc": ALIKE}, {"tpcc": {"ultra": FAST}, "insert": {"ultra": FAST}}]
)
def test_one_workload_or_one_tier_needs_none(
    rates: Mapping[str, Mapping[str, Sequence[float]]],
) -> None:
    assert decide(rates) is None


def test_it_is_the_first_answer_of_a_report() -> None:
    values = {(tier, load): FAST for tier in TIERS for load in ("insert", "tpcc")}
    campaign = build_campaign(workloads=["insert", "tpcc"], values=values, frames=False)
    verdict = judge(campaign)
    assert verdict.cluster is not None
    document = documents.arrange(campaign, verdict)
    assert document.brief.what.startswith(f"Buy {verdict.cluster.tier} (")
    assert [card.workload for card in document.answers] == ["insert", "tpcc"]


def test_a_wrong_tier_is_named_in_few_campaigns_where_each_is_just_not_enough() -> None:
    counts = bench_cluster.simulate("normal", "both just below in all", 5, 100, seed=3)
    assert counts.wrong <= 11, "one-sided binomial of 5 % at 0.5 %"


TENTH = tuple(0.9 * rate for rate in FAST)
LITTLE_WORK: Mapping[str, Mapping[str, Sequence[float]]] = {
    "point-select": ALIKE,
    "tpcc": {"premium-v2": TENTH, "ultra": FAST},
}


@pytest.mark.parametrize(
    ("weights", "tier"),
    [
        ({}, "ultra"),
        ({"point-select": 9, "tpcc": 1}, "premium-v2"),  # 0.9 ** 0.1 is 1 % less
        ({"point-select": 1, "tpcc": 9}, "ultra"),
        ({"point-select": 9}, "ultra"),  # the other stays a must
    ],
)
def test_a_loss_in_little_of_the_work_does_not_force_a_dearer_tier(
    weights: Mapping[str, float], tier: str
) -> None:
    made = answer(LITTLE_WORK, weights=weights)
    assert made.tier == tier
    assert made.workloads == ("point-select", "tpcc")
    weighed = "the weighted mean of" in made.reason
    assert weighed == (len(weights) == 2)


def test_a_workload_without_an_answer_leaves_the_weighted_mean_without_one() -> None:
    made = answer(
        LITTLE_WORK, {"tpcc": "its data differ"}, {"point-select": 9, "tpcc": 1}
    )
    assert made.tier is None and "has no answer" in made.reason


@pytest.mark.parametrize(
    "change", [on("premium-v2", failing(20)), on("premium-v2", without_p99)]
)
def test_what_refuses_a_tier_in_one_workload_refuses_it_in_the_mean(
    change: Change,
) -> None:
    """Failed transactions are in no rate, and a figure that some runs lack is in no mean."""
    insert = replace_in("insert", change)
    campaign = with_tail(
        build_campaign(
            profiles=("premium-v2", "ultra"),
            workloads=["insert", "tpcc"],
            repetitions=5,
            values={
                (tier, load): FIVE
                for tier in ("premium-v2", "ultra")
                for load in ("insert", "tpcc")
            },
            frames=False,
            change=insert,
        )
    )
    plan = changed_plan(campaign.plan, weights={"insert": 1, "tpcc": 9})
    cluster = judge(replace(campaign, plan=plan)).cluster
    assert cluster is not None
    assert cluster.standings["premium-v2"] != "enough"


FIVE = (600.0, 603.0, 597.0, 601.0, 599.0)


def replace_in(workload: str, change: Change) -> Change:
    return lambda record: change(record) if record.run.workload == workload else record


def test_a_must_is_not_weighed() -> None:
    """The weights of what has an SLO, or a rate of its own, are not looked at."""
    campaign = build_campaign(workloads=["insert", "tpcc"], repetitions=5)
    loads = slo.applied(campaign.plan.workloads, "tpcc nopm > 1000000000", "--need")
    plan = changed_plan(
        campaign.plan, workloads=loads, weights={"insert": 9, "tpcc": 1}
    )
    cluster = judge(replace(campaign, plan=plan)).cluster
    assert cluster is not None and cluster.tier is None
