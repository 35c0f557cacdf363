"""The card of each workload: three lines and a picture, and nothing that the brief says already."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeVar

import pytest

from orchestrator.analysis.answers.record import Brief
from orchestrator.analysis.conclusions import ClusterDecision, Decision, ReasonParts
from orchestrator.analysis.verdicts import judge
from orchestrator.design.slo import format_objective, parse
from orchestrator.model import Objective
from orchestrator.report import document as documents
from orchestrator.report.blocks import Chart, Document
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import cards, tier_picture
from tests import loads, report_verdicts
from tests.campaigns import build_campaign
from tests.decision_scenarios import asked_for
from tests.judged import judged_index
from tests.one_profile import alone

RATES_ONCE = {
    ("premium", "point-select"): (200.0,),
    ("premium-v2", "point-select"): (410.0,),
    ("ultra", "point-select"): (600.0,),
}
_NOISY = {
    (tier, load): (200.0, 300.0, 250.0)
    for tier in ("premium", "premium-v2", "ultra")
    for load in ("insert", "tpcc")
}
LIKE = ((1000.0, 0.010), (1000.0, 0.010))
_LEAST_WORDS = 5  # below that a sentence may be said of two workloads


def _documents() -> list[Document]:
    decided = build_campaign(workloads=["point-select", "tpcc"], frames=False)
    open_ = build_campaign(workloads=["insert"], repetitions=1, frames=False)
    alone = build_campaign(profiles=["ultra"], workloads=["tpcc"], frames=False)
    made = [
        documents.arrange(
            report_verdicts.reported_campaign(), report_verdicts.verdict()
        )
    ]
    for campaign in (decided, open_, alone):
        made.append(documents.arrange(campaign, judge(campaign)))
    return made


def _sentences(document: Document) -> list[str]:
    """All that is in sight on the first screen."""
    texts = [document.brief.what, document.status_text]
    texts += [text for _, text in document.brief.lines]
    for answer in document.answers:
        texts += answer.lines
    sentences: list[str] = []
    for text in texts:
        sentences += re.split(r"(?<=[.;]) ", text)
    return [sentence.strip(" .;") for sentence in sentences]


def test_nothing_stands_twice_on_the_first_screen_and_cards_have_three_lines() -> None:
    for document in _documents():
        long = [s for s in _sentences(document) if len(s.split()) >= _LEAST_WORDS]
        assert sorted(long) == sorted(set(long))
        for answer in document.answers:
            headline = [answer.headline] if answer.headline else []
            assert len([*headline, *answer.lines]) <= 3


def test_what_the_four_lines_say_has_no_label_below_them() -> None:
    document = _documents()[0]
    assert "YugabyteDB itself" in document.brief.not_tested
    assert document.stamps and not document.labelled


def test_signs_between_clauses_decide_nothing_of_what_is_shown() -> None:
    """Claims and proofs are fields: no sentence is taken apart at its colon or its semicolons."""
    open_ = build_campaign(workloads=["insert", "tpcc"], values=_NOISY, frames=False)
    for campaign, verdict in (
        (report_verdicts.reported_campaign(), report_verdicts.verdict()),
        (open_, judge(open_)),
    ):
        decisions = [_reworded(decision) for decision in verdict.decisions]
        cluster = verdict.cluster
        if cluster is not None:
            cluster = _reworded(cluster)
        reworded = replace(
            verdict, decisions=tuple(decisions), cluster=cluster, answer=None
        )
        before = documents.arrange(campaign, verdict)
        after = documents.arrange(campaign, reworded)
        assert before.brief == after.brief
        assert [card.lines for card in before.answers] == [
            card.lines for card in after.answers
        ]


_Decided = TypeVar("_Decided", Decision, ClusterDecision)


def _reworded(decision: _Decided) -> _Decided:
    sentences = tuple(_with_other_signs(text) for text in decision.sentences)
    reason = _with_other_signs(decision.reason)
    return replace(decision, reason=reason, sentences=sentences)


def _with_other_signs(reason: str) -> str:
    return reason.replace(": ", " -- ").replace("; ", " / ")


def test_full_stops_inside_of_sentences_decide_nothing_of_what_is_shown() -> None:
    """Sentences are fields: a name, an error or an abbreviation may have a full stop and a
    space."""
    campaign = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        missing=[("premium", "insert"), ("ultra", "insert")],
        frames=False,
    )
    verdict = judge(campaign)
    (decision,) = verdict.decisions
    odd = "no tier has figures (see vol. 2 of the log)"
    reworded = replace(
        decision,
        reason=f"{odd}. More runs tell",
        sentences=(odd, "More runs tell"),
        reason_parts=ReasonParts(claims=(odd,)),
    )
    document = documents.arrange(
        campaign, replace(verdict, decisions=(reworded,), answer=None)
    )
    (card,) = document.answers
    assert card.lines == ("No tier has figures (see vol. 2 of the log).",)
    assert card.folded == "More runs tell."


def test_what_the_brief_says_in_other_words_is_not_said_again() -> None:
    """What it says is known by its claims, and not found in its text."""
    of_one = build_campaign(profiles=["ultra"], workloads=["tpcc"], frames=False)
    rates = loads.at_values({"premium": LIKE, "ultra": LIKE}, "nodes=3,6")
    varied = loads.build(
        loads.varied("nodes=3,6"), rates, profiles=["premium", "ultra"]
    )
    open_ = build_campaign(workloads=["insert"], values=_NOISY, frames=False)
    for campaign in (of_one, varied, open_):
        index = judged_index(campaign)
        before = cards.answers(index, with_pictures=False)
        # An empty brief would have every claim in the cards if its text were searched.
        reworded = replace(index.answer, brief=Brief("In other words"))
        verdict = replace(index.verdict, answer=reworded)
        after = cards.answers(ReportIndex(campaign, verdict), with_pictures=False)
        assert after == before


def test_why_no_tier_is_for_all_is_what_stands_behind_the_claim() -> None:
    verdict = report_verdicts.verdict()
    assert verdict.cluster is not None
    parts = ReasonParts(claims=("none: for all; of 3",), proofs=("one: a", "two; b"))
    cluster = replace(verdict.cluster, reason_parts=parts)
    document = documents.arrange(
        report_verdicts.reported_campaign(), replace(verdict, cluster=cluster)
    )
    assert document.brief.why == "One: a; two; b."


def test_beside_a_picture_of_the_intervals_tiers_are_compared_in_a_line() -> None:
    campaign = build_campaign(workloads=["point-select"], frames=False)
    index = judged_index(campaign)
    (drawn,) = cards.answers(index, with_pictures=True)
    (plain,) = cards.answers(index, with_pictures=False)
    assert (
        drawn.lines[-1]
        == "premium-v2 was 2.69 and ultra 2.72 times as fast as premium."
    )
    assert "premium-v2 was 2.69 times as fast as premium (2." in plain.lines[-1]


def test_of_one_run_of_each_tier_the_card_has_what_each_did() -> None:
    campaign = build_campaign(
        workloads=["point-select"], repetitions=1, values=RATES_ONCE, frames=False
    )
    (card,) = documents.arrange(campaign, judge(campaign)).answers
    assert card.lines == (
        "One run each: premium 200, premium-v2 410, ultra 600 transactions/s.",
    )


def test_a_card_of_claims_alone_folds_what_they_rest_on() -> None:
    noisy = build_campaign(workloads=["insert", "tpcc"], values=_NOISY, frames=False)
    for card in cards.answers(judged_index(noisy), with_pictures=False)[-2:]:
        assert card.folded.startswith("premium is the cheapest tier proven within 5 %")


def test_a_card_of_one_run_each_folds_why_it_has_no_interval() -> None:
    once = build_campaign(
        workloads=["point-select"], repetitions=1, values=RATES_ONCE, frames=False
    )
    (card,) = cards.answers(judged_index(once), with_pictures=False)[-1:]
    assert "gives no interval: at least 2 are needed" in card.folded


def test_an_slo_that_no_tier_meets_is_shaded_in_its_unit() -> None:
    campaign = build_campaign(workloads=["tpcc"], frames=False)
    asked = asked_for(campaign, "throughput > 800")
    (card,) = documents.arrange(asked, judge(asked)).answers
    assert card.headline == "no tier" and card.picture is not None
    assert card.picture.remark == "Shaded: throughput > 800/s."


def test_one_profile_is_drawn_beside_its_slo_alone() -> None:
    asked = alone("throughput > 100")
    (card,) = documents.arrange(asked, judge(asked)).answers
    assert card.picture is not None
    assert card.picture.remark == "Shaded: throughput > 100/s."
    campaign = build_campaign(profiles=["ultra"], workloads=["tpcc"], frames=False)
    (card,) = documents.arrange(campaign, judge(campaign)).answers
    assert card.picture is None


def test_its_picture_has_every_tier_with_price_and_margin() -> None:
    campaign = build_campaign(workloads=["point-select"], frames=False)
    index = judged_index(campaign)
    chart = tier_picture.picture(index, "point-select")
    assert chart is not None and chart.live is not None
    rows = chart.live["datasets"]["tiers"]
    assert [row["label"] for row in rows] == [
        "premium, 103.68 USD",
        "premium-v2, 255.00 USD",
        "ultra, 780.00 USD",
    ]
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)
    (enough,) = chart.live["datasets"]["enough"]
    best = max(row["value"] for row in rows)
    assert enough["to"] == pytest.approx(best, rel=1e-3)
    assert enough["from"] == pytest.approx(0.95 * best, rel=1e-3)
    assert chart.remark == "Shaded: within 5 % of the best."


def test_what_an_slo_asks_for_is_shaded_in_the_place_of_the_margin() -> None:
    campaign = build_campaign(workloads=["tpcc"], frames=False)
    load = campaign.plan.workloads[0]
    asked = replace(load, slo=(Objective("nopm", "all", 4000.0),))
    runs = []
    for run in campaign.runs:
        record = replace(run.record, workload=asked)
        runs.append(replace(run, record=record))
    plan = replace(campaign.plan, workloads=(asked,))
    campaign = replace(campaign, plan=plan, runs=tuple(runs))
    chart = tier_picture.picture(judged_index(campaign), "tpcc")
    assert chart is not None and chart.live is not None
    (enough,) = chart.live["datasets"]["enough"]
    assert enough["from"] == 4000
    assert chart.remark == "Shaded: nopm > 4000."
    # More is enough too: what is shaded ends with the axis, not with the fastest tier.
    assert enough["to"] == pytest.approx(1.08 * _highest(chart), rel=1e-3)


def _highest(chart: Chart) -> float:
    assert chart.live is not None
    return float(max(row["high"] for row in chart.live["datasets"]["tiers"]))


@pytest.mark.parametrize(
    ("slo", "axis", "limit"),
    [
        ("new_order p99 < 270 ms", "New-Order p99 latency, ms", 270),
        ("p99 < 300 ms", "p99 latency, ms", 300),
        ("p95 < 300 ms", "95th percentile latency, ms", 300),
        ("nopm > 8000", "NOPM", 8000),
        ("throughput > 100", "transactions/s", 100),
        # That which rules premium out, then that to which a tier comes nearest.
        ("new_order p99 < 200 ms, nopm > 100", "New-Order p99 latency, ms", 200),
        ("new_order p99 < 900 ms, nopm > 10000", "NOPM", 10000),
        ("new_order p99 < 270 ms, nopm > 100", "New-Order p99 latency, ms", 270),
        ("new_order p99 < 900 ms, nopm > 8000", "NOPM", 8000),
    ],
)
def test_what_the_slo_is_about_is_drawn(slo: str, axis: str, limit: float) -> None:
    asked = asked_for(build_campaign(workloads=["tpcc"], frames=False), slo)
    verdict = judge(asked)
    chart = tier_picture.picture(ReportIndex(asked, verdict), "tpcc")
    assert chart is not None and chart.live is not None
    assert chart.title.startswith(f"{axis} of each tier")
    (stretch,) = chart.live["datasets"]["enough"]
    assert limit in (stretch["from"], stretch["to"])
    # Dots are what the clause was judged by.
    (clause,) = [
        text for text in asked_clauses(slo) if f"Shaded: {text}." == chart.remark
    ]
    measured = []
    for offer in verdict.decisions[0].offers:
        measured += [result.mean for result in offer.slo if result.objective == clause]
    told = [row["told"] for row in chart.live["datasets"]["tiers"]]
    assert measured == told


def asked_clauses(slo: str) -> list[str]:
    return [format_objective(clause) for clause in parse(slo, "--slo")]


def test_one_profile_has_no_picture() -> None:
    alone = build_campaign(profiles=["ultra"], workloads=["tpcc"], frames=False)
    assert tier_picture.picture(judged_index(alone), "tpcc") is None


def test_what_would_settle_a_cheaper_tier_says_which_tier_is_meant() -> None:
    campaign = build_campaign(workloads=["point-select", "tpcc"], frames=False)
    verdict = judge(campaign)
    assert verdict.answer is not None
    # The brief says it of the first such workload, whose card does not say it again.
    first, *others = verdict.answer.parts
    parts = (replace(first, cheaper_open=("premium",)), *others)
    decisions = []
    for decision, way in zip(
        verdict.decisions, ("add memory", "measure for longer"), strict=True
    ):
        decisions.append(replace(decision, settled_by=way))
    verdict = replace(
        verdict,
        decisions=tuple(decisions),
        answer=replace(verdict.answer, parts=parts),
    )
    index = ReportIndex(campaign, verdict)
    lines = cards.answers(index, with_pictures=True)[1].lines
    assert lines[0].endswith(
        "whether premium-v2 would be enough is open: measure for longer."
    )
