"""Vega and Vega-Lite as vl-convert brings them, which comes with the extra `charts`."""

import contextlib
import importlib
import json
import os
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import resources, util
from types import ModuleType

_LIBRARY = "vl_convert"
_A_TEXT = json.dumps({"title": "text", "data": {"values": []}, "mark": "point"})
# The variable by which programs find what fonts a machine has.
_FONTS = "FONTCONFIG_FILE"


def is_installed() -> bool:
    return util.find_spec(_LIBRARY) is not None


@lru_cache(maxsize=256)
def drawn(spec: str) -> str:
    """The SVG of a drawing with its data, which is JSON. Whoever makes several pages of a campaign
    has most of its charts drawn once."""
    return str(_library().vegalite_to_svg(spec))


@cache
def code() -> str:
    """The script that draws charts in a page. Making it takes two seconds."""
    library = importlib.import_module(_LIBRARY)
    return str(library.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


@cache
def _library() -> ModuleType:
    """vl-convert, which has read its fonts: it does so once, when it first measures a text.

    vl-convert brings Liberation Sans, and measures labels in this font. If the machine has the font
    too, vl-convert would take the machine's file. It opens that file for each letter: a drawing
    took 1.6 times as long.
    """
    library = importlib.import_module(_LIBRARY)
    with _without_fonts_of_the_machine():
        library.vegalite_to_svg(_A_TEXT)
    return library


@contextlib.contextmanager
def _without_fonts_of_the_machine() -> Iterator[None]:
    before = os.environ.get(_FONTS)
    with resources.as_file(resources.files(__package__) / "fonts.conf") as file:
        os.environ[_FONTS] = str(file)
        try:
            yield
        finally:
            del os.environ[_FONTS]
            if before is not None:
                os.environ[_FONTS] = before
