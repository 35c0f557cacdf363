"""A reference names an object as `module:attribute`; its module is imported when it is used."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from orchestrator.errors import UnavailableError


def referenced(place: str) -> Any:
    """The object that a place, `module:attribute`, names.

    Raises what importing its module raises, and AttributeError if the module has no such name."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


@dataclass(frozen=True)
class ExtensionOrigin:
    """Who brings a member: an extension, and the distribution in which it was installed.

    Both are empty for what comes with the core."""

    extension: str = ""
    distribution: str = ""
    version: str = ""

    def __str__(self) -> str:
        if not self.extension:
            return "tierbench itself"
        return f"the extension {self.extension} ({self.distribution})"


CORE = ExtensionOrigin()


@dataclass(frozen=True)
class ObjectPlace:
    """A place, and who names it."""

    place: str
    origin: ExtensionOrigin = CORE

    def imported(self) -> Any:
        """The object. UnavailableError if an extension names one that cannot be imported; for one
        of the core, what importing raises."""
        # A fault of ours is shown whole; one of an extension names who can mend it.
        if self.origin == CORE:
            return referenced(self.place)
        try:
            return referenced(self.place)
        except Exception as error:  # whatever somebody else's module does
            raise not_imported(self.origin, self.place, error) from error


def not_imported(
    origin: ExtensionOrigin, place: str, error: Exception
) -> UnavailableError:
    why = f"{type(error).__name__}: {error}"
    return UnavailableError(
        f"{place} of {origin} cannot be imported: {why}",
        advice=f"install what it lacks, or remove it: pip uninstall {origin.distribution}",
    )
