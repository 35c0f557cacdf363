"""What a cache remembers of the databases that tierbench made in clusters of others.

One file for each database, which a killed campaign leaves: where it is, as the profile declares it
but without any password, and who made it.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from orchestrator.databases.existing import identity
from orchestrator.databases.existing.declaration import Existing, tls
from orchestrator.databases.existing.identity import DatabaseRow
from orchestrator.errors import UNREADABLE
from orchestrator.system import files, machine_caches, sql
from orchestrator.system.machine_caches import MachineIdentity

MARK = "tierbench made this: "  # begins the comment on a database of ours
_FOLDER = "existing"


def owner_of(comment: str) -> Owner | None:
    """Who made a database, by the comment on it; None if it is not ours."""
    if not comment.startswith(MARK):
        return None
    try:
        return Owner(**json.loads(comment.removeprefix(MARK)))
    except (ValueError, TypeError):
        return None


@dataclass(frozen=True)
class Owner:
    """The campaign that made a database: where, when, with which cache."""

    host: str
    campaign: str
    started_s: float
    cache: str
    # The same as `MachineIdentity.id`; earlier releases kept the name alone.
    machine: str = ""

    def is_from(self, cache: Path) -> bool:
        """Whether it worked on this host with this cache: several hosts may share one."""
        # The machine is compared too: hosts that share a cache may have the same name.
        made_on = MachineIdentity(self.host, self.machine)
        is_here = machine_caches.here().is_that_of(made_on)
        return is_here and self.cache == str(cache.resolve())

    @property
    def birth_number(self) -> int:
        """The connection limit with which it makes its database: another for each campaign."""
        moment = f"{self.started_s:.3f}"  # read back, a whole one is a float
        text = "\0".join((self.host, self.machine, self.cache, self.campaign, moment))
        digest = hashlib.sha256(text.encode()).digest()
        drawn = int.from_bytes(digest[:4]) % identity.LEAST_BIRTH_NUMBER
        return identity.LEAST_BIRTH_NUMBER + drawn


def owner_here(cache: Path, campaign: str, started_s: float) -> Owner:
    machine = machine_caches.here()
    place = str(cache.resolve())
    return Owner(
        host=machine.name,
        campaign=campaign,
        started_s=started_s,
        cache=place,
        machine=machine.id,
    )


@dataclass(frozen=True)
class Leftover:
    """A database that was made and, as far as is known, not dropped."""

    declared: Existing
    owner: Owner
    # The number is None from a kill before it was known, or from an earlier release.
    oid: int | None = None

    def is_it(self, entry: DatabaseRow) -> bool:
        """Whether the database is this one, and no copy with the same comment."""
        if self.oid is not None:
            return entry.oid == self.oid
        if entry.mark:
            return owner_of(entry.mark) == self.owner
        return entry.connection_limit == self.owner.birth_number

    @property
    def command(self) -> str:
        """What a person can type to drop it."""
        declared = self.declared
        server = declared.servers[0]
        at = sql.Address(
            host=server.host,
            port=server.port or declared.port,
            user=declared.user,
            password="",
            database=declared.maintenance_database,
            tls=tls(declared),
        )
        words = [f"{word}={value}" for word, value in sql.keywords(at).items()]
        return f'psql "{" ".join(words)}" -c \'DROP DATABASE "{declared.database}"\''


def remember(
    cache: Path, declared: Existing, owner: Owner, oid: int | None = None
) -> None:
    file = _file(cache, declared)
    files.make_folder(file.parent)
    content = {"declared": asdict(declared), "owner": asdict(owner), "oid": oid}
    files.write_json(file, content)


def forget(cache: Path, declared: Existing) -> None:
    _file(cache, declared).unlink(missing_ok=True)


def from_here(cache: Path, declared: Existing) -> list[Leftover]:
    """The databases of the declared name that this host made and this cache remembers."""
    databases: list[Leftover] = []
    for left in _read([_file(cache, declared)]):
        if left.owner.is_from(cache):
            databases.append(left)
    return databases


def leftovers(cache: Path) -> tuple[Leftover, ...]:
    return tuple(_read(sorted((cache / _FOLDER).glob("*.json"))))


def _read(paths: list[Path]) -> Iterator[Leftover]:
    for file in paths:
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            # A password was replaced by a mark when it was written: it would be taken for one.
            content["declared"]["hosts"]["options"].pop("password", None)
            left = _form().validate_python(content)
        except (OSError, *UNREADABLE):
            continue  # the note is not there, or of another release
        if left.declared.servers:  # else it says no place
            yield left


@functools.cache
def _form() -> TypeAdapter[Leftover]:
    """Made once: it takes longer than to read with it."""
    return TypeAdapter(Leftover)


def _file(cache: Path, declared: Existing) -> Path:
    """One for each place and name; in the name, only so that a person finds it."""
    where = f"{declared.where} {declared.database}"
    digest = hashlib.sha256(where.encode()).hexdigest()[:12]
    return cache / _FOLDER / f"{declared.database}-{digest}.json"
