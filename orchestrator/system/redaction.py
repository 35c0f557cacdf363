"""Secrets taken out of texts: no file keeps one, and no console shows one.

Applied to all that is written as text or JSON under results, to logs and errors that are kept, and
to what the console shows. A secret is known by what is before it (`password=`, `https://user:`,
`Authorization:`), or by itself: those that the program was given or made up, and the values of this
process's environment whose names say that they are secret."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

HIDDEN = "***"
_SHORTEST = 8  # of a secret that is known by itself
_NAMED = (
    r"(?:password|passwd|passphrase|secret|token"
    r"|(?:api|access|account|private|secret)[-_]?key)"
)
_VALUE = r"""\\["'].*?\\["']|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s&'",;}]+"""


class _SecretRule(NamedTuple):
    """What a secret looks like, and what is shown in its place."""

    pattern: str
    shown: str


_RULES = (
    _SecretRule(  # private keys, and JSON web tokens
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?s:.*?)-----END [A-Z ]*PRIVATE KEY-----|"
        r"(?:\s+\S{12,})*)|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*",
        HIDDEN,
    ),
    # A password may have `@` and `/`; what follows the colon is a port where only digits stand
    # before the path.
    _SecretRule(r"\b(\w+://[^\s/@:]*):(?!\d+(?:/|\s|$))[^\s\"]*@", rf"\1:{HIDDEN}@"),
    _SecretRule(
        r"(?i)(authorization\W{1,4}(?:(?:bearer|basic)\s+)?|\bbearer\s+)[\w.~+/=-]{12,}",
        rf"\1{HIDDEN}",
    ),
    _SecretRule(rf"(?i)(--[\w-]*{_NAMED}\s+)(?!-)(?:{_VALUE})", rf"\1{HIDDEN}"),
    _SecretRule(
        rf"""(?i)((?:{_NAMED}|-key-data|\bsig)\\?["']?)(\s*[=:]\s*|\s+(?='))(?:{_VALUE})""",
        rf"\1\2{HIDDEN}",
    ),
)
_IS_SECRET = re.compile(rf"{_NAMED}$", re.IGNORECASE)
_remembered: set[str] = set()


def remember(*secrets: str) -> None:
    """Has these taken out from now on, wherever they are. Not short ones and single words, as
    "postgres", nor numbers: they are in other texts too."""
    for secret in secrets:
        is_usual = secret.isalpha() or secret.isdigit()
        if len(secret) >= _SHORTEST and not is_usual:
            _remembered.add(secret)


def remember_environment(environment: Mapping[str, str]) -> None:
    """Has the values taken out whose names say that they are secret: PGPASSWORD, …_TOKEN."""
    for name, value in environment.items():
        if _IS_SECRET.search(name):
            remember(value)


def hidden(text: str) -> str:
    """The text with `***` for each secret: passwords in URLs, values of what is called a password,
    token, secret or key, what signs in to a server, private keys, and what is remembered."""
    for secret in sorted(_remembered, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    for rule in _RULES:
        text = re.sub(rule.pattern, rule.shown, text)
    return text


def hidden_in(content: Any) -> Any:
    """The same of all texts in nested mappings and lists, and of each entry that is a secret."""
    if isinstance(content, str):
        return hidden(content)
    if isinstance(content, Mapping):
        return {key: _hidden_value(key, value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [hidden_in(value) for value in content]
    return content


def _hidden_value(key: object, value: Any) -> Any:
    if value and _IS_SECRET.search(str(key)):
        return HIDDEN
    return hidden_in(value)
