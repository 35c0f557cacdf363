"""Which of the slow tests a landing runs: a share in turn, so that none is left out for long.

`slow_tests.tsv` has the turn of each by its name, and about how long it takes where nothing else
runs: shares take about the same time, and a test that is new does not move the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

TURNS = 11  # after so many landings each has run
FILE = Path(__file__).with_name("slow_tests.tsv")


@dataclass(frozen=True)
class Slow:
    turn: int  # 0 up to TURNS - 1
    seconds: int


@cache
def kept() -> dict[str, Slow]:
    """The slow tests that have a line, by node id."""
    rows = (line.split("\t") for line in FILE.read_text().splitlines())
    return {test: Slow(int(turn), int(seconds)) for turn, seconds, test in rows}


def turn_of(test: str) -> int:
    """The turn of a test by its node id; of one without a line the first."""
    return kept()[test].turn if test in kept() else 0
