"""Whoever asks for an answer is given the same one: page, Markdown, ticket, terminal, summary,
verdict.json and the list of all that was found."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping
from html import unescape
from pathlib import Path

import pytest
from rich.console import Console

from orchestrator import report
from orchestrator.analysis.campaigns import campaign_list
from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.report import document
from orchestrator.report.rendering import markdown
from orchestrator.system import campaign_writing, store
from tests import decision_scenarios, disk_matrices, loads
from tests.campaigns import build_campaign


def _comparison(_folder: Path) -> Results:
    return build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        repetitions=3,
        frames=False,
    )


def _slo(_folder: Path) -> Results:
    return decision_scenarios.asked_for(_comparison(_folder), "throughput > 100")


def _one_profile(_folder: Path) -> Results:
    return build_campaign(
        profiles=["premium"], workloads=["insert"], repetitions=1, frames=False
    )


def _disks_alone(folder: Path) -> Results:
    made = disk_matrices.begun(folder, 0)
    for run in store.load(made).plan.runs:
        disk_matrices.keep_whole(made, run)
    return store.load(made)


def _varied(_folder: Path) -> Results:
    text = "data=10,20,30,40 tables"
    cliff = ((1000, 0.010), (1000, 0.010), (300, 0.033), (250, 0.040))
    flat = ((1000, 0.010),) * 4
    figures = loads.at_values({"premium": cliff, "ultra": flat}, text)
    return loads.build(loads.varied(text), figures, profiles=["premium", "ultra"])


KINDS: Mapping[str, Callable[[Path], Results]] = {
    "comparison": _comparison,
    "SLO": _slo,
    "one profile": _one_profile,
    "disks alone": _disks_alone,
    "varied": _varied,
}


@pytest.mark.parametrize("kind", KINDS)
def test_all_doors_give_the_same_answer(kind: str, tmp_path: Path) -> None:
    campaign = KINDS[kind](tmp_path)
    verdict = judge(campaign)
    answers = _doors(campaign, verdict)
    (what, *_) = answers.values()
    assert what
    for door, text in answers.items():
        assert what in text, door


def _doors(campaign: Results, verdict: Verdict) -> dict[str, str]:
    """What each says, with single spaces; the first is the answer alone."""
    stored = json.loads(campaign_writing.verdict_text(verdict))
    listed = campaign_list.entry(
        campaign, "folder", None, verdict.decisions, (), verdict.answer
    )
    terminal = Console(width=400, file=io.StringIO(), record=True)
    for part in report.console(campaign, verdict):
        terminal.print(part)
    page = document.arrange(campaign, verdict)
    texts = {
        "list": listed.answer,
        "verdict.json": stored["answer"]["brief"]["what"],
        "summary": report.summary_of(campaign, verdict),
        "terminal": terminal.export_text(),
        "ticket": report.for_the_ticket(campaign, verdict),
        "report.md": markdown.draw(page),
        "page": _visible(report.files_of(page)[report.PAGE]),
    }
    return {door: _plain(text) for door, text in texts.items()}


def _visible(page: str) -> str:
    """The text of a page, without its scripts and drawings."""
    drawn = r"<(script|style|svg)\b.*?</\1>"
    text = re.sub(drawn, "", page, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", "", text))


def _plain(text: str) -> str:
    return " ".join(text.replace("\\", "").split())


def test_disks_alone_are_measured_and_nothing_of_them_is_open(tmp_path: Path) -> None:
    """A status of `not conclusive` below an answer contradicts it."""
    campaign = _disks_alone(tmp_path)
    verdict = judge(campaign)
    answer = verdict.answer
    assert answer is not None
    assert answer.sureness.word == "measured"
    assert document.arrange(campaign, verdict).status == "measured"
    listed = campaign_list.entry(campaign, "x", None, verdict.decisions, (), answer)
    assert listed.decisions == {"disk-matrix": "measured"}
    assert "real disks" in answer.brief.not_tested
