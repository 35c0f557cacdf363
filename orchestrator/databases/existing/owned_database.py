"""The one database that tierbench makes in a cluster of others: made, recognised, kept, dropped
(docs/YUGABYTEDB.md).

It is remembered in the cache before it is made, so that one without a comment, left by a kill in
between, is recognised too. Ours is what this cache remembers on this host: several may share a
cache. Whose it is is read in the session that drops it. The owner's own commands keep it, loaded,
and bring it back; values reach them in their environment alone, so none is read as a command.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from pydantic import TypeAdapter

from orchestrator import powers, units
from orchestrator.databases.existing.declaration import Existing, address, tls
from orchestrator.errors import UNREADABLE, RunError, UsageError
from orchestrator.keys.messages import failure
from orchestrator.platforms.common.lifecycle import patiently
from orchestrator.system import files, host, shell, sql
from orchestrator.system.sql import Connect, Session, query

_MARK = "tierbench made this: "
_DDL_S = 600.0
# A backend notices that its client is gone only when it next reads from it.
_IN_USE = "is being accessed by other users"

Confirm = Callable[[str, bool], bool]


class Terminal:
    """Asks a person, each question once: in the middle of a campaign nobody may be there."""

    def __init__(self, stdin: TextIO | None = None) -> None:
        self._stdin, self._answers = stdin or sys.stdin, dict[str, bool]()

    def __call__(self, question: str, may_ask: bool) -> bool:
        """The answer, or the one given before; False also if there is none, or no terminal."""
        if question not in self._answers and may_ask and self._stdin.isatty():
            sys.stderr.write(f"{question} [yes/no] ")
            sys.stderr.flush()
            self._answers[question] = self._stdin.readline().strip().lower() == "yes"
        return self._answers.get(question, False)


@dataclass(frozen=True)
class OwnDatabase:
    """Our database in a declared cluster, through the cluster's first host. `force`: whether the
    server can end others' sessions when it drops (PostgreSQL since 13)."""

    declared: Existing
    connect: Connect
    confirm: Confirm
    world: powers.World
    force: bool = False

    @property
    def name(self) -> str:
        return self.declared.database

    def require_replaceable(self, may_ask: bool) -> None:
        """UsageError if there is a database of our name that is not ours, and its owner does not
        agree to drop it, or has not agreed before and may not be asked now."""
        exists, owner = self.look()
        if exists:
            self._require_given_up(owner, may_ask)

    def _require_given_up(self, owner: Owner | None, may_ask: bool) -> None:
        if self.declared.may_drop == self.name or self.is_ours(owner):
            return
        maker, age = "tierbench did not make", ""
        if owner is not None:
            maker = f"campaign {owner.campaign} of tierbench on {owner.host} made"
            age = f" {units.format_seconds(max(0.0, self.world.clock.now() - owner.started_s))} ago"
        problem = f"cluster at {self.declared.where} has a database {self.name} that {maker}"
        if not self.confirm(f"The {problem}. Drop it, with all that is in it?", may_ask):
            raise failure(UsageError, "database not ours", problem=problem, age=age, name=self.name)

    def require_creatable(self) -> None:
        """UsageError if our user cannot create a database."""
        with self._session_outside() as session:
            rows = session.rows(query(__package__, "may_create"))
        if rows and not rows[0]["may"]:
            user = self.declared.user
            raise failure(UsageError, "may not create", user=user, where=self.declared.where)

    def look(self) -> tuple[bool, Owner | None]:
        """Whether there is a database of our name, and who made it by its mark."""
        with self._session_outside() as session:
            return self._seen(session)

    def _seen(self, session: Session) -> tuple[bool, Owner | None]:
        rows = session.rows(query(__package__, "mark", database=self.name))
        return bool(rows), owner_of(str(rows[0]["mark"] or "")) if rows else None

    def is_ours(self, owner: Owner | None) -> bool:
        """Whether a database with that mark, or an empty one without any, is one that this cache
        remembers and this host made."""
        remembered = [left.owner for left in _read([_file(self.world.cache, self.declared)])]
        if not any(each.is_from(self.world.cache) for each in remembered):
            return False
        if owner is None:
            with self.session(60.0) as session:
                return not session.rows(query(__package__, "objects"))
        return owner in remembered

    def make(self) -> None:
        """Makes the database, empty. UsageError as `require_replaceable`; RunError if it cannot be
        marked as ours."""
        self._drop(lambda owner: self._require_given_up(owner, may_ask=False))
        world = self.world
        owner = owner_here(world.cache, world.platform.campaign, round(world.clock.now()))
        remember(world.cache, self.declared, owner)
        mark = (_MARK + json.dumps(asdict(owner))).replace("'", "''")
        with self._session_outside() as session:
            session.rows(f'CREATE DATABASE "{self.name}"')
            try:
                session.rows(f"COMMENT ON DATABASE \"{self.name}\" IS '{mark}'")
            except RunError:
                session.rows(f'DROP DATABASE "{self.name}"')  # without a mark nobody drops it later
                raise

    def drop(self) -> None:
        """Drops it if it is still ours, and forgets it. UsageError if another has one of that name
        by now; RunError if somebody is connected to it for long."""
        self._drop(self._require_ours)
        forget(self.world.cache, self.declared)

    def _require_ours(self, owner: Owner | None) -> None:
        if not self.is_ours(owner):
            who = f"campaign {owner.campaign} on {owner.host}" if owner else "somebody else"
            forget(self.world.cache, self.declared)
            raise UsageError(f"{who} has made one of that name since")

    def _drop(self, require: Callable[[Owner | None], None]) -> None:
        """Waits a little until nobody is connected to it. `require` raises if it must stay."""
        force = " WITH (FORCE)" if self.force else ""

        def drop() -> None:
            with self._session_outside() as session:
                exists, owner = self._seen(session)
                if exists:
                    require(owner)
                    session.rows(f'DROP DATABASE "{self.name}"{force}')

        patiently(drop, self.world.clock, lambda error: _IN_USE in str(error))

    def session(self, timeout_s: float) -> AbstractContextManager[Session]:
        """A session in our database."""
        return self.connect(address(self.declared, self.name), timeout_s)

    @contextmanager
    def _session_outside(self) -> Iterator[Session]:
        declared = self.declared
        try:
            outside = address(declared, declared.maintenance_database)
            with self.connect(outside, _DDL_S) as session:
                yield session
        except RunError as error:
            raise failure(
                RunError, "no right to make it", error=error, declared=declared
            ) from error

    # -------------------------------------------------------------- the owner's commands

    def save(self, snapshot: Path) -> None:
        """Keeps the database that was just loaded; `snapshot` says afterwards that it was kept.
        RunError if the command fails."""
        self._run("save", self.declared.save or "", snapshot)
        files.write_text(snapshot, "saved by the profile's own command\n")

    def restore(self, snapshot: Path) -> None:
        """Fills our new, empty database with what was kept. RunError if the command fails."""
        self._run("restore", self.declared.restore or "", snapshot)

    def _run(self, verb: str, command: str, snapshot: Path) -> None:
        env, target = self._environment(snapshot), f"the database {self.name}"
        shell.run_of_profile(verb, command, target, env, "docs/YUGABYTEDB.md", self.world)

    def _environment(self, snapshot: Path) -> dict[str, str]:
        """What libpq's programs read, of the first host and our database, and the snapshot's
        name."""
        at = address(self.declared, self.name)
        return {
            "TIERBENCH_SNAPSHOT": snapshot.parent.name,
            "PGHOST": at.host,
            "PGPORT": str(at.port),
            "PGUSER": at.user,
            "PGDATABASE": at.database,
            **{f"PG{name.upper()}": value for name, value in sql.of_libpq(at.tls).items()},
            **({"PGPASSWORD": at.password} if at.password else {}),
        }


def owner_of(comment: str) -> Owner | None:
    """Who made a database, by the comment on it; None if it is not ours."""
    if not comment.startswith(_MARK):
        return None
    try:
        return Owner(**json.loads(comment.removeprefix(_MARK)))
    except (ValueError, TypeError):
        return None


# ------------------------------------------------------------------ what a cache remembers

# One file for each database, which a killed campaign leaves: where it is, as the profile declares
# it but without any password, and who made it.
_FOLDER = "existing"


@dataclass(frozen=True)
class Owner:
    """The campaign that made a database: where, when, with which cache."""

    host: str
    campaign: str
    started_s: float
    cache: str

    def is_from(self, cache: Path) -> bool:
        """Whether it worked on this host with this cache: several hosts may share one."""
        return (self.host, self.cache) == (host.name(), str(cache.resolve()))


def owner_here(cache: Path, campaign: str, started_s: float) -> Owner:
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
            **sql.of_libpq(tls(declared)),
        }
        conninfo = " ".join(f"{key}={value}" for key, value in words.items())
        return f'psql "{conninfo}" -c \'DROP DATABASE "{declared.database}"\''


def remember(cache: Path, declared: Existing, owner: Owner) -> None:
    file = _file(cache, declared)
    file.parent.mkdir(parents=True, exist_ok=True)
    files.write_json(file, {"declared": asdict(declared), "owner": asdict(owner)})


def forget(cache: Path, declared: Existing) -> None:
    _file(cache, declared).unlink(missing_ok=True)


def leftovers(cache: Path) -> tuple[Leftover, ...]:
    return tuple(_read(sorted((cache / _FOLDER).glob("*.json"))))


def _read(paths: list[Path]) -> Iterator[Leftover]:
    for file in paths:
        try:
            content = json.loads(file.read_text())
            content["declared"]["hosts"]["options"].pop("password", None)  # it is not kept
            left = TypeAdapter(Leftover).validate_python(content)
        except (OSError, *UNREADABLE):
            continue  # not there, or of another release
        if left.declared.servers:  # else it says no place
            yield left


def _file(cache: Path, declared: Existing) -> Path:
    """One for each place and name; in the name, only so that a person finds it."""
    where = f"{declared.where} {declared.database}"
    digest = hashlib.sha256(where.encode()).hexdigest()[:12]
    return cache / _FOLDER / f"{declared.database}-{digest}.json"
