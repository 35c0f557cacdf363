"""A row with its parameters → the disk as it is bought: capacity, limits, price, and the tier.

Burst credit is empty unless asked for: a disk that works has spent it, and a run shorter than the
bucket would measure the credit. The list price comes along where every component is known.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from orchestrator import units
from orchestrator.tier import Burst, ClassWanted, Limits, Origin, Price, Tier
from orchestrator.tier_catalog import (
    latencies,
    limits as limits_of,
    prices,
    storage_classes,
)
from orchestrator.tier_catalog.asked_rows import AskedRow, Reference
from orchestrator.tier_catalog.rows import DiskType, SizeRow
from orchestrator.tier_catalog.rules import GIB

# The largest I/O that the emulated device takes; larger ones do not reach it.
_MAX_EMULATED_IO_UNIT = 2**20


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


def bought(row: AskedRow, name: str, title: str) -> Chosen:
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
        # An emulated disk has one total of reads and writes.
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
            product=_product(row),
            bought_iops=limits.total_iops,
            bought_bytes_per_s=limits.bytes_per_s,
        ),
    )
    return Chosen(
        tier=tier,
        limits=limits,
        type=row.full_name,
        kind=row.kind,
        size_bytes=size_bytes,
    )


def _storage_class(
    row: AskedRow, name: str, size_bytes: int | None, limits: Limits
) -> ClassWanted | None:
    """The class of the tier's volumes, named by the tier or made from the row. None if the disk is
    of another kind."""
    asked = row.asked
    if asked.enforcement.kind != "storage-class":
        return None
    # A class that the user names is there already: only the claims' size is ours.
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


def _bought(row: AskedRow) -> tuple[int | None, Limits]:
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
        # The throughput that is asked for holds instead of what comes free.
        limits = replace(limits, bytes_per_s=asked.throughput)
    return gib * GIB, limits


def _limits_of_size(asked: Reference, size: SizeRow) -> Limits:
    limits = size.limits
    if asked.performance_plus and size.performance_plus:
        # The catalog has no limits of performance plus together with burst: none is claimed.
        plus = size.performance_plus
        limits = replace(
            limits, iops=plus.iops, bytes_per_s=plus.bytes_per_s, burst=None
        )
    burst = limits.burst
    if burst is None or burst.duration_s != math.inf:
        return limits
    # A burst without end is billed by use: asked for, it is what the disk does; else it is none.
    if asked.burst == "on-demand":
        return Limits(burst.iops, burst.bytes_per_s)
    return Limits(limits.iops, limits.bytes_per_s)


def _burst(asked: Reference, limits: Limits) -> Burst | None:
    burst = limits.burst
    if burst is None or burst.duration_s == math.inf:
        return None
    # Empty: a disk that works has spent its credit, and a short run would measure nothing else.
    start_pct = 0.0
    if isinstance(asked.burst, float):
        start_pct = asked.burst
    return replace(burst, start_pct=start_pct)


def _price(row: AskedRow, limits: Limits) -> tuple[Price | None, str]:
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
    # The billed capacity and the limits as bought count: a provider charges for these.
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


def _product(row: AskedRow) -> str:
    """`Azure Premium SSD v2`, `Azure Premium SSD P30 with on-demand burst`."""
    if not row.size_name:
        return row.kind.title
    product = f"{row.kind.title} {row.size_name}"
    if row.asked.burst == "on-demand":
        product += " with on-demand burst"
    if row.asked.performance_plus:
        product += " with performance plus"
    return product


def _title(row: AskedRow, limits: Limits) -> str:
    title = _product(row)
    if row.size_name:
        return title
    gib = limits_of.whole_gib(row.asked.size_bytes or 0)
    if not row.kind.provisioned:
        return f"{title}, {gib:,} GiB"
    rate = units.format_bytes_per_s(limits.bytes_per_s or 0)
    return f"{title}, {gib:,} GiB, {limits.iops or 0:,} IOPS, {rate}"


def _notes(row: AskedRow, limits: Limits, no_price: str) -> Iterator[str]:
    if row.kind.latency:
        yield f"Documented latency: {row.kind.latency.documented}."
    if row.asked.enforcement.kind == "emulated":
        yield from latencies.notes(row.latency)
    # The lower of both holds for all I/Os here: who
    # reads only must know that the disk reads faster.
    if limits.write_iops and limits.write_iops != limits.iops:
        reads = f"{limits.iops or 0:,}"
        yield f"Reads {reads} and writes {limits.write_iops:,} IOPS; one total here."
    if row.kind.notes:
        yield row.kind.notes
    if row.size and row.size.notes:
        yield row.size.notes
    if no_price:
        yield no_price
