"""The four lines on top, as a campaign's report has them."""

from dataclasses import replace

from orchestrator.analysis.answers.record import Brief
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import factors


def brief(index: ReportIndex) -> Brief:
    """Those of the answer. Where a factor was varied, the first says how far a tier is enough,
    because a tier for each of its values is no answer to that."""
    lines = index.answer.brief
    if index.answer.kind != "comparison":
        return lines
    for horizon in factors.answers(index):
        return replace(lines, what=horizon.text.removesuffix("."), why="")
    return lines
