"""Texts of others as they may be shown: in a message, on a terminal, in tables and file names."""

import re
import reprlib
from collections.abc import Mapping

# Control characters but for tab and line break; what turns the direction of text round (Unicode
# Standard Annex 9); halves of characters, as names of files that are not UTF-8 have.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_BEGIN_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


class _Short(reprlib.Repr):
    """Values as they stand in YAML and JSON, where most of what is refused was read."""

    def repr_NoneType(self, value: None, level: int) -> str:
        return "null"

    def repr_bool(self, value: bool, level: int) -> str:
        return str(value).lower()


_short = _Short()
_short.maxlevel = 2
_short.maxlist = 4
_short.maxdict = 4
_short.maxstring = 80
_short.maxlong = 80
_short.maxother = 80


def short(value: object) -> str:
    """What somebody gave, for a message: its `repr`, but never long."""
    return _short.repr(value)


def shortened(name: str, most_bytes: int) -> str:
    """A name that still fits into a file's name, which has 255 bytes: cut, where it must be."""
    # A cut within a character leaves bytes that are none.
    return name.encode()[:most_bytes].decode(errors="ignore")


def printable(text: str) -> str:
    """The text with what could retitle a terminal, make it answer, or end what draws charts, as
    characters: `\\x1b` for an escape."""
    return _UNPRINTABLE.sub(_as_characters, text)


def _as_characters(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}"  # JSON knows it too


def is_printable(name: str) -> bool:
    """Whether it is a line of text that `printable` leaves as it is."""
    return not ("\n" in name or "\t" in name or _UNPRINTABLE.search(name))


def csv_row(columns: Mapping[str, object]) -> dict[str, object]:
    """The row for a table in CSV. A text that a spreadsheet would take for a formula and carry out
    begins with `'`; numbers stay."""
    row: dict[str, object] = {}
    for name, value in columns.items():
        row[name] = value
        if isinstance(value, str) and _is_formula(value):
            row[name] = f"'{value}"
    return row


def _is_formula(text: str) -> bool:
    if not text.startswith(_BEGIN_FORMULAS):
        return False
    try:
        # `-5` and `+3` begin like formulas, and are numbers.
        float(text)
    except ValueError:
        return True
    return False
