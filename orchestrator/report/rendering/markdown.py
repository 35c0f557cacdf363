"""Draws a Document as Markdown (GitHub's kind, for its tables), or a section of it alone."""

import re
from collections.abc import Callable, Iterable
from typing import Literal

from orchestrator.report import blocks, wording
from orchestrator.report.rendering import filled

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
_BREAKS = re.compile(r"\s*[\r\n\t]+\s*")
_CODE = re.compile(r"(`[^`|]+`)")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_GAP = "  "  # between the columns of plain text


def draw(document: blocks.Document) -> str:
    """The whole report as one Markdown text, ending in a newline."""
    return filled("report.md.jinja", _filters(), document=document)


def section(section: blocks.Section, form: Literal["md", "txt"] = "md") -> str:
    """A section alone, as Markdown or as plain text, in which each statement is one line."""
    filters = {**_filters(), "aligned": _aligned}
    return filled(f"section.{form}.jinja", filters, section=section).lstrip()


def table(table: blocks.Table) -> str:
    """One table, with its remarks below."""
    return filled("table.md.jinja", _filters(), table=table).rstrip()


def _filters() -> dict[str, Callable[..., str]]:
    return {"plain": _plain, "raised": _raised, "unbroken": wording.unbroken}


def _plain(text: str) -> str:
    """Text with Markdown's own signs escaped, except in `code`, and line breaks closed up."""
    escaped = ""
    for part in _CODE.split(_BREAKS.sub(" ", text)):
        if _CODE.fullmatch(part):
            escaped += part
        else:
            escaped += _SPECIAL.sub(r"\\\1", part)
    return escaped


def _raised(numbers: Iterable[int]) -> str:
    """Of footnotes: `¹·¹²`."""
    return "·".join(str(number) for number in numbers).translate(_RAISED)


def _widths(rows: Iterable[Iterable[str]]) -> list[int]:
    """Of each column its widest text."""
    widths: list[int] = []
    for column in zip(*rows, strict=True):
        widths.append(max(len(text) for text in column))
    return widths


def _aligned(table: blocks.Table) -> str:
    """Its texts in columns of one width."""
    rows = [[column.title for column in table.columns]]
    rows += [[cell.text for cell in row] for row in table.rows]
    widths = _widths(rows)
    lines: list[str] = []
    for row in rows:
        lines.append(_padded(row, widths).rstrip())
    return "\n".join(lines)


def _padded(row: Iterable[str], widths: Iterable[int]) -> str:
    texts = zip(row, widths, strict=True)
    return _GAP.join(text.ljust(width) for text, width in texts)
