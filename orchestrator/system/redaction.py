"""Passwords taken out of texts: a URL or connection string may carry one, and no file may keep it.

Applied to all that is written as JSON under results, and to messages about URLs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "***"
_USER_INFO = re.compile(r"(\w+://[^\s/@:]*):[^\s/]*@")
_PARAMETER = re.compile(r"\b(password|sslpassword)(\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&'\"]+)")


def hidden(text: str) -> str:
    """The text with `***` for the password of each URL (`http://user:…@host`) and of each libpq
    connection string (`password=…`)."""
    return _PARAMETER.sub(rf"\1\2{HIDDEN}", _USER_INFO.sub(rf"\1:{HIDDEN}@", text))


def hidden_in(content: Any) -> Any:
    """The same of all texts in nested mappings and lists, and of each entry `password`."""
    if isinstance(content, str):
        return hidden(content)
    if isinstance(content, Mapping):
        return {
            key: HIDDEN if key == "password" and value else hidden_in(value)
            for key, value in content.items()
        }
    if isinstance(content, (list, tuple)):
        return [hidden_in(value) for value in content]
    return content
