"""Which database a campaign measures: one by name, or the one that `auto` takes."""

from collections.abc import Callable, Collection, Iterator

from orchestrator.databases import DRY, NONE, entries
from orchestrator.design.detailed_notes import detailed_note
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.facts import STANDS_IN
from orchestrator.keys.refusals import unknown
from orchestrator.model import Note
from orchestrator.parts import AUTO

PREFERRED = "yugabytedb"
FALLBACK = "postgresql"
_NOT_PASSED = "its first-run checklist has not passed there with this image"


def choose(
    name: str,
    names_of_all: Collection[str],
    proven: Callable[[], str] = str,
    problem: str = "",
    real_place: str = "",
) -> tuple[str, Note | None]:
    """The database, and the note about the choice for console and report: `auto` is YugabyteDB if
    its first-run checklist passed here, else PostgreSQL, with a note.

    `proven`, called only for `auto`: where and when the checklist passed, or an empty text.
    `problem`: why YugabyteDB did not start although it passed. `real_place`: where the profile
    runs, unless on emulated disks of this machine: UnavailableError there, because PostgreSQL
    stands in for it nowhere else. UsageError for a name that is no database to measure.
    """
    if name == AUTO:
        return _choose_automatically(proven, problem, real_place)
    if name == NONE:
        raise UsageError(
            "only a workload that measures the disk alone runs without a database",
            advice="name such workloads only (disk-matrix), or leave out --db",
        )
    if name == DRY:
        raise UsageError(
            "`dry` is not a database, and cannot be measured",
            advice="run `tierbench rehearse`",
        )
    choices = {AUTO, *_measured(names_of_all)}
    if name in choices:
        return name, None
    raise UsageError(
        unknown("database", name, choices),
        advice=(
            "an extension that is not installed may bring others: `tierbench list`"
        ),
    )


def _measured(names: Collection[str]) -> Iterator[str]:
    """The names that `--db` takes, beside `auto`."""
    registered = entries()
    for name in names:
        brought = registered.get(name)
        # A member that is handed in by a caller stands in no registry.
        if brought is None or brought.entry.for_users:
            yield name


def _choose_automatically(
    proven: Callable[[], str], problem: str, real_place: str
) -> tuple[str, Note]:
    why = _NOT_PASSED
    if problem:
        why = f"it did not start ({problem})"
    else:
        proof = proven()
        if proof:
            return PREFERRED, Note("preferred database", proof)
    # Whoever pays for disks asks about the database that they are for.
    if real_place:
        raise _no_stand_in(why, real_place)
    missing = "`tierbench doctor --db yugabytedb` says what is missing"
    note = detailed_note("fallback database", f"{STANDS_IN}: {why}", missing)
    return FALLBACK, note


def _no_stand_in(why: str, real_place: str) -> UnavailableError:
    return UnavailableError(
        f"on {real_place}, --db auto takes only YugabyteDB, and {why}",
        advice=(
            "`tierbench doctor --db yugabytedb --profile …` runs the checklist. If it has "
            "no image, it says how to get one. --db postgresql measures PostgreSQL instead"
        ),
    )
