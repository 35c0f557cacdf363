"""The tier catalogue as terminal tables, for `tierbench tiers`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.table import Table

from orchestrator.tier_catalog import TierRow, VmRow
from orchestrator.units import format_bytes, format_bytes_per_s, format_number

_UNKNOWN = "–"


def tier_table(rows: Sequence[TierRow]) -> Table:
    """One line a row; a pair is the smallest and the largest that can be bought."""
    table = _table(
        "tier", "size", "IOPS", "throughput", "burst", "documented latency", "price", "as of"
    )
    for row in rows:
        table.add_row(
            row.name,
            _span(row.size_bytes, format_bytes),
            _span(row.iops, format_number),
            _span(row.bytes_per_s, format_bytes_per_s),
            row.burst or _UNKNOWN,
            row.latency or _UNKNOWN,
            _price(row),
            row.as_of,
        )
    return table


def vm_table(rows: Sequence[VmRow]) -> Table:
    """What a virtual machine lets through to its disks, uncached."""
    table = _table("machine", "disk type", "vCPU", "disks", "IOPS", "throughput", "burst", "as of")
    for row in rows:
        table.add_row(
            row.name,
            row.disk_type or "any",
            _number(row.vcpus),
            _number(row.max_disks),
            _number(row.iops),
            _rate(row.bytes_per_s),
            _burst(row),
            row.as_of,
        )
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _span(span: tuple[int | None, int | None], words: Callable[[float], str]) -> str:
    low, high = (None if end is None else words(end) for end in span)
    if low is None and high is None:
        return _UNKNOWN
    return str(low) if low == high else f"{low or _UNKNOWN} to {high or 'no limit'}"


def _price(row: TierRow) -> str:
    if not row.price:
        return _UNKNOWN
    read = f" ({row.region}, {row.price_as_of})" if row.region else ""
    return f"{row.price}{read}"


def _burst(row: VmRow) -> str:
    if row.burst_iops is None and row.burst_bytes_per_s is None:
        return _UNKNOWN
    return f"{_number(row.burst_iops)} / {_rate(row.burst_bytes_per_s)}"


def _number(value: int | None) -> str:
    return _UNKNOWN if value is None else format_number(value)


def _rate(value: int | None) -> str:
    return _UNKNOWN if value is None else format_bytes_per_s(value)
