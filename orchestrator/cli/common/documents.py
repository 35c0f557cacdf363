"""A document in the form that was asked for: on the terminal, as JSON, Markdown or a page, its
first lines, or the names of disks alone."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import RenderableType

from orchestrator import report
from orchestrator.analysis.answers.record import Brief
from orchestrator.cli.common import forms, streams
from orchestrator.cli.common.app import App
from orchestrator.report.blocks import Document
from orchestrator.system import files
from orchestrator.texts import foreign_text


def show(app: App, content: object, document: Document, *below: RenderableType) -> None:
    """`content`: the same as JSON. `below`: what stands below it on the terminal."""
    if app.out.form == forms.NAME:
        show_names(app, document.named_disks, document.brief)
        return
    text = ""
    if app.out.form == forms.MARKDOWN:
        text = report.ticket_of(document)
    elif app.out.form == forms.SUMMARY:
        text = report.summary_of_document(document)
    elif app.out.form == forms.HTML:
        text = report.files_of(document, app.cache)[report.PAGE]
    if text:
        # Past the console, which would break lines and read brackets as styles.
        streams.write_utf_8(foreign_text.printable(text))
        return
    app.out.show(content, *report.console_of(document), *below)


def show_names(app: App, named_disks: Sequence[str], brief: Brief) -> None:
    """The disks that an answer names, a line each. If it names none, standard error says what it
    says instead."""
    app.out.show(None, names=named_disks)
    if not named_disks:
        app.err.print_line(f"no disk is named: {brief.what}")


def write(app: App, folder: Path, document: Document, name: str) -> None:
    """The document as a page, as Markdown and its charts, in a folder that may have others.
    NotWrittenError. `name`: of its files, without their endings."""
    texts = report.files_of(document, app.cache)
    texts[f"{name}.html"] = texts.pop(report.PAGE)
    texts[f"{name}.md"] = texts.pop(report.MARKDOWN)
    files.write_below(folder, texts)
