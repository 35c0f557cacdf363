"""An existing cluster as a profile declares it: its addresses, its user, its servers' pages.

Pure, except that the password is read each time it is needed, and never stored.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from orchestrator.errors import Mistake, UnavailableError
from orchestrator.model import ClusterSpec, Endpoint
from orchestrator.system import sql
from orchestrator.system.sql import Address

PREFIX = "existing."
OWN_DATABASE = "tierbench"
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_PAGES = ("masters", "tservers", "ysql", "node_exporters")
_LISTS = ("hosts", *_PAGES, "devices")


@dataclass(frozen=True)
class Existing:
    """Host k belongs to entry k of every list that is not empty. Lists of URLs have no path."""

    hosts: tuple[str, ...] = ()
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
    """The profile's declaration, and all mistakes in it."""
    values: dict[str, Any] = {}
    mistakes: list[Mistake] = []
    for key, text in spec.settings.items():
        name = key.removeprefix(PREFIX)
        if not key.startswith(PREFIX):
            reason = "settings belong to the cluster's owner: keys of `existing` alone are read"
            mistakes.append(_mistake(key, reason))
        elif name not in {field.name for field in fields(Existing)}:
            mistakes.append(_mistake(name, "unknown key"))
        elif name == "port" and not (text.isdigit() and 0 < int(text) < 65536):
            mistakes.append(_mistake(name, f"{text!r} is not a port"))
        elif name == "port":
            values[name] = int(text)
        else:
            values[name] = _words(text) if name in _LISTS else text
    declared = Existing(**values)
    return declared, (*mistakes, *_mistakes(declared))


def _mistakes(declared: Existing) -> Iterator[Mistake]:
    """Mistakes that need no look at the cluster."""
    hosts = len(declared.hosts)
    if not hosts:
        yield _mistake("hosts", "name at least one host that takes SQL")
    if declared.password_env and declared.password_file:
        yield _mistake("password_file", "`password_env` is declared too: keep one of them")
    for key in ("database", "maintenance_database", "user"):
        if not _NAME.fullmatch(getattr(declared, key)):
            yield _mistake(key, "write lower-case letters, digits and underscores, no digit first")
    if declared.database == declared.maintenance_database:
        yield _mistake("database", "must not be the one through which it is created")
    for key in _PAGES:
        urls: tuple[str, ...] = getattr(declared, key)
        wrong = [url for url in urls if not re.fullmatch(r"https?://[^/\s]+", url)]
        if wrong:
            yield _mistake(key, f"{', '.join(wrong)}: write http://host:port")
        if key != "masters" and urls and len(urls) != hosts:
            yield _mistake(key, f"{len(urls)} for {hosts} hosts: write one for each, in order")
    if declared.devices and len(declared.devices) not in (1, hosts):
        yield _mistake("devices", "write one for all hosts, or one for each")
    if declared.may_drop not in (None, declared.database):
        yield _mistake("may_drop", f"must repeat the name {declared.database}, or be left out")


def address(declared: Existing, host: str, database: str) -> Address:
    """The address of a session with this host. UnavailableError if the password cannot be read."""
    local = sql.local(endpoint(declared, host))
    return replace(local, database=database, tls_root=declared.tls_root)


def endpoint(declared: Existing, host: str) -> Endpoint:
    """Our database on this host. UnavailableError if the password cannot be read."""
    return Endpoint(
        host=host,
        port=declared.port,
        local_port=declared.port,
        local_host=host,
        user=declared.user,
        password=password(declared),
        database=declared.database,
    )


def password(declared: Existing, environment: Callable[[str], str | None] = os.environ.get) -> str:
    """Empty if none is declared: the server may need none, or ~/.pgpass may have it."""
    if declared.password_env:
        value = environment(declared.password_env)
        if value is None:
            raise UnavailableError(
                f"the environment variable {declared.password_env} is not set",
                advice="export it with the cluster's password, as the profile declares",
            )
        return value
    return _from_file(declared.password_file) if declared.password_file else ""


def _from_file(path: str) -> str:
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
    if mode & (stat.S_IRWXG | stat.S_IRWXO):  # libpq's rule for ~/.pgpass
        raise UnavailableError(
            f"the password file {file} may be read by others (mode {stat.S_IMODE(mode):04o})",
            advice=f"chmod 600 {file}",
        )
    return text


def device(declared: Existing, number: int) -> str | None:
    """The declared device of host `number` (from 0)."""
    if not declared.devices:
        return None
    return declared.devices[number if len(declared.devices) > 1 else 0]


def _words(text: str) -> tuple[str, ...]:
    return tuple(part.rstrip("/") for part in re.split(r"[\s,]+", text.strip()) if part)


def _mistake(key: str, text: str) -> Mistake:
    return Mistake(f"cluster.existing.{key}", text)
