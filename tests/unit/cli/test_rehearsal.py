"""A rehearsal: all of a campaign without Docker, and nothing of it is believed."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from orchestrator import report
from orchestrator.analysis.answers.campaign import is_undecided
from orchestrator.analysis.answers.named_disks import named_disks
from orchestrator.analysis.campaigns.comparable_campaigns import obstacle_over_time
from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.common.options import Request
from orchestrator.cli.main import exit_code
from orchestrator.cli.measure import concluding
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.databases import databases
from orchestrator.databases.choice import choose
from orchestrator.design.rehearsal import NOTE, WARNING
from orchestrator.errors import EXIT_DONE, UsageError
from orchestrator.planning.profiles import Nameable, read_profile
from orchestrator.system import store
from tests.apps import an_app
from tests.plans import CLUSTER, profile_text

REQUEST = Request(
    profiles=["premium", "ultra"],
    workloads=["point-select", "tpcc"],
    scale="smoke",
    nodes=1,
    repetitions=2,
)


def carried_out(folder: Path, request: Request = REQUEST) -> Results:
    return store.load(an_app(folder).rehearse(replace(request, results=folder)))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return carried_out(tmp_path_factory.mktemp("rehearsal"))


@pytest.fixture(scope="module")
def verdict(results: Results) -> Verdict:
    return judge(results)


def test_made_up_transactions_have_these_columns_alone(tmp_path: Path) -> None:
    asked = replace(REQUEST, profiles=["premium"], workloads=["tpcc"], repetitions=1)
    carried_out(tmp_path, asked)
    files = sorted(tmp_path.rglob("made-up.csv"))
    heads = {file.read_text().partition("\n")[0] for file in files}
    assert heads == {"start_s,latency_s,queue_s,type,outcome,retries,sqlstate"}


def test_every_run_is_done_with_figures_and_telemetry(
    results: Results, verdict: Verdict
) -> None:
    assert [data.record.outcome for data in results.runs] == ["done"] * 8
    assert {"throughput_per_s", "nopm", "latency_p99_s", "cpu_pct", "disk_iops"} <= {
        cell.metric for cell in verdict.cells
    }


def test_the_plan_and_each_record_say_that_nothing_was_measured(
    results: Results,
) -> None:
    assert results.plan.notes[0] == NOTE
    for data in results.runs:
        facts = data.record.facts
        assert facts["tier"]["mechanism"] == WARNING
        assert (
            facts["database"]["rehearsal"] == facts["generator"]["rehearsal"] == WARNING
        )


def test_it_is_judged_as_an_example_that_nobody_can_take_for_an_answer(
    verdict: Verdict,
) -> None:
    """The page has the form that it would have; what it says is named an example."""
    assert verdict.doubts[0].kind == "rehearsal"
    for decision in verdict.decisions:
        assert decision.tier is None or "made-up figures" in decision.moot
    answer = verdict.answer
    assert answer is not None and answer.is_example
    assert not answer.brief.what.startswith("Buy")
    assert "roven" not in answer.brief.how_sure
    assert answer.brief.next_step.startswith("Measure it: `tierbench compare`")


def test_an_example_is_no_answer_for_a_script(verdict: Verdict) -> None:
    assert verdict.answer is not None
    assert is_undecided(verdict.answer)
    assert named_disks(verdict.answer) == ()


def test_two_rehearsals_are_not_compared(results: Results) -> None:
    cell = ("ultra", "tpcc")
    assert obstacle_over_time(results, results, cell) == WARNING


def test_the_report_says_so_before_anything_else(
    results: Results, verdict: Verdict, tmp_path: Path
) -> None:
    text = concluding.write_report(results, verdict, tmp_path).markdown.read_text()
    assert text.startswith("**EXAMPLE: nothing was measured")
    assert "a rehearsal, there was no disk" in text


def test_the_terminal_shows_an_example_in_25_lines(
    results: Results, verdict: Verdict
) -> None:
    screen = Console(width=100, record=True, file=io.StringIO())
    for part in report.console(results, verdict):
        screen.print(part)
    lines = screen.export_text().splitlines()
    assert lines[0].startswith("EXAMPLE")
    assert len(lines) <= 22  # three more say where the report is


def test_figures_follow_the_seed(results: Results, tmp_path: Path) -> None:
    again = carried_out(tmp_path, replace(REQUEST, repetitions=1))
    first, second = (
        [data.record.measurements[1].value for data in campaign.runs]
        for campaign in (results, again)
    )
    assert first[:4] == second and len(set(first)) == 8


def test_what_needs_a_disk_is_refused(tmp_path: Path) -> None:
    request = Request(profiles=["premium"], workloads=["disk-matrix"], scale="smoke")
    with pytest.raises(UsageError, match="disk-matrix measures a disk by itself"):
        carried_out(tmp_path, request)
    assert list(tmp_path.iterdir()) == []


def test_a_campaign_that_measures_takes_none_of_the_parts() -> None:
    with pytest.raises(UsageError, match="is not a database"):
        choose("dry", databases())
    tier = "{enforcement: dry, iops: 500, throughput: 60MB/s}"
    with pytest.raises(UsageError) as raised:
        read_profile("x", profile_text(tier), Nameable({"small": CLUSTER}), "smoke")
    assert "rehearsals" in raised.value.mistakes[0].what


def test_the_command_ends_well_and_shows_its_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "rehearse",
        "--profiles",
        "premium",
        "--workloads",
        "point-select",
        "--repeats",
        "2",
    ]
    code = exit_code([*words, "--results", str(tmp_path)], CampaignApp())
    assert code == EXIT_DONE, capsys.readouterr().err
    assert WARNING in " ".join((tmp_path / "latest" / "report.md").read_text().split())
