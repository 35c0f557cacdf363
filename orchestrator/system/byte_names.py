"""Names of files that are not UTF-8, as old disks have them.

Python has each such byte as half of a character, which no file of JSON may have. So the byte is
shown, as `\\xf6`, and the path can be had back from what is shown."""

import os
import re
from pathlib import Path

_HALF = re.compile("[\ud800-\udfff]")
_SHOWN_BYTE = re.compile(rb"\\x([89a-f][0-9a-f])")
# Characters that stand for the bytes 0x80 to 0xff.
_LEAST = 0xDC80
_MOST = 0xDCFF


def shown_in_json(text: str) -> str:
    """JSON in which all that is no character is shown."""
    return _HALF.sub(_escaped, text)


def path_of(shown: str) -> Path:
    """The path that is shown so. One that is there as it stands is meant itself."""
    path = Path(shown)
    if os.path.lexists(path):
        return path
    named = _SHOWN_BYTE.sub(_byte, os.fsencode(shown))
    return Path(os.fsdecode(named))


def _escaped(half: re.Match[str]) -> str:
    """The escape with two backslashes: JSON needs one of them for itself."""
    code = ord(half[0])
    if _LEAST <= code <= _MOST:
        return f"\\\\x{code & 0xFF:02x}"
    return f"\\\\u{code:04x}"


def _byte(shown: re.Match[bytes]) -> bytes:
    return bytes.fromhex(shown[1].decode())
