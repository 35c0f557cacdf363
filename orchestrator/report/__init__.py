"""The report of a campaign, made from its records and verdict alone: Markdown, HTML, terminal.

`write` leaves report.md, report.html and charts/*.svg in a folder; `console` returns the first
screen for a terminal. Both are pure apart from the files that `write` leaves: the same campaign and
verdict give the same text, byte for byte."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import RenderableType
from rich.text import Text

from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.report.blocks import Document, charts_of
from orchestrator.report.rendering import markdown, page, terminal
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import (
    conditions,
    decisions,
    deltas,
    disk_matrix,
    disks,
    factors,
    latency,
    measured,
    method,
    over_time,
    predicted,
    resources,
    summary,
    ticket,
)
from orchestrator.report.sections.caveats import stamps


@dataclass(frozen=True)
class ReportPaths:
    """The files that `write` left."""

    markdown: Path
    html: Path
    charts: tuple[Path, ...]


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
        answers=(*factors.answers(index), *summary.answers(index)),
        verdicts=summary.verdict_table(index),
        changes=deltas.charts_of_changes(index),
        footnotes=index.footnotes,
        sections=(
            ticket.section(index),
            *decisions.section(index),
            *factors.sections(index),
            *predicted.section(index),
            measured.section(index),
            *measured.failures(index),
            *disk_matrix.sections(index),
            deltas.section(index),
            resources.bottlenecks(index),
            *resources.nodes(index),
            *resources.storage_engine(index),
            *resources.statements(index),
            *resources.conservation(index),
            *latency.section(index),
            over_time.section(index),
            disks.section(index),
            conditions.cache(index),
            conditions.environment(index),
            method.section(index),
        ),
        tiers=index.tiers,
    )


def write(
    campaign: Results, verdict: Verdict, folder: Path, cache: Path | None = None
) -> ReportPaths:
    """Writes the report into `folder`, over an older one. OSError if that is not possible.
    `cache`: a folder that keeps what every page has; without it, that is made anew."""
    return write_document(arrange(campaign, verdict), folder, cache)


def write_document(
    document: Document, folder: Path, cache: Path | None = None
) -> ReportPaths:
    """The same of any document."""
    paths = ReportPaths(
        markdown=folder / "report.md",
        html=folder / "report.html",
        charts=tuple(folder / chart.path for chart in charts_of(document)),
    )
    (folder / "charts").mkdir(parents=True, exist_ok=True)
    for chart in charts_of(document):
        (folder / chart.path).write_text(chart.svg, encoding="utf-8")
    paths.markdown.write_text(markdown.draw(document), encoding="utf-8")
    paths.html.write_text(page.draw(document, cache), encoding="utf-8")
    return paths


def for_the_ticket(
    campaign: Results, verdict: Verdict, form: Literal["md", "txt"]
) -> str:
    """The page's box for the ticket as Markdown without any HTML, or as plain text."""
    return markdown.section(ticket.section(ReportIndex(campaign, verdict)), form)


def console(campaign: Results, verdict: Verdict) -> tuple[RenderableType, ...]:
    """Status, stamps, answers, the verdict table and the doubts, each ready to be printed."""
    index = ReportIndex(campaign, verdict)
    parts: list[RenderableType] = [terminal.status(*summary.status(index))]
    labels = stamps(index)
    if labels:
        parts.append(terminal.stamps(labels))
    first = (*factors.answers(index), *summary.answers(index))
    parts += [Text(), terminal.answers(first, 1 + len(index.contenders)), Text()]
    parts.append(terminal.TableView(summary.verdict_table(index)))
    offered = [decision for decision in verdict.decisions if decision.offers]
    below = [
        (decision.workload, decisions.table(index, decision)) for decision in offered
    ]
    below += [
        (f"{of.workload}, {tier.tier}", factors.table(index, of, tier))
        for of in (*verdict.sweeps, *verdict.varied)
        for tier in of.tiers
    ]
    for workload, table in below:
        parts += [Text(), Text(workload, style="bold"), terminal.TableView(table)]
    if index.footnotes:
        parts += [Text(), terminal.doubts(index.footnotes)]
    if labels:
        parts += [Text(), terminal.meanings(labels)]
    if lines := tuple(summary.faster(index)):
        parts += [Text(), terminal.answers(lines, 1)]
    return tuple(parts)
