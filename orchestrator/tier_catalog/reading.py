"""Catalog texts → Catalog: every mistake of every file at once, names looked up with a hint."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from orchestrator.errors import Mistake, UsageError
from orchestrator.keys.strict_yaml import parse, refused, validate
from orchestrator.tier_catalog.rows import CatalogFile, DiskType, SizeRow, Source, VmSize

_UNREADABLE = Source(text="?", as_of="?")


@dataclass(frozen=True)
class Catalog:
    """All disk types and VM sizes, by `provider/name`."""

    types: Mapping[str, DiskType]
    vms: Mapping[str, VmSize]

    @property
    def names(self) -> tuple[str, ...]:
        """What a profile may name as its tier: types and their fixed sizes."""
        sizes = (name for full in self.types for name in self._sizes(full))
        return tuple(sorted({*self.types, *sizes}))

    def find(self, name: str, where: str = "tier") -> tuple[str, DiskType, str | None]:
        """The type's full name, the type, and the fixed size named. Raises UsageError."""
        if name in self.types:
            return name, self.types[name], None
        for full, kind in self.types.items():
            if name in self._sizes(full):
                return full, kind, name.partition("/")[2]
        raise refused([Mistake(where, _unknown("tier", name, self.names))])

    def vm(self, name: str, where: str = "cluster.vm") -> VmSize:
        """The VM size of that full name. Raises UsageError."""
        if name not in self.vms:
            raise refused([Mistake(where, _unknown("VM size", name, self.vms))])
        return self.vms[name]

    def sizes(self) -> Iterator[tuple[str, DiskType, SizeRow]]:
        """Every fixed size with its full name and its type."""
        for full, kind in self.types.items():
            for name, size in (kind.sizes or {}).items():
                yield f"{provider_of(full)}/{name}", kind, size

    def _sizes(self, full: str) -> tuple[str, ...]:
        return tuple(f"{provider_of(full)}/{size}" for size in self.types[full].sizes or {})


def provider_of(full_name: str) -> str:
    """`azure` of `azure/P15`."""
    return full_name.partition("/")[0]


def read(texts: Mapping[str, str]) -> Catalog:
    """`texts`: file name (for messages) → YAML. Raises UsageError with every mistake."""
    mistakes: list[Mistake] = []
    files: dict[str, CatalogFile] = {}
    for where, text in sorted(texts.items()):
        try:
            files[where] = _file(where, text)
        except UsageError as error:
            mistakes.extend(error.mistakes)
    mistakes.extend(_named_twice(files))
    if mistakes:
        raise refused(mistakes)
    return Catalog(
        types={f"{f.provider}/{k}": kind for f in files.values() for k, kind in f.types.items()},
        vms={f"{f.provider}/{k}": vm for f in files.values() for k, vm in f.vms.items()},
    )


def _file(where: str, text: str) -> CatalogFile:
    content = parse(where, text)
    return validate(CatalogFile, f"{where}: ", content, context=_sources(content.get("sources")))


def _sources(content: object) -> Mapping[str, Source]:
    """What rows may cite. A source that is wrong itself is reported once, not by each row."""
    sources: dict[str, Source] = {}
    for key, value in content.items() if isinstance(content, Mapping) else ():
        try:
            sources[str(key)] = Source.model_validate(value)
        except ValidationError:
            sources[str(key)] = _UNREADABLE
    return sources


def _named_twice(files: Mapping[str, CatalogFile]) -> Iterator[Mistake]:
    seen: dict[str, str] = {}
    for where, file in files.items():
        types = [(f"{where}: types.{name}", name) for name in file.types]
        sizes = [
            (f"{where}: types.{type_name}.sizes.{name}", name)
            for type_name, kind in file.types.items()
            for name in kind.sizes or {}
        ]
        vms = [(f"{where}: vms.{name}", f"VM {name}") for name in file.vms]
        for place, name in types + sizes + vms:
            first = seen.setdefault(f"{file.provider}/{name}", place)
            if first != place:
                yield Mistake(place, f"this name is already taken at {first}")


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=4, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "`tierbench tiers` lists them"
    return f"unknown {what} {name!r}: {hint}"
