"""Arranges a campaign and its verdict into one Document: the order in which a reader needs it."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.report.blocks import Document, Part, Section
from orchestrator.report.charts import price_charts
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import (
    bottlenecks,
    chart_sections,
    conditions,
    decisions,
    disk_matrix,
    disks,
    failures,
    method,
    nodes,
    storage_engine,
    summary,
    sweeps,
    tables,
)
from orchestrator.report.sections.caveats import stamps


def arrange(campaign: Results, verdict: Verdict) -> Document:
    """The first screen, then tables, causes, charts, and the conditions they hold under."""
    index = ReportIndex(campaign, verdict)
    word, text = summary.status(index)
    return Document(
        title=summary.title(index),
        subtitle=summary.subtitle(index),
        status=word,
        status_text=text,
        stamps=stamps(index),
        answers=summary.answers(index),
        verdicts=summary.verdict_table(index),
        footnotes=index.footnotes,
        sections=(
            *_decisions(index),
            *sweeps.sections(index),
            tables.measured(index),
            *failures.section(index),
            *disk_matrix.sections(index),
            _deltas(index),
            bottlenecks.section(index),
            *nodes.section(index),
            *storage_engine.section(index),
            *chart_sections.distributions(index),
            chart_sections.over_time(index),
            disks.section(index),
            conditions.cache(index),
            conditions.environment(index),
            method.section(index),
        ),
        tiers=index.tiers,
    )


def _decisions(index: ReportIndex) -> tuple[Section, ...]:
    """The table of each workload, and the same as a chart where prices are known."""
    drawn = {
        decision.workload: price_charts.of_decision(index, decision)
        for decision in index.verdict.decisions
    }
    return tuple(
        replace(
            section,
            parts=tuple(
                replace(part, blocks=(*part.blocks, *drawn[part.title])) for part in section.parts
            ),
        )
        for section in decisions.section(index)
    )


def _deltas(index: ReportIndex) -> Section:
    """The tables of changes, the same as a chart, and why some are open."""
    section = tables.deltas(index)
    title = "As intervals" if summary.has_intervals(index) else "As a chart"
    charts = tuple(Part(title, (drawn,)) for drawn in chart_sections.changes(index))
    return replace(section, parts=(*section.parts, *charts, *tables.open_questions(index)))
