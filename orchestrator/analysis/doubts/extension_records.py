"""Doubts by what a record says of extensions: one that is missing here, and those of others that
exclude a run. Pure."""

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

Among = Sequence[Installed] | None


def not_readable(record: Record, among: Among = None) -> Iterator[Doubt]:
    """Of extensions that would doubt the run, and are not installed here."""
    for name, facts in missing(record, among).items():
        # What an extension does is not known of a record that does not say it.
        if facts.has_doubts is not False:
            yield _doubts_not_readable(name, facts)


def absent(record: Record, among: Among = None) -> Iterator[Doubt]:
    """Of extensions that took part without doubts of their own, and are not installed here."""
    for name, facts in missing(record, among).items():
        if facts.has_doubts is False:
            yield _extension_missing(name, facts)


def excluding(record: Record, among: Among = None) -> Iterator[Doubt]:
    """Those of extensions for which the run does not count."""
    for extension in doubting(record, among):
        yield from of_extension(extension, record, excludes=True)


def of_extension(extension: Installed, subject: Any, excludes: bool) -> Iterator[Doubt]:
    """What the checks of an extension find in a record, or in a run's data: of its doubts that
    exclude a run, or of all others.

    UnavailableError if a check cannot be imported or fails: what it would say is not known."""
    for kind, entry in extension.brings.doubts.items():
        if (entry.effect == "excludes") != excludes:
            continue
        check = ObjectPlace(entry.check, extension.origin).imported()
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
        return doubts
    except TierbenchError:
        raise
    except Exception as error:  # whatever somebody else's function does
        raise UnavailableError(
            f"the doubt {kind!r} of {extension.origin} cannot be looked for: "
            f"{type(error).__name__}: {error}",
            advice="report it to its authors, or remove it: "
            f"pip uninstall {extension.origin.distribution}",
        ) from error


# ------------------------------------------------------------------ in words


_AGAIN = "with it here, `tierbench analyze` the campaign again"


def _missing(name: str, facts: ExtensionFacts) -> str:
    how = f"install the extension {name}"
    if facts.distribution is not None:
        how = f"pip install {facts.distribution}=={facts.version}"
    return f"the extension {name} took part and is not installed here ({how})"


def _doubts_not_readable(name: str, facts: ExtensionFacts) -> Doubt:
    return excludes_the_run(
        "doubts not readable",
        f"{_missing(name, facts)}: what it doubts is not known",
        advice=_AGAIN,
    )


def _extension_missing(name: str, facts: ExtensionFacts) -> Doubt:
    return is_only_told(
        "extension missing",
        f"{_missing(name, facts)}: the figures stand, without what it adds to the page",
        advice=_AGAIN,
    )
