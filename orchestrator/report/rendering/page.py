"""Draws a Document as one HTML page that needs no other file: style, charts, scripts inside it."""

import base64
import contextlib
import gzip
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from orchestrator.report import blocks, wording
from orchestrator.report.charts import charts, vega_library
from orchestrator.report.rendering import filled, markdown, text_of
from orchestrator.texts.foreign_text import printable


def draw(document: blocks.Document, cache: Path | None = None) -> str:
    """The whole page. All text is escaped, but for our own SVG. `cache`: a folder that keeps
    Vega's code for the next page."""
    filters: dict[str, Callable[..., Any]] = {"inline_svg": _inline, "text": _text}
    filters["headline"] = _headline
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
# An option and its number, such as `--repeats 5`: a narrow page would break it behind its hyphens.
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*(?: \d+\b)?")
_UNBROKEN = r'<span class="unbroken">\g<0></span>'


def _text(text: str) -> Markup:
    """Escaped; a number and its unit stay on one line, an option too; `code` is set as code."""
    escaped = str(escape(wording.unbroken(printable(text))))
    options_whole = _OPTION.sub(_UNBROKEN, escaped)
    return Markup(_CODE.sub(r"<code>\1</code>", options_whole))


# What a tier is, behind its name.
_IN_BRACKETS = re.compile(r"\([^()]*\)")
# A name such as `premium-v2`, which a narrow page would break behind its hyphen; and a price.
_WHOLE = re.compile(r"[\d.,]+ [A-Z]{3}\b|\w+-\w[\w.]*")


def _headline(text: str) -> Markup:
    """The text in large letters, in which names and prices stay on one line. What is in brackets
    is in small ones."""
    whole = _WHOLE.sub(_UNBROKEN, str(_text(text)))
    return Markup(_IN_BRACKETS.sub(r"<small>\g<0></small>", whole))


def _inline(chart: blocks.Chart) -> Markup:
    """A chart inside the page: to those who hear the page it is one image with a name."""
    named = Markup('<svg role="img" aria-label="{}" ').format(chart.title)
    svg = _compact(chart.svg).replace("<svg ", str(named), 1)
    # What is in the image would be read out mark by mark. The page has its values as a table.
    return Markup(svg.replace("<g ", '<g aria-hidden="true" ', 1))


# What Vega writes into every mark although it changes nothing: names of parts that are not
# heard (the whole is one image), values that are the default, and empty areas.
_SUPERFLUOUS = re.compile(
    r' (?:aria-[a-z]+|role)="[^"]*"| (?:opacity|stroke-width)="1"'
    r'| pointer-events="none"| font-family="[^"]*"'
    r'|<path class="(?:background|foreground)"[^>]* d="(?:M0,0h0v0h0Z)?"[^>]*/>'
)
_PLACES = re.compile(r' (?:d|transform|x2|y2)="[^"]*"')
_DIGITS_UNSEEN = re.compile(r"(\.\d)\d+")


def _compact(svg: str) -> str:
    """The drawing without what nobody sees; places to a tenth of a pixel."""
    places = _PLACES.sub(_rounded, svg)
    return _SUPERFLUOUS.sub("", places)


def _rounded(places: re.Match[str]) -> str:
    return _DIGITS_UNSEEN.sub(r"\1", places[0])


# ------------------------------------------------------------------ scripts

# Vega with all that it needs, the page's own scripts, and the drawings as data. vl-convert carries
# Vega, so that nothing is loaded from anywhere; the page's policy forbids it too, and runs these
# scripts alone, which it knows by their checksums. Vega and the drawings are compressed, because a
# page goes into tickets and mails; the page's script unpacks them.


@dataclass(frozen=True)
class _Scripts:
    """`packed`: id of an element → what it holds, compressed. `code`: of each script that stands
    in the page. `sums`: checksums of all scripts, as the page's policy names them."""

    packed: Mapping[str, str]
    code: Sequence[Markup]
    sums: str


def _scripts(document: blocks.Document, cache: Path | None) -> _Scripts:
    """The scripts of a page, without Vega if no chart can be drawn anew."""
    live = _live(document)
    scripts = [text_of("copy.js")]
    # Vega is needed only by charts that are drawn anew.
    if not live:
        return _Scripts({}, _marked(scripts), _checksums(scripts))
    scripts = [text_of("page.js"), *scripts]
    vega = _vega(cache)
    packed = {
        "vega": _packed_code(vega),
        "stills": _packed_fields(_stills(document)),
        "drawings": _packed_fields(_drawings(live)),
    }
    return _Scripts(packed, _marked(scripts), _checksums([vega, *scripts]))


def _live(document: blocks.Document) -> dict[str, Mapping[str, Any]]:
    """Name → drawing, of the charts that the page's script draws anew."""
    live: dict[str, Mapping[str, Any]] = {}
    for chart in blocks.charts_of(document):
        if chart.live:
            live[chart.name] = chart.live
    return live


def _marked(scripts: Sequence[str]) -> list[Markup]:
    """The scripts as they stand in the page."""
    for code in scripts:
        _refuse_end_of_element(code)
    return [Markup(code) for code in scripts]


def _checksums(scripts: Sequence[str]) -> str:
    return " ".join(_checksum(code) for code in scripts)


def _drawings(live: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    look = charts.drawing("look")
    look["background"] = "transparent"  # the page's, light or dark
    drawings: dict[str, Mapping[str, Any]] = {}
    for name, drawing in live.items():
        drawings[name] = {**drawing, "datasets": _in_columns(drawing["datasets"])}
    return {"config": look, "charts": drawings}


def _in_columns(
    datasets: Mapping[str, Sequence[Mapping[str, Any]]],
) -> Mapping[str, Any]:
    columns: dict[str, Any] = {}
    for name, rows in datasets.items():
        columns[name] = _columns(rows)
    return columns


def _columns(
    rows: Sequence[Mapping[str, Any]],
) -> Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]:
    """Field → its values in all rows, which is half as large; rows of unlike fields stay rows."""
    columns: dict[str, list[Any]] = {}
    for row in rows:
        if row.keys() != rows[0].keys():
            return rows
        for field, value in row.items():
            columns.setdefault(field, []).append(value)
    return columns


def _stills(document: blocks.Document) -> Mapping[str, str]:
    """Name → drawing, of the charts below the first screen. The page's script puts them in their
    places; without scripts these have a link to the chart's file."""
    stills: dict[str, str] = {}
    for chart in blocks.charts_below(document):
        if chart.live:
            stills[chart.name] = str(_inline(chart))
    return stills


def _packed_fields(content: Mapping[str, Any]) -> str:
    text = json.dumps(
        content, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    return _packed(text)


def _packed(text: str) -> str:
    """Compressed, in letters that cannot end its element."""
    # gzip notes the time of compressing; without it the same report is the same file.
    compressed = gzip.compress(text.encode(), mtime=0)
    return base64.b64encode(compressed).decode()


# Compressing Vega takes as long as drawing a chart, and it is the same on each page.
_packed_code = lru_cache(maxsize=1)(_packed)


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
        return vega_library.code()
    # The name has the version, so that an older file does not hide an update of the library.
    kept = cache / f"vega-{metadata.version('vl-convert-python')}.js"
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    bundle = vega_library.code()
    # If it cannot be kept, as on a full disk, it is made again for the next page.
    with contextlib.suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
        _write_whole(kept, bundle)
    return bundle


def _write_whole(file: Path, text: str) -> None:
    """All of it or nothing, whoever else writes it at the same time."""
    new = file.with_suffix(f".{os.getpid()}")
    new.write_text(text, encoding="utf-8")
    new.replace(file)
