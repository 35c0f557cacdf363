"""The report of odd campaigns, judged for real: nothing missing is shown as a figure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from orchestrator import report
from orchestrator.analysis.answers.record import Brief
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.measure import concluding
from orchestrator.model import Note, Record
from orchestrator.report.blocks import Document, Table
from orchestrator.report.document import arrange
from orchestrator.report.rendering.terminal import TableView
from orchestrator.report.sections.gates import gate_table
from orchestrator.tier import Gate, GateCheck
from tests.campaigns import build_campaign, with_tier


def _document(campaign: Results) -> Document:
    return arrange(campaign, judge(campaign))


def _written(campaign: Results, folder: Path) -> str:
    return concluding.write_report(
        campaign, judge(campaign), folder
    ).markdown.read_text(encoding="utf-8")


def _shown(campaign: Results, width: int = 80) -> str:
    console = Console(width=width, no_color=True, force_terminal=False, record=True)
    with console.capture() as captured:
        for part in report.console(campaign, judge(campaign)):
            console.print(part)
    return captured.get()


def _texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_enough_repetitions_are_conclusive() -> None:
    campaign = build_campaign(workloads=["point-select"], frames=False)
    document = _document(campaign)
    assert document.status == "conclusive"
    # The ticket has the counts.
    assert document.status_text == (
        "That holds for emulated disks: real ones were not measured."
    )
    assert [answer.tier for answer in document.answers] == ["premium-v2"]
    assert document.answers[0].price == "255.00 USD a month"


def test_on_real_disks_nothing_bounds_that_word() -> None:
    campaign = build_campaign(workloads=["point-select"], frames=False)
    document = _document(with_tier(campaign, enforcement="mounted", path="/mnt/disk"))
    assert (document.status, document.status_text) == ("conclusive", "")


def test_a_word_that_claims_nothing_needs_no_bound() -> None:
    document = _document(
        build_campaign(workloads=["point-select"], repetitions=1, frames=False)
    )
    assert document.status == "not conclusive"
    assert "emulated disks" not in document.status_text


def test_a_choice_without_price_is_said_in_the_first_line() -> None:
    without = build_campaign(workloads=["point-select"], priced=False, frames=False)
    document = _document(without)
    assert document.status == "enough; price open"
    assert document.status_text.startswith(
        "Chosen by declared limits: no price is known for premium, premium-v2 and ultra."
    )
    assert [one.without_prices for one in judge(without).decisions] == [
        "chosen by declared limits: no price is known for premium, premium-v2 and ultra"
    ]
    shown = " ".join(_shown(without).split())
    assert "ENOUGH; PRICE OPEN Chosen by declared limits: no price is known" in shown


def test_one_repetition_is_not_conclusive() -> None:
    campaign = build_campaign(workloads=["insert"], repetitions=1, frames=False)
    document = _document(campaign)
    assert document.status == "not conclusive"
    assert "One repetition" in [stamp.label for stamp in document.stamps]
    contenders = document.verdicts.rows[2:]
    assert {cell.word for row in contenders for cell in row[1:]} == {"inconclusive"}
    assert {cell.detail for row in contenders for cell in row[1:]} == {"no interval"}


def test_one_profile_has_nothing_to_compare_with(tmp_path: Path) -> None:
    campaign = build_campaign(
        profiles=["ultra"],
        workloads=["tpcc"],
        repetitions=1,
        values={("ultra", "tpcc"): [400.0]},
    )
    document = _document(campaign)
    assert document.status == "measured"
    assert document.brief.what == "ultra did 10,800 NOPM, p99 202 ms"
    assert document.brief.why.startswith("Limited by ")
    assert document.status_text == "", "the lines above have said it"
    # 400/s × 45 % × 60 s = 10,800; 24 threads / 400/s × 1.4 = 84 ms, and 2.4 times that
    assert document.answers[0].text == (
        "ultra did 10,800 NOPM; New-Order latency average 84.0 ms, 99th percentile 202 ms (n = 1)."
    )
    text = _written(campaign, tmp_path)
    assert "Only ultra was measured, so there are no differences to show." in text
    assert "charts/changes" not in text


def test_a_missing_cell_is_missing_with_its_reason(tmp_path: Path) -> None:
    campaign = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        missing=[("premium", "insert")],
        failed=[5],
        frames=False,
    )
    document = _document(campaign)
    assert _texts(document.verdicts) == [
        ["insert: Insert"],
        ["premium", "missing", "missing", "missing"],
        ["ultra", *["premium: missing"] * 3],
    ]
    text = _written(campaign, tmp_path)
    assert "Runs 1, 3, 5 (premium × insert) were not carried out." in text
    assert "| premium<br>n\u00a0=\u00a00 of 3 | *missing* |" in text
    assert not [
        line for line in text.splitlines() if "premium" in line and "| 0 |" in line
    ]


def test_a_figure_that_was_not_taken_is_told_from_a_lost_run() -> None:
    shape = {
        "profiles": ["premium", "ultra"],
        "workloads": ["insert"],
        "repetitions": 1,
    }
    whole, bare = (build_campaign(**shape, frames=frames) for frames in (True, False))  # type: ignore[arg-type]
    of_both = replace(whole, runs=(whole.runs[0], bare.runs[1]))
    table = _measured(of_both)
    titles = [column.title for column in table.columns]
    assert table.rows[0][titles.index("CPU")].missing is False
    assert table.rows[1][titles.index("CPU")].text == "not measured"


@pytest.mark.parametrize("lost", [[], [2, 5, 8]])
def test_a_column_that_no_run_measured_is_left_out(lost: list[int]) -> None:
    table = _measured(build_campaign(workloads=["insert"], frames=False, failed=lost))
    titles = [column.title for column in table.columns]
    assert "CPU" not in titles and "Transactions/s" in titles


def _measured(campaign: Results) -> Table:
    section = next(s for s in _document(campaign).sections if s.anchor == "measured")
    (table,) = [block for block in section.parts[1].blocks if isinstance(block, Table)]
    return table


def test_everything_failed(tmp_path: Path) -> None:
    campaign = build_campaign(failed=range(1, 10), repetitions=1)
    document = _document(campaign)
    assert document.status == "not conclusive"
    assert "9 of 9 runs left no figures." in document.brief.how_sure
    assert {answer.headline for answer in document.answers} == {"no answer"}
    text = _written(campaign, tmp_path)
    assert "Runs 1–9 (9 cells) failed: node-1 stopped answering." in text
    assert text.count("No charts: no run left figures over time.") == 1
    assert "intervals.csv" not in text and "**raw/**" in text
    assert not (tmp_path / "charts").exists()


def test_an_interrupted_run_is_told_from_a_failed_one() -> None:
    campaign = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        interrupted=[4],
        frames=False,
    )
    document = _document(campaign)
    assert document.status != "conclusive"
    lost = document.verdicts.remarks[-1]
    assert lost == "Run 4 (ultra × insert) was interrupted: node-1 stopped answering."


def test_more_tiers_than_colours() -> None:
    three = build_campaign(workloads=["insert"], repetitions=2, frames=False)
    first = three.plan.profiles[0]
    names = [f"tier-{number}" for number in range(9)]
    profiles = tuple(replace(first, name=name) for name in names)
    plan = replace(three.plan, baseline="tier-0", profiles=profiles)
    document = _document(replace(three, plan=plan, runs=()))
    assert document.tiers == tuple(names)
    assert len(document.verdicts.rows) == 10


SLOW = GateCheck("read IOPS", "1/s", 1100.0, 640.0, 5.0, "slow")
WIDE = GateCheck("read latency", "s", 0.002, 0.0026, 5000.0, "ok")


@pytest.mark.parametrize(
    ("gate", "texts"),
    [
        (None, ["premium: no disk check was recorded"]),
        (
            Gate("premium", 1.0, (SLOW,)),
            [
                "| **premium: FAILED** |",
                "| read IOPS | 1,100 | 640 | −41.8\u00a0% | ±5\u00a0% | **slow** |",
            ],
        ),
        (
            Gate("premium", 1.0, (WIDE,)),
            [
                "premium: passed, but with a tolerance so wide that it proves little",
                "| ±5,000\u00a0% | ok |",
            ],
        ),
        (
            Gate("premium", 1.0, (replace(WIDE, tolerance_pct=5.0), WIDE)),
            ["premium: passed, but with a tolerance so wide that it proves little"],
        ),
        (
            Gate("premium", 1.0, (replace(WIDE, tolerance_pct=30.1),)),
            ["premium: passed, but with a tolerance so wide that it proves little"],
        ),
        (
            Gate("premium", 1.0, (replace(WIDE, tolerance_pct=30.0),)),
            ["| **premium: passed** |"],
        ),
    ],
    ids=[
        "none",
        "failed",
        "tolerance lifted",
        "one is wide",
        "wide",
        "widest that proves",
    ],
)
def test_a_gate_that_proves_nothing_is_called_so(
    gate: Gate | None, texts: list[str], tmp_path: Path
) -> None:
    campaign = build_campaign(
        profiles=["premium"],
        workloads=["insert"],
        repetitions=1,
        frames=False,
        change=lambda record: replace(record, gate=gate),
    )
    written = _written(campaign, tmp_path)
    assert [text for text in texts if text not in written] == []


def test_terminal_shows_status_answer_and_changes() -> None:
    shown = _shown(
        build_campaign(workloads=["point-select"], noise_pct=0.1, frames=False)
    )
    assert shown.startswith(
        "Buy premium-v2 (Premium SSD v2, 10,000 IOPS, 250 MB/s): 255.00 USD a month for "
    )
    assert "\nCONCLUSIVE" in shown
    assert "Emulated disks" in shown
    rows = [line.split() for line in shown.splitlines()]
    assert ["n", "=", "3"] in [row[:3] for row in rows]
    assert any(row[:1] == ["premium-v2"] and row.count("better") == 3 for row in rows)


def test_a_status_stands_there_whatever_the_first_line_says() -> None:
    document = Document(
        title="Which disk?",
        subtitle="",
        status="observed",
        status_text="Nothing was loaded.",
        stamps=(),
        answers=(),
        verdicts=Table((), ()),
        sections=(),
        brief=Brief("Observed"),
        is_example=False,
    )
    assert "observed: Nothing was loaded." in list(report.console_of(document))
    page = report.files_of(document)[report.PAGE]
    assert '<p class="status observed"><b>observed</b> Nothing was loaded.</p>' in page


def test_terminal_fits_eighty_columns() -> None:
    shown = _shown(
        build_campaign(workloads=["point-select", "tpcc"], noise_pct=20.0, frames=False)
    )
    assert max(len(line.rstrip()) for line in shown.splitlines()) <= 80
    assert "…" not in shown


def test_gate_table_for_the_terminal() -> None:
    gate = Gate(
        "ultra",
        1.0,
        (
            GateCheck("read IOPS", "1/s", 10_000.0, 9_900.0, 5.0, "ok"),
            GateCheck("write latency", "s", None, 0.0011, None, "not declared"),
        ),
    )
    console = Console(width=100, no_color=True)
    with console.capture() as captured:
        console.print(TableView(gate_table(gate)))
    lines = [" ".join(line.split()) for line in captured.get().splitlines()]
    assert lines == [
        "Limit Declared Measured Off by Allowed Verdict",
        "ultra: passed",
        "read IOPS 10,000 9,900 −1.0 % ±5 % ok",
        "write latency none declared 1.10 ms not declared",
    ]


def test_a_stand_in_is_said_before_everything_else() -> None:
    def played(record: Record) -> Record:
        return replace(record, facts={**record.facts, "database": {"stand_in": True}})

    document = _document(
        build_campaign(workloads=["tpcc"], frames=False, change=played)
    )
    assert document.stamps[0].label == "Stand-in, not a real cluster"
    assert "nothing about any database" in document.stamps[0].text


def test_what_stood_in_for_yugabytedb_is_the_first_line_everywhere(
    tmp_path: Path,
) -> None:
    note = Note("fallback database", "PostgreSQL stands in for YugabyteDB: no image")
    campaign = build_campaign(workloads=["point-select"], notes=(note,), frames=False)
    first = "PostgreSQL stands in for YugabyteDB"
    assert _shown(campaign).splitlines()[0] == f"{first}."
    written = concluding.write_report(campaign, judge(campaign), tmp_path)
    assert written.markdown.read_text().splitlines()[0] == f"**{first}.**"
    page = written.html.read_text().partition("<header>")[2]
    assert page.split("</p>")[0].endswith(f">{first}.")
    for_ticket = report.for_the_ticket(campaign, judge(campaign))
    assert first in for_ticket.strip().splitlines()[0]


def test_what_ran_on_yugabytedb_itself_has_no_such_line() -> None:
    note = Note("preferred database", "the database is YugabyteDB: it passed here")
    campaign = build_campaign(workloads=["point-select"], notes=(note,), frames=False)
    assert "stands in" not in _shown(campaign)
    untested = judge(campaign).answer
    assert untested is not None
    assert not any(each.kind == "database" for each in untested.untested)
