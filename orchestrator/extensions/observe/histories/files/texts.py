"""Bytes of a file → its text, and JSON of other programs → what it holds; where it cannot be read
why, in the words of the tool that wrote it."""

import codecs
import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

Remark = Callable[[str], None]

# Windows PowerShell 5 writes UTF-16 with a byte order mark behind `>`
# (https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_character_encoding).
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# sysstat prints numbers as the locale does: `4,97` stands where JSON needs `4.97`.
_DECIMAL_COMMA = re.compile(r'"\s*:\s*-?\d+,\d+\s*[,}]')
# iostat before 11.7.1, and that of 12.1.4, leaves a comma behind a bracket. It does where -y leaves
# out its first record (sysstat issues 128, 163, 222).
_COMMA_FIRST = re.compile(r"\[\s*,")
# Closes the list of entries, the host, the hosts, `sysstat` and the whole.
_END_OF_SYSSTAT = "]}]}}"
_SYSSTAT = '"sysstat"'
_HEAD = 100  # characters in which it stands
_ENTRY = '"timestamp"'


class FormError(ValueError):
    """What is wrong with a file, and what to do about it."""

    def __init__(self, what: str, advice: str = "") -> None:
        super().__init__(what)
        self.advice = advice


def ignore(_remark: str) -> None:
    pass


def text_of(content: bytes) -> str:
    """FormError for an encoding that nothing names."""
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            return _decoded(content, encoding)
    return _decoded(content, "utf-8")


def _decoded(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        value = content[error.start]
        raise FormError(
            f"it is not {encoding.upper()}: byte {error.start + 1:,} is 0x{value:02x}",
            "save it as UTF-8",
        ) from error


def json_of(text: str, remark: Remark = ignore) -> Any:
    """What the text holds; `remark` gets what of it was not whole. FormError with its cause, if
    one is known."""
    with suppress(json.JSONDecodeError):
        return json.loads(text)
    if _DECIMAL_COMMA.search(text):
        raise FormError(
            "its numbers have decimal commas, as a locale writes them",
            "let sysstat write anew with LC_ALL=C before its command",
        )
    if _SYSSTAT in text[:_HEAD] and _COMMA_FIRST.search(text):
        mended = _COMMA_FIRST.sub("[", text)
        with suppress(json.JSONDecodeError):
            content = json.loads(mended)
            remark(
                "a comma behind a bracket was left out, as old iostat writes with -y"
            )
            return content
        text = mended
    content = _complete_entries(text)
    if content is not None:
        remark("the end of it is missing: its complete readings count")
        return content
    raise _broken(text)


def _complete_entries(text: str) -> Any:
    """The complete entries of sysstat's JSON that lacks its end; None if that does not mend it."""
    if _SYSSTAT not in text[:_HEAD]:
        return None
    # A writer that a signal ends leaves the end out: behind an entry, or in the middle of one.
    whole = text.rstrip().rstrip(",")
    last_entry = whole.rfind("{", 0, whole.rfind(_ENTRY))
    without_last = whole[:last_entry].rstrip().rstrip(",")
    for part in (whole, without_last):
        with suppress(json.JSONDecodeError):
            return json.loads(part + _END_OF_SYSSTAT)
    return None


def _broken(text: str) -> FormError:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()):
            return FormError(
                "its JSON ends in the middle", "ask for it again, and let it end"
            )
        what = f"line {error.lineno}, column {error.colno} is not JSON: {error.msg}"
        return FormError(what, "ask for it again; write nothing else into the file")
    raise AssertionError("it was read a moment ago")
