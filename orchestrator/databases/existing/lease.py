"""Keeps a cluster of others to one campaign at a time, whatever its database is called.

A row in a database that all testers agree on says which campaign is there, and when it last said
so, by the server's clock. A campaign that is dead is in nobody's way: its process is seen to be
gone, or it was silent for `_SILENT_S`. One that was only suspended finds that another is there, and
its run fails.

Advisory locks would not do: PostgreSQL counts them within each database, and YugabyteDB has them
from 2025.1 on (yugabyte/yugabyte-db, pull request 27744). Before that, a setting can silence the
refusal (issues 3642, 23881), so a call that succeeds proves nothing."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace

from orchestrator.databases.existing import owned_database, remembered as memory
from orchestrator.databases.existing.declaration import LEASE_DATABASE, Existing
from orchestrator.databases.existing.identity import LEAST_BIRTH_NUMBER, DatabaseRow
from orchestrator.errors import (
    GuardLostError,
    RunError,
    TierbenchError,
    UnavailableError,
)
from orchestrator.platforms.common.lifecycle import taken_over
from orchestrator.system import host, sql

_COMMENT = "tierbench: which campaign is on this cluster"
_BIRTH_NUMBER = LEAST_BIRTH_NUMBER - 1  # a number that no campaign's own database has
_SILENT_S = 180.0  # several beats, which come every 30 s
_STATEMENT_S = 20.0
_DDL_S = 600.0
_TRIES = 4
_AGAIN_S = 2.0


@dataclass(frozen=True)
class Holder:
    """The campaign that is on the cluster; `process` as `host.process_mark`."""

    host: str
    campaign: str
    process: str

    def __str__(self) -> str:
        return f"campaign {self.campaign} on {self.host}"

    @property
    def quoted(self) -> str:
        """The holder as it stands in the row, as a literal of SQL."""
        return json.dumps(asdict(self)).replace("'", "''")

    @property
    def is_dead(self) -> bool:
        """Whether its process is seen to be gone; one of another machine is not seen."""
        return host.process_lives(self.process) is False


@dataclass(frozen=True)
class Lease(owned_database.Place):
    """The row, and the database in which it is."""

    @property
    def name(self) -> str:
        return LEASE_DATABASE

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keeps other campaigns off the cluster during the block.

        Nothing changes if this campaign holds the cluster already, by another profile.
        UnavailableError if another campaign is there, or if that cannot be seen.
        """
        if self._known() == self._mine:
            yield
            return
        world = self.world
        remembered = self._remembered
        left = memory.owner_here(
            world.cache, self._mine.campaign, round(world.clock.now())
        )
        memory.remember(world.cache, remembered, left)
        other = self.take()
        if other is not None:
            memory.forget(world.cache, remembered)
            raise UnavailableError(
                f"{other} is measuring the cluster at {self.declared.where}: each "
                "would measure the other's load",
                advice=(
                    f"wait for it to end. If it died, its claim ends {_SILENT_S:g} s "
                    "after its last sign of life"
                ),
            )
        try:
            with self.world.platform.guard.beats.during(self._beat, self.world.clock):
                yield
        finally:
            self._give_back()

    def require(self) -> None:
        """GuardLostError if another campaign is on the cluster by now."""
        other = self._known()
        if other is not None and other != self._mine:
            raise self._taken_by(other)

    def take(self) -> Holder | None:
        """Takes the row, or says that it is still ours; the other campaign if one has it.
        UnavailableError if the server does not let us see it."""
        for attempt in range(_TRIES):
            try:
                if attempt:  # most often it is there: others made it, or we did
                    self._prepare()
                with self.session(_STATEMENT_S) as session:
                    return self._other(session)
            except RunError as error:
                refusal = error
                if attempt:
                    self.world.clock.sleep(_AGAIN_S)
        raise UnavailableError(
            "tierbench cannot see whether another campaign is on the cluster "
            f"at {self.declared.where}: {refusal.what}",
            advice=(
                f"{self.declared.user} must be allowed to make the database "
                f"{LEASE_DATABASE}, or to use it as its owner has granted. It holds "
                "only its table `lease`"
            ),
        )

    def clear(self) -> str:
        """Removes what a dead campaign has left; says what was found otherwise."""
        entry = self.look()
        outcome = ""
        if entry is None:
            outcome = ": was gone"
        elif not _is_ours(entry):
            outcome = ": left alone, because others made it"
        else:
            other = self.take()
            if other is not None:
                return f": left alone, because {other} is on the cluster"
            self._remove()
        memory.forget(self.world.cache, self._remembered)
        return outcome

    @property
    def _mine(self) -> Holder:
        return Holder(host.name(), self.world.platform.campaign, host.process_mark())

    @property
    def _remembered(self) -> Existing:
        return replace(self.declared, database=LEASE_DATABASE, may_drop=None)

    def _known(self) -> Holder | None:
        """Who is there; None if nobody has made the row."""
        # Whoever could not see the row when the campaign began was refused then, by `held`.
        with suppress(RunError), self.session(_STATEMENT_S) as session:
            return _holder(session)
        return None

    def _other(self, session: sql.Session) -> Holder | None:
        """Takes the row if it is free, ours, or a dead campaign's."""
        # The row's key is always the same. The server lets one in of two testers who come together.
        words = {"holder": self._mine.quoted, "silent_s": f"{_SILENT_S:g}"}
        while not session.rows(sql.query(__package__, "take_lease", **words)):
            holder = _holder(session)
            if holder is not None and not holder.is_dead:
                return holder
            if holder is not None:
                # The holder is compared, so that a row that another tester took meanwhile stays.
                session.rows(f"DELETE FROM lease WHERE holder = '{holder.quoted}'")
        return None

    def _prepare(self) -> None:
        """Makes database and table, unless another tester has."""
        with self.outside() as session:
            entry = self.find(session)
            if entry is None:
                session.rows(
                    f'CREATE DATABASE "{LEASE_DATABASE}" CONNECTION LIMIT {_BIRTH_NUMBER}'
                )
            elif not _is_ours(entry):
                raise RunError(
                    f"there is a database {LEASE_DATABASE} without tierbench's comment"
                )
            # A tester may have been killed between making it and writing the comment.
            if entry is None or not entry.mark:
                session.rows(
                    f"COMMENT ON DATABASE \"{LEASE_DATABASE}\" IS '{_COMMENT}'"
                )
        with self.session(_STATEMENT_S) as session:
            if not session.rows("SELECT 1 FROM pg_tables WHERE tablename = 'lease'"):
                session.rows(sql.query(__package__, "make_lease"))

    def _beat(self) -> None:
        other = self.take()
        if other is not None:
            raise self._taken_by(other)

    def _taken_by(self, other: Holder) -> GuardLostError:
        return taken_over(
            f"the cluster at {self.declared.where}", other.campaign, other.host
        )

    def _give_back(self) -> None:
        try:
            self._remove()
        except TierbenchError as error:
            text = (
                f"the database {LEASE_DATABASE} may still be there: {error.what}. "
                "`tierbench clean` drops it when no campaign is on the cluster"
            )
            self.world.progress.warn(text)
        else:
            memory.forget(self.world.cache, self._remembered)

    def _remove(self) -> None:
        """Removes the row, and the database if nobody else is in it. Another tester who came in
        that moment makes his anew with his next beat."""
        with self.session(_STATEMENT_S) as session:
            session.rows(f"DELETE FROM lease WHERE holder = '{self._mine.quoted}'")
            if session.rows("SELECT holder FROM lease"):
                return
            entry = self.find(session)  # the one that this session is in
            if entry is None or entry.mark != _COMMENT:
                return
            with suppress(RunError):  # another user's: it stays, empty
                session.rows("DROP TABLE lease")
        if (
            self.is_empty()
        ):  # else something of somebody else's would be dropped with it
            self.drop_if(
                entry.__eq__, lambda error: isinstance(error, RunError), force=False
            )


def _is_ours(entry: DatabaseRow) -> bool:
    """Also without a comment, if a tester was killed between making it and writing one."""
    if entry.mark:
        return entry.mark == _COMMENT
    return entry.connection_limit == _BIRTH_NUMBER


def _holder(session: sql.Session) -> Holder | None:
    """Who is in the row, if anybody. RunError if no tierbench wrote it."""
    rows = session.rows("SELECT holder FROM lease")
    if not rows:
        return None
    text = str(rows[0]["holder"])
    try:
        return Holder(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise RunError(f"{text!r} in {LEASE_DATABASE} is not understood") from error
