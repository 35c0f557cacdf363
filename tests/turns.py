"""Which of the slow tests a landing runs: a share in turn, so that none is left out for long.

By name and not by position: a test that is new does not move the others to another turn.
"""

from __future__ import annotations

from zlib import crc32

TURNS = 5  # after so many landings each has run


def turn_of(test: str) -> int:
    """The turn of a test by its node id: 0 up to TURNS - 1."""
    return crc32(test.encode()) % TURNS
