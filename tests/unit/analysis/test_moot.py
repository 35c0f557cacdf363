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
from orchestrator.analysis.telemetry.causes import cap_causes
from orchestrator.analysis.telemetry.use.node_values import of_figures
from orchestrator.analysis.verdicts import judge
from orchestrator.model import Measurement, Objective, Record, Run, Workload
from tests import loads
from tests.campaign_tables import GIB
from tests.campaigns import build_tier, with_tier
from tests.decision_scenarios import TIERS, Change, asked_for, campaign_of, on


def cached(record: Record) -> Record:
    facts = {**record.facts["database"], "data_bytes": GIB, "cache_bytes": 2 * GIB}
    return replace(record, facts={**record.facts, "database": facts})


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
            "Most runs of insert read from the cache",
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
    assert "This machine limited insert" in answer.sureness.text


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


# ------------------------------------------------------------------ sweeps and rates

P99 = Objective("latency_p99_s", "all", 0.05)


def changed(campaign: Results, change: Change) -> Results:
    """With the change made to the record of each run."""
    runs = [replace(run, record=change(run.record)) for run in campaign.runs]
    return replace(campaign, runs=tuple(runs))


def steady(run: Run, _: Workload) -> list[Measurement]:
    return loads.closed(run, 1000.0, 0.005)


@pytest.mark.parametrize("clauses", [(), (P99,)])
def test_a_sweep_of_cached_data_is_moot_with_an_slo_or_without(
    clauses: tuple[Objective, ...],
) -> None:
    campaign = loads.build(loads.swept("threads=8,16,32", clauses), steady)
    status, _, ends_undecided = sureness(changed(campaign, cached))
    assert (status, ends_undecided) == ("for cached data only", True)


def test_a_sweep_without_an_slo_is_judged_by_the_runs_of_its_ends() -> None:
    """The loads between them, of which two thirds of all runs are, enter no figure."""

    def cached_between(record: Record) -> Record:
        varied = record.workload.varied
        assert varied is not None
        if varied.number in (1.0, 64.0):
            return record
        return cached(record)

    campaign = loads.build(loads.swept("threads=1,2,4,8,16,64"), steady)
    status, _, _ = sureness(changed(campaign, cached_between))
    assert status == "conclusive"


def test_one_end_of_a_sweep_is_half_of_what_is_judged() -> None:
    def cached_at_least(record: Record) -> Record:
        varied = record.workload.varied
        assert varied is not None
        if varied.number == 1.0:
            return cached(record)
        return record

    campaign = loads.build(loads.swept("threads=1,64"), steady)
    status, _, _ = sureness(changed(campaign, cached_at_least))
    assert status == "conclusive"


def test_runs_of_tiers_that_are_not_compared_make_nothing_moot() -> None:
    campaign = loads.build(
        [loads.at_rate(1000.0)], loads.overloaded_unless_ultra, profiles=TIERS
    )
    others = on("premium premium-v2", cached)
    status, _, _ = sureness(changed(campaign, others))
    assert status == "conclusive"


@pytest.mark.parametrize(
    ("cause", "moot"), [("latency_bound", ("assumed latency",)), ("iops_cap", ())]
)
def test_a_rival_that_an_assumed_latency_overloaded_decides_nothing(
    cause: str, moot: tuple[str, ...]
) -> None:
    load = loads.at_rate(1000.0)
    campaign = with_tier(
        loads.build([load], loads.overloaded_unless_ultra),
        "premium",
        latency_assumed=("read", "write"),
    )
    cells = [
        Bottleneck(tier, load.name, "node-1", cause, "", {})  # type: ignore[arg-type]
        for tier in ("premium", "ultra")
    ]
    decisions, _ = decision.decide_all(campaign, cells)
    assert (decisions[0].tier, decisions[0].moot) == ("ultra", moot)


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


def test_a_dearer_tier_without_figures_is_no_cheaper_one() -> None:
    lost = [run.number for run in campaign_of().plan.runs if run.profile == "ultra"]
    answer = judge(campaign_of(failed=lost)).decisions[0]
    assert (answer.tier, answer.cheaper_open) == ("premium", ())
    assert "Left out, having no figures of every run: ultra" in answer.reason


@pytest.mark.parametrize(("times", "cheaper"), [(1.0, ()), (0.999, ("ultra",))])
def test_a_tier_without_figures_that_costs_the_same_is_no_cheaper_one(
    times: float, cheaper: tuple[str, ...]
) -> None:
    lost = [run.number for run in campaign_of().plan.runs if run.profile == "ultra"]
    campaign = campaign_of(failed=lost)
    price = campaign.plan.profile("premium").tier.price
    assert price is not None
    at_price = replace(price, monthly=times * price.monthly)
    campaign = with_tier(campaign, "ultra", price=at_price)
    assert judge(campaign).decisions[0].cheaper_open == cheaper


def test_a_tier_without_figures_and_price_may_be_cheaper() -> None:
    lost = [run.number for run in campaign_of().plan.runs if run.profile == "ultra"]
    campaign = with_tier(campaign_of(failed=lost), "ultra", price=None)
    assert judge(campaign).decisions[0].cheaper_open == ("ultra",)


# ------------------------------------------------------------------ burst


@pytest.mark.parametrize(
    ("above_pct", "title"), [(0.0, "IOPS cap"), (100.0, "burst's IOPS cap")]
)
def test_an_empty_bucket_is_at_its_base(above_pct: float, title: str) -> None:
    """Seconds just below the base save up a little credit, which is no burst."""
    values = of_figures(
        {
            "disk_iops": 500.0,
            "disk_queue_depth": 16.0,
            "iops_of_cap_pct": 100.0,
            "time_at_iops_cap_pct": 100.0,
            "burst_credit_left_pct": 0.01,
            "time_above_base_pct": above_pct,
        }
    )
    cause, *_ = cap_causes.cap_causes(values, build_tier("premium"), "node-1")
    assert cause.text.startswith(
        f"At the {title} 100 % of the time on node-1 (500 IOPS)"
    )


def test_of_means_no_second_is_told() -> None:
    """A run whose figures alone are known: it may have had bursts, or none."""
    values = of_figures(
        {"disk_iops": 480.0, "disk_queue_depth": 16.0, "iops_of_cap_pct": 96.0}
    )
    cause, *_ = cap_causes.cap_causes(values, build_tier("premium"), "node-1")
    assert cause.text.startswith(
        "On average node-1 used 96 % of the IOPS cap (480 IOPS)."
    )
