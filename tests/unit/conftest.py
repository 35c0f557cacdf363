"""What unit tests share: charts are drawn for those alone that look at drawings, and the code that
draws them in a page is made by one of the processes that test."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from functools import cache, partial
from html import escape
from pathlib import Path

import pytest

from orchestrator.report.charts import vega_library

_code = vega_library.code


@pytest.fixture(autouse=True, scope="module")
def short_drawings(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Drawing took a quarter of the CPU time of tests that write a report.

    The mark `draws` is of a whole module, because a campaign may be written once for all of it.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # of all processes of these tests, and of no others
    stand_ins: dict[str, Callable[..., str]] = {"code": partial(_kept_code, folder)}
    if request.node.get_closest_marker("draws") is None:
        stand_ins["drawn"] = _undrawn
    with pytest.MonkeyPatch.context() as patch:
        for name, stand_in in stand_ins.items():
            patch.setattr(vega_library, name, stand_in)
        yield


@cache
def _kept_code(folder: Path) -> str:
    """Vega's code from a file in this folder, which the first that needs it writes.

    Making it takes two seconds of CPU time. Processes that need it meanwhile wait for the first.
    """
    with (folder / "vega.js").open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        code = file.read()
        if not code:
            code = _code()
            file.write(code)
        return code


def _undrawn(spec: str) -> str:
    """An SVG with all data of the drawing, so that what must not be in a page is found in it."""
    text = f'<g id="data"><text>{escape(spec)}</text></g>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{text}</svg>'
