"""Limits of one disk from its row and its parameters: the vendors' formulas, one function each.

And the vendors' rules held against the size, IOPS and throughput asked for.

Sizes are whole GiB, as billed. The document that a formula or rule is from is the row's
`source` (profiles/catalog/). A mistake says what was asked, the rule, what it allows, and
that document.
"""

import math
from collections.abc import Iterator

from orchestrator import units
from orchestrator.tier import Burst, Limits
from orchestrator.tier_catalog import rules
from orchestrator.tier_catalog.price_rows import UNIT_BYTES
from orchestrator.tier_catalog.rows import DiskType
from orchestrator.tier_catalog.rules import GIB, TIB, Provisioned

Refusal = tuple[str, str]  # the parameter, what is wrong with it

_MIB = 2**20
_KIB = 2**10


def whole_gib(size_bytes: float) -> int:
    """Sizes are provisioned and billed in GiB, rounded up."""
    return math.ceil(size_bytes / GIB)


def by_size(kind: DiskType, gib: int) -> Limits:
    """Limits that follow from the size: of all disks of a VM together where these share them."""
    rule = kind.by_size
    if isinstance(rule, rules.Gp2Rule):
        return gp2(rule, gib, kind.unit_bytes or 0)
    if isinstance(rule, rules.HddRule):
        return hdd(rule, gib, kind.unit_bytes or 0)
    if isinstance(rule, rules.LinearRule):
        return linear(rule, gib)
    raise TypeError(f"{kind.title} has no limits by size")


def linear(rule: rules.LinearRule, gib: int) -> Limits:
    """GCP: baseline + per GiB, with a maximum where there is one."""
    iops = round(_on(rule.iops, gib))
    bytes_per_s: int | None = None
    if rule.throughput:
        rate = _on(rule.throughput, gib)
        bytes_per_s = round(rate * UNIT_BYTES[rule.unit])
    write_iops: int | None = None
    if rule.write_iops:
        write_iops = round(_on(rule.write_iops, gib))
    return Limits(iops, bytes_per_s, write_iops)


def gp2(rule: rules.Gp2Rule, gib: int, unit_bytes: int) -> Limits:
    """AWS gp2. Burst duration = bucket / (burst − baseline)."""
    iops = round(min(rule.max_iops, max(rule.min_iops, rule.iops_per_gib * gib)))
    peak: int | None = None
    # AWS states throughput for small and for large volumes, and for those between only that
    # it is the peak's with credit. Without credit it is IOPS × I/O size, which meets both.
    if gib <= rule.small_up_to_gib:
        bytes_per_s = rule.small_bytes_per_s
    elif gib >= rule.large_from_gib:
        bytes_per_s = rule.large_bytes_per_s
    else:
        bytes_per_s = min(rule.large_bytes_per_s, iops * unit_bytes)
        peak = rule.large_bytes_per_s
    # A large volume's base is at the burst or above it: there is no bucket to fill.
    if iops >= rule.burst_iops:
        return Limits(iops, bytes_per_s)
    duration_s = rule.bucket_ios / (rule.burst_iops - iops)
    return Limits(iops, bytes_per_s, burst=Burst(rule.burst_iops, peak, duration_s))


def hdd(rule: rules.HddRule, gib: int, unit_bytes: int) -> Limits:
    """AWS st1 and sc1. Burst duration = bucket / (burst − baseline), the bucket in bytes."""
    # A small random I/O is charged a whole unit, so IOPS are throughput / unit.
    tib = gib * GIB / TIB
    base = min(rule.max, rule.per_tib * tib)
    peak = min(rule.burst_max, rule.burst_per_tib * tib)
    burst = None
    # The base has reached the burst's maximum from some size on.
    if peak > base:
        duration_s = rule.bucket_per_tib * tib / (peak - base)
        burst = Burst(_units(peak, unit_bytes), round(peak), duration_s)
    return Limits(_units(base, unit_bytes), round(base), burst=burst)


def provisioned(rule: Provisioned, iops: int, rate: float | None) -> Limits:
    """The limits with these IOPS and this throughput, in the rule's unit.

    If throughput follows from IOPS by the rule, `rate` is not read.
    """
    given = rule.throughput
    unit_bytes = UNIT_BYTES[given.unit]
    if given.follows == "aws-io1":
        most = given.max * unit_bytes
        return Limits(iops, round(min(most, io1_bytes_per_s(iops))))
    if given.follows:
        # AWS io2, for one, gives 0.256 MiB/s with each IOPS, and sells no throughput apart.
        rate = min(given.max, (given.max_per_iops or 0) * iops)
    if rate is None:
        return Limits(iops)
    return Limits(iops, round(rate * unit_bytes))


def io1_bytes_per_s(iops: int) -> int:
    """AWS io1: its throughput follows from its IOPS."""
    # Up to 32,000 IOPS volumes reach 500 MiB/s, by I/Os
    # of 256 KiB; above only 16 KiB count per IOPS.
    if iops > 32_000:
        return iops * 16 * _KIB
    return min(500 * _MIB, iops * 256 * _KIB)


def max_throughput(rule: rules.ThroughputRule, iops: int) -> float:
    """The most throughput one may provision with these IOPS, in the rule's unit."""
    if rule.max_per_iops is None:
        return rule.max
    return min(rule.max, rule.max_per_iops * iops)


def next_size(kind: DiskType, size_bytes: int) -> str | None:
    """The smallest fixed size that holds `size_bytes`, as capacity is billed rounded up."""
    # Instance stores have no size in the catalog, so nobody knows what they hold.
    fitting: list[tuple[int, str]] = []
    for name, row in (kind.sizes or {}).items():
        if row.size_bytes is not None and row.size_bytes >= size_bytes:
            fitting.append((row.size_bytes, name))
    if not fitting:
        return None
    _, smallest = min(fitting)
    return smallest


# ------------------------------------------------------------------ what cannot be bought


def refusals(
    name: str, kind: DiskType, size_bytes: int | None, asked: Limits
) -> Iterator[Refusal]:
    """What the type does not let one buy. None, also in `asked`: not given.

    A fixed size takes no parameters, limits that follow from the size take that alone,
    provisioned ones have rules.
    """
    if kind.provisioned:
        yield from _provisioned(name, kind, kind.provisioned, size_bytes, asked)
        return
    why = f"cannot be set: the limits of {name} follow from its size"
    if kind.sizes:
        # A size that only chose the fixed one is taken out before (`choosing._row`).
        why = f"cannot be set: {name} has fixed limits"
        if size_bytes is not None:
            yield "size", why
    if asked.iops is not None:
        yield "iops", why
    if asked.bytes_per_s is not None:
        yield "throughput", why
    if kind.by_size:
        yield from _size(name, kind, kind.by_size.size, size_bytes)


def _provisioned(
    name: str, kind: DiskType, rule: Provisioned, size_bytes: int | None, asked: Limits
) -> Iterator[Refusal]:
    sizes = list(_size(name, kind, rule.size, size_bytes))
    yield from sizes
    iops = asked.iops or rule.iops.included
    if iops is None:
        low = rule.iops.min
        high = rule.iops.max
        yield "iops", f"is missing: {name} is provisioned with {low:,} to {high:,} IOPS"
    # Limits per GiB would say nothing of a size that is refused.
    elif not sizes and size_bytes is not None:
        yield from _iops(name, kind, rule.iops, whole_gib(size_bytes), iops)
    yield from _throughput(name, kind, rule, iops, asked.bytes_per_s)


def _size(
    name: str, kind: DiskType, span: rules.SizeRange | None, size_bytes: int | None
) -> Iterator[Refusal]:
    if size_bytes is None:
        yield (
            "size",
            f"is missing: say how large the {name} is: 1TiB, in a command size=1TiB",
        )
    # Held as billed: 3.5 GiB are sold as 4, and so meet a least of 4 GiB.
    elif span and not span.min_bytes <= whole_gib(size_bytes) * GIB <= span.max_bytes:
        low = units.format_bytes(span.min_bytes)
        high = units.format_bytes(span.max_bytes)
        yield "size", f"must be {low} to {high} for {name} ({kind.source})"


def _iops(
    name: str, kind: DiskType, rule: rules.IopsRule, gib: int, iops: int
) -> Iterator[Refusal]:
    """Rules of some types are per GiB, within limits of the type."""
    high = rule.max
    most = f"at most {high:,} IOPS"
    if rule.max_per_gib is not None and rule.max_per_gib * gib < rule.max:
        size_iops = rule.max_per_gib * gib
        high = max(rule.min, math.floor(size_iops))
        most = f"at most {high:,} IOPS"
        # The type's least is more than the size gives for a small disk.
        if size_iops >= high and high != rule.max:
            most = f"at most {rule.max_per_gib:,g} IOPS per GiB, so {high:,}"
    if iops > high:
        what = f"{iops:,} is too many for {name} of {gib:,} GiB"
        yield "iops", f"{what}: {most} ({kind.source})"
    # Some services refuse fewer IOPS than a large disk's size asks for, as Azure's Ultra does.
    low = max(rule.min, math.ceil((rule.min_per_gib or 0) * gib))
    if iops < low:
        least = f"the {low:,} IOPS minimum of {name}"
        source = kind.source
        if low > rule.min:
            least = f"{least}, {rule.min_per_gib:g} a GiB"
            source = rule.min_per_gib_source or kind.source
        yield "iops", f"{iops:,} is below {least} ({source})"


def _throughput(
    name: str,
    kind: DiskType,
    rule: Provisioned,
    iops: int | None,
    bytes_per_s: int | None,
) -> Iterator[Refusal]:
    given = rule.throughput
    if given.follows:
        if bytes_per_s is not None:
            yield "throughput", f"cannot be set: that of {name} follows from its IOPS"
        return
    if bytes_per_s is None:
        if given.included is None:
            yield "throughput", f"is missing: {name} is provisioned with a throughput"
        return
    unit = given.unit
    # The throughput is in the vendor's unit, as its own page has the rule.
    asked = bytes_per_s / UNIT_BYTES[unit]
    high = given.max
    # No ratio can be applied without IOPS, which is a mistake of its own.
    if iops is not None:
        high = max_throughput(given, iops)
    if asked > high:
        ratio = ""
        if high != given.max:
            ratio = f"{given.max_per_iops:g} {unit} per IOPS, so "
        what = f"{asked:,.6g} {unit} is too much for {name}"
        yield "throughput", f"{what}: at most {ratio}{high:,g} {unit} ({kind.source})"
    if given.min is not None and asked < given.min:
        least = f"the {given.min:g} {unit} minimum of {name}"
        yield "throughput", f"{asked:,.6g} {unit} is below {least} ({kind.source})"


def _on(line: rules.Line, gib: int) -> float:
    value = line.base + line.per_gib * gib
    if line.max is None:
        return value
    return min(line.max, value)


def _units(bytes_per_s: float, unit_bytes: int) -> int:
    # A disk of 0 IOPS would be one without a limit.
    return max(1, round(bytes_per_s / unit_bytes))
