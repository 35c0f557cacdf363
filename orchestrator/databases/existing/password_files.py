"""Files with passwords: one of its own, and libpq's ~/.pgpass. Neither may be read by others."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from orchestrator.errors import UnavailableError

_FIELD = re.compile(r"((?:\\.|[^:\\])*)(?::|$)")


def own(path: str) -> str:
    """The text of a file that holds one password. UnavailableError if it cannot be read, or if
    others may read it."""
    file = Path(path).expanduser()
    try:
        with file.open() as opened:
            mode = os.fstat(opened.fileno()).st_mode
            text = opened.read().strip()
    except OSError as error:
        raise UnavailableError(
            f"the password file {path} cannot be read: {error.strerror}",
            advice="correct `existing.password_file` in the profile",
        ) from error
    if _is_open(mode):
        raise UnavailableError(
            f"the password file {file} may be read by others (mode {stat.S_IMODE(mode):04o})",
            advice=f"chmod 600 {file}",
        )
    return text


def of_libpq(path: str, host: str, port: int, database: str, user: str) -> str:
    """The password of the first line that fits (host:port:database:user:password, `*` fits all);
    "" if there is none, or if libpq would not read the file (its documentation, "The Password
    File")."""
    file = Path(path).expanduser()
    try:
        with file.open() as opened:
            if _is_open(os.fstat(opened.fileno()).st_mode):
                return ""
            lines = opened.read().splitlines()
    except OSError:
        return ""
    wanted = (host, str(port), database, user)
    for line in lines:
        fields = [re.sub(r"\\(.)", r"\1", each) for each in _FIELD.findall(line)]
        if line.startswith("#") or len(fields) < 5:
            continue
        if all(given in ("*", own) for given, own in zip(fields, wanted, strict=False)):
            return fields[4]
    return ""


def _is_open(mode: int) -> bool:
    """Whether others may read it: libpq's rule."""
    return bool(mode & (stat.S_IRWXG | stat.S_IRWXO))
