"""An existing cluster as a profile declares it: where it is, how to get in, where its counters are.

Pure, except that the password is read where it is needed, never kept and never stored.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import Mistake, UnavailableError
from orchestrator.model import ClusterSpec
from orchestrator.system.sql import Address

PREFIX = "existing."
OWN_DATABASE = "tierbench"
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


@dataclass(frozen=True)
class Existing:
    """Host k belongs to entry k of every list that is not empty. Lists of URLs have no path."""

    hosts: tuple[str, ...]
    port: int = 5433
    user: str = "yugabyte"
    password_env: str | None = None
    password_file: str | None = None
    tls_root: str | None = None
    maintenance_database: str = "yugabyte"
    database: str = OWN_DATABASE
    masters: tuple[str, ...] = ()
    tservers: tuple[str, ...] = ()
    ysql: tuple[str, ...] = ()
    node_exporters: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    data_path: str | None = None
    may_drop: str | None = None


def read(spec: ClusterSpec) -> tuple[Existing, tuple[Mistake, ...]]:
    """What the profile declares, and all that is wrong with it."""
    given = {
        key.removeprefix(PREFIX): value
        for key, value in spec.settings.items()
        if key.startswith(PREFIX)
    }
    mistakes = [
        _mistake(key, "only the cluster itself is declared here: its settings are its owner's")
        for key in spec.settings
        if not key.startswith(PREFIX)
    ]
    declared = Existing(
        hosts=_words(given.pop("hosts", "")),
        port=_port(given.pop("port", "5433"), mistakes),
        masters=_words(given.pop("masters", "")),
        tservers=_words(given.pop("tservers", "")),
        ysql=_words(given.pop("ysql", "")),
        node_exporters=_words(given.pop("node_exporters", "")),
        devices=_words(given.pop("devices", "")),
        **_texts(given, mistakes),
    )
    return declared, (*mistakes, *check(declared))


_TEXTS = ("user", "password_env", "password_file", "tls_root", "maintenance_database", "database",
          "data_path", "may_drop")  # fmt: skip


def _texts(given: Mapping[str, str], mistakes: list[Mistake]) -> dict[str, str]:
    for key in given:
        if key not in _TEXTS:
            mistakes.append(_mistake(key, "unknown key"))
    return {key: value for key, value in given.items() if key in _TEXTS}


def check(declared: Existing) -> tuple[Mistake, ...]:
    """What is wrong with a declaration by itself."""
    found: list[Mistake] = []
    if not declared.hosts:
        found.append(_mistake("hosts", "name at least one host that takes SQL"))
    if declared.password_env and declared.password_file:
        found.append(_mistake("password_file", "`password_env` is there too: only one of them"))
    for key in ("database", "maintenance_database", "user"):
        if not _NAME.fullmatch(getattr(declared, key)):
            found.append(_mistake(key, "letters, digits and underscores, not beginning with one"))
    if declared.database == declared.maintenance_database:
        found.append(_mistake("database", "must not be the one through which it is created"))
    for key in ("masters", "tservers", "ysql", "node_exporters"):
        urls: tuple[str, ...] = getattr(declared, key)
        wrong = [url for url in urls if not re.fullmatch(r"https?://[^/\s]+", url)]
        if wrong:
            found.append(_mistake(key, f"{', '.join(wrong)}: write http://host:port"))
        if key != "masters" and urls and len(urls) != len(declared.hosts):
            what = f"{len(urls)} for {len(declared.hosts)} hosts: one for each, in their order"
            found.append(_mistake(key, what))
    if declared.devices and len(declared.devices) not in (1, len(declared.hosts)):
        found.append(_mistake("devices", "one for all hosts, or one for each"))
    if declared.may_drop not in (None, declared.database):
        found.append(_mistake("may_drop", f"must repeat the name {declared.database}, or be left"))
    return tuple(found)


def address(declared: Existing, host: str, database: str) -> Address:
    """A session with this host. UnavailableError where the password cannot be read."""
    return Address(
        host=host,
        port=declared.port,
        user=declared.user,
        password=password(declared),
        database=database,
        tls_root=declared.tls_root,
    )


def password(declared: Existing, environment: Callable[[str], str | None] = os.environ.get) -> str:
    """Empty where none is declared: the server may trust, or ~/.pgpass may know."""
    if declared.password_env:
        found = environment(declared.password_env)
        if found is None:
            raise UnavailableError(
                f"the environment variable {declared.password_env} is not set",
                advice="the profile says that it holds the cluster's password: export it",
            )
        return found
    if declared.password_file:
        file = Path(declared.password_file).expanduser()
        try:
            with file.open() as opened:
                mode = os.fstat(opened.fileno()).st_mode
                found = opened.read().strip()
        except OSError as error:
            raise UnavailableError(
                f"the password file {declared.password_file} cannot be read: {error.strerror}",
                advice="correct `existing.password_file` in the profile",
            ) from error
        if mode & (stat.S_IRWXG | stat.S_IRWXO):  # libpq's rule for ~/.pgpass
            raise UnavailableError(
                f"the password file {file} may be read by others (mode {stat.S_IMODE(mode):04o})",
                advice=f"chmod 600 {file}",
            )
        return found
    return ""


def device(declared: Existing, number: int) -> str | None:
    """The declared device of host `number` (from 0)."""
    if not declared.devices:
        return None
    return declared.devices[number if len(declared.devices) > 1 else 0]


def _words(text: str) -> tuple[str, ...]:
    return tuple(part.rstrip("/") for part in re.split(r"[\s,]+", text.strip()) if part)


def _port(text: str, mistakes: list[Mistake]) -> int:
    if text.isdigit() and 0 < int(text) < 65536:
        return int(text)
    mistakes.append(_mistake("port", f"{text!r} is not a port"))
    return 5433


def _mistake(key: str, what: str) -> Mistake:
    return Mistake(f"cluster.existing.{key.removeprefix(PREFIX)}", what)
