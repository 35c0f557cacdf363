"""The first word and the exit code follow what was decided, of one profile as of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.analysis.answers.campaign import campaign_answer, is_undecided
from orchestrator.analysis.answers.record import Answer
from orchestrator.analysis.conclusions import Bottleneck
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.design import slo
from orchestrator.facts import BottleneckCause
from orchestrator.model import Measurement, Run, Workload
from orchestrator.tier import Price
from tests import loads
from tests.campaign_tables import GIB
from tests.campaigns import build_campaign
from tests.decision_scenarios import RATES, failing
from tests.doubted import facts
from tests.one_profile import alone, client_at_its_limit
from tests.plans import changed_plan

CACHED = facts(data_bytes=GIB // 4)


def answer_of(campaign: Results) -> Answer:
    answer = judge(campaign).answer
    assert answer is not None
    return answer


def p99_below_20_ms() -> tuple[Any, ...]:
    (load,) = slo.applied((loads.a_load(),), "p99 < 20 ms", "--slo")
    return load.slo


def overloaded() -> Results:
    load = loads.at_rate(1000.0, slo=p99_below_20_ms())
    return loads.build(
        [load],
        lambda run, _: loads.flow(run, 1000.0, 800.0, 5.0),
        profiles=["premium"],
    )


def swept(*latencies_s: float, profiles: tuple[str, ...] = ("premium",)) -> Results:
    """At 8, 16 and 32 threads, with these average latencies; p99 is three times as much."""
    workloads = loads.swept("threads=8,16,32", slo=p99_below_20_ms())
    by_load = {
        load.name: latency_s
        for load, latency_s in zip(workloads, latencies_s, strict=True)
    }
    return loads.build(
        workloads,
        lambda run, _: loads.closed(run, 1000.0, by_load[run.workload]),
        profiles=profiles,
    )


# ------------------------------------------------------------------ one profile


@pytest.mark.parametrize(
    ("campaign", "word", "says"),
    [
        (
            lambda: alone("throughput > 100", change=failing(20)),
            "SLO missed",
            "premium misses failures < 1 %: 20 %",
        ),
        (
            lambda: alone("throughput > 100", change=facts(durable=False)),
            "SLO open",
            "commits not durable",
        ),
        (
            lambda: alone("throughput > 100", change=CACHED),
            "for cached data only",
            "premium meets throughput > 100/s (600 transactions/s). Most runs of insert read from "
            "the cache",
        ),
        (
            lambda: alone("throughput > 100", measure_s=10.0),
            "for short windows only",
            "measured for less than 30 s",
        ),
        (client_at_its_limit, "SLO open", "this machine was the limit"),
        (overloaded, "SLO open", "overloaded at the rate asked for (premium)"),
    ],
)
def test_one_profile_is_not_said_to_meet_or_miss_what_was_not_decided(
    campaign: Callable[[], Results], word: str, says: str
) -> None:
    answer = answer_of(campaign())
    assert answer.sureness.word == word
    assert says in answer.sureness.text
    assert is_undecided(answer)


def test_a_clause_is_missed_only_if_the_machine_was_not_the_limit() -> None:
    (part,) = answer_of(client_at_its_limit()).parts
    assert [clause.word for clause in part.slo] == ["open"]


def test_a_clause_is_met_only_if_something_may_be_concluded() -> None:
    campaign = alone("throughput > 100", change=facts(durable=False))
    (part,) = answer_of(campaign).parts
    assert [clause.word for clause in part.slo] == ["open"]


@pytest.mark.parametrize(
    ("latencies_s", "word", "clause", "says"),
    [
        ((0.001, 0.001, 0.001), "SLO met", "met", "premium meets p99 < 20 ms"),
        ((0.5, 0.5, 0.5), "SLO missed", "missed", "at 8 threads it misses p99"),
        ((0.001, 0.001, 0.5), "SLO missed", "missed", "at 32 threads it misses p99"),
    ],
)
def test_a_sweep_of_one_profile_meets_its_slo_or_misses_it(
    latencies_s: tuple[float, ...], word: str, clause: str, says: str
) -> None:
    answer = answer_of(swept(*latencies_s))
    (part,) = answer.parts
    assert answer.sureness.word == word
    assert [result.word for result in part.slo] == [clause]
    assert says in answer.sureness.headline
    assert is_undecided(answer) is (word != "SLO met")


def test_the_tier_named_for_a_sweep_meets_its_slo() -> None:
    campaign = swept(0.001, 0.001, 0.001, profiles=("premium", "ultra"))
    (part,) = answer_of(campaign).parts
    assert part.tier == "premium"
    assert [result.word for result in part.slo] == ["met"]


# ------------------------------------------------------------------ several workloads


def of_two(values: dict[tuple[str, str], list[float]], **weights: float) -> Results:
    campaign = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert", "point-select"],
        repetitions=5,
        values=values,
        frames=False,
    )
    named = {name.replace("_", "-"): weight for name, weight in weights.items()}
    return replace(campaign, plan=changed_plan(campaign.plan, weights=named))


STEADY = [600.0, 601.0, 599.0, 602.0, 598.0]
# Each tier is the faster one in one of the two workloads.
CROSSING = {
    ("premium", "insert"): list(RATES),
    ("ultra", "insert"): [0.6 * rate for rate in RATES],
    ("premium", "point-select"): [0.5 * rate for rate in RATES],
    ("ultra", "point-select"): list(RATES),
}
NOISY = {
    ("premium", "insert"): [600.0, 640.0, 560.0, 610.0, 590.0],
    ("ultra", "insert"): [300.0, 310.0, 320.0, 290.0, 300.0],
    ("premium", "point-select"): [300.0, 320.0, 280.0, 310.0, 290.0],
    ("ultra", "point-select"): STEADY,
}
# Premium is as fast in the one, half as fast in the other, which has little weight.
AT_THE_MARGIN = {
    ("premium", "insert"): [600.0, 604.0, 596.0, 601.0, 599.0],
    ("ultra", "insert"): STEADY,
    ("premium", "point-select"): [300.0, 310.0, 290.0, 305.0, 295.0],
    ("ultra", "point-select"): STEADY,
}


@pytest.mark.parametrize(
    "campaign",
    [lambda: of_two(CROSSING), lambda: of_two(NOISY, insert=1.0, point_select=1.0)],
)
def test_no_tier_for_all_workloads_is_not_conclusive(
    campaign: Callable[[], Results],
) -> None:
    answer = answer_of(campaign())
    assert [part.tier for part in answer.parts] == ["premium", "ultra"]
    assert answer.together is not None and answer.together.tier is None
    assert answer.sureness.word == "partly conclusive"
    assert "No tier is proven enough for all workloads together" in answer.sureness.text
    assert is_undecided(answer)


def test_a_cheaper_tier_that_is_open_in_the_mean_is_told() -> None:
    answer = answer_of(of_two(AT_THE_MARGIN, insert=12.6, point_select=1.0))
    together = answer.together
    assert together is not None and together.tier == "ultra"
    assert together.proof == "proven, cheaper open"
    assert together.cheaper_open == ("premium",)
    assert answer.sureness.word == "enough; cheaper not excluded"
    assert is_undecided(answer)


def test_workloads_that_are_proven_alone_prove_nothing_of_their_mean() -> None:
    """ "Proven by the weighted mean of the workloads" stood there, which was open."""
    answer = answer_of(of_two(NOISY, insert=1.0, point_select=1.0))
    assert answer.brief.how_sure == (
        "Proven here, not on real disks, "
        "for insert and point-select, each alone, at 95 % confidence, by 5 repetitions."
    )


def test_a_tier_that_is_excluded_for_all_is_open_for_one_workload_alone() -> None:
    """It misses the SLO in the other workload, so for both it is not open."""

    def figures(run: Run, workload: Workload) -> Sequence[Measurement]:
        if run.profile != "premium":
            return loads.closed(run, 1000, 0.010)
        if workload.name == "insert":
            noise = {1: 0.9, 2: 1.0, 3: 1.1}[run.repetition]
            return loads.closed(run, 950, 0.012 * noise)
        return loads.closed(run, 300, 0.033)

    clauses = slo.parse("p99 < 36 ms", "--slo")
    workloads = [loads.a_load(name, clauses) for name in ("insert", "point-select")]
    brief = answer_of(loads.build(workloads, figures)).brief
    assert brief.what.endswith(
        "; whether premium would be enough for insert alone is open"
    )
    assert brief.how_sure.startswith(
        "Proven here, not on real disks, for point-select at 95 % confidence, "
        "by 3 repetitions; for insert ultra is proven "
        "enough, and whether premium would be is open; "
    )


def test_a_lost_run_hides_no_moot_question() -> None:
    """A planned run without a record, beside runs of cached data alone."""
    campaign = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        repetitions=5,
        frames=False,
        noise_pct=0.3,
        change=CACHED,
    )
    answer = answer_of(replace(campaign, runs=campaign.runs[:-1]))
    assert answer.sureness.word == "for cached data only"
    assert "1 of 10 planned runs left no figures" in answer.sureness.text
    assert is_undecided(answer)


def test_the_price_of_machines_is_in_that_of_the_tier_only_where_it_is() -> None:
    """Tiers on unlike machines are compared with these in the one workload, and the other tier left
    no figures of the other workload, so that price there is that of the disks."""
    campaign = build_campaign(
        workloads=["insert", "point-select"],
        repetitions=3,
        frames=False,
        noise_pct=0.3,
        missing=[("ultra", "point-select")],
    )
    monthly = {"premium": 300.0, "premium-v2": 300.0, "ultra": 600.0}
    profiles = []
    for profile in campaign.plan.profiles:
        amount = monthly[profile.name]
        price = Price(amount, "USD", "westus2", "2026-01-01", "list of machines")
        cluster = replace(profile.cluster, vm=f"azure/D{amount:.0f}", vm_price=price)
        profiles.append(replace(profile, cluster=cluster))
    plan = replace(campaign.plan, profiles=tuple(profiles))
    insert, select = answer_of(replace(campaign, plan=plan)).parts
    assert insert.purchase is not None and insert.purchase.price is not None
    assert select.purchase is not None and select.purchase.price is not None
    assert insert.purchase.price.covers == "disks and machines"
    assert insert.purchase.machines_in_price
    assert select.purchase.price.covers == "disks"
    assert not select.purchase.machines_in_price


def test_tiers_proven_alike_are_not_said_to_differ() -> None:
    """The dearer one was limited by a latency that is an assumption: another one may change it."""
    campaign = build_campaign(
        profiles=["premium", "ultra"], workloads=["insert"], frames=False
    )
    verdict = judge(campaign)
    (decision,) = verdict.decisions
    moot = replace(decision, tier="premium", moot=("assumed latency",))
    answer = campaign_answer(campaign, replace(verdict, decisions=(moot,)))
    assert answer.sureness.word == "not decided: latency assumed"
    assert "differ" not in answer.sureness.text
    assert "rests on latencies that nobody measured" in answer.sureness.text


@pytest.mark.parametrize(
    ("cause", "says"),
    [
        ("unattributed", "What limited it is not known."),
        ("cpu_bound", "Limited by the CPU of the nodes."),
        ("iops_cap", "Limited by the disk's IOPS."),
    ],
)
def test_what_limited_one_profile_is_said_in_words(
    cause: BottleneckCause, says: str
) -> None:
    campaign = alone("throughput > 100")
    limit = Bottleneck("premium", "insert", "node-1", cause, "", {})
    verdict = replace(judge(campaign), bottlenecks=(limit,), answer=None)
    assert campaign_answer(campaign, verdict).sureness.text.endswith(says)
