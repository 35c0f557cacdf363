"""The tier catalog as terminal tables, for `tierbench tiers`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from orchestrator.tier_catalog import TierRow, VmRow, prices
from orchestrator.units import format_bytes, format_bytes_per_s, format_number

_UNKNOWN = "–"
_WHOLE = ("tier", "machine", "burst", "as of")  # never broken over lines


def tier_table(rows: Sequence[TierRow]) -> RenderableType:
    """One line a row; a pair is the smallest and the largest that can be bought. Below, once for
    all rows that share it: what the provider says of latency, and when figures were read."""
    table = _table("tier", "size", "IOPS", "throughput", "burst", "price")
    for row in rows:
        table.add_row(
            row.name,
            _span(row.size_bytes, format_bytes),
            _span(row.iops, format_number),
            _span(row.bytes_per_s, format_bytes_per_s),
            row.burst or _UNKNOWN,
            prices.describe(row.price) if row.price else _UNKNOWN,
        )
    latencies = _shared(
        (row.kind.latency and f"documented latency {row.kind.latency.documented}", row.name)
        for row in rows
    )
    read_on = _shared(
        (row.price and f"price: region {row.price.region}, {row.price.date}", row.name)
        for row in rows
    )
    limits = _shared((f"limits as of {row.kind.source.as_of}", row.name) for row in rows)
    return Group(table, *latencies, *limits, *read_on)


def _shared(texts: Iterable[tuple[object, str]]) -> Iterator[Text]:
    """Makes a line for each text, with the rows that share it; of pairs of a text and a row."""
    names_of: dict[str, list[str]] = {}
    for text, name in texts:
        if text:
            names_of.setdefault(str(text), []).append(name)
    for text, names in names_of.items():
        yield Text.assemble((", ".join(names), "dim"), f": {text}")


def vm_table(rows: Sequence[VmRow]) -> Table:
    """Lists the caps that a virtual machine puts on its disks, without host cache."""
    table = _table("machine", "disk type", "vCPU", "disks", "IOPS", "throughput", "burst", "as of")
    for row in rows:
        burst = row.limits.burst
        table.add_row(
            row.name,
            row.disk_type or "any",
            _number(row.size.vcpus),
            _number(row.size.max_disks),
            _number(row.limits.total_iops),
            _rate(row.limits.bytes_per_s),
            f"{_number(burst.iops)} / {_rate(burst.bytes_per_s)}" if burst else _UNKNOWN,
            row.size.source.as_of,
        )
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in _WHOLE, min_width=len(column))
    return table


def _span(span: tuple[int | None, int | None], words: Callable[[float], str]) -> str:
    low, high = (None if end is None else words(end) for end in span)
    if low is None and high is None:
        return _UNKNOWN
    return str(low) if low == high else f"{low or _UNKNOWN} to {high or 'no limit'}"


def _number(value: int | None) -> str:
    return _UNKNOWN if value is None else format_number(value)


def _rate(value: int | None) -> str:
    return _UNKNOWN if value is None else format_bytes_per_s(value)
