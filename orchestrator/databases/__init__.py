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
    names_of_all: Collection[str],
    proven: Callable[[], str] = str,
    problem: str = "",
) -> tuple[str, Note | None]:
    """The database, and the note about the choice for console and report: `auto` is YugabyteDB if
    its first-run checklist passed here, else PostgreSQL, with a note.

    `proven`, called only for `auto`: where and when the checklist passed, or an empty text.
    `problem`: why YugabyteDB did not start although it passed. UsageError for a name that is no
    database to measure.
    """
    if name == AUTO:
        return _choose_automatically(proven, problem)
    if name == NONE:
        raise UsageError(
            "only a workload that measures the disk alone runs without a database",
            advice="name such workloads only (disk-matrix), or leave out --db",
        )
    if name == DRY:
        raise UsageError(
            "`dry` is no database to measure", advice="run `tierbench rehearse`"
        )
    # A store is an existing cluster with a URL.
    measured = {AUTO, *names_of_all} - {NONE, DRY, STORE}
    if name in measured:
        return name, None
    raise UsageError(unknown("database", name, measured))


def _choose_automatically(proven: Callable[[], str], problem: str) -> tuple[str, Note]:
    if problem:
        text = f"the database is PostgreSQL: YugabyteDB did not start ({problem})"
        return FALLBACK, Note("fallback database", text)
    proof = proven()
    if proof:
        return PREFERRED, Note("preferred database", proof)
    text = (
        "the database is PostgreSQL: --db auto takes YugabyteDB only where "
        "its first-run checklist has passed with this image; `tierbench "
        "doctor --db yugabytedb` runs it, with --profile on its machines"
    )
    return FALLBACK, Note("fallback database", text)
