"""Databases: one file or folder each, and one line here; and the choice that `auto` makes."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from orchestrator.databases.dry import DryDatabase
from orchestrator.databases.existing import ExistingCluster
from orchestrator.databases.none import NoDatabase
from orchestrator.databases.postgresql import PostgreSQL
from orchestrator.databases.yugabytedb import YugabyteDB
from orchestrator.errors import UsageError
from orchestrator.keys.strict_yaml import unknown
from orchestrator.model import Note
from orchestrator.parts import AUTO, Database

PREFERRED, FALLBACK = "yugabytedb", "postgresql"
NONE, DRY = "none", "dry"
_UNPROVEN = (
    "the database is PostgreSQL: --db auto takes YugabyteDB only where its first-run checklist has "
    "passed with this image; `tierbench doctor --db yugabytedb` runs it, with --profile on its "
    "machines"
)


@dataclass(frozen=True)
class Choice:
    """The chosen database, and the note about the choice for console and report."""

    name: str
    note: Note | None = None


def databases() -> dict[str, Database]:
    return {
        "yugabytedb": YugabyteDB(),
        "postgresql": PostgreSQL(),
        "existing": ExistingCluster(),
        NONE: NoDatabase(),
        DRY: DryDatabase(),
    }


def choose(
    name: str, known: Collection[str], proven: Callable[[], str] = lambda: "", failure: str = ""
) -> Choice:
    """`auto` is YugabyteDB if its first-run checklist passed here, else PostgreSQL, with a note.

    `known`: all names. `proven`, called only for `auto`: where and when the checklist passed, or an
    empty text. `failure`: why YugabyteDB did not start although it passed. UsageError for a name
    that is no database to measure.
    """
    if name == AUTO and failure:
        text = f"the database is PostgreSQL: YugabyteDB did not start ({failure})"
        return Choice(FALLBACK, Note("fallback database", text))
    if name == AUTO and (proof := proven()):
        return Choice(PREFERRED, Note("preferred database", proof))
    if name == AUTO:
        return Choice(FALLBACK, Note("fallback database", _UNPROVEN))
    if name == NONE:
        raise UsageError(
            "only a workload that measures the disk alone runs without a database",
            advice="name such workloads only (disk-matrix), or leave out --db",
        )
    if name == DRY:
        raise UsageError("`dry` is no database to measure", advice="run `tierbench rehearse`")
    if name in known:
        return Choice(name)
    raise UsageError(unknown("database", name, {AUTO, *known} - {NONE, DRY}))
