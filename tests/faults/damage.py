"""Texts damaged as files, pages and command lines are: cut, mistyped, doubled, of another type."""

from __future__ import annotations

import re
from collections.abc import Callable

from hypothesis import strategies as st

ODD_NUMBERS = (
    *(
        "0",
        "-0",
        "-1",
        "1e999",
        "-1e999",
        "nan",
        "NaN",
        ".inf",
        ".nan",
        "Infinity",
        "1_0",
        "0x10",
    ),
    *(
        "007",
        "1e-999",
        "9" * 400,
        "4294967296",
        "18446744073709551616",
        "1,5",
        "٣",
        "½",
        "1e3",
        "",
    ),
)
ODD_WORDS = (
    *(
        "",
        " ",
        "null",
        "true",
        "no",
        "[]",
        "{}",
        "[1, {a: b}]",
        "'",
        '"',
        "&a",
        "*a",
        "!!x",
        "%",
        "|",
    ),
    *(
        "\0",
        "\x1b]0;x\x07",
        "\ufeff",
        "\u202e",
        "\U0001f4be",
        "../../etc",
        "/",
        "-",
        "--",
        "=",
        ":",
    ),
    *("{node}", "${HOME}", "a" * 5000, "[" * 200, "\r\n", "\t"),
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"[^\s,:;={}\[\]\"']+")


@st.composite
def damaged(draw: st.DrawFn, examples: tuple[str, ...]) -> str:
    """One of the examples after one to four faults."""
    text = draw(st.sampled_from(examples))
    for fault in draw(st.lists(st.sampled_from(FAULTS), min_size=1, max_size=4)):
        text = fault(draw, text)
    return text


def _cut(draw: st.DrawFn, text: str) -> str:
    return text[: draw(st.integers(0, len(text)))]


def _piece_gone(draw: st.DrawFn, text: str) -> str:
    first = draw(st.integers(0, len(text)))
    return text[:first] + text[first + draw(st.integers(1, 40)) :]


def _odd_number(draw: st.DrawFn, text: str) -> str:
    return _replaced(draw, text, _NUMBER, ODD_NUMBERS)


def _odd_word(draw: st.DrawFn, text: str) -> str:
    return _replaced(draw, text, _WORD, (*ODD_WORDS, *ODD_NUMBERS))


def _replaced(
    draw: st.DrawFn, text: str, pattern: re.Pattern[str], values: tuple[str, ...]
) -> str:
    places = [match.span() for match in pattern.finditer(text)]
    if not places:
        return text + draw(st.sampled_from(values))
    first, end = draw(st.sampled_from(places))
    return text[:first] + draw(st.sampled_from(values)) + text[end:]


def _line(draw: st.DrawFn, text: str) -> str:
    """A line is gone, is there twice, changes its place, or is indented."""
    lines = text.split("\n")
    number = draw(st.integers(0, len(lines) - 1))
    kind = draw(st.sampled_from(("gone", "twice", "elsewhere", "indented")))
    line = lines[number]
    if kind in ("gone", "elsewhere"):
        del lines[number]
    if kind in ("twice", "elsewhere"):
        lines.insert(draw(st.integers(0, len(lines))), line)
    if kind == "indented":
        lines[number] = f"  {line}"
    return "\n".join(lines)


def _character(draw: st.DrawFn, text: str) -> str:
    at = draw(st.integers(0, len(text)))
    return text[:at] + draw(st.characters(exclude_categories=["Cs"])) + text[at + 1 :]


FAULTS: tuple[Callable[[st.DrawFn, str], str], ...] = (
    *(_cut, _piece_gone, _odd_number, _odd_word, _line, _character),
)
