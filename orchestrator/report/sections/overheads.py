"""What the way to each tier's emulated disks cost while runs were measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.analysis.telemetry.overheads import Overhead, overheads, queue_depth
from orchestrator.facts import group
from orchestrator.report.blocks import Cell, Paragraph, Part, Table, numbers, texts
from orchestrator.report.report_index import ReportIndex
from orchestrator.units import format_change, format_number

_COLUMNS = (
    *texts("Tier", "Requests"),
    *numbers(
        "Taken off, µs", "In the windows, µs", "Change in a request's time, at most", "In flight"
    ),
)
_TEXT = (
    "The latency of an emulated disk is shortened by what loop device and FUSE cost, measured when "
    "the device starts. In the windows: how much longer requests took for the kernel than for the "
    "disk, on average; with many in flight, much of it is waiting in the loop device's queue."
)


def parts(index: ReportIndex) -> tuple[Part, ...]:
    """One row of each tier for its reads, and one for its writes; nothing without counters."""
    rows = tuple(row for profile in index.profiles for row in _rows(index, profile.name))
    if not rows:
        return ()
    return (Part("Overhead of emulation", (Paragraph(_TEXT), Table(_COLUMNS, rows))),)


def _rows(index: ReportIndex, profile: str) -> Iterator[tuple[Cell, ...]]:
    found: dict[str, list[tuple[Overhead, float]]] = {"read": [], "write": []}
    for run in index.campaign.runs:
        if run.record.run.profile != profile:
            continue
        for disk in group(run.record.facts, "disks"):
            for way, one in overheads(run, disk).items():
                found[way].append((one, queue_depth(run, disk)))
    for way, windows in found.items():
        if not windows:
            continue
        costs = [one for one, _ in windows]
        off = [one.off_pct for one in costs if one.off_pct is not None]
        yield (
            Cell(profile, tier=profile),
            Cell(f"{way}s"),
            Cell(_range([one.taken_off_us for one in costs if one.taken_off_us is not None])),
            Cell(_range([one.overhead_us for one in costs])),
            Cell(format_change(max(off, key=abs)) if off else ""),
            Cell(_range([depth for _, depth in windows])),
        )


def _range(values: Sequence[float]) -> str:
    texts = (
        [format_number(round(value, 1)) for value in (min(values), max(values))] if values else []
    )
    return " to ".join(dict.fromkeys(texts))
