"""Which database it is, and dropping that one: a name says only which one has it now.

A server numbers its databases, and does not give a number to another one. YugabyteDB does not
either: one that is dropped and made anew has another (yugabyte/yugabyte-db, issues 19656, 30319).
What was read from before the number could be kept is told by what CREATE DATABASE itself writes:
a connection limit that is far above what any server takes, and another one for each maker. Both
servers have that option (YugabyteDB: docs.yugabyte.com, CREATE DATABASE)."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from orchestrator.databases.existing.declaration import YUGABYTEDB
from orchestrator.databases.existing.servers import banner_of
from orchestrator.errors import NotPermittedError, RunError
from orchestrator.system import sql
from orchestrator.yugabyte import queries

# The number is above every `max_connections` (at most 262,143), below the largest int4.
LEAST_BIRTH_NUMBER = 2**30


@dataclass(frozen=True)
class DatabaseRow:
    """What a server says of a database."""

    oid: int
    mark: str  # the comment on it, "" without one
    connection_limit: int


def find(session: sql.Session, name: str) -> DatabaseRow | None:
    """The database that has this name now; None if there is none."""
    rows = session.rows(sql.query(__package__, "database", database=name))
    if not rows:
        return None
    row = rows[0]
    return DatabaseRow(
        int(row["oid"]), str(row["mark"] or ""), int(row["connection_limit"])
    )


def name_while_dropped(oid: int) -> str:
    """The name that a database has from when it is known for certain until it is gone."""
    return f"tierbench_drop_{oid}"


def drop(session: sql.Session, name: str, entry: DatabaseRow, force: bool) -> None:
    """Drops the database that was found under this name, and none that has its name since.

    `force`: others' sessions in it are ended. RunError if another one has its name by now, or
    somebody is connected to it."""
    if banner_of(queries.banner(session)) == YUGABYTEDB:
        # It commits each change of a database by itself (docs.yugabyte.com, Transactional DDL). So
        # the database is only looked at once more, right before it is dropped.
        _require_same(find(session, name), entry, name)
        _drop_name(session, name, force)
        return
    # DROP DATABASE takes a name, and no transaction. So the database is renamed in one, which holds
    # it exclusively. If it is another one, that is rolled back, and nobody has seen it.
    _rename(session, name, entry, force)
    _drop_name(session, name_while_dropped(entry.oid), force=False)


def drop_begun(session: sql.Session, oid: int) -> bool:
    """Drops that of this number if a killed program had begun to; whether there was one."""
    name = name_while_dropped(oid)
    entry = find(session, name)
    if entry is None or entry.oid != oid:
        return False
    _drop_name(session, name, force=False)
    return True


def _require_same(now: DatabaseRow | None, entry: DatabaseRow, name: str) -> None:
    """RunError if the database that has the name now is another one."""
    if now is None or now.oid != entry.oid:
        raise RunError(
            f"somebody has just replaced the database {name}: nothing was dropped",
            advice=(
                "find out who made it, and choose another name (`existing.database`)"
            ),
        )


def _rename(session: sql.Session, name: str, entry: DatabaseRow, force: bool) -> None:
    """Gives the database the name that it has while it is dropped."""
    if not force:
        _rename_in_transaction(session, name, entry, ends_sessions=False)
        return
    try:
        _rename_in_transaction(session, name, entry, ends_sessions=True)
    except NotPermittedError:
        # Only a superuser may end a superuser's session. The drop can otherwise be waited for until
        # that session is gone.
        _rename_in_transaction(session, name, entry, ends_sessions=False)


def _rename_in_transaction(
    session: sql.Session, name: str, entry: DatabaseRow, ends_sessions: bool
) -> None:
    new_name = name_while_dropped(entry.oid)
    with _transaction(session):
        if ends_sessions:
            session.rows(sql.query(__package__, "end_sessions", oid=entry.oid))
        session.rows(f'ALTER DATABASE "{name}" RENAME TO "{new_name}"')
        _require_same(find(session, new_name), entry, name)


@contextmanager
def _transaction(session: sql.Session) -> Iterator[None]:
    session.rows("BEGIN")
    try:
        yield
    except BaseException:
        with suppress(RunError):  # a lost session has rolled back by itself
            session.rows("ROLLBACK")
        raise
    session.rows("COMMIT")


def _drop_name(session: sql.Session, name: str, force: bool) -> None:
    statement = f'DROP DATABASE "{name}"'
    if not force:
        session.rows(statement)
        return
    try:
        session.rows(f"{statement} WITH (FORCE)")
    except NotPermittedError:
        # Superusers' sessions are the exception here as in `_rename`.
        session.rows(statement)
