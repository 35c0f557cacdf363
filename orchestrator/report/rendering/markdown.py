"""Draws a Document as Markdown (GitHub's kind, for its tables): text and links to charts."""

from __future__ import annotations

import re
from collections.abc import Callable

from orchestrator.report import wording
from orchestrator.report.blocks import Document, Table
from orchestrator.report.rendering import filled

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
_BREAKS = re.compile(r"\s*[\r\n\t]+\s*")
_CODE = re.compile(r"(`[^`|]+`)")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def draw(document: Document) -> str:
    """The whole report as one Markdown text, ending in a newline."""
    return filled("report.md.jinja", _filters(), document=document)


def table(table: Table) -> str:
    """One table, with its remarks below."""
    return filled("table.md.jinja", _filters(), table=table).rstrip()


def _filters() -> dict[str, Callable[..., str]]:
    return {"plain": _plain, "raised": _raised, "unbroken": wording.unbroken}


def _raised(numbers: tuple[int, ...]) -> str:
    return "·".join(str(number).translate(_RAISED) for number in numbers)


def _plain(text: str) -> str:
    """Text with Markdown's own signs escaped, except in `code`, and line breaks closed up."""
    pieces = _CODE.split(_BREAKS.sub(" ", text))
    return "".join(
        piece if _CODE.fullmatch(piece) else _SPECIAL.sub(r"\\\1", piece) for piece in pieces
    )
