"""What unit tests share: charts are drawn for those alone that look at drawings."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import pytest

from orchestrator.report.charts import vega_library


@pytest.fixture(autouse=True, scope="module")
def drawings_are_their_data(request: pytest.FixtureRequest) -> Iterator[None]:
    """Drawing took a quarter of the CPU time of tests that write a report.

    The mark `draws` is of a whole module, because a campaign may be written once for all of it.
    """
    with pytest.MonkeyPatch.context() as patch:
        if request.node.get_closest_marker("draws") is None:
            patch.setattr(vega_library, "drawn", _undrawn)
        yield


def _undrawn(spec: str) -> str:
    """An SVG with all data of the drawing, so that what must not be in a page is found in it."""
    text = f'<g id="data"><text>{escape(spec)}</text></g>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{text}</svg>'
