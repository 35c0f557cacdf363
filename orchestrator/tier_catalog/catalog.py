"""The catalog: read from its texts, with every mistake of every file at once.

A row or a VM is looked up by its name, or listed, filtered by the most that a row can be
bought with.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.errors import Mistake, UsageError
from orchestrator.keys.strict_yaml import (
    collecting,
    parse,
    raise_all,
    refused,
    unknown_name,
    validate,
)
from orchestrator.tier import Limits
from orchestrator.tier_catalog import limits as limits_of
from orchestrator.tier_catalog import rows
from orchestrator.tier_catalog.rows import (
    CatalogFile,
    DiskType,
    PriceRow,
    SizeRow,
    VmSize,
)

# Smallest and largest; equal for a fixed size.
Span = tuple[int | None, int | None]
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

    def find(self, name: str, where: str = "tier") -> NamedType:
        """The type of that name, or that has a fixed size of that name. Raises UsageError."""
        if name in self.types:
            return NamedType(name, self.types[name], None)
        for full_name, kind in self.types.items():
            if name in self._sizes(full_name):
                return NamedType(full_name, kind, name.partition("/")[2])
        raise refused([unknown_name(where, "tier", name, self.names, _TIERS)])

    def vm(self, name: str, where: str = "cluster.vm") -> VmSize:
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
    for where, text in sorted(texts.items()):
        with collecting(mistakes):
            content = parse(where, text)
            sources = content.get("sources")
            files[where] = validate(CatalogFile, f"{where}: ", content, context=sources)
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
    first_places: dict[str, str] = {}
    for where, file in files.items():
        for place, name in _names_in(where, file):
            first = first_places.setdefault(f"{file.provider}/{name}", place)
            if first != place:
                yield Mistake(place, f"this name is already taken at {first}")


def _names_in(where: str, file: CatalogFile) -> Iterator[tuple[str, str]]:
    """Place → name: of all types, then of all their sizes, then of all VMs."""
    for name in file.types:
        yield f"{where}: types.{name}", name
    for type_name, kind in file.types.items():
        for name in kind.sizes or {}:
            yield f"{where}: types.{type_name}.sizes.{name}", name
    for name in file.vms:
        yield f"{where}: vms.{name}", f"VM {name}"


@dataclass(frozen=True)
class TierRow:
    """One fixed size, or one type that is bought by size or provisioned.

    `least` and `most` are the limits that one may buy. `burst`: its model, if it has one.
    """

    name: str
    title: str
    kind: DiskType
    size_bytes: Span
    least: Limits
    most: Limits
    burst: str | None
    price: PriceRow | None

    @property
    def iops(self) -> Span:
        return self.least.total_iops, self.most.total_iops

    @property
    def bytes_per_s(self) -> Span:
        return self.least.bytes_per_s, self.most.bytes_per_s


@dataclass(frozen=True)
class VmRow:
    """A VM size with its limits, or those for one of the `disk_type`s where they differ."""

    name: str
    disk_type: str | None
    size: VmSize
    limits: Limits
    price: PriceRow | None


def tiers(
    catalog: Catalog,
    provider: str | None = None,
    min_iops: int | None = None,
    min_bytes_per_s: int | None = None,
    max_latency_s: float | None = None,
    burst: bool | None = None,
    text: str = "",
) -> tuple[TierRow, ...]:
    """Rows that meet every filter given, in the order of the files.

    `max_latency_s` keeps what is documented to stay at or below it; `burst` keeps rows
    with (True) or without (False) burst; `text` must stand in name or title. UsageError:
    unknown provider.
    """
    _check_provider(catalog, provider)
    rows_kept: list[TierRow] = []
    for row in _tiers(catalog):
        if provider not in (None, provider_of(row.name)):
            continue
        if not _reaches(row.most.total_iops, min_iops):
            continue
        if not _reaches(row.most.bytes_per_s, min_bytes_per_s):
            continue
        if max_latency_s is not None and _latency_below(row.kind) > max_latency_s:
            continue
        if burst not in (None, row.burst is not None):
            continue
        if text.lower() in f"{row.name} {row.title}".lower():
            rows_kept.append(row)
    return tuple(rows_kept)


def _check_provider(catalog: Catalog, provider: str | None) -> None:
    providers = sorted({provider_of(name) for name in catalog.types})
    if provider is not None and provider not in providers:
        raise UsageError(
            f"unknown provider {provider!r}; known: {', '.join(providers)}"
        )


def _latency_below(kind: DiskType) -> float:
    """Seconds below which latency is documented to stay; without end where none is."""
    if kind.latency is None:
        return math.inf
    return kind.latency.below_s or math.inf


def vms(
    catalog: Catalog,
    provider: str | None = None,
    min_iops: int | None = None,
    text: str = "",
) -> tuple[VmRow, ...]:
    """VM sizes that meet every filter given, each with as many disks as it takes."""
    rows_kept: list[VmRow] = []
    for row in _vms(catalog):
        if provider not in (None, provider_of(row.name)):
            continue
        if not _reaches(row.limits.total_iops, min_iops):
            continue
        if text.lower() in row.name.lower():
            rows_kept.append(row)
    return tuple(rows_kept)


def _vms(catalog: Catalog) -> Iterator[VmRow]:
    for name, vm in catalog.vms.items():
        price = next(iter(vm.prices), None)
        if vm.uncached:
            limits = vm.uncached.limits(vm.max_disks)
            yield VmRow(name, None, vm, limits, price)
            continue
        for disk_type, caps in vm.by_type.items():
            limits = caps.limits(vm.max_disks)
            yield VmRow(name, disk_type, vm, limits, price)


def _reaches(value: int | None, least: int | None) -> bool:
    if least is None:
        return True
    return value is not None and value >= least


# ------------------------------------------------------------------ rows of tiers


def _tiers(catalog: Catalog) -> Iterator[TierRow]:
    for full_name, kind in catalog.types.items():
        if not kind.sizes:
            yield _bought_by_size(full_name, kind, catalog)
            continue
        for size_name, size in kind.sizes.items():
            yield _fixed_size(full_name, kind, size_name, size)


def _fixed_size(
    full_name: str, kind: DiskType, size_name: str, size: SizeRow
) -> TierRow:
    burst = None
    if size.burst:
        burst = size.burst.model
    return TierRow(
        name=f"{provider_of(full_name)}/{size_name}",
        title=f"{kind.title} {size_name}",
        kind=kind,
        size_bytes=(size.size_bytes, size.size_bytes),
        least=size.limits,
        most=size.limits,
        burst=burst,
        price=next(iter(size.prices or kind.prices), None),
    )


def _bought_by_size(full_name: str, kind: DiskType, catalog: Catalog) -> TierRow:
    bounds = _bounds(full_name, kind, catalog)
    burst = None
    if bounds.least.burst:  # only the smaller sizes burst
        burst = "credit"
    return TierRow(
        name=full_name,
        title=kind.title,
        kind=kind,
        size_bytes=bounds.size_bytes,
        least=bounds.least,
        most=bounds.most,
        burst=burst,
        price=next(iter(kind.prices), None),
    )


class _BuyableBounds(NamedTuple):
    """The sizes that one may buy, and the limits of the least and of the most."""

    size_bytes: Span
    least: Limits
    most: Limits


def _bounds(full_name: str, kind: DiskType, catalog: Catalog) -> _BuyableBounds:
    rule = kind.provisioned or kind.by_size
    assert rule is not None  # a type has one of the three forms
    span: Span = (None, None)
    if rule.size:
        span = (rule.size.min_bytes, rule.size.max_bytes)
    if isinstance(rule, rows.Provisioned):
        least = limits_of.provisioned(rule, rule.iops.min, rule.throughput.min)
        most = limits_of.provisioned(rule, rule.iops.max, rule.throughput.max)
        return _BuyableBounds(span, least, most)
    if isinstance(rule, rows.LinearRule):
        base = limits_of.linear(rule, 0)
        least = Limits(base.total_iops or None, base.bytes_per_s or None)
        return _BuyableBounds(span, least, _most(full_name, rule, catalog))
    least = _limits_of_size(kind, rule.size.min_bytes)
    most = _limits_of_size(kind, rule.size.max_bytes)
    return _BuyableBounds(span, least, most)


def _limits_of_size(kind: DiskType, size_bytes: int) -> Limits:
    return limits_of.by_size(kind, limits_of.whole_gib(size_bytes))


def _most(full_name: str, rule: rows.LinearRule, catalog: Catalog) -> Limits:
    """The type's own maximum, or what the largest VM in the catalog lets through."""
    type_name = full_name.partition("/")[2]
    most_iops: int | None = None
    most_rate: int | None = None
    for vm in catalog.vms.values():
        caps = vm.by_type.get(type_name)
        if caps is None:
            continue
        if caps.iops:
            most_iops = max(most_iops or 0, round(caps.iops))
        if caps.bytes_per_s is not None:
            most_rate = max(most_rate or 0, caps.bytes_per_s)
    if rule.iops.max is not None:
        most_iops = round(rule.iops.max)
    return Limits(most_iops, most_rate)
