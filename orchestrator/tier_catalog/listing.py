"""Rows of the catalog, filtered by the most that each can be bought with; and VM sizes."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.errors import UsageError
from orchestrator.tier import Limits
from orchestrator.tier_catalog import limits as limits_of, rules
from orchestrator.tier_catalog.catalog import Catalog, provider_of
from orchestrator.tier_catalog.price_rows import PriceRow
from orchestrator.tier_catalog.rows import DiskType, SizeRow, VmSize

# Smallest and largest; equal for a fixed size.
Span = tuple[int | None, int | None]


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
        # The documented latency counts, not the emulated one: nobody promises the latter.
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
            f"the catalog has no provider {provider!r}",
            advice=f"name one of {', '.join(providers)}",
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
        # The first price is of the catalog's usual region.
        price = next(iter(vm.prices), None)
        if vm.uncached:
            limits = vm.uncached.limits(vm.max_disks)
            yield VmRow(name=name, disk_type=None, size=vm, limits=limits, price=price)
            continue
        for disk_type, caps in vm.by_type.items():
            limits = caps.limits(vm.max_disks)
            yield VmRow(name, disk_type, vm, limits, price)


def _reaches(value: int | None, least: int | None) -> bool:
    if least is None:
        return True
    # An unknown limit reaches nothing that was asked for.
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
        # The first is of the catalog's usual region.
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
    if isinstance(rule, rules.Provisioned):
        least = limits_of.provisioned(rule, rule.iops.min, rule.throughput.min)
        most = limits_of.provisioned(rule, rule.iops.max, rule.throughput.max)
        return _BuyableBounds(span, least, most)
    if isinstance(rule, rules.LinearRule):
        # A formula may begin at 0, which is no limit that a disk has.
        base = limits_of.linear(rule, 0)
        least = Limits(base.total_iops or None, base.bytes_per_s or None)
        return _BuyableBounds(span, least, _most(full_name, rule, catalog))
    # Limits never fall as the size rises, so the ends of both are the same.
    least = _limits_of_size(kind, rule.size.min_bytes)
    most = _limits_of_size(kind, rule.size.max_bytes)
    return _BuyableBounds(span, least, most)


def _limits_of_size(kind: DiskType, size_bytes: int) -> Limits:
    return limits_of.by_size(kind, limits_of.whole_gib(size_bytes))


def _most(full_name: str, rule: rules.LinearRule, catalog: Catalog) -> Limits:
    """The type's own maximum, or what the largest VM in the catalog lets through."""
    type_name = full_name.partition("/")[2]
    most_iops: int | None = None
    most_rate: int | None = None
    for vm in catalog.vms.values():
        caps = vm.by_type.get(type_name)
        if caps is None:
            continue
        # A type without a maximum of its own is limited by the largest machine alone.
        if caps.iops:
            most_iops = max(most_iops or 0, round(caps.iops))
        if caps.bytes_per_s is not None:
            most_rate = max(most_rate or 0, caps.bytes_per_s)
    if rule.iops.max is not None:
        most_iops = round(rule.iops.max)
    return Limits(most_iops, most_rate)
