"""The one database that tierbench makes in a cluster of others: made, recognised, dropped.

A table in it, made together with it, marks it as ours. Any other database of that name is dropped
only if its owner agrees: in the profile, or at the terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from orchestrator.databases.existing.declaration import Existing, address
from orchestrator.errors import RunError, UsageError
from orchestrator.system.sql import Connect, Row, Session

MARK = "tierbench_made_this"
_DDL_S = 600.0

Confirm = Callable[[str], bool]


def ask_at_terminal(question: str) -> bool:
    """The answer; False also if there is no terminal."""
    if not sys.stdin.isatty():
        return False
    sys.stderr.write(f"{question} [yes/no] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() == "yes"


class OwnDatabase:
    """Our database in a declared cluster, through the cluster's first host."""

    def __init__(self, declared: Existing, connect: Connect, confirm: Confirm) -> None:
        self._declared, self._connect, self._confirm = declared, connect, confirm
        self.name = declared.database

    def require_replaceable(self) -> None:
        """UsageError if there is a database of our name that we did not make, and its owner does
        not agree to drop it."""
        exists = self._outside(f"SELECT 1 FROM pg_database WHERE datname = '{self.name}'")
        if not exists or self._is_ours() or self._declared.may_drop == self.name:
            return
        hosts = ", ".join(self._declared.hosts)
        problem = f"cluster at {hosts} has a database {self.name} that tierbench did not make"
        if not self._confirm(f"The {problem}. Drop it, with all that is in it?"):
            raise UsageError(
                f"the {problem}",
                advice="choose another name (`existing.database`); or, to have it dropped, add "
                f"`existing.may_drop: {self.name}`",
            )

    def require_creatable(self) -> None:
        """UsageError if our user cannot create a database."""
        rows = self._outside(
            "SELECT rolcreatedb OR rolsuper AS may FROM pg_roles WHERE rolname = current_user"
        )
        if rows and not rows[0]["may"]:
            user, hosts = self._declared.user, ", ".join(self._declared.hosts)
            raise UsageError(
                f"{user} may not create a database in the cluster at {hosts}",
                advice=f"run ALTER ROLE {user} CREATEDB, or write another user in the profile",
            )

    def _is_ours(self) -> bool:
        with self.session(60.0) as session:
            return bool(session.rows(f"SELECT 1 WHERE to_regclass('{MARK}') IS NOT NULL"))

    def make(self) -> None:
        """Makes the database, empty. Call `require_replaceable` first."""
        self.drop()
        self._outside(f"CREATE DATABASE {self.name}")
        with self.session(_DDL_S) as session:
            session.rows(f"CREATE TABLE {MARK} (at timestamptz PRIMARY KEY DEFAULT now())")

    def drop(self) -> None:
        """RunError if somebody is connected to it."""
        self._outside(f"DROP DATABASE IF EXISTS {self.name}")

    @contextmanager
    def session(self, timeout_s: float) -> Iterator[Session]:
        """A session in our database."""
        inside = address(self._declared, self._declared.hosts[0], self.name)
        with self._connect(inside, timeout_s) as session:
            yield session

    def _outside(self, sql: str) -> list[Row]:
        declared = self._declared
        try:
            outside = address(declared, declared.hosts[0], declared.maintenance_database)
            with self._connect(outside, _DDL_S) as session:
                return session.rows(sql)
        except RunError as error:
            raise RunError(
                error.what,
                advice=f"the user {declared.user} must be allowed to create and drop the "
                f"database {self.name}",
            ) from error
