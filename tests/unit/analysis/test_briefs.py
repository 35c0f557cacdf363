"""The answer in four lines says what is decided, and no more than that."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.brief_sureness import ways_to_settle
from orchestrator.analysis.answers.campaign import campaign_answer
from orchestrator.analysis.answers.one_profile import figures_in_words
from orchestrator.analysis.answers.record import Brief, MeasuredFigure, ProfileFigures
from orchestrator.analysis.conclusions import Decision
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.design import slo
from tests.campaign_tables import GIB
from tests.campaigns import SHAPES, build_campaign, with_tier
from tests.decision_scenarios import RATES, TIERS, asked_for, failing, on, without_p99
from tests.doubted import facts
from tests.one_profile import alone, client_at_its_limit


def brief_of(campaign: Results) -> Brief:
    answer = judge(campaign).answer
    assert answer is not None
    return answer.brief


def compared(**shape: Any) -> Brief:
    return brief_of(build_campaign(**{"repetitions": 5, "frames": False, **shape}))


def test_a_tier_for_all_workloads_is_bought_at_the_price_of_the_profiles_nodes() -> (
    None
):
    brief = compared()
    assert brief.what == (
        "Buy ultra (Ultra Disk, 10,000 IOPS, 250 MB/s): 780.00 USD a month for the disks "
        "of your 3 nodes (list price in westus2)"
    )
    assert brief.why == (
        "In tpcc ultra is 1.09 times as fast as premium-v2, for 525.00 USD a month more."
    )
    assert brief.how_sure == (
        "Proven here, not on real disks, "
        "for point-select, insert and tpcc at 95 % confidence, by 5 repetitions."
    )
    assert brief.not_tested == (
        "Real disks, data of the size in production (scale laptop is not for sizing)."
    )
    assert brief.next_step == (
        "Before you buy, measure it on a real disk: `tierbench init NAME --path /mnt/DISK`."
    )


def test_on_real_disks_it_does_not_say_where_it_is_proven() -> None:
    campaign = build_campaign(workloads=("tpcc",), repetitions=5, frames=False)
    brief = brief_of(with_tier(campaign, enforcement="mounted"))
    assert brief.how_sure.startswith("Proven at 95 % confidence")


def test_a_dearer_tier_that_brings_no_more_is_named_with_its_price() -> None:
    brief = compared(workloads=("point-select",))
    assert brief.what.startswith(
        "Buy premium-v2 (Premium SSD v2, 10,000 IOPS, 250 MB/s): 255.00 USD a month"
    )
    assert brief.why == (
        "In point-select premium-v2 is 2.72 times as fast as premium, for 151.32 USD a month more; "
        "ultra costs 3.06 times as much and is at most 5 % faster."
    )


def test_where_none_is_proven_enough_nothing_is_to_be_bought() -> None:
    brief = compared(noise_pct=12.0, repetitions=4)
    assert brief.what == (
        "No tier to buy yet: none is proven enough for all 3 workloads"
    )
    assert "are open; for point-select it takes" in brief.how_sure
    assert "Proven" not in brief.how_sure
    assert brief.next_step == (
        "Add `--until decided` to the command: it repeats what is open."
    )


def test_how_it_is_worded_what_settles_it_changes_no_next_step() -> None:
    campaign = build_campaign(repetitions=4, noise_pct=12.0, frames=False)
    verdict = judge(campaign)
    decisions: list[Decision] = []
    for decision in verdict.decisions:
        decisions.append(replace(decision, settled_by="measure that again"))
    reworded = replace(verdict, decisions=tuple(decisions), answer=None)
    brief = campaign_answer(campaign, reworded).brief
    assert "measure that again" in brief.how_sure
    assert brief.next_step == brief_of(campaign).next_step
    assert "--until decided" in brief.next_step


def test_of_several_open_workloads_the_brief_settles_the_first() -> None:
    campaign = build_campaign(repetitions=4, noise_pct=12.0, frames=False)
    verdict = judge(campaign)
    decisions: list[Decision] = []
    for decision in verdict.decisions:
        settled_by = f"measure {decision.workload} again"
        decisions.append(replace(decision, settled_by=settled_by))
    reworded = replace(verdict, decisions=tuple(decisions), answer=None)
    asked = Asked(campaign, reworded)
    ways = ways_to_settle(asked, campaign_answer(campaign, reworded))
    assert ways == {"measure point-select again"}


def test_one_run_of_each_proves_nothing() -> None:
    brief = compared(repetitions=1)
    assert brief.what.startswith("No tier to buy yet")
    assert brief.how_sure == "point-select, insert and tpcc are open."
    assert brief.next_step == (
        "Measure each tier several times, such as with `--repeats 5`."
    )


def test_without_prices_it_does_not_say_buy() -> None:
    brief = compared(priced=False)
    assert brief.what == (
        "ultra (Ultra Disk, 10,000 IOPS, 250 MB/s) is enough; whether it is the cheapest "
        "is open"
    )


def test_an_answer_for_cached_data_is_not_a_purchase() -> None:
    brief = compared(workloads=("insert",), change=facts(data_bytes=GIB // 4))
    assert brief.what.startswith(
        "premium (Premium SSD P15, 1,100 IOPS, 125 MB/s) is enough for cached data only"
    )


def test_runs_that_are_lost_are_said_beside_how_sure_it_is() -> None:
    brief = compared(failed=(3,))
    assert "1 of 45 runs left no figures" in brief.how_sure


def test_repetitions_are_those_that_left_figures() -> None:
    """Three of the five of premium failed."""
    values = {("premium", "insert"): (300.0, 301.0, 299.0, 300.5, 299.5)}
    brief = compared(workloads=["insert"], values=values, failed=(4, 7, 10))
    assert brief.how_sure == (
        "Proven here, not on real disks, "
        "at 95 % confidence, by 2 to 5 repetitions; 3 of 15 runs left no figures."
    )


def test_a_tier_that_was_measured_once_does_not_speak_for_the_others() -> None:
    brief = compared(workloads=["insert"], failed=(4, 7, 10, 13))
    assert brief.why == (
        "One repetition of premium gives no interval: at least 2 are needed."
    )
    assert "--repeats" not in brief.next_step


@pytest.mark.parametrize(
    ("without_price", "what"),
    [
        ("premium", "Buy ultra (Ultra Disk, 10,000 IOPS, 250 MB/s): 780.00 USD"),
        # Nobody buys what has no price.
        ("ultra", "ultra (Ultra Disk, 10,000 IOPS, 250 MB/s) is enough; whether"),
    ],
)
def test_no_other_price_is_needed_where_one_tier_alone_is_enough(
    without_price: str, what: str
) -> None:
    """Whatever the others cost, they are proven not to be."""
    slow = (300.0, 301.0, 299.0, 300.5, 299.5)
    values = {("premium", "insert"): slow, ("premium-v2", "insert"): slow}
    campaign = with_tier(
        build_campaign(
            workloads=["insert"], repetitions=5, frames=False, values=values
        ),
        without_price,
        price=None,
    )
    assert brief_of(campaign).what.startswith(what)


def test_no_price_is_needed_where_one_tier_alone_is_enough_for_all_workloads() -> None:
    """For insert each tier is enough, and the price of the cheapest is not known."""
    campaign = build_campaign(workloads=["insert", "tpcc"], repetitions=5, frames=False)
    answer = judge(with_tier(campaign, "premium", price=None)).answer
    assert answer is not None
    assert answer.sureness.word == "conclusive"
    assert answer.brief.what.startswith("Buy ultra (Ultra Disk, 10,000 IOPS, 250 MB/s)")


def test_what_no_run_has_is_not_called_a_figure() -> None:
    p99 = "p99 < 20 ms"
    campaign = build_campaign(
        workloads=["insert"],
        repetitions=5,
        frames=False,
        change=on("premium premium-v2 ultra", without_p99),
    )
    assert brief_of(asked_for(campaign, p99)).why == (
        "Whether premium meets p99 < 20 ms is not proven, as not every run has it."
    )


def test_an_slo_that_every_tier_is_proven_to_miss_is_an_answer() -> None:
    brief = brief_of(
        asked_for(build_campaign(workloads=["tpcc"], frames=False), "throughput > 800")
    )
    assert brief.what == "No tier measured meets throughput > 800/s"
    assert brief.why.startswith("ultra comes nearest: 469 transactions/s (")
    assert brief.why.endswith(", for 780.00 USD a month.")
    assert (
        brief.how_sure
        == "Proven here, not on real disks, at 95 % confidence, by 3 repetitions."
    )
    assert brief.next_step == (
        "Measure a faster tier or a larger cluster, or relax the SLO."
    )


@pytest.mark.parametrize(
    ("clause", "why"),
    [
        ("nopm > 12000", "premium-v2 costs less and misses nopm > 12000 (11,508 NOPM)"),
        (
            "p99 < 1 ms",
            "ultra comes nearest: 123 ms (121 ms to 125 ms), for 780.00 USD",
        ),
    ],
)
def test_a_clause_that_is_missed_has_the_figure_in_its_unit(
    clause: str, why: str
) -> None:
    """Of a rate and of a latency, where less is nearer."""
    campaign = build_campaign(workloads=["tpcc"], frames=False)
    asked = asked_for(campaign, clause)
    assert brief_of(asked).why.startswith(why)


def test_of_several_workloads_it_says_whose_slo_none_meets() -> None:
    campaign = build_campaign(workloads=["point-select", "tpcc"], frames=False)
    select, tpcc = campaign.plan.workloads
    loads = (select, *slo.applied((tpcc,), "throughput > 800", "--slo"))
    brief = brief_of(replace(campaign, plan=replace(campaign.plan, workloads=loads)))
    assert brief.what == "No tier measured meets throughput > 800/s for tpcc"


def test_a_tier_without_figures_may_meet_an_slo_that_the_others_miss() -> None:
    campaign = build_campaign(
        workloads=["tpcc"], missing=[("ultra", "tpcc")], frames=False
    )
    brief = brief_of(asked_for(campaign, "throughput > 800"))
    assert brief.what == "No tier to buy yet for tpcc"


def test_one_profile_leaves_open_what_to_buy() -> None:
    brief = compared(profiles=("ultra",), workloads=("tpcc",), repetitions=1)
    assert brief.next_step.endswith("measure another beside it: `tierbench compare`.")


def test_one_profile_that_meets_its_slo_says_so_with_its_figure() -> None:
    brief = brief_of(alone("throughput > 100"))
    assert brief.what == "premium meets throughput > 100/s (600 transactions/s)"
    assert (
        brief.how_sure
        == "Proven here, not on real disks, at 95 % confidence; measured 5 times."
    )


def test_one_profile_whose_transactions_fail_misses_its_slo() -> None:
    brief = brief_of(alone("throughput > 100", change=failing(20)))
    assert "premium misses failures < 1 %" in brief.what
    assert (
        brief.how_sure
        == "Proven here, not on real disks, at 95 % confidence; measured 5 times."
    )


def test_whose_latency_one_profile_has_is_told_where_only_one_is_known() -> None:
    rate = MeasuredFigure("nopm", "all", 8505.0, "1/min", 3)
    average = MeasuredFigure("latency_avg_s", "new_order", 0.012, "s", 3)
    p99 = MeasuredFigure("latency_p99_s", "new_order", 0.04, "s", 3)
    of_new_order = ProfileFigures("ultra", rate, average, None)
    assert figures_in_words(of_new_order) == (
        "ultra did 8,505 NOPM; New-Order latency average 12 ms (n = 3)."
    )
    assert figures_in_words(replace(of_new_order, latency_avg=None)) == (
        "ultra did 8,505 NOPM (n = 3)."
    )
    only_p99 = replace(of_new_order, latency_avg=None, latency_p99=p99)
    assert figures_in_words(only_p99) == (
        "ultra did 8,505 NOPM; New-Order latency 99th percentile 40 ms (n = 3)."
    )
    of_all = replace(only_p99, latency_p99=replace(p99, scope="all"))
    assert "; latency 99th percentile 40 ms" in figures_in_words(of_all)


def test_one_run_of_one_profile_says_what_it_did_and_that_runs_may_differ() -> None:
    brief = compared(profiles=("ultra",), workloads=("tpcc",), repetitions=1)
    assert brief.what == "ultra did 12,729 NOPM, p99 171 ms"
    assert brief.how_sure.startswith("Measured once")
    assert brief.price == (
        "780.00 USD a month for the disks of your 3 nodes (list price in westus2): "
        "Ultra Disk, 10,000 IOPS, 250 MB/s."
    )


def test_a_machine_that_was_the_limit_is_why() -> None:
    brief = brief_of(client_at_its_limit())
    assert brief.what == (
        "premium is not proven to meet throughput > 5000/s: this machine was the limit"
    )
    assert brief.how_sure == (
        "Measured 5 times; host saturated in all 5 runs; "
        "limited by this machine in all 5 runs."
    )
    assert "do not judge the tier by it" in brief.why


def test_a_line_without_anything_to_say_is_left_out() -> None:
    assert Brief("x", why="y").lines == (("Why", "y"),)


# ------------------------------------------------------------------ no more than is decided


def test_amounts_of_two_currencies_are_not_subtracted() -> None:
    campaign = build_campaign(repetitions=5, workloads=("tpcc",), frames=False)
    profiles = []
    for profile in campaign.plan.profiles:
        price = profile.tier.price
        if profile.name == "premium-v2" and price is not None:
            price = replace(price, currency="EUR")
        profiles.append(replace(profile, tier=replace(profile.tier, price=price)))
    plan = replace(campaign.plan, profiles=tuple(profiles))
    brief = brief_of(replace(campaign, plan=plan))
    assert brief.what.startswith("Buy ultra (Ultra Disk"), "no other is enough"
    assert "525" not in brief.why and "3.06" not in brief.why


def priced(campaign: Results, **prices: tuple[float, str]) -> Results:
    """At these prices of a disk a month; `v2` is premium-v2."""
    profiles = []
    for profile in campaign.plan.profiles:
        monthly, currency = prices[profile.name.removeprefix("premium-")]
        price = profile.tier.price
        assert price is not None
        price = replace(price, monthly=monthly, currency=currency)
        profiles.append(replace(profile, tier=replace(profile.tier, price=price)))
    return replace(campaign, plan=replace(campaign.plan, profiles=tuple(profiles)))


def times(first: float, second: float, third: float) -> dict[str, Any]:
    """Rates of the three tiers, from the one with the lowest limits."""
    factors = (first, second, third)
    return {
        tier: [rate * factor for rate in RATES]
        for tier, factor in zip(TIERS, factors, strict=True)
    }


def test_the_neighbour_in_price_is_found_by_price_and_not_by_limits() -> None:
    """With two currencies the tiers stand in the order of their limits."""
    values = {(tier, "insert"): rates for tier, rates in times(0.5, 1, 1).items()}
    campaign = build_campaign(
        repetitions=5, workloads=("insert",), values=values, frames=False
    )
    prices = {"premium": (200.0, "USD"), "v2": (85.0, "USD"), "ultra": (90.0, "EUR")}
    brief = brief_of(priced(campaign, **prices))
    assert brief.what.startswith(
        "premium-v2 (Premium SSD v2, 10,000 IOPS, 250 MB/s) is enough"
    )
    assert "for -" not in brief.why and "costs less" not in brief.why


def test_beside_an_slo_nothing_is_said_of_how_much_faster_the_dearer_tier_is() -> None:
    values = {("insert", tier): rates for tier, rates in times(1, 1, 3).items()}
    values |= {
        ("point-select", tier): rates for tier, rates in times(0.5, 1, 1).items()
    }
    campaign = build_campaign(
        repetitions=5,
        workloads=("point-select", "insert"),
        values={(tier, load): rates for (load, tier), rates in values.items()},
        frames=False,
    )
    select, insert = campaign.plan.workloads
    loads = (select, *slo.applied((insert,), "throughput > 100", "--slo"))
    brief = brief_of(replace(campaign, plan=replace(campaign.plan, workloads=loads)))
    assert brief.what.startswith("Buy premium-v2")
    assert "ultra costs 3.06 times as much and is not needed" in brief.why


def test_a_tier_that_meets_the_slo_says_with_which_figures() -> None:
    campaign = asked_for(
        build_campaign(workloads=("tpcc",), repetitions=5, frames=False),
        "new_order p99 < 300 ms, nopm > 8000",
    )
    assert re.fullmatch(
        r"premium meets new_order p99 < 300 ms \(2\d\d ms\) and nopm > 8000 \(8,\d+ NOPM\); "
        r"premium-v2 costs 2.46 times as much and is not needed\.",
        brief_of(campaign).why,
    )


def test_a_tier_that_this_machine_held_back_misses_nothing() -> None:
    values = {(tier, "insert"): rates for tier, rates in times(0.5, 1, 1).items()}
    cell = ("premium", "insert")
    campaign = build_campaign(
        repetitions=5,
        workloads=("insert",),
        values=values,
        shapes={cell: replace(SHAPES[cell], client_cpu_pct=92.0)},
        measure_s=30.0,
    )
    loads = slo.applied(campaign.plan.workloads, "throughput > 400", "--slo")
    held_back = replace(campaign, plan=replace(campaign.plan, workloads=loads))
    brief = brief_of(held_back)
    assert brief.what.endswith("whether premium would be enough is open")
    assert "; for premium this machine was the limit" in brief.how_sure
    assert "--until" not in brief.next_step, "repetitions would not settle it"
    assert "misses" not in brief.why
    (decision,) = judge(held_back).decisions
    assert "is open: this machine was the limit" in decision.reason
    assert "more repetition" not in decision.reason


def test_without_prices_it_does_not_say_buy_though_a_run_is_lost_too() -> None:
    brief = compared(priced=False, failed=(3,))
    assert not brief.what.startswith("Buy")


def test_a_tier_without_figures_is_untested_and_compared_with_nothing() -> None:
    brief = compared(
        workloads=("point-select",),
        missing=[("ultra", "point-select")],
    )
    assert "ultra is at most" not in brief.why
    assert "ultra (no run left figures)" in brief.not_tested


def test_a_tier_is_enough_among_those_measured_while_a_dearer_one_lacks_figures() -> (
    None
):
    """Ultra is 9 % faster than premium-v2 where it is measured, and then premium is not named."""
    alike = {("premium", "tpcc"): SHAPES["premium-v2", "tpcc"]}
    measured = compared(workloads=("tpcc",), shapes=alike)
    assert measured.what.startswith("Buy ultra"), measured.what
    lost = compared(workloads=("tpcc",), shapes=alike, missing=[("ultra", "tpcc")])
    assert lost.what.startswith("premium (")
    assert "is enough among the tiers measured" in lost.what
    assert lost.what.endswith("; ultra was not compared, and may be better")
    assert lost.next_step == "Measure again, because ultra was not compared."


def test_a_tier_that_lacks_figures_of_one_workload_may_be_the_best_of_all() -> None:
    shapes = {("premium", "tpcc"): SHAPES["premium-v2", "tpcc"]}
    brief = compared(
        workloads=("insert", "tpcc"), shapes=shapes, missing=[("ultra", "tpcc")]
    )
    assert "is enough among the tiers measured" in brief.what
    assert brief.next_step == "Measure again, because ultra was not compared."


def test_with_an_slo_a_dearer_tier_without_figures_changes_no_purchase() -> None:
    campaign = build_campaign(
        workloads=("tpcc",), frames=False, missing=[("ultra", "tpcc")]
    )
    brief = brief_of(asked_for(campaign, "nopm > 1"))
    assert brief.what.startswith("Buy premium"), brief.what


def test_the_reason_is_the_figure_by_which_it_was_decided() -> None:
    """Throughput is alike; too many transactions of the cheapest fail."""
    alike = dict.fromkeys(("premium", "premium-v2", "ultra"), RATES)
    brief = compared(
        workloads=("insert",),
        values={(tier, "insert"): rates for tier, rates in alike.items()},
        change=on("premium", failing(20)),
    )
    assert "premium costs less and misses failures < 1 %" in brief.why


def test_runs_that_were_lost_do_not_count_as_measured() -> None:
    brief = compared(
        profiles=("ultra",), workloads=("tpcc",), repetitions=3, failed=(1, 2)
    )
    assert brief.how_sure.startswith("Measured once")
    assert "2 of 3 runs left no figures" in brief.how_sure


def test_what_it_takes_is_said_once() -> None:
    brief = compared(workloads=("insert",), noise_pct=12.0, repetitions=4)
    assert "more repetitions" in brief.how_sure
    assert "more repetitions" not in brief.why
