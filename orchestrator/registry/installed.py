"""The extensions that are installed: entry points of the group `tierbench.extensions`.

They are read once. An extension that cannot be imported is refused, and not passed over: its
doubts would be missing from every verdict."""

import importlib.util
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

from orchestrator.errors import NotInstalledError, UnavailableError
from orchestrator.facts import DoubtEffect
from orchestrator.registry.extension import Extension
from orchestrator.registry.references import (
    CORE,
    ExtensionOrigin,
    ObjectPlace,
    not_imported,
)

GROUP = "tierbench.extensions"
EntryType = TypeVar("EntryType")


@dataclass(frozen=True)
class Installed:
    """An extension, and where it comes from. `module`: that of its entry point."""

    origin: ExtensionOrigin
    brings: Extension
    module: str = ""

    @property
    def name(self) -> str:
        return self.origin.extension

    @property
    def code(self) -> Sequence[Path]:
        """Folders of the packages that its entry point and its doubts are in; of a module in no
        package its file."""
        modules = [self.module]
        for entry in self.brings.doubts.values():
            modules.append(entry.check)
        places: dict[Path, None] = {}
        for module in modules:
            package = re.split("[.:]", module)[0]
            places.update(dict.fromkeys(_places_of(package)))
        return tuple(places)

    def __str__(self) -> str:
        """`hadoop (tierbench 0.1.0)`."""
        return f"{self.name} ({self.origin.distribution} {self.origin.version})"


def _places_of(package: str) -> Sequence[Path]:
    spec = None
    with suppress(ImportError, ValueError):  # whoever imports it says so
        # Found and not imported, because only its place is asked for.
        spec = importlib.util.find_spec(package)
    if spec is None:
        return ()
    places: list[Path] = []
    for place in spec.submodule_search_locations or [spec.origin or ""]:
        places.append(Path(place))
    return places


@dataclass(frozen=True)
class BroughtEntry(Generic[EntryType]):
    """An entry of a family, and who brings it."""

    entry: EntryType
    origin: ExtensionOrigin = CORE


@cache
def extensions() -> Sequence[Installed]:
    """All of this environment, by name. Raises as `read` does."""
    return read(metadata.entry_points(group=GROUP))


def origin_of(name: str) -> ExtensionOrigin:
    """Where an installed extension comes from. KeyError if it is not installed."""
    return {extension.name: extension.origin for extension in extensions()}[name]


def read(points: Iterable[metadata.EntryPoint]) -> Sequence[Installed]:
    """The extensions of these entry points.

    UnavailableError if an extension cannot be imported, is no `Extension` or needs a missing
    extension. Also if two extensions have the same name.
    """
    by_name: dict[str, Installed] = {}
    # The order does not depend on how they were installed.
    for point in sorted(points):
        origin = _origin(point)
        first = by_name.get(point.name)
        if first is not None:
            raise _same_name("extension", point.name, first.origin, origin)
        by_name[point.name] = Installed(origin, _loaded(point, origin), point.module)
    for extension in by_name.values():
        for name in extension.brings.needs:
            if name not in by_name:
                raise _lacks(extension.origin, name)
    return tuple(by_name.values())


def _lacks(origin: ExtensionOrigin, needed: str) -> UnavailableError:
    return UnavailableError(
        f"{origin} needs the extension {needed}, which is not installed",
        advice=f"install {needed}, or remove what needs it: "
        f"pip uninstall {origin.distribution}",
    )


def _origin(point: metadata.EntryPoint) -> ExtensionOrigin:
    if point.dist is None:
        return ExtensionOrigin(point.name, point.name)
    return ExtensionOrigin(point.name, point.dist.name, point.dist.version)


def _loaded(point: metadata.EntryPoint, origin: ExtensionOrigin) -> Extension:
    try:
        brings = point.load()
    except Exception as error:  # whatever somebody else's module does
        raise not_imported(origin, point.value, error) from error
    if not isinstance(brings, Extension):
        raise UnavailableError(
            f"{point.value} of {origin} is a {type(brings).__name__}, and no Extension",
            advice=_for_another_release(origin),
        )
    # An effect that is not known would let a run count that its extension excludes.
    for kind, doubt in brings.doubts.items():
        if doubt.effect not in get_args(DoubtEffect):
            raise UnavailableError(
                f"{point.value} of {origin} has the doubt {kind!r} with the unknown effect "
                f"{doubt.effect!r}",
                advice=_for_another_release(origin),
            )
    return brings


def _for_another_release(origin: ExtensionOrigin) -> str:
    return f"it may be for another release: pip install -U {origin.distribution}"


def family(
    field: str,
    built_in: Mapping[str, EntryType],
    among: Sequence[Installed] | None = None,
) -> dict[str, BroughtEntry[EntryType]]:
    """Name → entry, of what the core has and then of all extensions. `field`: that of `Extension`.

    UnavailableError if two bring the same name."""
    if among is None:
        among = extensions()
    owned = {name: BroughtEntry(entry) for name, entry in built_in.items()}
    for extension in among:
        for name, entry in getattr(extension.brings, field).items():
            if name in owned:
                raise _same_name(field, name, owned[name].origin, extension.origin)
            owned[name] = BroughtEntry(entry, extension.origin)
    return owned


def carries_out(option: str) -> Any:
    """The function that an extension brings for an option. NotInstalledError if none does."""
    brought = family("options", dict[str, str]())
    if option not in brought:
        raise NotInstalledError("option", option)
    owned = brought[option]
    return ObjectPlace(owned.entry, owned.origin).imported()


def _same_name(
    field: str, name: str, first: ExtensionOrigin, second: ExtensionOrigin
) -> UnavailableError:
    noun = field.removesuffix("s").replace("_", " ")
    return UnavailableError(
        f"{first} and {second} both bring the {noun} {name!r}",
        advice=f"remove one of them: pip uninstall {second.distribution}",
    )
