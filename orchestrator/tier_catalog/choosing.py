"""A row's name and parameters → the model's Tier: `tier: azure/P15`, or a mapping with `type`.

Burst credit is empty unless asked for: a disk that works has spent it, and a run shorter
than the bucket would measure the credit. The disk's list price comes along where every
component is known.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BeforeValidator, Field

from orchestrator import errors, units
from orchestrator.keys import tier_keys
from orchestrator.keys.schema import KINDS, AnyTierYaml, Kinds, bucket_pct
from orchestrator.keys.strict_yaml import raise_all, refused, validate
from orchestrator.tier import Burst, ClassWanted, Latencies, Limits, Origin, Price, Tier
from orchestrator.tier_catalog import latencies, prices, storage_classes
from orchestrator.tier_catalog import limits as limits_of
from orchestrator.tier_catalog.catalog import Catalog, provider_of
from orchestrator.tier_catalog.limits import Refusal
from orchestrator.tier_catalog.rows import GIB, DiskType, PriceRow, Seconds, SizeRow

# What the emulated device takes; larger I/Os do not reach it.
_MAX_EMULATED_IO_UNIT = 2**20
_Size = Annotated[int, BeforeValidator(units.parse_size), Field(gt=0)]


def _burst_word(value: object) -> object:
    """`off`, `on-demand`, or how full the bucket is."""
    if value is None:
        return value
    if value is False:  # as YAML reads a bare `off`
        value = "off"
    return bucket_pct(value, "off", "on-demand")


_NOT_EMULATED = "cannot be emulated: use `enforcement: mounted` with `disks`"
_PLUS_WITH_BURST = "its limits together with burst are not in the catalog"


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
    """One disk as bought: the tier as it is run, and the row it is from.

    `type` and the rest are None for a tier with its own numbers (`own`).
    """

    tier: Tier
    limits: Limits
    type: str | None = None
    kind: DiskType | None = None
    size_bytes: int | None = None


@dataclass(frozen=True)
class _Row:
    """What was asked for and the row that it names. `size` None: its size is chosen."""

    asked: Reference
    full_name: str
    kind: DiskType
    size_name: str | None
    size: SizeRow | None
    size_bytes: int | None

    @property
    def name(self) -> str:
        """The name as the catalog has it: that of the fixed size, or of the type."""
        if self.size is None:
            return self.full_name
        return f"{provider_of(self.full_name)}/{self.size_name}"

    @property
    def gib(self) -> int:
        """Whole GiB, as billed; 0 where the size is not known."""
        size_bytes = self.asked.size_bytes
        if self.size:
            size_bytes = self.size.size_bytes
        return limits_of.whole_gib(size_bytes or 0)

    @property
    def latency(self) -> Latencies:
        emulated = None
        if self.asked.enforcement.kind != "existing":
            emulated = self.kind.emulated_latency
        return latencies.of_row(
            emulated, self.asked.read_latency_s, self.asked.write_latency_s
        )

    @property
    def price_rows(self) -> tuple[PriceRow, ...]:
        if self.size and self.size.prices:
            return self.size.prices
        return self.kind.prices


def names_a_row(tier: object) -> bool:
    """Whether the `tier` of a profile names a catalog row (else it gives its own numbers)."""
    return isinstance(tier, str) or (isinstance(tier, dict) and "type" in tier)


def own(tier: Tier) -> Chosen:
    """A tier with its own numbers, in the form that `effective` takes."""
    if tier.disk.storage_class is None:
        return Chosen(tier, tier.limits)
    return Chosen(tier, tier.limits, size_bytes=tier.disk.storage_class.size_bytes)


def choose(
    catalog: Catalog,
    tier: object,
    name: str,
    title: str = "",
    where: str = "tier",
    mechanisms: Kinds = KINDS,
) -> Chosen:
    """`tier`: what the profile `name` has under its key `where`.

    Raises UsageError with every mistake: an unknown row or key, a parameter missing,
    beyond the type's rules or not settable.
    """
    given = tier
    place = f"{where}.type"
    if isinstance(tier, str):
        given = {"type": tier}
        place = where
    asked = validate(Reference, where, given, mechanisms)
    row = _row(catalog, asked, where, place)
    keys: Mapping[str, object] = {}
    if isinstance(given, dict):
        keys = given
    mistakes = _mistakes(row, keys)
    raise_all([errors.Mistake(f"{where}.{key}", what) for key, what in mistakes])
    return _chosen(row, name, title)


def _row(catalog: Catalog, asked: Reference, where: str, place: str) -> _Row:
    """A size in bytes of a type with fixed ones is the smallest that holds it.

    `place`: where the type is named.
    """
    full_name, kind, size_name = catalog.find(asked.type, place)
    size_bytes = asked.size_bytes
    if kind.sizes and size_name is None and size_bytes is not None:
        size_name = limits_of.next_size(kind, size_bytes)
        size_bytes = None
        if size_name is None:
            what = f"no size of {full_name} is that large"
            raise refused([errors.Mistake(f"{where}.size", what)])
    size = (kind.sizes or {}).get(size_name or "")
    return _Row(asked, full_name, kind, size_name, size, size_bytes)


# ------------------------------------------------------------------ what cannot be bought


def _mistakes(row: _Row, keys: Mapping[str, object]) -> list[Refusal]:
    asked = row.asked
    way = asked.enforcement
    mistakes = list(tier_keys.mistakes(keys, way.kind, way.name))
    if row.kind.sizes and row.size is None:
        names = ", ".join(row.kind.sizes)
        what = f"is missing: give the size, or name one of {names}"
        mistakes.append(("size", what))
    wanted = Limits(asked.iops, asked.throughput)
    mistakes += limits_of.refusals(row.name, row.kind, row.size_bytes, wanted)
    mistakes += _burst_conflicts(row)
    mistakes += _way_conflicts(row)
    mistakes += prices.conflicts(
        row.price_rows, bool(asked.price), asked.region, asked.operations_per_month
    )
    return mistakes


def _burst_conflicts(row: _Row) -> Iterator[Refusal]:
    """A burst, or performance plus, that was asked for and the row does not offer."""
    asked = row.asked
    wants_credit = asked.burst not in (None, "off", "on-demand")
    model = _burst_model(row)
    if asked.burst == "on-demand" and model != "on-demand":
        yield "burst", f"{asked.type} has no on-demand burst"
    if wants_credit and model != "credit":
        yield "burst", f"{asked.type} has no burst credit"
    if not asked.performance_plus:
        return
    if row.size is None or not row.size.performance_plus:
        yield "performance_plus", f"{asked.type} does not offer it"
    if asked.burst not in (None, "off"):
        yield "performance_plus", _PLUS_WITH_BURST


def _burst_model(row: _Row) -> str | None:
    if row.size:
        if row.size.burst:
            return row.size.burst.model
        return None
    if not row.kind.by_size:
        return None
    if row.asked.size_bytes is None:  # which is a mistake already
        return "credit"
    gib = limits_of.whole_gib(row.asked.size_bytes)
    if limits_of.by_size(row.kind, gib).burst:
        return "credit"
    return None


def _way_conflicts(row: _Row) -> Iterator[Refusal]:
    """What the way in which the disk is made needs, and the row or the profile lacks."""
    asked = row.asked
    way = asked.enforcement.kind
    if way == "emulated" and not row.kind.emulate:
        yield "enforcement", f"{asked.type} {_NOT_EMULATED}"
    if way == "mounted" and not asked.on_real_disks:
        what = "is missing (or one `path`): the directories where the disks are mounted"
        yield "disks", what
    has_class = row.kind.volume_type or asked.storage_class
    if way == "storage-class" and not has_class:
        what = f"is missing: no Kubernetes driver makes volumes of {asked.type}"
        yield "storage_class", what


# ------------------------------------------------------------------ the disk as bought


def _chosen(row: _Row, name: str, title: str) -> Chosen:
    asked = row.asked
    size_bytes, limits = _bought(row)
    if asked.burst == "off":
        limits = replace(limits, burst=None)
    price, no_price = _price(row, limits)
    notes = _notes(row, limits, no_price)
    source = row.kind.source
    tier = Tier(
        name=name,
        title=title or _title(row, limits),
        limits=Limits(
            limits.total_iops,
            limits.bytes_per_s,
            burst=_burst(asked, limits),
            io_unit_bytes=row.kind.unit_bytes or _MAX_EMULATED_IO_UNIT,
        ),
        disk=asked.disk(_storage_class(row, name, size_bytes, limits)),
        latency=row.latency,
        price=price,
        count=asked.count,
        shared=asked.shared_limit,
        origin=Origin(
            row.full_name,
            source.text,
            source.as_of,
            notes=" ".join(notes),
            size_bytes=size_bytes,
        ),
    )
    return Chosen(tier, limits, row.full_name, row.kind, size_bytes)


def _storage_class(
    row: _Row, name: str, size_bytes: int | None, limits: Limits
) -> ClassWanted | None:
    """The class of the tier's volumes: the one that it names, or one made from the row."""
    asked = row.asked
    if asked.enforcement.kind != "storage-class":
        return None
    if asked.storage_class:
        return ClassWanted(asked.storage_class, size_bytes=size_bytes)
    options: list[str] = []
    if asked.burst == "on-demand":
        options.append(storage_classes.ON_DEMAND_BURST)
    if asked.performance_plus:
        options.append(storage_classes.PERFORMANCE_PLUS)
    return storage_classes.of(
        name, row.full_name, row.kind, size_bytes or 0, limits, options
    )


def _bought(row: _Row) -> tuple[int | None, Limits]:
    """Capacity and limits as bought; the parameters have been checked."""
    asked = row.asked
    if row.size:
        return row.size.size_bytes, _limits_of_size(asked, row.size)
    gib = limits_of.whole_gib(asked.size_bytes or 0)
    rule = row.kind.provisioned
    if not rule:
        return gib * GIB, limits_of.by_size(row.kind, gib)
    iops = asked.iops or rule.iops.included or 0
    limits = limits_of.provisioned(rule, iops, rule.throughput.included or 0)
    if asked.throughput:
        limits = replace(limits, bytes_per_s=asked.throughput)
    return gib * GIB, limits


def _limits_of_size(asked: Reference, size: SizeRow) -> Limits:
    limits = size.limits
    if asked.performance_plus and size.performance_plus:
        plus = size.performance_plus
        limits = replace(
            limits, iops=plus.iops, bytes_per_s=plus.bytes_per_s, burst=None
        )
    burst = limits.burst
    if burst is None or burst.duration_s != math.inf:
        return limits
    # A burst without end is billed: asked for, it is what the disk does; else it is none.
    if asked.burst == "on-demand":
        return Limits(burst.iops, burst.bytes_per_s)
    return Limits(limits.iops, limits.bytes_per_s)


def _burst(asked: Reference, limits: Limits) -> Burst | None:
    burst = limits.burst
    if burst is None or burst.duration_s == math.inf:
        return None
    start_pct = 0.0
    if isinstance(asked.burst, float):
        start_pct = asked.burst
    return replace(burst, start_pct=start_pct)


def _price(row: _Row, limits: Limits) -> tuple[Price | None, str]:
    """Returns the price, or the reason why it is unknown. One that the profile gives holds."""
    asked = row.asked
    if asked.price:
        return asked.price, ""
    if asked.burst == "on-demand":
        return None, "No price: the fee for on-demand burst is not in the catalog."
    if asked.performance_plus:
        return None, "No price: that of performance plus is not in the catalog."
    listed = prices.pick(row.price_rows, asked.region)
    if listed is None and asked.region:
        return None, f"No price for {asked.region} in the catalog."
    if listed is None:
        return None, "No price in the catalog."
    amount = prices.monthly(
        listed,
        row.gib,
        limits.iops,
        limits.bytes_per_s,
        asked.operations_per_month,
    )
    if amount is None:
        what = prices.describe(listed)
        return None, f"No price: of {what} not every component is known."
    return prices.stated(listed, amount), ""


def _title(row: _Row, limits: Limits) -> str:
    title = row.kind.title
    if row.size_name:
        title = f"{title} {row.size_name}"
        if row.asked.burst == "on-demand":
            title += " with on-demand burst"
        if row.asked.performance_plus:
            title += " with performance plus"
        return title
    gib = limits_of.whole_gib(row.asked.size_bytes or 0)
    if not row.kind.provisioned:
        return f"{title}, {gib:,} GiB"
    rate = units.format_bytes_per_s(limits.bytes_per_s or 0)
    return f"{title}, {gib:,} GiB, {limits.iops or 0:,} IOPS, {rate}"


def _notes(row: _Row, limits: Limits, no_price: str) -> Iterator[str]:
    if row.kind.latency:
        yield f"Documented latency: {row.kind.latency.documented}."
    if row.asked.enforcement.kind == "emulated":
        yield from latencies.notes(row.latency)
    if limits.write_iops and limits.write_iops != limits.iops:
        reads = f"{limits.iops or 0:,}"
        yield f"Reads {reads} and writes {limits.write_iops:,} IOPS; one total here."
    if row.kind.notes:
        yield row.kind.notes
    if row.size and row.size.notes:
        yield row.size.notes
    if no_price:
        yield no_price
