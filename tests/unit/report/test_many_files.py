"""A campaign of which many files were changed: what is said of them stays short."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.analysis import results
from orchestrator.analysis.campaigns import campaign_list, comparable_campaigns
from orchestrator.extensions.over_time import campaign_tables
from orchestrator.model import Note
from orchestrator.report.sections import caveats
from orchestrator.system import store
from tests.campaigns import build_campaign, later
from tests.judged import judged_index

FILES = 1000
MADE = build_campaign(workloads=["insert"], frames=False)


def changed() -> results.Results:
    notes: list[Note] = []
    for number in range(1, FILES + 1):
        notes.append(
            Note("changed file", f"{store.CHANGED}runs/{number:04d}-ultra-insert-r1")
        )
    return replace(MADE, plan=replace(MADE.plan, notes=tuple(notes)))


def test_the_list_of_campaigns_names_the_first() -> None:
    entry = campaign_list.entry(changed(), "campaign", None, (), ())
    heading = campaign_tables.campaign_list([entry]).rows[0][0].text
    assert "runs/0005-" in heading and "runs/0006-" not in heading
    assert heading.endswith("; 995 more")
    assert len(entry.left_out) == FILES, "JSON has all of them"


def test_a_comparison_names_the_first() -> None:
    remarks = list(comparable_campaigns.remarks(changed(), later(MADE, 1.0)))
    about = [text for text in remarks if "runs/" in text or " more" in text]
    assert len(about) == 6 and about[-1].endswith("995 more")


def test_a_page_names_the_first_in_one_stamp() -> None:
    campaign = changed()
    stamps = caveats.stamps(judged_index(campaign))
    (about,) = [stamp for stamp in stamps if "runs/" in stamp.text]
    assert about.text.count("runs/") == 5 and "995 more" in about.text
