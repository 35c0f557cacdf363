"""Stamps: what is said of several tiers is said once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.analysis.verdicts import judge
from orchestrator.facts import NoteKind
from orchestrator.model import Doubt, Note
from orchestrator.report import wording
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import caveats
from tests.campaigns import build_campaign

CAMPAIGN = build_campaign(workloads=["insert"], frames=False)
VERDICT = judge(CAMPAIGN)


def stamp_of(*doubts: Doubt) -> str:
    index = ReportIndex(CAMPAIGN, replace(VERDICT, doubts=doubts))
    texts = {stamp.label: stamp.text for stamp in caveats.stamps(index)}
    return texts["VM caps the disk"]


def capped(profile: str | None, text: str) -> Doubt:
    return Doubt("VM caps the disk", text, "take a larger one", profile=profile)


def test_what_holds_for_several_tiers_is_said_once() -> None:
    doubts = capped("premium", "less than bought"), capped("ultra", "less than bought")
    assert stamp_of(*doubts) == "premium and ultra: less than bought."


def test_a_tier_s_name_in_a_text_is_no_field() -> None:
    doubts = capped(None, "premium: a word"), capped("ultra", "a word")
    assert stamp_of(*doubts) == "premium: a word. ultra: a word."


@pytest.mark.parametrize("kind", ["unfinished", "left behind"])
def test_what_somebody_must_act_on_comes_first_by_its_kind(kind: NoteKind) -> None:
    notes = (Note("other", "of no kind"), Note(kind, "look at it"))
    campaign = replace(CAMPAIGN, plan=replace(CAMPAIGN.plan, notes=notes))
    texts = [stamp.text for stamp in caveats.stamps(ReportIndex(campaign, VERDICT))]
    assert texts[0] == "Look at it."
    assert texts.count("Of no kind.") == texts.count("Look at it.") == 1


@pytest.mark.parametrize(
    ("texts", "together"),
    [
        (("it was 92 % busy", "it was 97 % busy"), ("it was 92–97 % busy",)),
        (("runs at 1,500/s", "runs at 800/s"), ("runs at 800–1,500/s",)),
        (
            ("node-1 was full", "node-5 was full"),
            ("node-1 was full", "node-5 was full"),
        ),
        (("x:size=1GiB is low", "x:size=2GiB is low"), None),
        (("read at 12:30", "read at 12:45"), None),
        (("10.0.0.1:5433 is late", "10.0.0.1:5434 is late"), None),
        (("10.1.0.5 is late", "10.2.0.5 is late"), None),
        (("since 2025-12-31", "since 2026-01-01"), None),
        (("read 1.5 s, late", "read 12.5 s, late"), ("read 1.5–12.5 s, late",)),
        (("of 5, 3 were late", "of 7, 3 were late"), ("of 5–7, 3 were late",)),
        (("12,345,678 of 9", "1,345 of 9"), ("1,345–12,345,678 of 9",)),
    ],
)
def test_texts_span_figures_and_no_names(
    texts: tuple[str, ...], together: tuple[str, ...] | None
) -> None:
    """`node-1–5` named three nodes of which nothing was said."""
    assert wording.spanning(texts) == (together or texts)
