"""A window in several parts, such as before, while and after a node is lost. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from orchestrator import parts
from orchestrator.analysis.figures.transactions import Window
from orchestrator.model import Measurement


def between(
    edges_s: Sequence[float], result: parts.Result, pooled: bool
) -> tuple[Window, ...]:
    """The parts between these moments (Unix seconds), to which no transaction is added yet.
    `pooled`: as of `transactions`."""
    at_a_rate = bool(result.facts.arrival_rate_per_s) and not pooled
    spans: list[Window] = []
    for start_s, end_s in pairwise(edges_s):
        spans.append(Window(start_s, end_s, pooled, at_a_rate))
    return tuple(spans)


def figures(parts: Sequence[Window], scopes: Sequence[str]) -> Iterator[Measurement]:
    """The figures of all transactions in each part of the window, under its scope."""
    for part, scope in zip(parts, scopes, strict=True):
        yield from _figures_of(part, scope)


def _figures_of(part: Window, scope: str) -> Iterator[Measurement]:
    """A mere moment has none."""
    # A rate within less than a second is that of a few transactions.
    if part.duration_s < 1:
        return
    for measurement in part.measurements(None):
        if measurement.scope == "all":
            yield replace(measurement, scope=scope)
