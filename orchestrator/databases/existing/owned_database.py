"""The one database that is ours in a cluster that is not: made, recognised, dropped.

A table inside it, made together with it, says that it is ours. Any other database of that name is
dropped only with the owner's word: in the profile, or at the terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from orchestrator.databases.existing.declaration import Existing, address
from orchestrator.errors import RunError, UsageError
from orchestrator.system.sql import Connect

MARK = "tierbench_made_this"
DDL_S = 600.0

Confirm = Callable[[str], bool]


def ask_at_terminal(question: str) -> bool:
    """False also where nobody sits there."""
    if not sys.stdin.isatty():
        return False
    sys.stderr.write(f"{question} [yes/no] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() == "yes"


class OwnDatabase:
    """Our database in a declared cluster. Talks to its first host."""

    def __init__(self, declared: Existing, connect: Connect, confirm: Confirm) -> None:
        self._declared, self._connect, self._confirm = declared, connect, confirm

    @property
    def name(self) -> str:
        return self._declared.database

    def may_be_replaced(self) -> None:
        """UsageError where a database of our name is there that we did not make, and its owner
        does not give it up."""
        if not self.exists() or self.is_ours():
            return
        cluster = ", ".join(self._declared.hosts)
        if self._declared.may_drop == self.name:
            return
        if self._confirm(
            f"The cluster at {cluster} has a database {self.name} that tierbench did not make. "
            "Drop it, with all that is in it?"
        ):
            return
        raise UsageError(
            f"the cluster at {cluster} has a database {self.name} that tierbench did not make",
            advice="choose another name (`existing.database`); or, to give it up, add "
            f"`existing.may_drop: {self.name}`",
        )

    def may_be_made(self) -> None:
        """UsageError where our user cannot create a database."""
        question = (
            "SELECT rolcreatedb OR rolsuper AS may FROM pg_roles WHERE rolname = current_user"
        )
        rows = self._outside(question)
        if rows and not rows[0]["may"]:
            user = self._declared.user
            raise UsageError(
                f"{user} may not create a database in the cluster at "
                f"{', '.join(self._declared.hosts)}",
                advice=f"ALTER ROLE {user} CREATEDB, or another user in the profile",
            )

    def exists(self) -> bool:
        question = f"SELECT 1 AS found FROM pg_database WHERE datname = '{self.name}'"
        return bool(self._outside(question))

    def is_ours(self) -> bool:
        inside = address(self._declared, self._declared.hosts[0], self.name)
        with self._connect(inside, 60.0) as asked:
            return bool(asked.rows(f"SELECT 1 AS found WHERE to_regclass('{MARK}') IS NOT NULL"))

    def make(self) -> None:
        """Empty. Whoever calls has asked `may_be_replaced` before."""
        self.drop()
        self._outside(f"CREATE DATABASE {self.name}")
        inside = address(self._declared, self._declared.hosts[0], self.name)
        with self._connect(inside, DDL_S) as asked:
            asked.rows(f"CREATE TABLE {MARK} (at timestamptz PRIMARY KEY DEFAULT now())")

    def drop(self) -> None:
        """RunError where somebody is connected to it."""
        self._outside(f"DROP DATABASE IF EXISTS {self.name}")

    def _outside(self, sql: str) -> list[dict[str, object]]:
        first = address(
            self._declared, self._declared.hosts[0], self._declared.maintenance_database
        )
        try:
            with self._connect(first, DDL_S) as asked:
                return asked.rows(sql)
        except RunError as error:
            raise RunError(
                error.what,
                advice=f"the user {self._declared.user} must be allowed to create and drop the "
                f"database {self.name}",
            ) from error
