"""The report of a campaign, made from its records and verdict alone: Markdown, HTML, terminal.

`files` returns the texts of report.md, report.html and charts/*.svg; `console` returns the first
screen for a terminal. Both are pure: the same campaign and verdict give the same text, byte for
byte, and the caller writes it. Nothing is judged here: what to buy is said by `Answer`, which
`analysis` makes. The modules that draw a page are imported when one is drawn, because a terminal
needs none of them.
"""

from collections.abc import Iterator
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from orchestrator.analysis.answers import phrases
from orchestrator.analysis.answers.record import Brief
from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.report.blocks import Document, Stamp, Table, charts_of, labelled
from orchestrator.report.rendering import markdown, terminal
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import (
    cards,
    decisions,
    factors,
    summary,
    ticket,
)
from orchestrator.report.sections.caveats import stamps

# Names of the files in a results folder.
MARKDOWN = "report.md"
PAGE = "report.html"


def files(
    campaign: Results, verdict: Verdict, cache: Path | None = None
) -> dict[str, str]:
    """Path in the results folder → text, for every file of the report.

    `cache`: a folder that keeps what is the same on every page. Without it that is made anew.
    """
    from orchestrator.report import document

    return files_of(document.arrange(campaign, verdict), cache)


def files_of(document: Document, cache: Path | None = None) -> dict[str, str]:
    """Path in the results folder → text, for every file of any document, as from `files`."""
    from orchestrator.report.rendering import page

    # Charts are files of their own too, for Markdown and for a page without scripts.
    texts = {chart.path: chart.svg for chart in charts_of(document)}
    texts[MARKDOWN] = markdown.draw(document)
    texts[PAGE] = page.draw(document, cache)
    return texts


def for_the_ticket(campaign: Results, verdict: Verdict) -> str:
    """The page's box for the ticket as Markdown without any HTML."""
    index = ReportIndex(campaign, verdict)
    return markdown.section(ticket.section(index))


def summary_of(campaign: Results, verdict: Verdict) -> str:
    """The question and the lines of the brief, for a chat or a merge request.

    Before them a rehearsal says that its figures are made up.
    """
    index = ReportIndex(campaign, verdict)
    notice = phrases.notice(index.answer)
    return _summary(summary.title(index), notice, index.answer.brief)


def summary_of_document(document: Document) -> str:
    """The same of any document."""
    return _summary(document.title, document.notice, document.brief)


def _summary(title: str, notice: str, answer: Brief) -> str:
    lines = [title, answer.what]
    if notice:
        # A message is copied alone, and must say that its figures are of no real cluster.
        lines.insert(0, f"{notice}.")
    for label, text in answer.lines:
        lines.append(f"{label}: {text}")
    return "\n".join(lines) + "\n"


def ticket_of(document: Document) -> str:
    """The document's box for the ticket as Markdown without any HTML; ValueError if it has none."""
    for section in document.sections:
        if section.anchor == ticket.ANCHOR:
            return markdown.section(section)
    raise ValueError(f"{document.title} has no box for a ticket")


def console_of(document: Document) -> Iterator[RenderableType]:
    """The first screen of any document: its answer, how sure that is, cards, a table, and what
    limits it."""
    if document.notice:
        yield terminal.notice(document.notice)
    yield from terminal.brief(document.brief)
    if document.status_text:
        yield f"{document.status}: {document.status_text}"
    yield document.subtitle
    yield terminal.answers(document.answers)
    yield terminal.TableView(document.verdicts)
    yield terminal.meanings(document.labelled)


def console(campaign: Results, verdict: Verdict) -> tuple[RenderableType, ...]:
    """Status, stamps, answers, the verdict table and the notes, each ready to be printed.

    If figures are made up, only the answers are shown.
    """
    index = ReportIndex(campaign, verdict)
    labels = stamps(index)
    screen = [*_first_screen(index, labels)]
    # Tables of made-up figures would be taken for measured ones.
    if index.answer.is_example:
        return tuple(screen)
    for title, table in _tables_below(index):
        screen += [Text(), Text(title, style="bold"), terminal.TableView(table)]
    if index.footnotes:
        screen += [Text(), terminal.doubts(index.footnotes)]
    if labels:
        screen += [Text(), terminal.meanings(labels)]
    return tuple(screen)


def _first_screen(
    index: ReportIndex, labels: tuple[Stamp, ...]
) -> Iterator[RenderableType]:
    notice = phrases.notice(index.answer)
    if notice:
        yield terminal.notice(notice)
    yield from terminal.brief(index.answer.brief)
    yield Text()
    if index.answer.is_example:  # a screen that shows the form
        yield terminal.answers(cards.answers(index, with_pictures=False))
        return
    yield terminal.status(index.answer.sureness.word, index.status_text)
    # What the four lines say already needs no label below them.
    if labelled(labels):
        yield terminal.stamps(labelled(labels))
    yield Text()
    yield terminal.answers(cards.answers(index, with_pictures=False))
    yield Text()
    yield terminal.TableView(summary.verdict_table(index))


def _tables_below(index: ReportIndex) -> Iterator[tuple[str, Table]]:
    """The tables below the first screen, each with its title.

    For each decision a table says what each tier costs and gives. For each sweep or varied factor,
    a table for each tier has its figures at each value.
    """
    verdict = index.verdict
    for decision in verdict.decisions:
        # A sweep has no offers; its tables follow below.
        if decision.offers:
            yield decision.workload, decisions.table(index, decision)
    for workload in (*verdict.sweeps, *verdict.varied):
        for tier in workload.tiers:
            title = f"{workload.workload}, {tier.tier}"
            yield title, factors.table(index, workload, tier)
