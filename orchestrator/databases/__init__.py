"""Databases: one file or folder each, and one line here; and the choice that `auto` makes."""

from collections.abc import Callable, Collection

from orchestrator.databases.dry import DryDatabase
from orchestrator.databases.existing import ExistingCluster
from orchestrator.databases.hdfs import Hdfs
from orchestrator.databases.none import NoDatabase
from orchestrator.databases.postgresql import PostgreSQL
from orchestrator.databases.store import Store
from orchestrator.databases.yugabytedb import YugabyteDB
from orchestrator.errors import UsageError
from orchestrator.keys.strict_yaml import unknown
from orchestrator.model import STORE, Note
from orchestrator.parts import AUTO, Database

PREFERRED = "yugabytedb"
FALLBACK = "postgresql"
NONE = "none"
DRY = "dry"


def databases() -> dict[str, Database]:
    return {
        "yugabytedb": YugabyteDB(),
        "postgresql": PostgreSQL(),
        "existing": ExistingCluster(),
        "hdfs": Hdfs(),
        STORE: Store(),
        NONE: NoDatabase(),
        DRY: DryDatabase(),
    }


def choose(
    name: str,
    known: Collection[str],
    proven: Callable[[], str] = lambda: "",
    problem: str = "",
) -> tuple[str, Note | None]:
    """The database, and the note about the choice for console and report: `auto` is YugabyteDB if
    its first-run checklist passed here, else PostgreSQL, with a note.

    `known`: all names. `proven`, called only for `auto`: where and when the checklist passed, or an
    empty text. `problem`: why YugabyteDB did not start although it passed. UsageError for a name
    that is no database to measure.
    """
    if name == AUTO and problem:
        text = f"the database is PostgreSQL: YugabyteDB did not start ({problem})"
        return FALLBACK, Note("fallback database", text)
    if name == AUTO and (proof := proven()):
        return PREFERRED, Note("preferred database", proof)
    if name == AUTO:
        return FALLBACK, Note(
            "fallback database",
            (
                "the database is PostgreSQL: --db auto takes YugabyteDB only where "
                "its first-run checklist has passed with this image; `tierbench "
                "doctor --db yugabytedb` runs it, with --profile on its machines"
            ),
        )
    if name == NONE:
        raise UsageError(
            "only a workload that measures the disk alone runs without a database",
            advice="name such workloads only (disk-matrix), or leave out --db",
        )
    if name == DRY:
        raise UsageError(
            "`dry` is no database to measure", advice="run `tierbench rehearse`"
        )
    names = {AUTO, *known} - {
        NONE,
        DRY,
        STORE,
    }  # a store is an existing cluster with a URL
    if name in names:
        return name, None
    raise UsageError(unknown("database", name, names))
