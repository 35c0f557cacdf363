"""Draws a Document as one HTML page that needs no other file: style, charts, scripts inside it."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from orchestrator.report import wording
from orchestrator.report.blocks import Block, Chart, Document
from orchestrator.report.charts import charts
from orchestrator.report.rendering import page_scripts


def draw(document: Document, cache: Path | None = None) -> str:
    """The whole page. All text is escaped; the charts are our own SVG and stand as they are.
    `cache`: as of `page_scripts.of`."""
    here = resources.files(__package__)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["kind"] = _kind
    environment.filters["inline_svg"] = _inline
    environment.filters["text"] = _text
    template = environment.from_string((here / "page.html.jinja").read_text(encoding="utf-8"))
    style = Markup((here / "page.css").read_text(encoding="utf-8"))
    colour = charts.colours(document.tiers)
    scripts = page_scripts.of(document, cache)
    page = template.render(document=document, style=style, colour=colour, scripts=scripts)
    return page + "\n"


def _kind(block: Block) -> str:
    """Which macro draws a block."""
    return type(block).__name__.lower()


_CODE = re.compile(r"`([^`]+)`")


def _text(text: str) -> Markup:
    """Escaped; a number and its unit stay on one line, and `code` is set as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(wording.unbroken(text)))))


def _inline(chart: Chart) -> Markup:
    """A chart inside the page, with a name for those who hear the page."""
    named = Markup('<svg role="img" aria-label="{}" ').format(chart.title)
    return Markup(chart.svg.replace("<svg ", str(named), 1))
