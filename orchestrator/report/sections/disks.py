"""The tiers as declared, as fio measured them before they were used, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from orchestrator import units
from orchestrator.analysis.telemetry.overheads import Overhead, overheads, queue_depth
from orchestrator.facts import group
from orchestrator.planning.latency_quantiles import described
from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Items, Paragraph, Part, Section, Table, numbers, texts
from orchestrator.report.report_index import ReportIndex, sentence
from orchestrator.report.sections import found_disks
from orchestrator.tier import Burst, DiskKind, Gate, GateCheck, OthersDisks, Tier
from orchestrator.units import format_change, format_number

_HELD_BY: dict[DiskKind, str] = {
    "emulated": "emulated block device",
    "cgroup": "control-group limits",
    "mounted": "real disk, not throttled",
    "storage-class": "volume of a StorageClass, not throttled",
    "existing": "not held to it: another's disk",
    "none": "not limited",
    "dry": "nothing: a rehearsal, there was no disk",
}


def section(index: ReportIndex) -> Section:
    declared = Part("Declared, per disk", (_declared(index),))
    sources = Part("Sources and prices", (_sources(index),))
    return Section(
        "disks",
        "The disk tiers",
        (declared, *found_disks.parts(index), _gates(index), *_overhead_parts(index), sources),
    )


def _declared(index: ReportIndex) -> Table:
    columns = (
        *texts("Tier"),
        *numbers("IOPS", "Bandwidth", "Read latency", "Write latency"),
        *texts("Burst", "Held to it by"),
    )
    rows = tuple(_declared_row(profile.name, profile.tier) for profile in index.profiles)
    return Table(columns, rows)


def _declared_row(name: str, tier: Tier) -> tuple[Cell, ...]:
    kind, mechanism = tier.disk.kind, tier.disk.enforcement
    of_others = isinstance(tier.disk, OthersDisks)
    return (
        Cell(name, detail=tier.title, tier=name),
        Cell(wording.declared(tier.limits.iops, "")),
        Cell(wording.declared(tier.limits.bytes_per_s, "bytes/s")),
        Cell(wording.declared(tier.latency.read_s, "s")),
        Cell(wording.declared(tier.latency.write_s, "s")),
        Cell("not modelled" if of_others and not tier.limits.burst else _burst(tier.limits.burst)),
        Cell(_HELD_BY[kind] + (f" ({mechanism})" if mechanism != kind else "")),
    )


def _burst(burst: Burst | None) -> str:
    if burst is None:
        return "none"
    rates = [
        units.format_number(burst.iops) + " IOPS" if burst.iops is not None else "",
        units.format_bytes_per_s(burst.bytes_per_s) if burst.bytes_per_s is not None else "",
    ]
    most = units.listed([rate for rate in rates if rate])
    start = units.format_quantity(burst.start_pct, "%")
    return f"up to {most} for {units.format_seconds(burst.duration_s)}, credit {start} at the start"


def _gate(index: ReportIndex, profile: str) -> Gate | None:
    """The last gate taken for a profile; one that failed is shown before any that passed."""
    gates = [
        data.record.gate
        for data in index.campaign.runs
        if data.record.run.profile == profile and data.record.gate is not None
    ]
    return max(gates, key=lambda gate: (not gate.passed, gate.taken_s), default=None)


_PROVES_LITTLE_PCT = 30.0
_GATE_COLUMNS = (
    *texts("Limit"),
    *numbers("Declared", "Measured", "Off by", "Allowed"),
    *texts("Verdict"),
)


def _gates(index: ReportIndex) -> Part:
    title = "Truth gate: fio on each tier's disk before it was used"
    if index.published:
        none = "None was taken: nothing but the study says that the disks were what is declared."
        return Part(title, (Paragraph(none),))
    rows: list[tuple[Cell, ...]] = []
    for profile in index.profiles:
        gate = _gate(index, profile.name)
        if gate and gate.checks:
            rows.extend(_gate_rows(profile.name, gate, _age_s(index, profile.name, gate)))
            continue
        untested = "no gate was recorded: nothing shows that the disk is what its tier declares"
        if gate:
            untested = "not measured; its limits are only declared"
        rows.append((Cell(f"{profile.name}: {untested}", strong=True),))
    return Part(title, (Table(_GATE_COLUMNS, tuple(rows)),))


def _age_s(index: ReportIndex, profile: str, gate: Gate) -> float:
    """Age of the gate when the profile's first run began."""
    began = [
        data.record.phases[0].start_s
        for data in index.campaign.runs
        if data.record.run.profile == profile and data.record.phases
    ]
    return max(0.0, min(began, default=gate.taken_s) - gate.taken_s)


def gate_table(gate: Gate) -> Table:
    """One gate alone, as `calibrate` shows it."""
    return Table(_GATE_COLUMNS, _gate_rows(gate.tier, gate))


def _gate_rows(name: str, gate: Gate, age_s: float = 0.0) -> tuple[tuple[Cell, ...], ...]:
    word = "passed" if gate.passed else "FAILED"
    widest = max((check.tolerance_pct or 0.0 for check in gate.checks), default=0.0)
    if gate.passed and widest > _PROVES_LITTLE_PCT:
        word = "passed, but with a tolerance so wide that it proves little"
    if gate.reused:
        word += f", {units.format_seconds(age_s)} before; nothing it depends on changed since"
    if latency := gate.device.get("latency"):
        word += f"; latency: {latency}"
    rows: list[tuple[Cell, ...]] = [(Cell(f"{name}: {word}", strong=True),)]
    for disk, checks in groupby(gate.checks, key=lambda check: check.disk):
        if disk:
            rows.append((Cell(disk, strong=True),))
        rows.extend(_check_row(check) for check in checks)
    return tuple(rows)


def _check_row(check: GateCheck) -> tuple[Cell, ...]:
    unit = "" if check.unit == "1/s" else check.unit
    off, allowed = "", ""
    if check.declared:
        off = units.format_change((check.measured / check.declared - 1) * 100)
    if check.tolerance_pct is not None:
        allowed = f"±{units.format_number(check.tolerance_pct)} %"
    return (
        Cell(check.limit),
        Cell(wording.declared(check.declared, unit)),
        Cell(units.format_quantity(check.measured, unit)),
        Cell(off),
        Cell(allowed),
        Cell(check.verdict, strong=not check.passed),
    )


def _sources(index: ReportIndex) -> Items:
    """Where each tier's limits and price were read, with the notes on them."""
    rows = []
    for profile in index.profiles:
        tier, origin = profile.tier, profile.tier.origin
        dated = origin.source and origin.as_of
        source = f"{origin.source}, as of {origin.as_of}" if dated else origin.source
        sentences = [
            sentence(f"limits: {source or 'source not stated'}"),
            sentence(f"latency: {latency}") if (latency := described(tier)) else "",
            sentence(origin.notes.strip()),
            *(sentence(cap) for cap in origin.vm_caps),
            sentence(f"price of a disk: {wording.price(tier.price)}"),
        ]
        rows.append(Paragraph(" ".join(part for part in sentences if part), lead=profile.name))
    return Items(tuple(rows))


# ------------------------------------------------------------------ overheads


_OVERHEAD_COLUMNS = (
    *texts("Tier", "Requests"),
    *numbers(
        "Taken off, µs", "In the windows, µs", "Change in a request's time, at most", "In flight"
    ),
)
_OVERHEAD_TEXT = (
    "The latency of an emulated disk is shortened by what loop device and FUSE cost, measured when "
    "the device starts. In the windows: how much longer requests took for the kernel than for the "
    "disk, on average; with many in flight, much of it is waiting in the loop device's queue."
)


def _overhead_parts(index: ReportIndex) -> tuple[Part, ...]:
    """One row of each tier for its reads, and one for its writes; nothing without counters."""
    rows = tuple(row for profile in index.profiles for row in _overhead_rows(index, profile.name))
    if not rows:
        return ()
    table = Table(_OVERHEAD_COLUMNS, rows)
    return (Part("Overhead of emulation", (Paragraph(_OVERHEAD_TEXT), table)),)


def _overhead_rows(index: ReportIndex, profile: str) -> Iterator[tuple[Cell, ...]]:
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
