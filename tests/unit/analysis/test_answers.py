"""The answer as data: what each kind of question says of what to buy, and where it says nothing."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from orchestrator.analysis.answers import phrases, speeds
from orchestrator.analysis.answers.campaign import (
    campaign_answer,
    has_lost_runs,
    is_undecided,
)
from orchestrator.analysis.answers.one_profile import figures_in_words
from orchestrator.analysis.answers.record import (
    Answer,
    DisksToBuy,
    MeasuredFigure,
    MonthlyPrice,
    NextStep,
    PartAnswer,
    ProfileFigures,
    SloClause,
    Sureness,
    Tally,
    TierLimit,
)
from orchestrator.analysis.conclusions import (
    Bottleneck,
    Delta,
    VariedWorkload,
    Verdict,
)
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.model import Objective
from tests import report_verdicts
from tests.campaigns import build_campaign

V2_PRICE = MonthlyPrice(
    85.0, "USD", "disks", 1, "westus2", "2026-01-01", "example price list"
)
V2 = DisksToBuy(
    tier="premium-v2",
    price=V2_PRICE,
    title="Premium SSD v2",
    iops=10_000,
    bytes_per_s=250_000_000,
    nodes=1,
    disks=1,
)


@pytest.fixture(scope="module")
def several() -> Answer:
    """Of three workloads, of which one has no answer, and 3 of 18 runs are lost."""
    return campaign_answer(
        report_verdicts.reported_campaign(frames=False), report_verdicts.verdict()
    )


# ------------------------------------------------------------------ tiers compared


def test_each_workload_has_its_part(several: Answer) -> None:
    assert several.kind == "comparison"
    assert several.parts[0] == PartAnswer(
        subject="point-select",
        about="workload",
        purchase=V2,
        why=("premium-v2 is the cheapest tier within 5 % of the best throughput.",),
        claims=("the cheapest tier within 5 % of the best throughput",),
        proof="proven",
        confidence_pct=90.0,
    )
    assert [(part.tier, part.proof) for part in several.parts] == [
        ("premium-v2", "proven"),
        (None, "not decided"),
        ("premium", "proven"),
    ]


def test_all_workloads_together_have_one_purchase_or_none(several: Answer) -> None:
    assert several.together == PartAnswer(
        subject="all 3 workloads",
        about="all workloads",
        purchase=None,
        why=(
            "No tier can be proven enough for all 3 workloads together: insert has no answer. "
            "Without insert: premium-v2, 85.00 USD a month.",
        ),
        claims=("no tier can be proven enough for all 3 workloads together",),
        proof="not decided",
        confidence_pct=90.0,
    )
    assert several.is_for_all and several.purchase is None and several.limits == ()
    assert phrases.choice(several, several.parts[0]) == "premium-v2"
    assert phrases.choice(several, several.parts[1]) == "no answer"


def test_how_sure_it_is_rests_on_counts(several: Answer) -> None:
    assert several.sureness == Sureness(
        word="partly conclusive",
        text=(
            "2 of 3 workloads have an answer; 10 of 12 comparisons came to a verdict. "
            "3 of 18 planned runs left no figures."
        ),
        tally=Tally(
            workloads=3,
            workloads_answered=2,
            comparisons=12,
            comparisons_settled=10,
            runs_planned=18,
            runs_lost=3,
            runs_excluded=0,
            runs_failed=1,
        ),
    )
    assert is_undecided(several) and has_lost_runs(several)


def test_what_was_not_tested_is_of_a_kind_and_in_words(several: Answer) -> None:
    assert [(item.kind, item.text[:33]) for item in several.untested] == [
        ("real disks", "the disks of premium, premium-v2,"),
        ("number of nodes", "premium: 1 database node instead "),
        ("number of nodes", "premium-v2: 1 database node inste"),
        ("number of nodes", "ultra: 1 database node instead of"),
        ("database", "PostgreSQL stands in for Yugabyte"),
        ("size of the data", "Less data and shorter runs than t"),
    ]


def test_who_is_faster_is_a_ratio_with_bounds(several: Answer) -> None:
    """ultra did 6.5 % (8.5 to 4.5 %) fewer New-Orders, so premium is 1 / 0.935 times as fast."""
    _, _, alike, faster = several.comparisons
    assert (alike.workload, alike.word, alike.faster, alike.times) == (
        "tpcc",
        "not proven",
        None,
        None,
    )
    assert (faster.word, faster.faster, faster.slower, faster.metric) == (
        "faster",
        "premium",
        "ultra",
        "nopm",
    )
    assert faster.times_low == pytest.approx(1 / 0.955)
    assert faster.times == pytest.approx(1 / 0.935)
    assert faster.times_high == pytest.approx(1 / 0.915)


def test_an_interval_that_ends_at_minus_100_percent_bounds_no_ratio() -> None:
    """JSON has no infinity: the end is null, and said as `or more`."""
    slower = Delta(
        baseline="premium",
        contender="ultra",
        workload="insert",
        metric="throughput_per_s",
        scope="all",
        unit="1/s",
        direction="higher",
        n_baseline=3,
        n_contender=3,
        change_pct=-50.0,
        ci_low_pct=-100.0,
        ci_high_pct=-20.0,
        verdict="worse",
        reason="",
    )
    comparison = speeds.compared([slower])
    assert (
        json.loads(json.dumps(asdict(comparison), allow_nan=False))["times_high"]
        is None
    )
    assert (comparison.times, comparison.times_low) == (2.0, 1.25)
    words = "premium was 2 times as fast as ultra (1.25 or more)"
    assert speeds.in_words(comparison) == words
    bounded = speeds.compared([replace(slower, ci_low_pct=-60.0)])
    assert bounded.times_high == 2.5
    assert speeds.in_words(bounded).endswith(" (1.25 to 2.50)")


UNPROVEN = Delta(
    "premium", "ultra", "insert", "throughput_per_s", "all", "1/s", "higher", 3, 3, 10.0,
    0.5, 20.0, "inconclusive", "it may be chance",
)  # fmt: skip


@pytest.mark.parametrize(
    ("low_pct", "high_pct", "lacks"),
    [
        (0.5, 20.0, "it may be chance"),
        (-20.0, -0.5, "it may be chance"),
        # Its interval does not exclude that nothing changed.
        (0.0, 20.0, ""),
        (-20.0, 0.0, ""),
        (None, None, ""),
    ],
)
def test_what_a_proof_lacks_is_told_of_a_change_in_one_direction(
    low_pct: float | None, high_pct: float | None, lacks: str
) -> None:
    delta = replace(UNPROVEN, ci_low_pct=low_pct, ci_high_pct=high_pct)
    assert speeds.compared([delta]).lacks == lacks


@pytest.mark.parametrize(
    ("contenders", "words"),
    [
        (["ultra"], "ultra is as fast as premium"),
        (["ultra", "gp3"], "ultra and gp3 are as fast as premium"),
    ],
)
def test_tiers_that_are_alike_are_named_together(
    contenders: list[str], words: str
) -> None:
    alike = [
        speeds.compared([replace(UNPROVEN, contender=name, verdict="same")])
        for name in contenders
    ]
    assert list(speeds.in_short(alike)) == [words]


def with_decision(**changes: object) -> tuple[Results, Verdict]:
    """One workload whose decision is changed so."""
    campaign = build_campaign(workloads=["insert"], noise_pct=0.3, frames=False)
    verdict = judge(campaign)
    (decision,) = verdict.decisions
    changed = replace(decision, **changes)  # type: ignore[arg-type]
    return campaign, replace(verdict, decisions=(changed,), answer=None)


def test_one_workload_is_the_whole_answer() -> None:
    answer = campaign_answer(*with_decision())
    assert answer.together is None and answer.is_for_all
    assert answer.purchase == DisksToBuy(
        tier="premium",
        price=MonthlyPrice(
            amount=103.68,
            currency="USD",
            covers="disks",
            nodes=3,
            region="westus2",
            as_of="2026-01-01",
            source="example price list",
        ),
        title="Premium SSD P15",
        iops=1_100,
        bytes_per_s=125_000_000,
        nodes=3,
        disks=3,
    )
    assert answer.sureness.word == "conclusive" and answer.next_steps == ()
    assert not is_undecided(answer) and not has_lost_runs(answer)
    assert answer.brief.what.startswith(
        "Buy premium (Premium SSD P15, 1,100 IOPS, 125 MB/s): "
    )


def test_a_verdict_holds_its_answer() -> None:
    campaign = build_campaign(workloads=["insert"], frames=False)
    verdict = judge(campaign)
    assert verdict.answer == campaign_answer(campaign, replace(verdict, answer=None))


@pytest.mark.parametrize(
    ("changes", "word", "proof"),
    [
        ({}, "conclusive", "proven"),
        (
            {"cheaper_open": ("premium",)},
            "enough; cheaper not excluded",
            "proven, cheaper open",
        ),
        ({"without_prices": "chosen by limits"}, "enough; price open", "proven"),
        ({"tier": None, "is_open": True}, "not conclusive", "open"),
        ({"tier": None, "is_open": False}, "not conclusive", "not decided"),
    ],
)
def test_the_word_on_top_follows_from_the_decisions(
    changes: dict[str, object], word: str, proof: str
) -> None:
    answer = campaign_answer(*with_decision(**changes))
    (part,) = answer.parts
    assert (answer.sureness.word, part.proof) == (word, proof)


@pytest.mark.parametrize(
    ("proof", "undecided"),
    [
        ("proven", False),
        ("proven, cheaper open", True),
        ("open", True),
        ("not decided", True),
        ("not compared", True),
        ("not judged", False),
    ],
)
def test_what_is_undecided_ends_with_another_exit_code(
    proof: str, undecided: bool
) -> None:
    part = PartAnswer("insert", "workload", None, (), proof)  # type: ignore[arg-type]
    answer = Answer("comparison", (part,), None, Sureness("conclusive", ""))
    assert is_undecided(answer) is undecided


def test_how_it_was_chosen_without_prices_stands_before_the_counts() -> None:
    answer = campaign_answer(*with_decision(without_prices="chosen by limits: why"))
    assert answer.sureness.text == (
        "Chosen by limits: why. 1 of 1 workload has an answer; "
        "6 of 6 comparisons came to a verdict."
    )


def test_one_repetition_gives_no_answer_and_asks_for_more() -> None:
    campaign = build_campaign(workloads=["insert"], repetitions=1, frames=False)
    answer = campaign_answer(campaign, judge(campaign))
    assert answer.purchase is None and answer.sureness.text == (
        "No workload has an answer. One run of each cannot tell a difference from chance."
    )
    assert answer.next_steps == (NextStep("repeat", "insert", None),)


def test_a_workload_without_a_decision_says_so() -> None:
    campaign, verdict = with_decision()
    answer = campaign_answer(campaign, replace(verdict, decisions=()))
    (part,) = answer.parts
    assert part.why == ("No decision was recorded.",) and part.proof == "not judged"


def test_what_limits_the_tier_to_buy_is_told_of_it_alone() -> None:
    campaign, verdict = with_decision()
    limit = Bottleneck("premium", "insert", "node-2", "iops_cap", "At its cap.", {})
    other = replace(limit, profile="ultra")
    answer = campaign_answer(campaign, replace(verdict, bottlenecks=(other, limit)))
    assert answer.limits == (TierLimit("insert", "node-2", "iops_cap", "At its cap."),)


def test_without_a_cluster_each_workload_has_an_answer(several: Answer) -> None:
    apart = replace(several, together=None)
    assert apart.purchase is None and not apart.is_for_all


# ------------------------------------------------------------------ an SLO


def with_slo(limit: float, *profiles: str) -> Answer:
    campaign = build_campaign(
        profiles=profiles, workloads=["tpcc"], noise_pct=0.3, frames=False
    )
    (load,) = campaign.plan.workloads
    workloads = (replace(load, slo=(Objective("nopm", "all", limit),)),)
    campaign = replace(campaign, plan=replace(campaign.plan, workloads=workloads))
    return campaign_answer(campaign, judge(campaign))


def test_an_slo_is_told_clause_by_clause_of_the_tier_to_buy() -> None:
    (part,) = with_slo(9_000.0, "premium", "ultra").parts
    (clause,) = part.slo
    assert part.tier == "ultra" and part.proof == "proven"
    assert (clause.objective, clause.word) == ("nopm > 9000", "met")
    assert clause.ci_low and clause.value and clause.ci_high
    assert 9_000 < clause.ci_low < clause.value < clause.ci_high


def test_an_slo_that_none_meets_has_no_purchase() -> None:
    answer = with_slo(1e9, "premium", "ultra")
    (part,) = answer.parts
    assert part.purchase is None and part.slo == (SloClause("nopm > 1000000000"),)


def test_an_slo_of_one_profile_is_told_of_it() -> None:
    answer = with_slo(9_000.0, "ultra")
    (part,) = answer.parts
    (clause,) = part.slo
    assert (part.proof, clause.word) == ("proven", "met")
    assert part.purchase is None, "there was nothing to choose from"
    assert not is_undecided(answer)
    assert answer.sureness.word == "SLO met"
    assert answer.sureness.text.startswith("ultra meets nopm > 9000 (")
    assert answer.brief.what.startswith("ultra meets nopm > 9000 (")


def test_an_slo_that_one_profile_misses_is_said_first() -> None:
    answer = with_slo(1e9, "ultra")
    assert answer.sureness.word == "SLO missed"
    assert answer.sureness.text.startswith("ultra misses nopm > 1000000000 (")


def test_a_machine_that_was_the_limit_is_said_of_one_profile_on_top() -> None:
    campaign = build_campaign(profiles=["ultra"], workloads=["tpcc"], frames=False)
    verdict = judge(campaign)
    (cell,) = verdict.bottlenecks
    busy = replace(verdict, bottlenecks=(replace(cell, verdict="machine_bound"),))
    answer = campaign_answer(campaign, replace(busy, answer=None))
    assert answer.sureness.text.endswith(
        "Limited by this machine, not by the disk: do not judge the tier by it."
    )


# ------------------------------------------------------------------ one profile


def alone(workload: str, lost: bool = False) -> Answer:
    missing = [("ultra", workload)] if lost else []
    campaign = build_campaign(
        profiles=["ultra"], workloads=[workload], frames=False, missing=missing
    )
    return campaign_answer(campaign, judge(campaign))


def test_one_profile_says_what_it_did() -> None:
    answer = alone("tpcc")
    (part,) = answer.parts
    assert answer.kind == "one profile" and answer.purchase is None
    assert answer.brief.what.startswith("ultra did ")
    assert answer.sureness.word == "measured"
    assert " NOPM, p99 " in answer.sureness.text
    assert "What limited it is not known." in answer.sureness.text
    assert phrases.choice(answer, part) == "", "nobody asked which tier to buy"
    assert part.proof == "not compared" and part.measured is not None
    assert part.measured.throughput.metric == "nopm"
    assert part.measured.latency_avg and part.measured.latency_avg.scope == "new_order"
    assert part.why == (figures_in_words(part.measured),)


def test_one_profile_without_figures_says_what_became_of_its_runs() -> None:
    answer = alone("insert", lost=True)
    (part,) = answer.parts
    assert part.measured is None
    assert answer.sureness.word == "not measured"
    assert "not measured" not in answer.brief.how_sure, "the runs that are lost say it"
    assert part.why == ("Runs 1–3 (ultra × insert) were not carried out.",)


def test_one_tier_that_is_varied_is_no_comparison() -> None:
    campaign = build_campaign(profiles=["ultra"], workloads=["insert"], frames=False)
    varied = VariedWorkload("insert", "threads", ("8",), (8.0,), ("insert",), ())
    verdict = replace(judge(campaign), varied=(varied,), decisions=(), answer=None)
    answer = campaign_answer(campaign, verdict)
    assert not is_undecided(answer), "nothing was asked that is not answered"
    assert answer.sureness.word == "one tier"
    assert answer.sureness.text == "It was measured at each value of what was varied."


RATE = MeasuredFigure("nopm", "all", 8505.0, "1/min", 3)
AVERAGE = MeasuredFigure("latency_avg_s", "new_order", 0.0125, "s", 3)
P99 = MeasuredFigure("latency_p99_s", "new_order", 0.04, "s", 3)


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        (
            ProfileFigures("ultra", RATE, AVERAGE, P99),
            "ultra did 8,505 NOPM; New-Order latency average 12.5 ms, 99th percentile 40 ms "
            "(n = 3).",
        ),
        (
            ProfileFigures("ultra", RATE, replace(AVERAGE, scope="all"), None),
            "ultra did 8,505 NOPM; latency average 12.5 ms (n = 3).",
        ),
        (ProfileFigures("ultra", RATE, None, None), "ultra did 8,505 NOPM (n = 3)."),
    ],
)
def test_figures_are_said_with_their_units(figures: ProfileFigures, text: str) -> None:
    assert figures_in_words(figures) == text


# ------------------------------------------------------------------ in words

MACHINES = MonthlyPrice(
    840.0, "USD", "machines", 3, "westus2", "2026-02-01", "list of machines"
)


@pytest.mark.parametrize(
    ("purchase", "words"),
    [
        (V2, "1 disk, for 1 node"),
        (
            replace(V2, nodes=3, disks=6, striped=2, machine="azure/D8s"),
            "6 disks, 2 of them striped to one, for 3 nodes, each on azure/D8s",
        ),
        (
            replace(V2, nodes=3, disks=3, log_disks=3, log_title="a log's disk"),
            "3 disks, and 3 of a log's disk for the WAL, for 3 nodes",
        ),
    ],
)
def test_disks_are_counted_in_words(purchase: DisksToBuy, words: str) -> None:
    assert phrases.count_in_words(purchase) == words


def test_how_many_disks_is_not_made_up() -> None:
    with pytest.raises(ValueError, match="is not known"):
        phrases.count_in_words(DisksToBuy("azure/P30", None))


@pytest.mark.parametrize(
    ("price", "words"),
    [
        (None, "not known"),
        (
            MonthlyPrice(85.0, "USD", "disks", None),
            "85.00 USD a month for the disks",
        ),
        (
            replace(V2_PRICE, covers="disks and machines"),
            "85.00 USD a month for the disks and machines of your 1 node. At list price (westus2, "
            "as of 2026-01-01; example price list)",
        ),
        (
            MonthlyPrice(182.58, "USD", "disks", 3, measured_nodes=1),
            "182.58 USD a month for the disks of your 3 nodes",
        ),
        (
            replace(V2_PRICE, nodes=5, measured_nodes=3, verified=False),
            "85.00 USD a month for the disks of your 5 nodes. At list "
            "price (westus2, as of 2026-01-01; example price list; not verified)",
        ),
    ],
)
def test_a_price_says_what_it_is_for_and_whose(
    price: MonthlyPrice | None, words: str
) -> None:
    assert phrases.listed_price_in_words(price) == words


@pytest.mark.parametrize(
    ("purchase", "words"),
    [
        (V2, ""),
        (
            replace(V2, machines_price=MACHINES),
            "beside it 840.00 USD a month (westus2, as of 2026-02-01; list of machines)",
        ),
        (
            replace(V2, machines_price=MACHINES, machines_in_price=True),
            "in it 840.00 USD a month (westus2, as of 2026-02-01; list of machines)",
        ),
    ],
)
def test_machines_are_in_the_price_or_beside_it(
    purchase: DisksToBuy, words: str
) -> None:
    assert phrases.machines_in_words(purchase) == words


def test_a_tier_is_told_with_what_it_declares() -> None:
    assert phrases.tier_in_words(V2) == (
        "premium-v2 (Premium SSD v2, 10,000 IOPS, 250 MB/s)"
    )
    unlimited = replace(V2, iops=None, bytes_per_s=None)
    assert phrases.tier_in_words(unlimited) == "premium-v2 (Premium SSD v2)"
    assert phrases.tier_in_words(replace(unlimited, title="")) == "premium-v2"


def test_what_the_title_of_an_earlier_release_says_is_not_told_twice() -> None:
    titled = replace(V2, title="Premium SSD v2, 256 GiB, 10,000 IOPS, 250 MB/s")
    assert phrases.tier_in_words(titled) == (
        "premium-v2 (Premium SSD v2, 256 GiB, 10,000 IOPS, 250 MB/s)"
    )


def test_what_to_order_is_told_by_the_provider_s_name_and_not_by_a_user_s_title() -> (
    None
):
    row = replace(
        V2,
        title="our fast disk",
        product="Azure Premium SSD v2",
        size_bytes=250 * 2**30,
        striped=2,
        log_title="Azure Ultra Disk",
    )
    assert phrases.disk_in_words(row) == (
        "2 × Azure Premium SSD v2, each 250 GiB, 10,000 IOPS, 250 MB/s; WAL on Azure Ultra Disk"
    )


def test_without_a_price_there_is_a_purchase_all_the_same() -> None:
    purchase = campaign_answer(*with_decision(monthly_cost=None)).purchase
    assert purchase is not None and purchase.price is None


@pytest.mark.parametrize(
    ("verified", "is_marked"), [(True, False), (None, False), (False, True)]
)
def test_only_a_price_that_was_read_elsewhere_is_marked_as_not_verified(
    verified: bool | None, is_marked: bool
) -> None:
    price = MonthlyPrice(85.0, "USD", "disks", 3, verified=verified)
    assert ("not verified" in phrases.price_in_words(price)) is is_marked
