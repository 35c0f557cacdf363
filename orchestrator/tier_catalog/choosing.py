"""A row's name and parameters → the model's Tier: `tier: azure/P15`, or a mapping with `type`.

Burst credit is empty unless asked for: a disk that works has spent it, and a run shorter than the
bucket would measure the credit. The disk's list price comes along where every component is known.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BeforeValidator, Field

from orchestrator import errors, units
from orchestrator.keys import tier_keys
from orchestrator.keys.schema import KINDS, AnyTierYaml, Kinds, bucket_pct
from orchestrator.keys.strict_yaml import raise_all, refused, validate
from orchestrator.tier import Burst, ClassWanted, Latencies, Limits, Origin, Price, Tier
from orchestrator.tier_catalog import limits as limits_of
from orchestrator.tier_catalog import prices, storage_classes
from orchestrator.tier_catalog.catalog import Catalog, provider_of
from orchestrator.tier_catalog.limits import Refusal
from orchestrator.tier_catalog.rows import GIB, DiskType, PriceRow, Seconds, SizeRow

_MAX_EMULATED_IO_UNIT = (
    2**20
)  # what the emulated device takes; larger I/Os do not reach it
_Size = Annotated[int, BeforeValidator(units.parse_size), Field(gt=0)]


def _burst_word(value: object) -> object:
    """`off`, `on-demand`, or how full the bucket is."""
    bare_off = value is False  # as YAML reads it
    if value is None:
        return value
    return bucket_pct("off" if bare_off else value, "off", "on-demand")


class Reference(AnyTierYaml):
    """What a profile may write under `tier` when it names a row."""

    type: str
    size_bytes: _Size | None = Field(None, alias="size")
    burst: Annotated[str | float | None, BeforeValidator(_burst_word)] = None
    performance_plus: bool = False
    read_latency_s: Seconds | None = Field(None, alias="read_latency")
    write_latency_s: Seconds | None = Field(None, alias="write_latency")
    region: str | None = None
    operations_per_month: Annotated[float, Field(ge=0)] | None = None


@dataclass(frozen=True)
class Chosen:
    """One disk as bought: the tier as it is run, and the row it is from. `type` and the rest are
    None for a tier with its own numbers (`own`)."""

    tier: Tier
    limits: Limits
    type: str | None = None
    kind: DiskType | None = None
    size_bytes: int | None = None


def names_a_row(tier: object) -> bool:
    """Whether the `tier` of a profile names a catalog row (else it gives its own numbers)."""
    return isinstance(tier, str) or (isinstance(tier, dict) and "type" in tier)


def own(tier: Tier) -> Chosen:
    """A tier with its own numbers, in the form that `effective` takes."""
    if tier.disk.storage_class:
        size_bytes = tier.disk.storage_class.size_bytes
    else:
        size_bytes = None
    return Chosen(tier, tier.limits, size_bytes=size_bytes)


def choose(
    catalog: Catalog,
    tier: object,
    name: str,
    title: str = "",
    where: str = "tier",
    mechanisms: Kinds = KINDS,
) -> Chosen:
    """`tier`: what the profile `name` has under its key `where`. Raises UsageError with every
    mistake: an unknown row or key, a parameter missing, beyond the type's rules or not settable."""
    given = tier
    if isinstance(tier, str):
        given = {"type": tier}
    asked = validate(Reference, where, given, mechanisms)
    place = where
    if given is tier:
        place = f"{where}.type"
    full, kind, size_name = catalog.find(asked.type, place)
    size_bytes = asked.size_bytes
    if size_name is None and kind.sizes and size_bytes is not None:
        size_name = limits_of.next_size(kind, size_bytes)
        size_bytes = None
        if size_name is None:
            raise refused(
                [errors.Mistake(f"{where}.size", f"no size of {full} is that large")]
            )
    size = (kind.sizes or {}).get(size_name or "")
    if isinstance(given, dict):
        keys = given
    else:
        keys = {}
    way = asked.enforcement
    mistakes = list(tier_keys.mistakes(keys, way.kind, way.name))
    if kind.sizes and size is None:
        what = f"is missing: give the size, or name one of {', '.join(kind.sizes)}"
        mistakes.append(("size", what))
    row = full
    if size:
        row = f"{provider_of(full)}/{size_name}"
    wanted = Limits(asked.iops, asked.throughput)
    mistakes += limits_of.refusals(row, kind, size_bytes, wanted)
    mistakes += _conflicts(asked, kind, size)
    raise_all([errors.Mistake(f"{where}.{key}", what) for key, what in mistakes])
    return _chosen(asked, full, kind, size_name, name, title)


def _conflicts(
    asked: Reference, kind: DiskType, size: SizeRow | None
) -> Iterator[Refusal]:
    """Collects what was asked for and the row does not offer: a burst, emulation, an option."""
    model = _burst_model(asked, kind, size)
    if asked.burst == "on-demand" and model != "on-demand":
        yield "burst", f"{asked.type} has no on-demand burst"
    elif asked.burst not in (None, "off", "on-demand") and model != "credit":
        yield "burst", f"{asked.type} has no burst credit"
    if asked.performance_plus and not (size and size.performance_plus):
        yield "performance_plus", f"{asked.type} does not offer it"
    if asked.performance_plus and asked.burst not in (None, "off"):
        yield (
            "performance_plus",
            "its limits together with burst are not in the catalog",
        )
    if asked.enforcement.kind == "emulated" and not kind.emulate:
        what = "cannot be emulated: use `enforcement: mounted` with `disks`"
        yield "enforcement", f"{asked.type} {what}"
    if asked.enforcement.kind == "mounted" and not asked.on_real_disks:
        yield (
            "disks",
            "is missing (or one `path`): the directories where the disks are mounted",
        )
    unmade = not (kind.volume_type or asked.storage_class)
    if asked.enforcement.kind == "storage-class" and unmade:
        yield (
            "storage_class",
            f"is missing: no Kubernetes driver makes volumes of {asked.type}",
        )
    rows = _price_rows(kind, size)
    operations = asked.operations_per_month
    yield from prices.conflicts(rows, bool(asked.price), asked.region, operations)


def _burst_model(asked: Reference, kind: DiskType, size: SizeRow | None) -> str | None:
    if size:
        if size.burst:
            return size.burst.model
        return None
    if not kind.by_size:
        return None
    if asked.size_bytes is None:  # which is a mistake already
        return "credit"
    limits = limits_of.by_size(kind, limits_of.whole_gib(asked.size_bytes))
    if limits.burst:
        return "credit"
    return None


def _chosen(
    asked: Reference,
    full: str,
    kind: DiskType,
    size_name: str | None,
    name: str,
    title: str,
) -> Chosen:
    size = (kind.sizes or {}).get(size_name or "")
    size_bytes, limits = _bought(asked, kind, size)
    if asked.burst == "off":
        limits = replace(limits, burst=None)
    price, no_price = _price(asked, kind, size, limits)
    latency = None
    if asked.enforcement.kind != "existing":
        latency = kind.emulated_latency
    given = ("read", asked.read_latency_s), ("write", asked.write_latency_s)
    notes = _notes(asked, kind, size, limits, no_price)
    tier = Tier(
        name=name,
        title=title or _title(kind, size_name, asked, limits),
        limits=Limits(
            limits.total_iops,
            limits.bytes_per_s,
            burst=_burst(asked, limits),
            io_unit_bytes=kind.unit_bytes or _MAX_EMULATED_IO_UNIT,
        ),
        disk=asked.disk(_storage_class(asked, full, kind, name, size_bytes, limits)),
        latency=Latencies(
            asked.read_latency_s or (latency.read_s if latency else None),
            asked.write_latency_s or (latency.write_s if latency else None),
            assumed=tuple(
                way for way, given_s in given if not given_s
            ),  # none is promised
        ),
        price=price,
        count=asked.count,
        shared=asked.shared_limit,
        origin=Origin(full, kind.source.text, kind.source.as_of, notes=" ".join(notes)),
    )
    return Chosen(tier, limits, full, kind, size_bytes)


def _storage_class(
    asked: Reference,
    full: str,
    kind: DiskType,
    name: str,
    size_bytes: int | None,
    limits: Limits,
) -> ClassWanted | None:
    """The class of the tier's volumes: the one that it names, or one made from the row."""
    if asked.enforcement.kind != "storage-class":
        return None
    if asked.storage_class:
        return ClassWanted(asked.storage_class, size_bytes=size_bytes)
    if asked.burst == "on-demand":
        options = [storage_classes.ON_DEMAND_BURST]
    else:
        options = []
    if asked.performance_plus:
        options += [storage_classes.PERFORMANCE_PLUS]
    return storage_classes.of(name, full, kind, size_bytes or 0, limits, options)


def _bought(
    asked: Reference, kind: DiskType, size: SizeRow | None
) -> tuple[int | None, Limits]:
    """Capacity and limits as bought; the parameters have been checked."""
    if size:
        limits = size.limits
        if asked.performance_plus and size.performance_plus:
            plus = size.performance_plus
            limits = replace(
                limits, iops=plus.iops, bytes_per_s=plus.bytes_per_s, burst=None
            )
        if limits.burst and limits.burst.duration_s == math.inf:
            peak: Limits | Burst = limits
            if asked.burst == "on-demand":
                peak = limits.burst
            limits = Limits(peak.iops, peak.bytes_per_s)
        return size.size_bytes, limits
    gib = limits_of.whole_gib(asked.size_bytes or 0)
    if not kind.provisioned:
        return gib * GIB, limits_of.by_size(kind, gib)
    rule = kind.provisioned
    iops = asked.iops or rule.iops.included or 0
    limits = limits_of.provisioned(rule, iops, rule.throughput.included or 0)
    return gib * GIB, replace(
        limits, bytes_per_s=asked.throughput or limits.bytes_per_s
    )


def _burst(asked: Reference, limits: Limits) -> Burst | None:
    burst = limits.burst
    if burst is None or burst.duration_s == math.inf:
        return None
    return replace(
        burst, start_pct=asked.burst if isinstance(asked.burst, float) else 0.0
    )


def _price_rows(kind: DiskType, size: SizeRow | None) -> tuple[PriceRow, ...]:
    return (size.prices if size else ()) or kind.prices


def _price(
    asked: Reference, kind: DiskType, size: SizeRow | None, limits: Limits
) -> tuple[Price | None, str]:
    """Returns the price, or the reason why it is unknown. One that the profile gives holds."""
    if asked.price:
        return asked.price, ""
    if asked.burst == "on-demand":
        return None, "No price: the fee for on-demand burst is not in the catalog."
    if asked.performance_plus:
        return None, "No price: that of performance plus is not in the catalog."
    rows = _price_rows(kind, size)
    row = prices.pick(rows, asked.region)
    if row is None:
        of = ""
        if asked.region:
            of = f" for {asked.region}"
        return None, f"No price{of} in the catalog."
    gib = limits_of.whole_gib((size.size_bytes if size else asked.size_bytes) or 0)
    amount = prices.monthly(
        row, gib, limits.iops, limits.bytes_per_s, asked.operations_per_month
    )
    if amount is None:
        return (
            None,
            f"No price: of {prices.describe(row)} not every component is known.",
        )
    return prices.stated(row, amount), ""


def _title(
    kind: DiskType, size_name: str | None, asked: Reference, limits: Limits
) -> str:
    if size_name:
        extra = ""
        if asked.burst == "on-demand":
            extra = " with on-demand burst"
        if asked.performance_plus:
            extra += " with performance plus"
        return f"{kind.title} {size_name}{extra}"
    gib = limits_of.whole_gib(asked.size_bytes or 0)
    if not kind.provisioned:
        return f"{kind.title}, {gib:,} GiB"
    rate = units.format_bytes_per_s(limits.bytes_per_s or 0)
    return f"{kind.title}, {gib:,} GiB, {limits.iops or 0:,} IOPS, {rate}"


def _notes(
    asked: Reference,
    kind: DiskType,
    size: SizeRow | None,
    limits: Limits,
    no_price: str,
) -> Iterator[str]:
    if kind.latency:
        yield f"Documented latency: {kind.latency.documented}."
    stated = asked.read_latency_s and asked.write_latency_s
    if asked.enforcement.kind == "emulated" and not stated:
        yield "The latency emulated is our assumption."
    if limits.write_iops and limits.write_iops != limits.iops:
        yield f"Reads {limits.iops or 0:,} and writes {limits.write_iops:,} IOPS; one total here."
    yield from (
        note for note in (kind.notes, size.notes if size else "", no_price) if note
    )
