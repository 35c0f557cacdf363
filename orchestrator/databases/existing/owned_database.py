"""The one database that tierbench makes in a cluster of others: made, recognised, kept, dropped
(docs/research/YUGABYTEDB.md).

Ours is what this cache remembers on this host: several may share a cache. The owner's own commands
keep it, loaded, and bring it back."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TextIO

from orchestrator import powers, units
from orchestrator.databases.existing import identity, remembered
from orchestrator.databases.existing.declaration import Existing, address
from orchestrator.databases.existing.identity import DatabaseRow
from orchestrator.errors import RunError, StatementError, UsageError
from orchestrator.parts import Confirm
from orchestrator.platforms.common.lifecycle import PATIENCE_S, patiently
from orchestrator.system import files, shell, sql

_DDL_S = 600.0
# A backend notices that its client is gone only when it next reads from it. Where servers pool
# sessions, YugabyteDB's connection manager keeps an idle one for `ysql_conn_mgr_idle_time`: 180 s
# on a real 2025.2.2.2.
IN_USE_S = 240.0


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
            if _is_in_use(error):
                advice = (
                    f"end the sessions in the database {self.name}: pg_stat_activity lists them. A "
                    "pooler may keep them"
                )
            # Who waits for it asks again which error it was.
            error.advice = advice
            raise

    def find(self, session: sql.Session) -> DatabaseRow | None:
        """The database that has our name now; None if there is none."""
        return identity.find(session, self.name)

    def look(self) -> DatabaseRow | None:
        """`find`, in a session of its own."""
        with self.outside() as session:
            return self.find(session)

    def is_empty(self) -> bool:
        with self.session(60.0) as session:
            return not session.rows(sql.query(__package__, "objects"))

    def drop_if(
        self,
        ours: Callable[[DatabaseRow], bool],
        may_pass: Callable[[Exception], bool],
        force: bool,
    ) -> bool:
        """Drops it if it is `ours`, by what the server says of it in the same session; by `force`,
        ends others' sessions first. Again for IN_USE_S while somebody is connected to it, and for a
        minute where another error may pass. Returns whether it was there."""
        clock = self.world.clock
        begun_s = clock.monotonic()

        def drop() -> bool:
            with self.outside() as session:
                # Looked at in the session that drops it: another may have got the name meanwhile.
                entry = self.find(session)
                if entry is not None and ours(entry):
                    identity.drop(session, self.name, entry, force)
                return entry is not None

        def may_still_pass(error: Exception) -> bool:
            waited_s = clock.monotonic() - begun_s
            if not _is_in_use(error):
                return may_pass(error) and waited_s < PATIENCE_S
            self.world.progress.step(
                f"waiting until nobody is connected to the database {self.name}. "
                "Servers that pool sessions keep them for minutes",
                IN_USE_S - waited_s,
            )
            return True

        return patiently(drop, clock, may_still_pass, IN_USE_S)


def _is_in_use(error: Exception) -> bool:
    """Whether a statement was refused because others are connected to the database."""
    return isinstance(error, StatementError) and error.sqlstate == sql.OBJECT_IN_USE


@dataclass(frozen=True)
class OwnDatabase(Place):
    """Our database. `force`: a drop can end others' sessions (PostgreSQL since 13)."""

    confirm: Confirm
    force: bool

    def require_replaceable(self, may_ask: bool) -> None:
        """UsageError if there is a database of our name that is not ours, and its owner does not
        agree to drop it, or has not agreed before and may not be asked now."""
        entry = self.look()
        if entry is not None:
            self._is_given_up(entry, may_ask)

    def _is_given_up(self, entry: DatabaseRow, may_ask: bool = False) -> bool:
        if self.declared.may_drop == self.name or self._is_ours(entry):
            return True
        owner = remembered.owner_of(entry.mark)
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
                advice=(
                    "choose another name (`existing.database`). To have it dropped "
                    f"although it may be in use, add `existing.may_drop: {self.name}`"
                ),
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

    def _remembered(self) -> list[remembered.Leftover]:
        return remembered.from_here(self.world.cache, self.declared)

    def _is_ours(self, entry: DatabaseRow) -> bool:
        """Whether this host made the database and this cache remembers it."""
        return any(left.is_it(entry) for left in self._remembered())

    def make(self) -> None:
        """Makes the database, empty. UsageError as `require_replaceable`; RunError if it cannot be
        marked as ours."""
        self._drop_begun()
        self._drop(self._is_given_up)
        world = self.world
        now_s = round(world.clock.now())
        owner = remembered.owner_here(world.cache, world.platform.campaign, now_s)
        # The owner is noted before the database is made. One that a kill left without a comment is
        # then recognised too.
        remembered.remember(world.cache, self.declared, owner)
        mark = (remembered.MARK + json.dumps(asdict(owner))).replace("'", "''")
        with self.outside() as session:
            # The limit tells ours before it has a comment, and is above what any server takes.
            session.rows(
                f'CREATE DATABASE "{self.name}" CONNECTION LIMIT {owner.birth_number}'
            )
            entry = self._just_made(session, owner)
            remembered.remember(world.cache, self.declared, owner, entry.oid)
            try:
                session.rows(f"COMMENT ON DATABASE \"{self.name}\" IS '{mark}'")
            except RunError:
                # Others do not see whose it is: it does not stay.
                identity.drop(session, self.name, entry, force=False)
                raise

    def _just_made(self, session: sql.Session, owner: remembered.Owner) -> DatabaseRow:
        entry = self.find(session)
        if entry is None or entry.connection_limit != owner.birth_number:
            raise RunError(
                f"somebody replaced the database {self.name} as soon as it was made",
                advice="choose another name (`existing.database`)",
            )
        return entry

    def drop_left_behind(self) -> None:
        """Drops what an ended program of this cache left; nothing if there is no such database.

        Its last run may have been complete, so that no other run makes the database anew.
        """
        self._drop_begun()
        entry = self.look()
        if entry is not None and self._is_ours(entry):
            self.drop()

    def drop(self) -> bool:
        """Drops it if it is still ours, and forgets it; returns whether it was there. UsageError if
        another has one of that name by now; RunError if somebody is connected to it for long."""
        begun = self._drop_begun()
        existed = self._drop(self._is_still_ours)
        remembered.forget(self.world.cache, self.declared)
        return existed or begun

    def _drop_begun(self) -> bool:
        """Ends what a program began that was killed while it dropped it; whether there was such."""
        # It has another name since then, by its number (`identity.name_while_dropped`).
        begun = False
        numbers = [left.oid for left in self._remembered() if left.oid is not None]
        if numbers:
            with self.outside() as session:
                begun = any(identity.drop_begun(session, oid) for oid in numbers)
        return begun

    def _is_still_ours(self, entry: DatabaseRow) -> bool:
        if not self._is_ours(entry):
            owner = remembered.owner_of(entry.mark)
            who = "somebody else"
            if owner and owner not in [left.owner for left in self._remembered()]:
                who = f"campaign {owner.campaign} on {owner.host}"
            remembered.forget(self.world.cache, self.declared)
            raise UsageError(f"{who} has made one of that name since")
        return True

    def _drop(self, ours: Callable[[DatabaseRow], bool]) -> bool:
        """Waits until nobody is connected to it. `ours` raises if it must stay."""
        return self.drop_if(ours, lambda _error: False, self.force)

    def run(self, verb: Literal["save", "restore"], snapshot: Path) -> None:
        """Has the owner's command keep the database that was just loaded, of which `snapshot` tells
        afterwards, or fill our new, empty one. It is told in libpq's variables where that is, and
        the snapshot's name. RunError if it fails."""
        command = self.declared.restore
        if verb == "save":
            command = self.declared.save
        # Values reach the command in its environment alone, so none is read as a part of it.
        env = _libpq_variables(address(self.declared, self.name))
        env["TIERBENCH_SNAPSHOT"] = snapshot.parent.name
        to = f"the database {self.name}"
        docs = "docs/YUGABYTEDB.md"
        shell.run_of_profile(verb, command or "", to, env, docs, self.world)
        # The data are where the owner's command has put them: this file only says that they are.
        if verb == "save":
            files.write_text(snapshot, "saved by the profile's own command\n")


def _libpq_variables(at: sql.Address) -> dict[str, str]:
    """The environment in which libpq finds this database by itself."""
    words = dict(sql.keywords(at))
    if at.password:
        words["password"] = at.password
    env = {f"PG{word.upper()}": str(value) for word, value in words.items()}
    env["PGDATABASE"] = env.pop("PGDBNAME")  # the one that is not called as its keyword
    return env
