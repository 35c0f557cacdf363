"""Secrets taken out of texts: no file keeps one, and no console shows one.

Applied to all that is written as text or JSON under results, to logs and errors that are kept, and
to what the console shows. A secret is known by its form (`secret_forms`), by its name
(`keys/secret_names`), or by itself: those that the program was given or made up, and the values of
this process's environment whose names say that they are secret."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from orchestrator.keys.secret_names import HIDDEN, is_secret_key, is_secret_variable
from orchestrator.system.secret_forms import FORMS, in_small_letters

__all__ = ("HIDDEN", "hidden", "hidden_in", "remember", "remember_environment")

_SHORTEST = 8  # letters of a secret that is known by itself
_NO_USUAL_WORD = 16  # letters
_NO_USUAL_NUMBER = 12  # digits
_PART = re.compile(
    r"://[^\s/@:]*:([^\s@]+)@|(?:AccountKey|Password|Pwd)=([^;\s]+)", re.I
)
_SHORT = 200  # letters of a text that is likely to come again
_remembered: set[str] = set()


def remember(*secrets: str) -> None:
    """Has these taken out from now on, wherever they are, also encoded. Not short ones and single
    words, as "postgres", nor numbers: they are in other texts too."""
    for secret in secrets:
        if _is_remarkable(secret):
            _remembered.add(secret)
            _remembered.update(_encoded(secret))


def _is_remarkable(secret: str) -> bool:
    if secret.isalpha():
        return len(secret) >= _NO_USUAL_WORD
    if secret.isdigit():
        return len(secret) >= _NO_USUAL_NUMBER
    return len(secret) >= _SHORTEST


def _encoded(secret: str) -> Iterator[str]:
    """The forms of a secret in URLs, JSON, and Kubernetes' secrets."""
    in_url = ""
    for byte in secret.encode(errors="surrogateescape"):
        character = chr(byte)
        if character.isascii() and (character.isalnum() or character in "-._~"):
            in_url += character
        else:
            in_url += f"%{byte:02X}"
    yield in_url
    # The quotes are left out, because it may stand in the middle of a text.
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield base64.b64encode(secret.encode(errors="surrogateescape")).decode()


def remember_environment(environment: Mapping[str, str]) -> None:
    """Has the values taken out whose names say that they are secret (PGPASSWORD, …_TOKEN), and
    passwords within others: HTTPS_PROXY may have one. A path is no secret."""
    for name, value in environment.items():
        if is_secret_variable(name) and not _is_path(value):
            remember(value)
        for in_url, in_string in _PART.findall(value):
            remember(in_url, in_string)


def _is_path(value: str) -> bool:
    try:
        return value.startswith("/") and Path(value).exists()
    except (OSError, ValueError):  # it is too long, or has a NUL
        return False


def hidden(text: str) -> str:
    """The text with `***` for each secret: passwords in URLs, values of what is called a password,
    token, secret or key, what signs in to a server, private keys, and what is remembered."""
    # The longest first: a secret that holds another would else be hidden in part.
    for secret in sorted(_remembered, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    if len(text) <= _SHORT:
        return _without_forms_of_short(text)
    return _without_forms(text)


def _without_forms(text: str) -> str:
    small = in_small_letters(text)
    for form in FORMS:
        if not form.may_be_in(small):
            continue
        shown = form.pattern.sub(form.shown, text)
        if shown != text:
            text = shown
            small = in_small_letters(text)
    return text


# A verdict has some words thousands of times.
_without_forms_of_short = lru_cache(maxsize=4096)(_without_forms)


# A record has some keys hundreds of times.
_is_secret_key = lru_cache(maxsize=4096)(is_secret_key)


def hidden_in(content: Any) -> Any:
    """The content with secrets hidden in all texts of nested mappings and lists.

    Entries that are secrets by their names are hidden too.
    """
    if isinstance(content, str):
        return hidden(content)
    if content is None or isinstance(content, (int, float)):
        return content
    if isinstance(content, Mapping):
        name = content.get("name")
        is_secret = isinstance(name, str) and _is_secret_key(name)
        shown: dict[Any, Any] = {}
        for key, value in content.items():
            if is_secret and key == "value":  # Kubernetes and Hadoop list variables so
                shown[key] = HIDDEN
            else:
                shown[key] = _hidden_value(key, value)
        return shown
    if isinstance(content, (list, tuple)):
        return [hidden_in(value) for value in content]
    return content


def _hidden_value(key: object, value: Any) -> Any:
    # An empty value is shown: that no password is set may be what is wrong.
    if value and _is_secret_key(str(key)):
        return HIDDEN
    return hidden_in(value)
