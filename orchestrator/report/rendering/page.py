"""Draws a Document as one HTML page that needs no other file: style, charts, scripts inside it."""

import base64
import contextlib
import functools
import gzip
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from orchestrator.report import blocks, wording
from orchestrator.report.charts import charts
from orchestrator.report.rendering import filled, markdown, text_of
from orchestrator.units import printable


def draw(document: blocks.Document, cache: Path | None = None) -> str:
    """The whole page. All text is escaped, but for our own SVG. `cache`: a folder that keeps
    Vega's code for the next page."""
    filters: dict[str, Callable[..., Any]] = {"inline_svg": _inline, "text": _text}
    filters["markdown"] = markdown.section
    style = Markup(text_of("page.css"))
    colour_of_tier = charts.colours(document.tiers)
    scripts = _scripts(document, cache)
    return filled(
        "page.html.jinja",
        filters,
        document=document,
        style=style,
        colour=colour_of_tier,
        scripts=scripts,
    )


_CODE = re.compile(r"`([^`]+)`")


def _text(text: str) -> Markup:
    """Escaped; a number and its unit stay on one line, and `code` is set as code."""
    escaped = str(escape(wording.unbroken(printable(text))))
    return Markup(_CODE.sub(r"<code>\1</code>", escaped))


def _inline(chart: blocks.Chart) -> Markup:
    """A chart inside the page: to those who hear the page it is one image with a name."""
    named = Markup('<svg role="img" aria-label="{}" ').format(chart.title)
    svg = chart.svg.replace("<svg ", str(named), 1)
    return Markup(svg.replace("<g ", '<g aria-hidden="true" ', 1))


# ------------------------------------------------------------------ scripts

# Vega with all that it needs, the page's own scripts, and the drawings as data. vl-convert carries
# Vega, so that nothing is loaded from anywhere; the page's policy forbids it too, and runs these
# scripts alone, which it knows by their checksums.


@dataclass(frozen=True)
class _Scripts:
    """`drawings`: packed JSON. `code`: of each script. `sums`: their checksums, as the page's
    policy names them."""

    drawings: str
    code: Sequence[Markup]
    sums: str


def _scripts(document: blocks.Document, cache: Path | None) -> _Scripts:
    """Without Vega if no chart can be drawn anew."""
    live: dict[str, Mapping[str, Any]] = {}
    for chart in blocks.charts_of(document):
        if chart.live:
            live[chart.name] = chart.live
    scripts = [text_of("copy.js")]
    if live:
        scripts = [_vega(cache), text_of("page.js"), *scripts]
    for code in scripts:
        _refuse_end_of_element(code)
    sums = " ".join(_checksum(code) for code in scripts)
    return _Scripts(
        drawings=_drawings(live),
        code=[Markup(code) for code in scripts],
        sums=sums,
    )


def _drawings(live: Mapping[str, Mapping[str, Any]]) -> str:
    look = charts.drawing("look")
    look["background"] = "transparent"  # the page's, light or dark
    return _packed({"config": look, "charts": live})


def _packed(content: Mapping[str, Any]) -> str:
    """JSON, compressed, in letters that cannot end its element."""
    text = json.dumps(
        content, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    # Without the time, so that the same report is the same file.
    packed = gzip.compress(text.encode(), mtime=0)
    return base64.b64encode(packed).decode()


def _checksum(code: str) -> str:
    digest = hashlib.sha256(code.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _refuse_end_of_element(code: str) -> None:
    """ValueError if the code ends the element that it stands in."""
    if "</script" in code.lower() or "<!--" in code:
        raise ValueError("a script of the page holds `</script` or `<!--`")


# ------------------------------------------------------------------ Vega


def _vega(cache: Path | None) -> str:
    """Vega's code, made once for each of its versions."""
    if cache is None:
        return _bundle()
    kept = cache / f"vega-{metadata.version('vl-convert-python')}.js"
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    bundle = _bundle()
    with contextlib.suppress(OSError):  # then it is made again
        _write_whole(kept, bundle)
    return bundle


def _write_whole(file: Path, text: str) -> None:
    """All of it or nothing, whoever else writes it at the same time."""
    new = file.with_suffix(f".{os.getpid()}")
    new.write_text(text, encoding="utf-8")
    new.replace(file)


@functools.cache
def _bundle() -> str:
    """It takes two seconds."""
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
