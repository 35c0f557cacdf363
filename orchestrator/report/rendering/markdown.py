"""Draws a Document as Markdown (GitHub's kind, for its tables): text and links to charts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Document, Table
from orchestrator.report.rendering import filled

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
_BREAKS = re.compile(r"\s*[\r\n\t]+\s*")
_CODE = re.compile(r"(`[^`|]+`)")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def draw(document: Document) -> str:
    """The whole report as one Markdown text, ending in a newline."""
    return filled(
        "report.md.jinja", {"plain": _plain, "raised": _raised, "table": table}, document=document
    )


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
