"""The catalog: read from its texts, with every mistake of every file at once.

A row or a VM is looked up by its name.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from orchestrator.errors import KeyPlace, Mistake
from orchestrator.keys.refusals import collecting, raise_all, refused, unknown_name
from orchestrator.keys.strict_records import validate
from orchestrator.keys.yaml_text import parse
from orchestrator.tier_catalog.rows import CatalogFile, DiskType, VmSize

_TIERS = "`tierbench tiers` lists them"
_VMS = "`tierbench tiers --vms` lists them"


class NamedType(NamedTuple):
    """What a name stands for: a type with its full name, and its fixed size, if it names one."""

    full_name: str
    kind: DiskType
    size_name: str | None


@dataclass(frozen=True)
class Catalog:
    """All disk types and VM sizes, by `provider/name`."""

    types: Mapping[str, DiskType]
    vms: Mapping[str, VmSize]

    @property
    def names(self) -> tuple[str, ...]:
        """What a profile may name as its tier: types and their fixed sizes."""
        names = set(self.types)
        for full_name in self.types:
            names.update(self._sizes(full_name))
        return tuple(sorted(names))

    def find(self, name: str, where: KeyPlace | str = "tier") -> NamedType:
        """The type of that name, or that has a fixed size of that name. Raises UsageError."""
        if name in self.types:
            return NamedType(name, self.types[name], None)
        full_name = self._types_by_size.get(name)
        if full_name is not None:
            _, _, size_name = name.partition("/")
            return NamedType(full_name, self.types[full_name], size_name)
        raise refused([unknown_name(where, "tier", name, self.names, _TIERS)])

    def vm(self, name: str, where: KeyPlace | str = "cluster.vm") -> VmSize:
        """The VM size of that full name. Raises UsageError."""
        if name not in self.vms:
            raise refused([unknown_name(where, "VM size", name, self.vms, _VMS)])
        return self.vms[name]

    def vms_of(self, provider: str) -> tuple[str, ...]:
        """Names of its VM sizes, without the provider's."""
        names: list[str] = []
        for full_name in self.vms:
            if provider_of(full_name) == provider:
                names.append(full_name.partition("/")[2])
        return tuple(names)

    def are_never_together(self, row: str, other: str) -> bool:
        """Whether no machine has both, because each provider sells machines for its disks alone.

        Of a row of somebody's own, whose provider sells no machine, that cannot be told."""
        provider = provider_of(row)
        other_provider = provider_of(other)
        if provider == other_provider:
            return False
        return bool(self.vms_of(provider) and self.vms_of(other_provider))

    @cached_property
    def _types_by_size(self) -> Mapping[str, str]:
        """Full name of a fixed size → that of its type. Looked up for every row that is priced."""
        types: dict[str, str] = {}
        for full_name in self.types:
            for size in self._sizes(full_name):
                types.setdefault(size, full_name)
        return types

    def _sizes(self, full_name: str) -> tuple[str, ...]:
        """Full names of its fixed sizes."""
        provider = provider_of(full_name)
        sizes = self.types[full_name].sizes or {}
        return tuple(f"{provider}/{size}" for size in sizes)


def provider_of(full_name: str) -> str:
    """`azure` of `azure/P15`."""
    return full_name.partition("/")[0]


def read(texts: Mapping[str, str]) -> Catalog:
    """`texts`: file name (for messages) → YAML. Raises UsageError with every mistake."""
    mistakes: list[Mistake] = []
    files: dict[str, CatalogFile] = {}
    # Files are sorted by name, so that always the same of two equal names is the mistake.
    for where, text in sorted(texts.items()):
        with collecting(mistakes):
            content = parse(where, text)
            # Rows cite sources by their names, so validating a row takes the file's list of them.
            sources = content.get("sources")
            files[where] = validate(
                CatalogFile, KeyPlace(where), content, context=sources
            )
    mistakes.extend(_named_twice(files))
    raise_all(mistakes)
    return _joined(files.values())


def _joined(files: Iterable[CatalogFile]) -> Catalog:
    types: dict[str, DiskType] = {}
    vm_sizes: dict[str, VmSize] = {}
    for file in files:
        for name, kind in file.types.items():
            types[f"{file.provider}/{name}"] = kind
        for name, vm in file.vms.items():
            vm_sizes[f"{file.provider}/{name}"] = vm
    return Catalog(types, vm_sizes)


def _named_twice(files: Mapping[str, CatalogFile]) -> Iterator[Mistake]:
    """A provider's types, fixed sizes and VMs share their names, also over several files."""
    first_places: dict[str, KeyPlace] = {}
    for where, file in files.items():
        for place, name in _names_in(where, file):
            first = first_places.setdefault(f"{file.provider}/{name}", place)
            if first != place:
                yield Mistake.at(place, f"this name is already taken at {first}")


def _names_in(where: str, file: CatalogFile) -> Iterator[tuple[KeyPlace, str]]:
    """Place → name: of all types, then of all their sizes, then of all VMs."""
    for name in file.types:
        yield KeyPlace(where, ("types", name)), name
    for type_name, kind in file.types.items():
        for name in kind.sizes or {}:
            yield KeyPlace(where, ("types", type_name, "sizes", name)), name
    for name in file.vms:
        # A machine may have the name of a disk: the two are never asked for in the same place.
        yield KeyPlace(where, ("vms", name)), f"VM {name}"
