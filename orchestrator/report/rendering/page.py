"""Draws a Document as one HTML page that needs no other file: style, charts, scripts inside it."""

import base64
import contextlib
import functools
import gzip
import hashlib
import json
import os
import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from orchestrator.report import blocks, wording
from orchestrator.report.charts import charts
from orchestrator.report.rendering import filled, markdown, text_of


def draw(document: blocks.Document, cache: Path | None = None) -> str:
    """The whole page. All text is escaped, but for our own SVG. `cache`: as of `scripts_of`."""
    return filled(
        "page.html.jinja",
        {"inline_svg": _inline, "text": _text, "markdown": markdown.section},
        document=document,
        style=Markup(text_of("page.css")),
        colour=charts.colours(document.tiers),
        scripts=scripts_of(document, cache),
    )


_CODE = re.compile(r"`([^`]+)`")


def _text(text: str) -> Markup:
    """Escaped; a number and its unit stay on one line, and `code` is set as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(wording.unbroken(text)))))


def _inline(chart: blocks.Chart) -> Markup:
    """A chart inside the page: to those who hear the page it is one image with a name."""
    named = Markup('<svg role="img" aria-label="{}" ').format(chart.title)
    svg = chart.svg.replace("<svg ", str(named), 1)
    return Markup(svg.replace("<g ", '<g aria-hidden="true" ', 1))


# Vega with all that it needs, the page's own scripts, and the drawings as data. vl-convert carries
# Vega, so that nothing is loaded from anywhere; the page's policy forbids it too, and runs these
# scripts alone, which it knows by their checksums.


def scripts_of(document: blocks.Document, cache: Path | None = None) -> dict[str, Any]:
    """drawings: packed JSON. code: the scripts, without Vega if no chart can be drawn anew. sums:
    theirs, as the page's policy names them. `cache`: a folder that keeps Vega's code for the next
    page."""
    drawn = {
        chart.name: chart.live for chart in blocks.charts_of(document) if chart.live
    }
    drawing: tuple[str, ...] = ()
    if drawn:
        drawing = (_vega(cache), text_of("page.js"))
    code = [_closed(text) for text in (*drawing, text_of("copy.js"))]
    digests = (hashlib.sha256(text.encode()).digest() for text in code)
    sums = " ".join(
        f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests
    )
    look = {
        **charts.drawing("look"),
        "background": "transparent",
    }  # the page's, light or dark
    drawings = _packed({"config": look, "charts": drawn})
    return {"drawings": drawings, "code": [Markup(text) for text in code], "sums": sums}


def _vega(cache: Path | None) -> str:
    """Vega's code, made once for each of its versions."""
    kept = None
    if cache:
        kept = cache / f"vega-{metadata.version('vl-convert-python')}.js"
    if kept is not None and kept.is_file():
        return kept.read_text(encoding="utf-8")
    bundle = _bundle()
    if kept is not None:
        with contextlib.suppress(OSError):  # then it is made again
            new = kept.with_suffix(f".{os.getpid()}")
            new.write_text(bundle, encoding="utf-8")
            new.replace(kept)
    return bundle


@functools.cache
def _bundle() -> str:
    """It takes two seconds."""
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def _closed(code: str) -> str:
    """The code, which must not end the element that it stands in."""
    if "</script" in code.lower() or "<!--" in code:
        raise ValueError("a script of the page holds `</script` or `<!--`")
    return code


def _packed(content: Mapping[str, Any]) -> str:
    """JSON, compressed, in letters that cannot end its element."""
    text = json.dumps(
        content, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
