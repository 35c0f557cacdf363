"""What the report says of the code that measured."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.analysis.verdicts import judge
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import method
from orchestrator.report.sections.method import section
from tests.campaigns import build_campaign, later


def test_the_code_that_measured_is_named_where_it_is_known() -> None:
    made = build_campaign(workloads=["insert"], frames=False)
    known = later(made, 0, revision="0123456789abcdef", revision_changed=True)
    verdict = judge(made)
    assert "measured" not in str(section(ReportIndex(made, verdict)).parts[1])
    said = str(section(ReportIndex(known, verdict)).parts[1])
    assert (
        "tierbench 0.1.0 (0123456789ab, with changes) measured. plan.json holds" in said
    )


def test_a_run_says_when_its_window_began_or_why_nobody_knows() -> None:
    made = build_campaign(
        profiles=["ultra"],
        workloads=["insert"],
        repetitions=3,
        frames=False,
        failed=[2],
        change=lambda record: replace(record, phases=record.phases[:1]),
    )
    done, failed, _ = made.runs
    assert method._begin(None).text == "never measured"
    assert method._begin(failed).text == "never measured"
    assert method._begin(done).text == "not recorded"
