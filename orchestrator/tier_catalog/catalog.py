"""The catalog: read from its texts, with every mistake of every file at once; a row or a VM looked
up by its name; and listed, filtered by the most that a row can be bought with."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

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
from orchestrator.tier_catalog.rows import CatalogFile, DiskType, PriceRow, VmSize

Span = tuple[int | None, int | None]  # smallest and largest; equal for a fixed size
_TIERS = "`tierbench tiers` lists them"
_VMS = "`tierbench tiers --vms` lists them"


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
        raise refused([unknown_name(where, "tier", name, self.names, _TIERS)])

    def vm(self, name: str, where: str = "cluster.vm") -> VmSize:
        """The VM size of that full name. Raises UsageError."""
        if name not in self.vms:
            raise refused([unknown_name(where, "VM size", name, self.vms, _VMS)])
        return self.vms[name]

    def vms_of(self, provider: str) -> tuple[str, ...]:
        """Names of its VM sizes, without the provider's."""
        return tuple(
            n.partition("/")[2] for n in self.vms if provider_of(n) == provider
        )

    def _sizes(self, full: str) -> tuple[str, ...]:
        return tuple(
            f"{provider_of(full)}/{size}" for size in self.types[full].sizes or {}
        )


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
    return Catalog(
        types={
            f"{f.provider}/{k}": kind
            for f in files.values()
            for k, kind in f.types.items()
        },
        vms={
            f"{f.provider}/{k}": vm for f in files.values() for k, vm in f.vms.items()
        },
    )


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


@dataclass(frozen=True)
class TierRow:
    """One fixed size, or one type that is bought by size or provisioned: `least` and `most` are the
    limits that one may buy. `burst`: its model, if it has one."""

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
    """Rows that meet every filter given, in the order of the files. `max_latency_s` keeps what is
    documented to stay at or below it; `burst` keeps rows with (True) or without (False) burst;
    `text` must stand in name or title. UsageError: unknown provider."""
    known = sorted({provider_of(name) for name in catalog.types})
    if provider is not None and provider not in known:
        raise UsageError(f"unknown provider {provider!r}; known: {', '.join(known)}")
    return tuple(
        row
        for row in _tiers(catalog)
        if provider in (None, provider_of(row.name))
        and _reaches(row.most.total_iops, min_iops)
        and _reaches(row.most.bytes_per_s, min_bytes_per_s)
        and (
            max_latency_s is None
            or ((row.kind.latency and row.kind.latency.below_s) or math.inf)
            <= max_latency_s
        )
        and burst in (None, row.burst is not None)
        and text.lower() in f"{row.name} {row.title}".lower()
    )


def vms(
    catalog: Catalog,
    provider: str | None = None,
    min_iops: int | None = None,
    text: str = "",
) -> tuple[VmRow, ...]:
    """VM sizes that meet every filter given, each with as many disks as it takes."""
    return tuple(
        VmRow(name, disk_type, vm, limits, next(iter(vm.prices), None))
        for name, vm in catalog.vms.items()
        for disk_type, caps in (
            [(None, vm.uncached)] if vm.uncached else vm.by_type.items()
        )
        for limits in [caps.limits(vm.max_disks)]
        if provider in (None, provider_of(name))
        and _reaches(limits.total_iops, min_iops)
        and text.lower() in name.lower()
    )


def _reaches(value: int | None, least: int | None) -> bool:
    return least is None or (value is not None and value >= least)


def _tiers(catalog: Catalog) -> Iterator[TierRow]:
    for full, kind in catalog.types.items():
        for name, size in (kind.sizes or {}).items():
            row = f"{provider_of(full)}/{name}"
            title = f"{kind.title} {name}"
            size_bytes = (size.size_bytes, size.size_bytes)
            its = size.limits
            if size.burst:
                model = size.burst.model
            else:
                model = None
            price = next(iter(size.prices or kind.prices), None)
            yield TierRow(row, title, kind, size_bytes, its, its, model, price)
        if not kind.sizes:
            span, least, most = _bounds(full, kind, catalog)
            # only the smaller sizes burst
            if least.burst:
                burst = "credit"
            else:
                burst = None
            price = next(iter(kind.prices), None)
            yield TierRow(full, kind.title, kind, span, least, most, burst, price)


def _bounds(full: str, kind: DiskType, catalog: Catalog) -> tuple[Span, Limits, Limits]:
    """The sizes that one may buy, and the limits of the least and of the most."""
    rule = kind.provisioned or kind.by_size
    assert rule is not None  # a type has one of the three forms
    span: tuple[int | None, int | None] = (None, None)
    if rule.size:
        span = (rule.size.min_bytes, rule.size.max_bytes)
    if isinstance(rule, rows.Provisioned):
        ends = (
            (rule.iops.min, rule.throughput.min),
            (rule.iops.max, rule.throughput.max),
        )
        least, most = (limits_of.provisioned(rule, *end) for end in ends)
    elif isinstance(rule, rows.LinearRule):
        base = limits_of.linear(rule, 0)
        least = Limits(base.total_iops or None, base.bytes_per_s or None)
        most = _most(full, rule, catalog)
    else:
        sizes = rule.size.min_bytes, rule.size.max_bytes
        least, most = (
            limits_of.by_size(kind, limits_of.whole_gib(size)) for size in sizes
        )
    return span, least, most


def _most(full: str, rule: rows.LinearRule, catalog: Catalog) -> Limits:
    """The type's own maximum, or what the largest VM in the catalog lets through."""
    name = full.partition("/")[2]
    caps = [vm.by_type[name] for vm in catalog.vms.values() if name in vm.by_type]
    rates = [cap.bytes_per_s for cap in caps if cap.bytes_per_s is not None]
    iops: list[float] = [cap.iops for cap in caps if cap.iops]
    if rule.iops.max is not None:
        iops = [rule.iops.max]
    return Limits(max(map(round, iops), default=None), max(rates, default=None))
