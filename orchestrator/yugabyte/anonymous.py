"""Answers of a cluster's servers without what its owner keeps: secrets, addresses, names. Pure.

A text is kept only if anonymous.yaml knows it as the servers' own word. So a secret in a place
that nobody thought of is replaced too. What is replaced by `node-1` or `uuid-7` is so wherever it
stands, because pages refer to each other by it; numbers, truth values and empty texts stay."""

import ipaddress
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from orchestrator.keys.shipped_yaml import shipped
from orchestrator.system import redaction

_NUMBER = re.compile(
    r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?( ?([kKMGT]i?)?B(/s)?| ?[mun]?s| ?min| ?h| ?%)?"
)
_TRUTH = frozenset(["true", "false", "on", "off", "yes", "no"])
_UUID = re.compile(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_ASSIGNMENT = re.compile(r"([a-z_.]+)=(.*)")
_PORT = re.compile(r"(.+?):(\d{1,5})")
_HOST_NAME = re.compile(r"[A-Za-z][\w-]*(\.[A-Za-z0-9][\w-]*)*\.[A-Za-z][\w-]*\.?")
_IN_TEXT = re.compile(
    r"""(?P<quoted>"[^"]*"|'[^']*')|(?P<url>\w+://[^\s,;)>]+)"""
    r"|(?P<path>(?<![\w/.])/[^\s'\",;:)]+)|(?P<token>[\w.:\[\]%-]+)"
)
_OWN_PATHS = re.compile(r"/(api/v1/[a-z-]+|dump-entities|metrics)")
# Keys of a row that hold the value of a flag or a setting.
_VALUES = ("value", "setting")
# Shorter texts are in others by chance.
_SHORTEST = 6


class Anonymous:
    """Replaces what is the owner's, in all answers of a cluster alike. `hosts` are called node-1,
    node-2, … in their order; `users`: who signs in; `words`: this program's own, which sentences
    keep in quotes."""

    def __init__(
        self,
        hosts: Sequence[str],
        users: Sequence[str] = (),
        words: Collection[str] = (),
    ) -> None:
        self._counts: dict[str, int] = defaultdict(int)
        self._shown: dict[str, str] = {}
        self._hosts = frozenset(hosts)
        self._users = frozenset(user for user in users if user)
        self._words = frozenset(words)
        for host in hosts:
            self._numbered("node", host)
        for user in self._users:
            self._numbered("user", user)

    def content(self, content: Any, key: str = "") -> Any:
        """A JSON value, of the same form."""
        if isinstance(content, Mapping):
            return self._mapping(content, key)
        if isinstance(content, (list, tuple)):
            return [self.content(value, key) for value in content]
        if isinstance(content, str):
            return self._text_value(content, key)
        return redaction.hidden_in({key: content})[key]

    def text(self, text: str) -> str:
        """A sentence of this program or of an error: without what `content` has replaced, quoted
        words, addresses and paths."""
        text = redaction.hidden(text)
        # The longest first, or a part of a longer one would be replaced before it.
        for original in sorted(self._shown, key=len, reverse=True):
            if len(original) >= _SHORTEST or original in self._hosts | self._users:
                word = rf"(?<![\w.]){re.escape(original)}(?![\w])"
                text = re.sub(word, self._shown[original], text)
        return _IN_TEXT.sub(self._part_shown, text)

    # -------------------------------------------------------------- mappings

    def _mapping(self, content: Mapping[str, Any], key: str) -> dict[str, Any]:
        if {"name", "value"} <= set(content) or {"name", "setting"} <= set(content):
            return self._row(content)
        shown: dict[str, Any] = {}
        for name, value in content.items():
            known_by = self._key_known_by(name, key)
            shown[self._key_shown(name, key)] = self.content(value, known_by)
        return shown

    def _key_shown(self, name: str, above: str) -> str:
        """How a key of the mapping under the key `above` is shown."""
        if above in _listed("placements") and name:
            return self._placement(name)
        return self._key_as_it_is(name)

    def _placement(self, name: str) -> str:
        replacement = self._identity(name) or self._address(name)
        return replacement or self._numbered("placement", name)

    def _key_known_by(self, name: str, above: str) -> str:
        """Under which key a value is known: hosts of an address are addresses."""
        if above in _listed("addresses") and name != "port":
            return above
        return name

    def _row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A flag or a setting: its value is known by its name."""
        name = str(row["name"])
        if not _is_word(name, "name"):
            return self._owners_setting(row)
        shown = {}
        for key, value in row.items():
            if key not in _VALUES:
                shown[self._key_as_it_is(key)] = self.content(value, key)
            elif row.get("vartype") == "enum" and _has_form("enum", str(value)):
                shown[key] = value
            else:
                shown[key] = self.content(value, name)
        return shown

    def _owners_setting(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A setting that the owner made up, such as `acme.tenant`: even a number may say much."""
        shown: dict[str, Any] = {}
        for key, value in row.items():
            if key == "name":
                shown[key] = self._numbered("setting", str(value))
            elif key in _VALUES:
                shown[key] = _left_out(str(value))
            else:
                shown[self._key_as_it_is(key)] = self.content(value, key)
        return shown

    def _key_as_it_is(self, key: str) -> str:
        """The key itself, unless it is an identity, an address or a name that the owner gave."""
        if _KEY.fullmatch(key) and key not in self._shown and not _UUID.fullmatch(key):
            return key
        if not key:
            return key
        replacement = self._identity(key) or self._address(key)
        return replacement or self._numbered("key", key)

    # -------------------------------------------------------------- texts

    def _text_value(self, text: str, key: str) -> str:
        """The text if the servers gave it, else what stands for it. `key`: what it is known by."""
        if redaction.hidden_in({key: text}) != {key: text}:
            return redaction.HIDDEN
        if text in self._hosts | self._users:
            return self._shown[text]
        if not text or text in _TRUTH or _NUMBER.fullmatch(text):
            return text
        if _is_word(text, key):
            return text
        if key in _listed("named") and _has_form("own_names", text):
            return text
        if text in self._shown:
            return self._shown[text]
        return self._replaced(text, key)

    def _replaced(self, text: str, key: str) -> str:
        """What stands for a text of the owner's, by the kind of its key."""
        if key in _listed("assignments"):
            return ",".join(self._assignment(part) for part in text.split(","))
        if key in _listed("placements"):
            return self._placement(text)
        replacement = self._identity(text) or self._address(text, key)
        if replacement:
            return replacement
        if key in _listed("places"):
            return self._numbered(key, text)
        if key in _listed("named"):
            return self._numbered("name", text)
        if key.endswith("_id"):
            return self._numbered("id", text)
        if text.startswith("/"):
            parts = [self._numbered("path", part) for part in text.split(",")]
            return ",".join(parts)
        return self._remembered(text)

    def _assignment(self, text: str) -> str:
        """`name=value` of a list of settings."""
        match = _ASSIGNMENT.fullmatch(text.strip())
        if match is None:
            return self._remembered(text)
        name, value = match.groups()
        if not _is_word(name, "name"):
            return f"{self._numbered('setting', name)}={_left_out(value)}"
        return f"{name}={self._text_value(value, name)}"

    def _identity(self, text: str) -> str:
        if _UUID.fullmatch(text):
            return self._numbered("uuid", text)
        return ""

    def _address(self, text: str, key: str = "") -> str:
        """Addresses with or without ports, separated by commas; "" if it is something else."""
        shown = []
        for part in text.split(","):
            address = self._one_address(part.strip(), key)
            if not address:
                return ""
            shown.append(address)
        return ",".join(shown)

    def _one_address(self, text: str, key: str) -> str:
        host = text
        port = ""
        match = _PORT.fullmatch(text)
        if match and not _is_ip(text):  # the end of an IPv6 address looks like a port
            host = match[1]
            port = f":{match[2]}"
        is_address = host in self._hosts or _is_ip(host) or _HOST_NAME.fullmatch(host)
        if is_address or (key in _listed("addresses") and host):
            return self._numbered("address", host) + port
        return ""

    def _numbered(self, kind: str, original: str) -> str:
        """What stands for it and for nothing else."""
        # The text's length does not do: texts of one length would overwrite each other as keys.
        if self._shown.get(original) in (None, _left_out(original)):
            self._counts[kind] += 1
            self._shown[original] = f"{kind}-{self._counts[kind]}"
        return self._shown[original]

    def _remembered(self, original: str) -> str:
        """What is replaced by how long it is."""
        self._shown[original] = _left_out(original)
        return self._shown[original]

    def _part_shown(self, match: re.Match[str]) -> str:
        """What stands for one part of a sentence."""
        text = match[0]
        if match["quoted"]:
            return self._quoted(text)
        if match["url"]:
            return self._numbered("url", text)
        if match["path"]:
            if _OWN_PATHS.fullmatch(text.rstrip(".")):
                return text
            return self._numbered("path", text)
        bare = text.rstrip(".:")  # punctuation of the sentence, not of the address
        replacement = self._identity(bare) or self._address(bare)
        if replacement:
            return replacement + text[len(bare) :]
        return text

    def _quoted(self, text: str) -> str:
        for word in re.split(r"[\s,:]+", text[1:-1]):
            is_replaced = re.fullmatch(r"(node|address)-\d+", word)
            is_plain = word in self._words or _NUMBER.fullmatch(word)
            if word and not (is_replaced or is_plain):
                return "<a quoted text>"
        return text


def _left_out(text: str) -> str:
    return f"<text of {len(text)} characters>"


def _is_word(text: str, key: str) -> bool:
    """Whether it has the form that anonymous.yaml has for texts of this key."""
    form = shipped(__package__, "anonymous.yaml")["words"].get(key, "")
    return bool(form) and re.fullmatch(form, text) is not None


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return False
    return True


@cache
def _listed(kind: str) -> frozenset[str]:
    """The keys of this kind in anonymous.yaml."""
    return frozenset(shipped(__package__, "anonymous.yaml")[kind])


def _has_form(kind: str, text: str) -> bool:
    form: str = shipped(__package__, "anonymous.yaml")[kind]
    return re.fullmatch(form, text) is not None
