"""What the report says of the code that measured."""

from __future__ import annotations

from orchestrator.analysis.verdicts import judge
from orchestrator.report.report_index import ReportIndex
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
