"""What one may buy: a type's rules held against the size, IOPS and throughput asked for.

A mistake says what was asked, the rule, what it allows, and the document the rule is from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator import units
from orchestrator.tier_catalog import limits
from orchestrator.tier_catalog.rows import (
    GIB,
    UNIT_BYTES,
    DiskType,
    Provisioned,
    SizeRange,
    SizeRow,
)

Found = tuple[str, str]  # the parameter, what is wrong with it


@dataclass(frozen=True)
class Parameters:
    """What a profile asks of a type, in base units; None: not given."""

    size_bytes: int | None = None
    iops: int | None = None
    bytes_per_s: int | None = None


def fixed(name: str, asked: Parameters) -> Iterator[Found]:
    """Checks that a fixed size is given no parameters."""
    for key, value in _given(asked):
        if value is not None:
            yield key, f"cannot be set: {name} has fixed limits"


def next_size(kind: DiskType, size_bytes: int) -> tuple[str, SizeRow] | None:
    """The smallest fixed size that holds `size_bytes`, as capacity is billed rounded up."""
    fitting = [
        (row.size_bytes, name)
        for name, row in (kind.sizes or {}).items()
        if row.size_bytes is not None and row.size_bytes >= size_bytes
    ]
    if not fitting or not kind.sizes:
        return None
    _, name = min(fitting)
    return name, kind.sizes[name]


def by_size(name: str, kind: DiskType, asked: Parameters) -> Iterator[Found]:
    """Checks that a type whose limits follow from its size is given the size alone."""
    for key, value in _given(asked)[1:]:
        if value is not None:
            yield key, f"cannot be set: the limits of {name} follow from its size"
    yield from _size(name, kind, kind.by_size.size if kind.by_size else None, asked)


def provisioned(name: str, kind: DiskType, rule: Provisioned, asked: Parameters) -> Iterator[Found]:
    """Checks size, IOPS and throughput against the type's rules."""
    sizes = list(_size(name, kind, rule.size, asked))
    yield from sizes
    iops = asked.iops or rule.iops.included
    if iops is None:
        low, high = rule.iops.min, rule.iops.max
        yield "iops", f"is missing: {name} is provisioned with {low:,} to {high:,} IOPS"
    elif not sizes and asked.size_bytes is not None:
        yield from _iops(name, kind, rule, limits.whole_gib(asked.size_bytes), iops)
    yield from _throughput(name, kind, rule, iops, asked.bytes_per_s)


def _given(asked: Parameters) -> list[tuple[str, int | None]]:
    return [("size", asked.size_bytes), ("iops", asked.iops), ("throughput", asked.bytes_per_s)]


def _size(name: str, kind: DiskType, span: SizeRange | None, asked: Parameters) -> Iterator[Found]:
    if asked.size_bytes is None:
        yield "size", f"is missing: say how large the {name} is"
    elif span:
        size_bytes = limits.whole_gib(asked.size_bytes) * GIB
        if not span.min_bytes <= size_bytes <= span.max_bytes:
            low, high = units.format_bytes(span.min_bytes), units.format_bytes(span.max_bytes)
            yield "size", f"must be {low} to {high} for {name} ({kind.source})"


def _iops(name: str, kind: DiskType, rule: Provisioned, gib: int, iops: int) -> Iterator[Found]:
    low, high = limits.min_iops(rule, gib), limits.max_iops(rule, gib)
    if iops > high:
        per_gib = rule.iops.max_per_gib
        bound = rule.iops.max == high or per_gib is None or per_gib * gib < high
        why = f"at most {high:,} IOPS" if bound else f"at most {per_gib:,g} IOPS per GiB"
        so = "" if bound else f", so {high:,}"
        yield "iops", f"{iops:,} is too many for {name} of {gib:,} GiB: {why}{so} ({kind.source})"
    if iops < low:
        yield "iops", f"{iops:,} is below the {low:,} IOPS that {name} has at least ({kind.source})"


def _throughput(
    name: str, kind: DiskType, rule: Provisioned, iops: int | None, bytes_per_s: int | None
) -> Iterator[Found]:
    given = rule.throughput
    if given.follows:
        if bytes_per_s is not None:
            yield "throughput", f"cannot be set: that of {name} follows from its IOPS"
        return
    if bytes_per_s is None:
        if given.included is None:
            yield "throughput", f"is missing: {name} is provisioned with a throughput"
        return
    asked, unit = bytes_per_s / UNIT_BYTES[given.unit], given.unit
    high = given.max if iops is None else limits.max_throughput(given, iops)
    if asked > high:
        ratio = "" if high == given.max else f"{given.max_per_iops:g} {unit} per IOPS, so "
        what = f"{asked:,.6g} {unit} is too much for {name}"
        yield "throughput", f"{what}: at most {ratio}{high:,g} {unit} ({kind.source})"
    if given.min is not None and asked < given.min:
        least = f"the {given.min:g} {unit} that {name} has at least"
        yield "throughput", f"{asked:,.6g} {unit} is below {least} ({kind.source})"
