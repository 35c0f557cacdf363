"""Draws a Document as Markdown (GitHub's kind, for its tables): text and links to charts."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator

from orchestrator.report import wording
from orchestrator.report.blocks import (
    Answer,
    Block,
    Cell,
    Charts,
    Code,
    Document,
    Footnote,
    Items,
    Paragraph,
    Section,
    Table,
)

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
_BREAKS = re.compile(r"\s*[\r\n\t]+\s*")
_CODE = re.compile(r"(`[^`|]+`)")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def draw(document: Document) -> str:
    """The whole report as one Markdown text, ending in a newline."""
    pieces = [
        f"# {_plain(document.title)}",
        _plain(document.subtitle),
        f"**{document.status.upper()}.** {_plain(document.status_text)}",
        *_stamps(document),
        *(_answer(answer, len(document.tiers)) for answer in document.answers),
        table(document.verdicts),
        *_footnotes(document.footnotes),
    ]
    for section in document.sections:
        pieces.extend(_section(section))
    return "\n\n".join(piece for piece in pieces if piece) + "\n"


def _stamps(document: Document) -> Iterator[str]:
    if document.stamps:
        yield "\n>\n".join(
            f"> **{_plain(stamp.label)}.** {_plain(stamp.text)} {_advice(stamp.advice)}".rstrip()
            for stamp in document.stamps
        )


def _answer(answer: Answer, tiers: int) -> str:
    if tiers < 2:
        return f"**{_plain(answer.workload)}**: {_plain(answer.text)}"
    chosen = _plain(answer.tier) if answer.tier else "no answer"
    price = f" ({_plain(answer.price)})" if answer.price else ""
    return f"**{_plain(answer.workload)}: {chosen}**{price}. {_plain(answer.text)}"


def _footnotes(footnotes: tuple[Footnote, ...]) -> Iterator[str]:
    if footnotes:
        yield "**Doubts**"
        yield "\n".join(
            f"- {_raised((note.number,))} {_plain(note.text)} {_advice(note.advice)} "
            f"({_plain(note.where)})"
            for note in footnotes
        )


def _advice(text: str) -> str:
    return f"*{_plain(text)}*" if text else ""


def _section(section: Section) -> Iterator[str]:
    yield f"## {_plain(section.title)}"
    for part in section.parts:
        if part.title:
            yield f"### {_plain(part.title)}"
        for block in part.blocks:
            yield _block(block)


def _block(block: Block) -> str:
    match block:
        case Table():
            return table(block)
        case Paragraph():
            return _paragraph(block)
        case Items(rows=rows):
            return "\n".join(f"- {_paragraph(row)}" for row in rows)
        case Code(text=text):
            return f"```sh\n{text}\n```"
        case Charts():
            return _charts(block)


def _paragraph(paragraph: Paragraph) -> str:
    lead = f"**{_plain(paragraph.lead)}**: " if paragraph.lead else ""
    return lead + _plain(paragraph.text)


def _charts(charts: Charts) -> str:
    images = "\n".join(f"![{_plain(chart.title)}]({chart.path})" for chart in charts.rows)
    text = f"{images}\n\n{_plain(charts.caption)}" if charts.caption else images
    if not charts.folded:
        return text
    summary = f"<summary>{html.escape(charts.folded)}</summary>"
    return f"<details>{summary}\n\n{text}\n\n</details>"


def table(table: Table) -> str:
    """One table, with its remarks below."""
    width = len(table.columns)
    lines = [
        _row(_plain(column.title) for column in table.columns),
        _row("---:" if column.numeric else "---" for column in table.columns),
    ]
    for cells in table.rows:
        drawn = [_cell(cell) for cell in cells]
        lines.append(_row(drawn + [""] * (width - len(drawn))))
    text = "\n".join(lines)
    return "\n\n".join((text, *(_plain(remark) for remark in table.remarks)))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell) -> str:
    text = _plain(wording.unbroken(cell.text))
    if cell.href:
        text = f"[{text}]({cell.href})"
    if cell.missing:
        text = f"*{text}*"
    if cell.strong:
        text = f"**{text}**"
    if cell.word:
        text = f"{text} **{cell.word}**"
    text += _raised(cell.notes)
    return f"{text}<br>{_plain(wording.unbroken(cell.detail))}" if cell.detail else text


def _raised(numbers: tuple[int, ...]) -> str:
    return "·".join(str(number).translate(_RAISED) for number in numbers)


def _plain(text: str) -> str:
    """Text with Markdown's own signs escaped, except in `code`, and line breaks closed up."""
    pieces = _CODE.split(_BREAKS.sub(" ", text))
    return "".join(
        piece if _CODE.fullmatch(piece) else _SPECIAL.sub(r"\\\1", piece) for piece in pieces
    )
