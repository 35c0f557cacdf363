"""The report of a campaign, made from its records and verdict alone: Markdown, HTML, terminal.

`write` leaves report.md, report.html and charts/*.svg in a folder; `console` returns the first
screen for a terminal. Both are pure apart from the files that `write` leaves: the same campaign and
verdict give the same text, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from orchestrator.analysis.results import Results
from orchestrator.model import Gate, Verdict
from orchestrator.report import disks, summary, terminal
from orchestrator.report.blocks import Document, Figure, Figures
from orchestrator.report.caveats import stamps
from orchestrator.report.findings import Findings

__all__ = ["ReportPaths", "console", "gate_table", "write"]


@dataclass(frozen=True)
class ReportPaths:
    """What `write` left."""

    markdown: Path
    html: Path
    charts: tuple[Path, ...]


def write(campaign: Results, verdict: Verdict, folder: Path) -> ReportPaths:
    """Writes the report into `folder`, over an older one. OSError where that is not possible."""
    # Here, because what draws charts takes half a second to import: only a report waits for it.
    from orchestrator.report import markdown, page
    from orchestrator.report.document import arrange

    document = arrange(campaign, verdict)
    paths = ReportPaths(
        markdown=folder / "report.md",
        html=folder / "report.html",
        charts=tuple(folder / figure.path for figure in _figures(document)),
    )
    (folder / "charts").mkdir(parents=True, exist_ok=True)
    for figure in _figures(document):
        (folder / figure.path).write_text(figure.svg, encoding="utf-8")
    paths.markdown.write_text(markdown.draw(document), encoding="utf-8")
    paths.html.write_text(page.draw(document), encoding="utf-8")
    return paths


def _figures(document: Document) -> Iterator[Figure]:
    for section in document.sections:
        for part in section.parts:
            for block in part.blocks:
                if isinstance(block, Figures):
                    yield from block.rows


def console(campaign: Results, verdict: Verdict) -> tuple[RenderableType, ...]:
    """Status, stamps, answers, the verdict table and the doubts, each ready to be printed."""
    findings = Findings(campaign, verdict)
    parts: list[RenderableType] = [terminal.status(*summary.status(findings))]
    found = stamps(findings)
    if found:
        parts.append(terminal.stamps(found))
    parts += [Text(), terminal.answers(summary.answers(findings), len(findings.tiers)), Text()]
    parts.append(terminal.table(summary.verdict_table(findings)))
    if findings.footnotes:
        parts += [Text(), terminal.doubts(findings.footnotes)]
    if found:
        parts += [Text(), terminal.meanings(found)]
    return tuple(parts)


def gate_table(gate: Gate) -> RenderableType:
    """Declared against measured of one tier, for a terminal."""
    return terminal.table(disks.gate_table(gate))
