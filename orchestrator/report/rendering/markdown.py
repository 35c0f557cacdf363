"""Draws a Document as Markdown (GitHub's kind, for its tables), or a section of it alone."""

import re
from collections.abc import Callable, Iterable

from orchestrator.report import blocks, wording
from orchestrator.report.rendering import filled

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
# Line breaks are closed up, because a row of a table is one line.
_BREAKS = re.compile(r"\s*[\r\n\t]+\s*")
# Without `|`, which ends a cell of GitHub's tables even within code.
_CODE = re.compile(r"(`[^`|]+`)")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def draw(document: blocks.Document) -> str:
    """The whole report as one Markdown text, ending in a newline."""
    return filled("report.md.jinja", _filters(), document=document)


def section(section: blocks.Section) -> str:
    """A section alone, in which each statement is one line."""
    return filled("section.md.jinja", _filters(), section=section).lstrip()


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
    """The numbers of footnotes, raised: `¹·¹²`."""
    return "·".join(str(number) for number in numbers).translate(_RAISED)
