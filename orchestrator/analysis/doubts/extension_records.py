"""Doubts by what a record says of extensions. Pure.

An extension may bring checks of its own for runs in which it took part. Where it is installed
they are made. Where it is not, a run with such checks does not count, because nobody can say
whether they would exclude it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.analysis.doubts.effects import excludes_the_run, is_only_told
from orchestrator.errors import TierbenchError, UnavailableError
from orchestrator.facts import ExtensionFacts
from orchestrator.model import Doubt, Record
from orchestrator.registry.installed import Installed
from orchestrator.registry.references import ObjectPlace
from orchestrator.registry.taking_part import doubting, missing

# The extensions to ask; None for those that are installed.
Extensions = Sequence[Installed] | None


# ------------------------------------------------------------------ those that are missing


def not_readable(record: Record, among: Extensions = None) -> Iterator[Doubt]:
    """One for each extension that is not installed here and may have checks of the run."""
    for name, facts in missing(record, among).items():
        # An older record does not say whether an extension has checks: it may.
        if facts.has_doubts is not False:
            yield _doubts_not_readable(name, facts)


def absent(record: Record, among: Extensions = None) -> Iterator[Doubt]:
    """One for each extension that is not installed here and has no checks of runs."""
    for name, facts in missing(record, among).items():
        if facts.has_doubts is False:
            yield _extension_missing(name, facts)


# ------------------------------------------------------------------ those that are here


def excluding(record: Record, among: Extensions = None) -> Iterator[Doubt]:
    """The doubts of extensions for which the run does not count."""
    for extension in doubting(record, among):
        yield from of_extension(extension, record, excludes=True)


def of_extension(extension: Installed, subject: Any, excludes: bool) -> Iterator[Doubt]:
    """What an extension's checks find in `subject`.

    With `excludes` those that exclude a run are made, and `subject` is its record. Without, all
    others are made, and `subject` is the data of a run.

    UnavailableError if a check cannot be imported or fails: what it would find is not known.
    """
    for kind, entry in extension.brings.doubts.items():
        does_exclude = entry.effect == "excludes"
        if does_exclude != excludes:
            continue
        place = ObjectPlace(entry.check, extension.origin)
        check = place.imported()
        for doubt in _found_by(check, subject, kind, extension):
            yield replace(doubt, kind=kind, effect=entry.effect)


def _found_by(
    check: Callable[[Any], Iterable[Doubt]],
    subject: Any,
    kind: str,
    extension: Installed,
) -> Sequence[Doubt]:
    doubts: list[Doubt] = []
    try:
        for doubt in check(subject):
            if not isinstance(doubt, Doubt):
                raise TypeError(f"it found a {type(doubt).__name__}, and no Doubt")
            doubts.append(doubt)
    except TierbenchError:
        raise
    # Somebody else's function may raise anything: without its answer nobody knows what it found.
    except Exception as error:
        raise _check_failed(kind, extension, error) from error
    return doubts


# ------------------------------------------------------------------ in words


_ANALYZE_AGAIN = "once it is installed, `tierbench analyze` the campaign again"


def _check_failed(
    kind: str, extension: Installed, error: Exception
) -> UnavailableError:
    origin = extension.origin
    return UnavailableError(
        f"the check for {kind!r} of {origin} failed: {type(error).__name__}: {error}",
        advice="report it to its authors, or remove it: "
        f"pip uninstall {origin.distribution}",
    )


def _doubts_not_readable(name: str, facts: ExtensionFacts) -> Doubt:
    return excludes_the_run(
        "doubts not readable",
        f"{_took_part(name, facts)}. Whether it would doubt this run is not known",
        advice=_ANALYZE_AGAIN,
    )


def _extension_missing(name: str, facts: ExtensionFacts) -> Doubt:
    return is_only_told(
        "extension missing",
        f"{_took_part(name, facts)}. The figures stand, without what it adds to the page",
        advice=_ANALYZE_AGAIN,
    )


def _took_part(name: str, facts: ExtensionFacts) -> str:
    if facts.distribution is None:
        how = f"install the extension {name}"
    else:
        how = f"pip install {facts.distribution}=={facts.version}"
    return f"the extension {name} took part and is not installed here ({how})"
