"""What a list says of a campaign: its kind and its question, from what was planned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.analysis import verdicts
from orchestrator.analysis.campaigns import campaign_list
from orchestrator.analysis.campaigns.campaign_list import Entry
from orchestrator.analysis.conclusions import Decision
from orchestrator.model import Note, Objective, Workload
from tests.campaigns import build_campaign
from tests.plans import changed_plan


def listed(profiles: list[str], load: dict[str, Any], **plan: Any) -> Entry:
    """`load`: fields of its only workload, tpcc."""
    campaign = build_campaign(profiles=profiles, workloads=["tpcc"], frames=False)
    (workload,) = campaign.plan.workloads
    loads: tuple[Workload, ...] = (replace(workload, **load),)
    planned = changed_plan(campaign.plan, workloads=loads, **plan)
    return campaign_list.entry(replace(campaign, plan=planned), "folder", None, (), ())


SLO = {"slo": (Objective("latency_p99_s", "all", 0.02),)}
MATRIX = {"options": {"cells": "random read 100 block 4KiB depth 1 threads 1"}}
REHEARSAL = (Note("rehearsal", "all is made up"),)
PUBLISHED = (Note("published figures", "they were read, not measured"),)
STAND_IN = (Note("fallback database", "PostgreSQL stands in for YugabyteDB"),)
BOTH = ["premium", "ultra"]


@pytest.mark.parametrize(
    ("profiles", "load", "plan", "kind", "question"),
    [
        (BOTH, {}, {}, "comparison", "Which of premium and ultra for tpcc?"),
        (["ultra"], {}, {}, "one profile", "What does ultra do for tpcc?"),
        (
            BOTH,
            SLO,
            {},
            "SLO",
            "Which of premium and ultra for tpcc, with p99 < 20 ms?",
        ),
        (["ultra"], MATRIX, {}, "disk matrix", "What does ultra do for tpcc?"),
        (BOTH, {}, {"question": "Which?"}, "comparison", "Which?"),
        (BOTH, SLO, {"notes": REHEARSAL, "question": "?"}, "rehearsal", "?"),
        (BOTH, {}, {"notes": PUBLISHED, "question": "?"}, "published figures", "?"),
        (BOTH, {}, {"notes": STAND_IN, "question": "?"}, "comparison", "?"),
    ],
)
def test_a_campaign_has_a_kind_and_a_question(
    profiles: list[str],
    load: dict[str, Any],
    plan: dict[str, Any],
    kind: str,
    question: str,
) -> None:
    entry = listed(profiles, load, **plan)
    assert (entry.kind, entry.question) == (kind, question)
    assert entry.answer == ""


def test_one_workload_with_an_slo_makes_it_a_question_of_an_slo() -> None:
    campaign = build_campaign(
        profiles=BOTH, workloads=["tpcc", "point-select"], frames=False
    )
    tpcc, select = campaign.plan.workloads
    planned = replace(campaign.plan, workloads=(replace(tpcc, slo=SLO["slo"]), select))
    one = replace(campaign, plan=planned)
    assert campaign_list.entry(one, "folder", None, (), ()).kind == "SLO"


def test_a_verdict_of_an_earlier_release_is_told_by_its_decisions() -> None:
    """Releases before the answer was stored kept decisions alone."""
    campaign = build_campaign(profiles=BOTH, workloads=["tpcc", "insert"], frames=False)
    decisions = verdicts.judge(campaign).decisions
    entry = campaign_list.entry(campaign, "folder", None, decisions, ())
    assert entry.decisions is not None and len(entry.decisions) == 2
    texts = [f"{load}: {words}" for load, words in entry.decisions.items()]
    assert entry.answer == "; ".join(texts)


@pytest.mark.parametrize(
    ("began_s", "fault", "is_recent"),
    [
        (100.0, "", True),
        (99.9, "", False),
        # Of a broken folder nothing else can be asked for.
        (100.0, "cut", True),
        (99.9, "cut", False),
        (None, "cut", False),
    ],
)
def test_what_began_since_then_began_at_that_moment_or_later(
    began_s: float | None, fault: str, is_recent: bool
) -> None:
    entry = Entry("folder", began_s, fault)
    assert entry.is_of(None, None, None, since_s=100.0) is is_recent


@pytest.mark.parametrize(
    ("judged_runs", "left_out"),
    [
        (3, ()),
        (4, ("its verdict is of 4 finished runs, and now there are 3",)),
    ],
)
def test_runs_are_lost_if_the_verdict_is_of_more_than_there_are(
    judged_runs: int, left_out: tuple[str, ...]
) -> None:
    entry = Entry("folder", None, done=3)
    assert campaign_list.with_lost_runs(entry, judged_runs).left_out == left_out


@pytest.mark.parametrize(("tiers", "words"), [(1, "one tier"), (2, "no answer")])
def test_of_one_tier_nothing_was_to_be_decided(tiers: int, words: str) -> None:
    assert campaign_list.phrase(Decision("tpcc", None, "why"), tiers) == words
