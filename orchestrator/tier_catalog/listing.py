"""The catalog as plain rows for `tierbench tiers`: filtered, in base units, ready for a table.

Filters hold against what a row can be bought with: its largest size, its highest provisioning.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from orchestrator.errors import UsageError
from orchestrator.tier import Burst, Limits
from orchestrator.tier_catalog import limits as limits_of
from orchestrator.tier_catalog import prices
from orchestrator.tier_catalog.reading import Catalog, provider_of
from orchestrator.tier_catalog.rows import (
    UNIT_BYTES,
    Caps,
    DiskType,
    Gp2Rule,
    HddRule,
    LinearRule,
    PriceRow,
    Provisioned,
    SizeRow,
    VmSize,
)

Form = Literal["fixed", "by size", "provisioned"]
Span = tuple[int | None, int | None]  # smallest and largest; equal for a fixed size


@dataclass(frozen=True)
class TierRow:
    """One fixed size, or one type that is bought by size or provisioned."""

    name: str
    title: str
    provider: str
    form: Form
    media: str
    size_bytes: Span
    iops: Span
    bytes_per_s: Span
    burst: str | None
    burst_iops: int | None
    burst_bytes_per_s: int | None
    burst_s: float | None
    latency: str | None
    latency_below_s: float | None
    io_unit_bytes: int | None
    emulated: bool
    monthly: float | None
    price: str
    currency: str | None
    region: str | None
    price_as_of: str | None
    source: str
    as_of: str
    notes: str


@dataclass(frozen=True)
class VmRow:
    """A VM size, or one of its caps where they differ by disk type (`disk_type`)."""

    name: str
    provider: str
    disk_type: str | None
    vcpus: int | None
    max_disks: int | None
    iops: int | None
    bytes_per_s: int | None
    burst_iops: int | None
    burst_bytes_per_s: int | None
    burst_s: float | None
    source: str
    as_of: str
    notes: str


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

    `max_latency_s` keeps what is documented to stay at or below it; `burst` keeps rows with (True)
    or without (False) burst; `text` must stand in name or title. UsageError: unknown provider.
    """
    known = sorted({provider_of(name) for name in catalog.types})
    if provider is not None and provider not in known:
        raise UsageError(f"unknown provider {provider!r}; known: {', '.join(known)}")
    return tuple(
        row
        for row in _rows(catalog)
        if provider in (None, row.provider)
        and _reaches(row.iops[1], min_iops)
        and _reaches(row.bytes_per_s[1], min_bytes_per_s)
        and (max_latency_s is None or (row.latency_below_s or float("inf")) <= max_latency_s)
        and burst in (None, row.burst is not None)
        and text.lower() in f"{row.name} {row.title}".lower()
    )


def vms(
    catalog: Catalog, provider: str | None = None, min_iops: int | None = None, text: str = ""
) -> tuple[VmRow, ...]:
    """VM sizes that meet every filter given."""
    return tuple(
        row
        for row in _vm_rows(catalog)
        if provider in (None, row.provider)
        and _reaches(row.iops, min_iops)
        and text.lower() in row.name.lower()
    )


def _reaches(value: int | None, least: int | None) -> bool:
    return least is None or (value is not None and value >= least)


def _rows(catalog: Catalog) -> Iterator[TierRow]:
    for full, kind in catalog.types.items():
        for name, size in (kind.sizes or {}).items():
            yield _row(f"{provider_of(full)}/{name}", kind, _fixed(name, kind, size))
        if kind.provisioned:
            yield _row(full, kind, _provisioned(kind, kind.provisioned))
        elif kind.by_size:
            yield _row(full, kind, _by_size(full, kind, kind.by_size, catalog))


@dataclass(frozen=True)
class _Offer:
    """What differs between the three forms of a row. `low`, `high`: its least and its most."""

    title: str
    form: Form
    size_bytes: Span
    low: Limits
    high: Limits
    burst_model: str | None
    price: PriceRow | None
    monthly: float | None = None
    notes: str = ""


def _fixed(name: str, kind: DiskType, size: SizeRow) -> _Offer:
    limits = size.limits
    price = next(iter(size.prices or kind.prices), None)
    gib = None if size.size_bytes is None else limits_of.whole_gib(size.size_bytes)
    return _Offer(
        f"{kind.title} {name}",
        "fixed",
        (size.size_bytes, size.size_bytes),
        limits,
        limits,
        size.burst.model if size.burst else None,
        price,
        prices.monthly(price, gib, limits.iops, limits.bytes_per_s) if price else None,
        size.notes,
    )


def _provisioned(kind: DiskType, rule: Provisioned) -> _Offer:
    low, high = (Limits(iops, _rate(rule, iops, most)) for iops, most in _ends(rule))
    span = rule.size.min_bytes, rule.size.max_bytes
    price = next(iter(kind.prices), None)
    return _Offer(kind.title, "provisioned", span, low, high, None, price)


def _ends(rule: Provisioned) -> tuple[tuple[int, bool], tuple[int, bool]]:
    return (rule.iops.min, False), (rule.iops.max, True)


def _rate(rule: Provisioned, iops: int, most: bool) -> int | None:
    given = rule.throughput
    if given.follows:
        return limits_of.follow_iops(given, iops)
    end = given.max if most else given.min
    return None if end is None else round(end * UNIT_BYTES[given.unit])


def _by_size(
    full: str, kind: DiskType, rule: Gp2Rule | HddRule | LinearRule, catalog: Catalog
) -> _Offer:
    price = next(iter(kind.prices), None)
    if isinstance(rule, LinearRule):
        none = limits_of.linear(rule, 0)
        low = Limits(none.total_iops or None, none.bytes_per_s or None)
        high = _most(full, rule, catalog)
        span = (rule.size.min_bytes, rule.size.max_bytes) if rule.size else (None, None)
        return _Offer(kind.title, "by size", span, low, high, None, price)
    smallest, largest = rule.size.min_bytes, rule.size.max_bytes
    low, high = (limits_of.by_size(kind, limits_of.whole_gib(n)) for n in (smallest, largest))
    # Only the smaller sizes burst, so the burst shown is theirs.
    high = replace(high, burst=low.burst)
    return _Offer(kind.title, "by size", (smallest, largest), low, high, "credit", price)


def _most(full: str, rule: LinearRule, catalog: Catalog) -> Limits:
    """The type's own maximum, or what the largest VM in the catalog lets through."""
    name = full.partition("/")[2]
    caps = [vm.by_type[name] for vm in catalog.vms.values() if name in vm.by_type]
    rates = [cap.bytes_per_s for cap in caps if cap.bytes_per_s is not None]
    if rule.iops.max is not None:
        return Limits(round(rule.iops.max), max(rates, default=None))
    return Limits(
        max((cap.iops for cap in caps if cap.iops), default=None), max(rates, default=None)
    )


def _row(name: str, kind: DiskType, offer: _Offer) -> TierRow:
    burst, price = offer.high.burst, offer.price
    return TierRow(
        name=name,
        title=offer.title,
        provider=provider_of(name),
        form=offer.form,
        media=kind.media,
        size_bytes=offer.size_bytes,
        iops=(offer.low.total_iops, offer.high.total_iops),
        bytes_per_s=(offer.low.bytes_per_s, offer.high.bytes_per_s),
        burst=offer.burst_model,
        burst_iops=burst.iops if burst else None,
        burst_bytes_per_s=burst.bytes_per_s if burst else None,
        burst_s=_seconds(burst),
        latency=kind.latency.documented if kind.latency else None,
        latency_below_s=kind.latency.below_s if kind.latency else None,
        io_unit_bytes=kind.io_unit_bytes,
        emulated=kind.emulate,
        monthly=offer.monthly,
        price=prices.describe(price) if price else "",
        currency=price.currency if price else None,
        region=price.region if price else None,
        price_as_of=price.as_of or price.source.as_of if price else None,
        source=kind.source.text,
        as_of=kind.source.as_of,
        notes=" ".join(note for note in (kind.notes, offer.notes) if note),
    )


def _seconds(burst: Burst | None) -> float | None:
    """How long it lasts; None without one, and of one on demand, which does not end."""
    return burst.duration_s if burst and math.isfinite(burst.duration_s) else None


def _vm_rows(catalog: Catalog) -> Iterator[VmRow]:
    for name, vm in catalog.vms.items():
        caps = [(None, vm.uncached)] if vm.uncached else list(vm.by_type.items())
        for disk_type, cap in caps:
            yield _vm_row(name, vm, disk_type, cap)


def _vm_row(name: str, vm: VmSize, disk_type: str | None, cap: Caps) -> VmRow:
    burst = cap.burst.limits if cap.burst else None
    return VmRow(
        name=name,
        provider=provider_of(name),
        disk_type=disk_type,
        vcpus=vm.vcpus,
        max_disks=vm.max_disks,
        iops=limits_of.lower(cap.iops, cap.write_iops) or _all_disks(vm, cap),
        bytes_per_s=limits_of.lower(cap.bytes_per_s, cap.write_bytes_per_s),
        burst_iops=burst.iops if burst else None,
        burst_bytes_per_s=burst.bytes_per_s if burst else None,
        burst_s=_seconds(burst),
        source=vm.source.text,
        as_of=vm.source.as_of,
        notes=vm.notes,
    )


def _all_disks(vm: VmSize, cap: Caps) -> int | None:
    """Where only each disk has a cap: with as many disks as the VM takes."""
    if cap.iops_per_disk is None or vm.max_disks is None:
        return None
    return cap.iops_per_disk * vm.max_disks
