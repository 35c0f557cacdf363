"""Counters from web pages of servers, all read at once, because a reading must be short."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from orchestrator.collectors.common import local
from orchestrator.model import Sample

_TIMEOUT_S = 2.0  # the other collectors wait meanwhile

Get = Callable[[str, float], str]


@dataclass(frozen=True)
class Page:
    """A page with counters of the node `name`. `parse`: its text → readings."""

    name: str
    url: str
    parse: Callable[[str], Iterable[local.Reading]]


def samples(pages: Sequence[Page], now_s: float, get: Get) -> Iterator[Sample]:
    """Samples of all pages that can be read; then OSError with the failures of the others."""
    with ThreadPoolExecutor(max_workers=max(1, len(pages))) as pool:
        bodies = {page: pool.submit(get, page.url, _TIMEOUT_S) for page in pages}
        yield from local.each(
            pages, lambda page: page.parse(bodies[page].result()), lambda _: now_s
        )
