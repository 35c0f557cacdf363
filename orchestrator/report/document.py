"""Arranges a campaign and its verdict into one Document: the order in which a reader needs it."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.analysis.results import Results
from orchestrator.model import Verdict
from orchestrator.report import (
    bottlenecks,
    conditions,
    disk_matrix,
    disks,
    figures,
    method,
    summary,
    tables,
)
from orchestrator.report.blocks import Document, Part, Section
from orchestrator.report.caveats import stamps
from orchestrator.report.findings import Findings


def arrange(campaign: Results, verdict: Verdict) -> Document:
    """The first screen, then tables, causes, charts, and the conditions they hold under."""
    findings = Findings(campaign, verdict)
    word, text = summary.status(findings)
    return Document(
        title=summary.title(findings),
        subtitle=summary.subtitle(findings),
        status=word,
        status_text=text,
        stamps=stamps(findings),
        answers=summary.answers(findings),
        verdicts=summary.verdict_table(findings),
        footnotes=findings.footnotes,
        sections=(
            tables.measured(findings),
            *disk_matrix.sections(findings),
            _deltas(findings),
            bottlenecks.limits(findings),
            figures.over_time(findings),
            disks.disks(findings),
            conditions.cache(findings),
            conditions.environment(findings),
            method.method(findings),
        ),
        tiers=findings.tiers,
    )


def _deltas(findings: Findings) -> Section:
    """The tables of changes, the same as a chart, and why some are open."""
    section = tables.deltas(findings)
    charts = tuple(Part("As intervals", (drawn,)) for drawn in figures.changes(findings))
    return replace(section, parts=(*section.parts, *charts, *tables.open_questions(findings)))
