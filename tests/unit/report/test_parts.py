"""The report's parts alone: doubts beside figures, wording, escaping."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import get_args

import pytest
from rich.console import Console

from orchestrator.analysis.answers.record import SurenessWord
from orchestrator.analysis.conclusions import VerdictWord
from orchestrator.extensions.over_time.campaign_tables import sparkline
from orchestrator.model import Doubt
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Cell,
    Chart,
    Charts,
    Column,
    Document,
    Stamp,
    Table,
)
from orchestrator.report.document import arrange
from orchestrator.report.exports import junit
from orchestrator.report.rendering import markdown, terminal
from orchestrator.report.rendering.page import draw
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import cache, summary
from orchestrator.report.wording import ranges
from tests import report_verdicts
from tests.campaigns import build_campaign
from tests.decision_scenarios import asked_for
from tests.doubted import facts
from tests.judged import judged_index


@pytest.mark.parametrize(
    ("clause", "meets"),
    [
        ("nopm > 4000", " meets nopm > 4000 (NOPM: New-Orders per minute)"),
        ("throughput > 300", " meets throughput > 300/s"),
        ("insert throughput > 300", ""),
    ],
)
def test_the_question_has_the_slo_that_all_workloads_have(
    clause: str, meets: str
) -> None:
    workloads = ["tpcc", "insert"]
    if "nopm" in clause:
        workloads = ["tpcc"]
    campaign = build_campaign(
        profiles=("premium", "ultra"), workloads=workloads, frames=False
    )
    index = judged_index(asked_for(campaign, clause))
    assert summary.title(index) == f"Which disk tier{meets}: premium or ultra?"


@pytest.fixture(scope="module")
def index() -> ReportIndex:
    return ReportIndex(
        report_verdicts.reported_campaign(frames=False), report_verdicts.verdict()
    )


# ------------------------------------------------------------------ doubts


def test_charts_of_a_workload_with_a_long_name_have_files_of_their_own() -> None:
    workload = "\N{EARTH GLOBE AMERICAS}" * 62
    names = [
        f"{workload}-{what}" for what in ("throughput", "latency-p50", "latency-p99")
    ]
    paths = {Chart(name, "", str).path for name in names}
    assert len(paths) == 3
    assert all(len(path.removeprefix("charts/").encode()) <= 255 for path in paths)
    assert Chart("tpcc-iops", "", str).path == "charts/tpcc-iops.svg"
    longest = "x" * 200
    assert Chart(longest, "", str).path == f"charts/{longest}.svg"
    assert Chart(f"{longest}x", "", str).path == f"charts/{'x' * 174}.svg"


@pytest.mark.parametrize(
    ("widths", "most", "fitted"),
    [
        ([20, 30], 50, [20, 30]),
        ([20, 30], 49, [20, 29]),
        ([20, 20], 39, [19, 20]),  # the first of two that are as wide
        ([15, 14], 20, [14, 14]),  # a word of 14 letters stays whole
    ],
)
def test_columns_of_words_are_cut_to_the_screen(
    widths: list[int], most: int, fitted: list[int]
) -> None:
    assert terminal.fit(widths, [True, True], most) == fitted


@pytest.mark.parametrize(
    ("data_bytes", "cache_bytes", "words"),
    [
        (1_000_000, 1_000_000, "fits in the cache: reads need no disk"),
        (1_000_001, 1_000_000, "exceeds the cache"),
        (1_000_001, None, "not recorded"),
        (None, 1_000_000, "not recorded"),
    ],
)
def test_data_as_large_as_the_cache_fit_in_it(
    data_bytes: int | None, cache_bytes: int | None, words: str
) -> None:
    sizes = facts(data_bytes=data_bytes, cache_bytes=cache_bytes)
    campaign = build_campaign(
        profiles=["premium"],
        workloads=["insert"],
        repetitions=1,
        frames=False,
        change=sizes,
    )
    (part,) = cache.section(judged_index(campaign)).parts
    table = part.blocks[-1]
    assert isinstance(table, Table)
    texts = [cell.text for row in table.rows for cell in row]
    assert words in texts
    assert "premium" in texts, "a tier alone is not called all"


def test_a_sparkline_of_equal_values_is_low() -> None:
    assert sparkline([5.0, 5.0]) == "▁▁"
    assert sparkline([5.0, 6.0]) == "▁█"


def test_a_doubt_stands_beside_the_figures_of_its_runs_only(index: ReportIndex) -> None:
    # runs 3 and 12 are premium × tpcc, run 8 is ultra × insert
    assert index.notes("tpcc", "premium") == (1,)
    assert index.notes("tpcc", "ultra", "premium") == (1,)
    assert index.notes("tpcc", "ultra") == ()
    assert index.notes("insert", "ultra") == (2,)
    assert [note.where for note in index.footnotes] == ["runs 3, 12", "run 8"]


def test_a_doubt_about_every_run_is_said_once() -> None:
    campaign = build_campaign(
        profiles=["ultra"], workloads=["insert"], repetitions=2, frames=False
    )
    doubts = tuple(
        Doubt("client busy", "the client was busy", "use two", run) for run in (1, 2)
    )
    found = ReportIndex(
        campaign, replace(report_verdicts.verdict(), baseline="ultra", doubts=doubts)
    )
    assert found.notes("insert", "ultra") == ()
    assert [(note.text, note.advice, note.where) for note in found.footnotes] == [
        ("The client was busy.", "Use two.", "every finished run")
    ]


def test_only_a_note_that_a_table_refers_to_has_a_number(index: ReportIndex) -> None:
    """A reader would look for the `[1]` of a note that is about every run."""
    of_all = [
        Doubt("client busy", "the client was busy", "use two", run.record.run.number)
        for run in index.campaign.done
    ]
    of_one = Doubt("unsteady throughput", "it fell", "wait", 3)
    found = ReportIndex(
        index.campaign, replace(index.verdict, doubts=(*of_all, of_one))
    )
    assert [(note.number, note.where) for note in found.footnotes] == [
        (1, "run 3"),
        (None, "every finished run"),
    ]
    run = index.campaign.plan.runs[2]
    assert found.notes(run.workload, run.profile) == (1,)
    console = Console(width=200, file=io.StringIO())
    with console.capture() as captured:
        console.print(terminal.doubts(found.footnotes))
    screen = captured.get()
    assert "[1] It fell." in screen and "[None]" not in screen
    assert screen.count("[") == 1 and "The client was busy." in screen


def test_doubts_alike_but_for_their_numbers_are_one(index: ReportIndex) -> None:
    doubts = tuple(
        Doubt("unsteady throughput", f"fell by {run * 3:,} % in all", "wait", run)
        for run in (4, 3, 400)
    )
    found = ReportIndex(index.campaign, replace(index.verdict, doubts=doubts))
    assert [note.text for note in found.footnotes] == ["Fell by 9–1,200 % in all."]
    assert found.footnotes[0].where == "runs 3–4, 400"


@pytest.mark.parametrize(
    ("words", "more"),
    [("abcde", " And 2 more like this, in verdict.json."), ("abc", "")],
)
def test_many_unlike_doubts_of_a_kind_are_counted(
    words: str, more: str, index: ReportIndex
) -> None:
    doubts = tuple(
        Doubt("unsteady throughput", f"{word} fell", "wait", 3) for word in words
    )
    found = ReportIndex(index.campaign, replace(index.verdict, doubts=doubts))
    (note,) = found.footnotes
    assert note.text == f"A fell. B fell. C fell.{more}"


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((), ""),
        ((4,), "4"),
        ((1, 2, 3, 7), "1–3, 7"),
        ((5, 3, 4), "3–5"),
        ((2, 11), "2, 11"),
    ],
)
def test_ranges(numbers: tuple[int, ...], text: str) -> None:
    assert ranges(numbers) == text


def test_a_sentence_does_not_put_a_capital_on_a_tier(index: ReportIndex) -> None:
    assert index.opening("premium-v2 is cheaper") == "premium-v2 is cheaper."
    assert index.opening("ultra: too dear.") == "ultra: too dear."
    assert index.opening("no tier has figures") == "No tier has figures."


# ------------------------------------------------------------------ wording


def test_spread_is_half_the_interval_relative_to_the_mean() -> None:
    cell = report_verdicts.summary(
        "ultra", "insert", "throughput_per_s", "all", 200.0, 2
    )
    assert wording.spread(replace(cell, ci_low=190.0, ci_high=214.0)) == "± 6.0 %"
    assert wording.spread(replace(cell, ci_low=100.0, ci_high=350.0)) == "± 62 %"
    assert wording.spread(replace(cell, ci_low=180.2, ci_high=219.8)) == "± 9.9 %"
    assert wording.spread(replace(cell, ci_low=199.99, ci_high=200.01)) == "± 0.1 %"
    assert wording.spread(replace(cell, ci_low=176.0, ci_high=224.0)) == "± 12 %"
    assert wording.spread(replace(cell, ci_low=180.08, ci_high=219.92)) == "± 10 %"
    assert wording.spread(replace(cell, n=1, ci_low=None, ci_high=None)) == ""


@pytest.mark.parametrize(
    ("ci_low", "ci_high", "ends"),
    [
        (-5.0, 25.0, (0.0, 25.0)),  # no rate is below zero
        (5.0, 15.0, (5.0, 15.0)),
        (None, None, (10.0, 10.0)),
    ],
)
def test_ends_of_an_interval_as_charts_draw_it(
    ci_low: float | None, ci_high: float | None, ends: tuple[float, float]
) -> None:
    cell = report_verdicts.summary(
        "ultra", "insert", "throughput_per_s", "all", 10.0, 2
    )
    assert wording.ends(replace(cell, ci_low=ci_low, ci_high=ci_high)) == ends


def test_interval_and_sides() -> None:
    delta = report_verdicts.verdict().deltas[6]
    assert wording.interval(delta) == "−2.1 to +4.9 %"
    assert wording.interval(replace(delta, ci_low_pct=None)) == ""
    assert wording.runs_on_each_side(delta) == "2"
    assert wording.runs_on_each_side(replace(delta, n_baseline=5)) == "2 (baseline 5)"


# ------------------------------------------------------------------ drawing


def test_every_word_has_a_style_and_an_outcome() -> None:
    """No type checker misses a word in a mapping."""
    assert terminal._STATUS_STYLES.keys() == set(get_args(SurenessWord))
    assert terminal._VERDICT_STYLES.keys() == set(get_args(VerdictWord))
    assert junit._OUTCOMES.keys() == set(get_args(VerdictWord))


def _hostile(index: ReportIndex) -> Document:
    document = arrange(index.campaign, index.verdict)
    row = (Cell("a|b <script>alert(1)</script> *x* `code`"),)
    table = Table((Column("Tier"),), ((row[0],), row))
    return replace(document, verdicts=table, changes=(), sections=())


def test_markdown_escapes_what_tools_said(index: ReportIndex) -> None:
    text = markdown.draw(_hostile(index))
    assert "a\\|b \\<script\\>alert(1)\\</script\\> \\*x\\* `code`" in text


def test_page_escapes_what_tools_said(index: ReportIndex) -> None:
    page = draw(_hostile(index))
    assert page.count("<script>") == 2  # what draws the cards, and what copies
    assert "&lt;script&gt;alert(1)" in page


def test_a_limit_keeps_its_sign_and_a_layout_its_count() -> None:
    """A line may not end between `>` and the number, nor between a count and its disk."""
    assert wording.unbroken("misses nopm > 4000") == "misses nopm >\u00a04000"
    assert wording.unbroken("2 × 125 GiB") == "2\u00a0×\u00a0125\u00a0GiB"
    assert wording.unbroken("7.99 ms ± 4.7 %") == "7.99\u00a0ms ±\u00a04.7\u00a0%"


@pytest.mark.parametrize(
    "marked",
    [
        Cell("x").missing,
        Cell("x").strong,
        Column("tier").numeric,
        Charts((), ()).wide,
        Stamp("label", "text", "").is_in_brief,
    ],
    ids=["missing", "strong", "numeric", "wide", "in brief"],
)
def test_what_a_section_does_not_mark_is_shown_as_usual(marked: bool) -> None:
    assert not marked
