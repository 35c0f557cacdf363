"""The four lines on top, as a campaign's report has them."""

from dataclasses import replace

from orchestrator.analysis.answers.phrases import closed
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


def status_text(index: ReportIndex) -> str:
    """What is said behind the first word, without what the four lines say already."""
    text = index.answer.sureness.text
    lines = index.answer.brief
    for sentences in (closed(lines.what), lines.why):
        text = text.replace(sentences, "").strip()
    return text
