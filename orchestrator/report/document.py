"""Arranges a campaign and its verdict into one Document: the order in which a reader needs it."""

from __future__ import annotations

from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.report.blocks import Document
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import (
    conditions,
    decisions,
    deltas,
    disk_matrix,
    disks,
    latency,
    measured,
    method,
    over_time,
    resources,
    summary,
    sweeps,
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
            *decisions.section(index),
            *sweeps.sections(index),
            measured.section(index),
            *measured.failures(index),
            *disk_matrix.sections(index),
            deltas.section(index),
            resources.bottlenecks(index),
            *resources.nodes(index),
            *resources.storage_engine(index),
            *latency.section(index),
            over_time.section(index),
            disks.section(index),
            conditions.cache(index),
            conditions.environment(index),
            method.section(index),
        ),
        tiers=index.tiers,
    )
