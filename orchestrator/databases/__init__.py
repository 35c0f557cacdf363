"""Databases: one file each, and one line here; and what `auto` means."""

from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.databases.existing import ExistingCluster
from orchestrator.databases.none import NoDatabase
from orchestrator.databases.postgresql import PostgreSQL
from orchestrator.databases.yugabytedb import YugabyteDB
from orchestrator.errors import UsageError
from orchestrator.protocols import Database

AUTO, PREFERRED, FALLBACK = "auto", "yugabytedb", "postgresql"
NONE = "none"


@dataclass(frozen=True)
class Choice:
    """The database taken, and what must be said loudly about it."""

    name: str
    note: str = ""


def databases() -> dict[str, Database]:
    return {
        "yugabytedb": YugabyteDB(),
        "postgresql": PostgreSQL(),
        "existing": ExistingCluster(),
        NONE: NoDatabase(),
    }


def choose(name: str, can_have: Callable[[], bool] = lambda: False) -> Choice:
    """`auto` is YugabyteDB where its image is here or can be pulled (`can_have`, asked only then),
    else PostgreSQL, said loudly."""
    known = databases()
    if name == AUTO:
        if can_have():
            return Choice(PREFERRED)
        return Choice(
            FALLBACK,
            "the database is PostgreSQL, not YugabyteDB: the image of YugabyteDB is neither here "
            "nor can it be pulled (docs/YUGABYTEDB.md says how to bring it)",
        )
    if name == NONE:
        raise UsageError(
            "only a workload that measures the disk alone runs without a database",
            advice="name such workloads only (disk-matrix), or leave out --db",
        )
    if name == PREFERRED:
        can_have()  # pulls it; where that fails, `check` says all ways to get it
    if name in known:
        return Choice(name)
    raise UsageError(f"unknown database {name!r}; there is {AUTO}, {', '.join(known)}")
