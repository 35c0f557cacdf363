"""Counters of one recorded run (tests/fixtures/recorded-run, with its source), for ever."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from orchestrator.model import Node, Sample
from tests import TESTS

RECORDED = json.loads((TESTS / "fixtures" / "recorded-run" / "run.json").read_text())


def samples(nodes: Sequence[Node], second: int, time_s: float) -> Iterator[Sample]:
    """Those of all nodes in one second; each node begins at another second of what was recorded."""
    for number, node in enumerate(nodes):
        for metric, series in RECORDED["counters"][node.role].items():
            value = _at(
                series["values"], second + 7 * number, metric.endswith("_total")
            )
            yield Sample(time_s, node.name, metric, series["unit"], value)


def _at(values: Sequence[float], second: int, counter: bool) -> float:
    """The value of a series that goes on for ever: a counter grows on where it begins again."""
    rounds, place = divmod(second, len(values) - 1)
    return values[place] + (rounds * values[-1] if counter else 0.0)
