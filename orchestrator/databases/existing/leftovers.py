"""Databases that we have made in clusters of others, remembered until they are dropped.

One file in the cache for each, written before the database is made: where it is, as the profile
declares it but without any password, and who made it. A killed campaign leaves its file, so
`tierbench clean` can say what is still there, and where.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from orchestrator.databases.existing.declaration import Existing
from orchestrator.system import files, host

_FOLDER = "existing"


@dataclass(frozen=True)
class Owner:
    """The campaign that made a database: where, when, with which cache ("" of older releases)."""

    host: str
    campaign: str
    started_s: float
    cache: str = ""

    def is_from(self, cache: Path) -> bool:
        """Whether it worked on this host with this cache: several hosts may share one."""
        return (self.host, self.cache) == (host.name(), str(cache.resolve()))


def owner(cache: Path, campaign: str, started_s: float) -> Owner:
    return Owner(host.name(), campaign, started_s, str(cache.resolve()))


@dataclass(frozen=True)
class Leftover:
    """A database that was made and, as far as is known, not dropped."""

    declared: Existing
    owner: Owner

    @property
    def command(self) -> str:
        """What a person can type to drop it."""
        declared, server = self.declared, self.declared.servers[0]
        words = {
            "host": server.host,
            "port": server.port,
            "user": declared.user,
            "dbname": declared.maintenance_database,
            "sslmode": "disable" if declared.tls == "off" else declared.tls,
            "sslrootcert": declared.tls_root,
            "sslcert": declared.tls_certificate,
            "sslkey": declared.tls_key,
        }
        conninfo = " ".join(f"{key}={value}" for key, value in words.items() if value)
        return f'psql "{conninfo}" -c \'DROP DATABASE "{declared.database}"\''


def remember(cache: Path, declared: Existing, owner: Owner) -> None:
    file = _file(cache, declared)
    file.parent.mkdir(parents=True, exist_ok=True)
    files.write_json(file, {"declared": asdict(declared), "owner": asdict(owner)})


def forget(cache: Path, declared: Existing) -> None:
    _file(cache, declared).unlink(missing_ok=True)


def remembered(cache: Path, declared: Existing) -> tuple[Owner, ...]:
    """Who made the database of this name there, as far as this cache knows: one at most."""
    return tuple(each.owner for each in _read([_file(cache, declared)]))


def all_of(cache: Path) -> tuple[Leftover, ...]:
    return tuple(_read(sorted((cache / _FOLDER).glob("*.json"))))


def _read(paths: list[Path]) -> Iterator[Leftover]:
    for file in paths:
        try:
            content = json.loads(file.read_text())
            content["declared"]["hosts"]["options"].pop("password", None)  # it is not kept
            left = TypeAdapter(Leftover).validate_python(content)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # not there, or of another release
        if left.declared.servers:  # else it says no place
            yield left


def _file(cache: Path, declared: Existing) -> Path:
    """One for each place and name; in the name, only so that a person finds it."""
    where = f"{declared.where} {declared.database}"
    digest = hashlib.sha256(where.encode()).hexdigest()[:12]
    return cache / _FOLDER / f"{declared.database}-{digest}.json"
