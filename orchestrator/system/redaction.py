"""Passwords taken out of texts: a URL or connection string may carry one, and no file may keep it.

Applied to all that is written as JSON under results, to logs and errors that are kept, and to what
the console shows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "***"
# A password may have `@` and `/`; what follows the colon is a port where only digits stand before
# the path.
_USER_INFO = re.compile(r"(\w+://[^\s/@:]*):(?!\d+(?:/|\s|$))[^\s\"]*@")
_PARAMETER = re.compile(
    r"""(\w*(?:password|passwd)["']?)(\s*[=:]\s*|\s+(?='))('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s&'",}]+)""",
    re.IGNORECASE,
)


def hidden(text: str) -> str:
    """The text with `***` for the password of each URL (`http://user:…@host`), and for the value of
    what is called a password (`password=…` of libpq, `PGPASSWORD=…`, `"database_password": …`)."""
    return _PARAMETER.sub(rf"\1\2{HIDDEN}", _USER_INFO.sub(rf"\1:{HIDDEN}@", text))


def hidden_in(content: Any) -> Any:
    """The same of all texts in nested mappings and lists, and of each entry that is a password."""
    if isinstance(content, str):
        return hidden(content)
    if isinstance(content, Mapping):
        return {
            key: HIDDEN if str(key).endswith("password") and value else hidden_in(value)
            for key, value in content.items()
        }
    if isinstance(content, (list, tuple)):
        return [hidden_in(value) for value in content]
    return content
