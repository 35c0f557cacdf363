"""What somebody gave, as a message tells it: as it stands in YAML, and never long."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from orchestrator.texts.foreign_text import is_printable, short, shortened


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (list(range(4)), "[0, 1, 2, 3]"),
        (list(range(5)), "[0, 1, 2, 3, ...]"),
        ({n: n for n in range(4)}, "{0: 0, 1: 1, 2: 2, 3: 3}"),
        ({n: n for n in range(5)}, "{0: 0, 1: 1, 2: 2, 3: 3, ...}"),
        ([[1]], "[[1]]"),
        ([[[1]]], "[[[...]]]"),
    ],
)
def test_a_value_is_told_as_in_yaml_and_not_all_of_it(value: object, text: str) -> None:
    assert short(value) == text


class Long:
    """Something whose text has so many characters."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __repr__(self) -> str:
        return "y" * self.count


def _text(count: int) -> str:
    return "x" * (count - 2)  # beside its quotation marks


def _number(count: int) -> int:
    return int("1" * count)


@pytest.mark.parametrize("of_length", [_text, _number, Long])
@pytest.mark.parametrize(("count", "is_whole"), [(80, True), (81, False)])
def test_a_value_is_told_in_80_characters(
    of_length: Callable[[int], object], count: int, is_whole: bool
) -> None:
    value = of_length(count)
    assert (short(value) == repr(value)) is is_whole
    assert len(short(value)) == 80


@pytest.mark.parametrize(
    ("most_bytes", "name"), [(4, "ab\u00fc"), (3, "ab"), (2, "ab"), (0, "")]
)
def test_a_name_is_cut_before_a_character_that_does_not_fit(
    most_bytes: int, name: str
) -> None:
    assert shortened("ab\u00fc", most_bytes) == name


@pytest.mark.parametrize(
    ("name", "is_line"),
    [("a name", True), ("a\nb", False), ("a\tb", False), ("a\x1b[2J", False)],
)
def test_a_line_of_text_has_no_sign_that_moves_the_cursor(
    name: str, is_line: bool
) -> None:
    assert is_printable(name) is is_line
