"""The one database that tierbench makes in a cluster of others: made, recognised, kept, dropped
(docs/YUGABYTEDB.md).

It is remembered in the cache before it is made, so that one without a comment, left by a kill in
between, is recognised too. Ours is what this cache remembers on this host: several may share a
cache. Whose it is is read in the session that drops it. The owner's own commands keep it, loaded,
and bring it back; values reach them in their environment alone, so none is read as a command."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TextIO

from pydantic import TypeAdapter

from orchestrator import powers, units
from orchestrator.databases.existing.declaration import Existing, address, tls
from orchestrator.errors import UNREADABLE, NotPermittedError, RunError, UsageError
from orchestrator.platforms.common.lifecycle import PATIENCE_S, patiently
from orchestrator.system import files, machine_caches, shell, sql
from orchestrator.system.machine_caches import MachineIdentity

_MARK = "tierbench made this: "
_DDL_S = 600.0
# A backend notices that its client is gone only when it next reads from it. Where servers pool
# sessions, YugabyteDB's connection manager keeps an idle one for `ysql_conn_mgr_idle_time`: 180 s
# on a real 2025.2.2.2.
_IN_USE = "is being accessed by other users"
IN_USE_S = 240.0

Confirm = Callable[[str, bool], bool]


class Terminal:
    """Asks a person, each question once: in the middle of a campaign nobody may be there."""

    def __init__(self, stdin: TextIO | None = None) -> None:
        self._stdin = stdin or sys.stdin
        self._answers = dict[str, bool]()

    def __call__(self, question: str, may_ask: bool) -> bool:
        """The answer, or the one given before; False also if there is none, or no terminal."""
        if question not in self._answers and may_ask and self._stdin.isatty():
            sys.stderr.write(f"{question} [yes/no] ")
            sys.stderr.flush()
            answer = self._stdin.readline().strip().lower()
            self._answers[question] = answer == "yes"
        return self._answers.get(question, False)


@dataclass(frozen=True)
class Place:
    """A database of a declared cluster, there or not yet, through the cluster's first host."""

    declared: Existing
    connect: sql.Connect
    world: powers.World

    @property
    def name(self) -> str:
        return self.declared.database

    def session(self, timeout_s: float) -> AbstractContextManager[sql.Session]:
        """A session in it."""
        return self.connect(address(self.declared, self.name), timeout_s)

    @contextmanager
    def outside(self) -> Iterator[sql.Session]:
        """A session in which it can be made and dropped."""
        declared = self.declared
        try:
            with self.connect(
                address(declared, declared.maintenance_database), _DDL_S
            ) as session:
                yield session
        except RunError as error:
            advice = (
                f"the user {declared.user} must be allowed to create and drop the database "
                f"{self.name}"
            )
            if _IN_USE in error.what:
                advice = (
                    f"end the sessions in the database {self.name}: pg_stat_activity lists them. A "
                    "pooler may keep them"
                )
            raise RunError(error.what, advice) from error

    def mark(self, session: sql.Session) -> str | None:
        """The comment on it, "" without one; None if it is not there."""
        rows = session.rows(sql.query(__package__, "mark", database=self.name))
        if rows:
            return str(rows[0]["mark"] or "")
        return None

    def look(self) -> str | None:
        """`mark`, in a session of its own."""
        with self.outside() as session:
            return self.mark(session)

    def is_empty(self) -> bool:
        with self.session(60.0) as session:
            return not session.rows(sql.query(__package__, "objects"))

    def drop_if(
        self,
        ours: Callable[[str], bool],
        may_pass: Callable[[Exception], bool],
        force: bool = False,
    ) -> bool:
        """Drops it if its comment, read in the same session, says so; by `force`, ends others'
        sessions first. Again for IN_USE_S while somebody is connected to it, and for a minute where
        another error may pass. Returns whether it was there."""
        clock = self.world.clock
        begun_s = clock.monotonic()

        def drop() -> bool:
            with self.outside() as session:
                mark = self.mark(session)
                if mark is not None and ours(mark):
                    self._drop_in(session, force)
                return mark is not None

        def may_still_pass(error: Exception) -> bool:
            waited_s = clock.monotonic() - begun_s
            if _IN_USE not in str(error):
                return may_pass(error) and waited_s < PATIENCE_S
            self.world.progress.step(
                f"waiting until nobody is connected to the database {self.name}: servers that "
                "pool sessions keep them for minutes",
                IN_USE_S - waited_s,
            )
            return True

        return patiently(drop, clock, may_still_pass, IN_USE_S)

    def _drop_in(self, session: sql.Session, force: bool) -> None:
        """RunError if somebody is connected to it whose session our user may not end."""
        plain = f'DROP DATABASE "{self.name}"'
        if force:
            # Only a superuser may end a superuser's session (PostgreSQL: DROP DATABASE). Without
            # FORCE the drop can still be waited for until that session is gone.
            with suppress(NotPermittedError):
                session.rows(f"{plain} WITH (FORCE)")
                return
        session.rows(plain)


@dataclass(frozen=True)
class OwnDatabase(Place):
    """Our database. `force`: a drop can end others' sessions (PostgreSQL since 13)."""

    confirm: Confirm
    force: bool = False

    def require_replaceable(self, may_ask: bool) -> None:
        """UsageError if there is a database of our name that is not ours, and its owner does not
        agree to drop it, or has not agreed before and may not be asked now."""
        mark = self.look()
        if mark is not None:
            self._is_given_up(mark, may_ask)

    def _is_given_up(self, mark: str, may_ask: bool = False) -> bool:
        owner = owner_of(mark)
        if self.declared.may_drop == self.name or self._is_ours(owner):
            return True
        maker = "tierbench did not make"
        age = ""
        if owner is not None:
            maker = f"campaign {owner.campaign} of tierbench on {owner.host} made"
            age_s = max(0.0, self.world.clock.now() - owner.started_s)
            age = f" {units.format_seconds(age_s)} ago"
        problem = (
            f"cluster at {self.declared.where} has a database {self.name} that {maker}"
        )
        if not self.confirm(
            f"The {problem}. Drop it, with all that is in it?", may_ask
        ):
            raise UsageError(
                f"the {problem}{age}",
                advice="choose another name (`existing.database`); or, to have it dropped "
                f"although it may be in use, add `existing.may_drop: {self.name}`",
            )
        return True

    def require_creatable(self) -> None:
        """UsageError if our user cannot create a database."""
        with self.outside() as session:
            rows = session.rows(sql.query(__package__, "may_create"))
        if rows and not rows[0]["may"]:
            user = self.declared.user
            raise UsageError(
                f"{user} may not create a database in the cluster at "
                f"{self.declared.where}",
                advice=f'run ALTER ROLE "{user}" CREATEDB, or write another user in the '
                "profile",
            )

    def _is_ours(self, owner: Owner | None) -> bool:
        """Whether a database with that mark, or an empty one without any, is one that this cache
        remembers and this host made."""
        file = _file(self.world.cache, self.declared)
        remembered = [left.owner for left in _read([file])]
        if not any(maker.is_from(self.world.cache) for maker in remembered):
            return False
        if owner is None:
            return self.is_empty()
        return owner in remembered

    def make(self) -> None:
        """Makes the database, empty. UsageError as `require_replaceable`; RunError if it cannot be
        marked as ours."""
        self._drop(self._is_given_up)
        world = self.world
        now_s = round(world.clock.now())
        owner = owner_here(world.cache, world.platform.campaign, now_s)
        remember(world.cache, self.declared, owner)
        mark = (_MARK + json.dumps(asdict(owner))).replace("'", "''")
        with self.outside() as session:
            session.rows(f'CREATE DATABASE "{self.name}"')
            try:
                session.rows(f"COMMENT ON DATABASE \"{self.name}\" IS '{mark}'")
            except RunError:
                session.rows(
                    f'DROP DATABASE "{self.name}"'
                )  # without a mark nobody drops it later
                raise

    def drop_left_behind(self) -> None:
        """Drops what an ended program of this cache left; nothing if there is no such database.

        Its last run may have been complete, so that no other run makes the database anew.
        """
        mark = self.look()
        if mark is not None and self._is_ours(owner_of(mark)):
            self.drop()

    def drop(self) -> bool:
        """Drops it if it is still ours, and forgets it; returns whether it was there. UsageError if
        another has one of that name by now; RunError if somebody is connected to it for long."""
        existed = self._drop(self._is_still_ours)
        forget(self.world.cache, self.declared)
        return existed

    def _is_still_ours(self, mark: str) -> bool:
        owner = owner_of(mark)
        if not self._is_ours(owner):
            who = "somebody else"
            if owner:
                who = f"campaign {owner.campaign} on {owner.host}"
            forget(self.world.cache, self.declared)
            raise UsageError(f"{who} has made one of that name since")
        return True

    def _drop(self, ours: Callable[[str], bool]) -> bool:
        """Waits until nobody is connected to it. `ours` raises if it must stay."""
        return self.drop_if(ours, lambda _error: False, self.force)

    def run(self, verb: Literal["save", "restore"], snapshot: Path) -> None:
        """Has the owner's command keep the database that was just loaded, of which `snapshot` tells
        afterwards, or fill our new, empty one. It is told in libpq's variables where that is, and
        the snapshot's name. RunError if it fails."""
        command = self.declared.restore
        if verb == "save":
            command = self.declared.save
        env = _libpq_variables(address(self.declared, self.name))
        env["TIERBENCH_SNAPSHOT"] = snapshot.parent.name
        to = f"the database {self.name}"
        docs = "docs/YUGABYTEDB.md"
        shell.run_of_profile(verb, command or "", to, env, docs, self.world)
        if verb == "save":
            files.write_text(snapshot, "saved by the profile's own command\n")


def _libpq_variables(at: sql.Address) -> dict[str, str]:
    """The environment in which libpq finds this database by itself."""
    words = dict(sql.keywords(at))
    if at.password:
        words["password"] = at.password
    env = {f"PG{word.upper()}": str(value) for word, value in words.items()}
    env["PGDATABASE"] = env.pop("PGDBNAME")
    return env


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
    machine: str = ""  # as `MachineIdentity.id`; earlier releases kept the name alone

    def is_from(self, cache: Path) -> bool:
        """Whether it worked on this host with this cache: several hosts may share one."""
        made_on = MachineIdentity(self.host, self.machine)
        is_here = machine_caches.here().is_that_of(made_on)
        return is_here and self.cache == str(cache.resolve())


def owner_here(cache: Path, campaign: str, started_s: float) -> Owner:
    machine = machine_caches.here()
    place = str(cache.resolve())
    return Owner(machine.name, campaign, started_s, place, machine.id)


@dataclass(frozen=True)
class Leftover:
    """A database that was made and, as far as is known, not dropped."""

    declared: Existing
    owner: Owner

    @property
    def command(self) -> str:
        """What a person can type to drop it."""
        declared = self.declared
        server = declared.servers[0]
        at = sql.Address(
            server.host,
            server.port or declared.port,
            declared.user,
            "",
            declared.maintenance_database,
            tls(declared),
        )
        words = [f"{word}={value}" for word, value in sql.keywords(at).items()]
        return f'psql "{" ".join(words)}" -c \'DROP DATABASE "{declared.database}"\''


def remember(cache: Path, declared: Existing, owner: Owner) -> None:
    file = _file(cache, declared)
    files.make_folder(file.parent)
    files.write_json(file, {"declared": asdict(declared), "owner": asdict(owner)})


def forget(cache: Path, declared: Existing) -> None:
    _file(cache, declared).unlink(missing_ok=True)


def leftovers(cache: Path) -> tuple[Leftover, ...]:
    return tuple(_read(sorted((cache / _FOLDER).glob("*.json"))))


def _read(paths: list[Path]) -> Iterator[Leftover]:
    for file in paths:
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            content["declared"]["hosts"]["options"].pop(
                "password", None
            )  # it is not kept
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
