"""Databases: one file each, and one line here; and what `auto` means."""

from dataclasses import dataclass

from orchestrator.databases.none import NoDatabase
from orchestrator.databases.postgresql import PostgreSQL
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.protocols import Database

AUTO, PREFERRED, FALLBACK = "auto", "yugabytedb", "postgresql"
NONE = "none"


@dataclass(frozen=True)
class Choice:
    """The database taken, and what must be said loudly about it."""

    name: str
    note: str = ""


def databases() -> dict[str, Database]:
    return {"postgresql": PostgreSQL(), NONE: NoDatabase()}


def choose(name: str) -> Choice:
    """`auto` is YugabyteDB where it can be had, else PostgreSQL, said loudly."""
    known = databases()
    if name == AUTO:
        if PREFERRED in known:
            return Choice(PREFERRED)
        return Choice(
            FALLBACK,
            "the database is PostgreSQL, not YugabyteDB: this version has no YugabyteDB adapter",
        )
    if name == NONE:
        raise UsageError(
            "only a workload that measures the disk alone runs without a database",
            advice="name such workloads only (disk-matrix), or leave out --db",
        )
    if name in known:
        return Choice(name)
    if name == PREFERRED:
        raise UnavailableError(
            "YugabyteDB cannot be started by this version yet",
            advice="DB=auto takes PostgreSQL instead and says so in the report",
        )
    raise UsageError(f"unknown database {name!r}; there is {AUTO}, {', '.join(known)}")
