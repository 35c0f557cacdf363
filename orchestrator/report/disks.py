"""The tiers as declared, as fio found them before they were used, and what they cost."""

from __future__ import annotations

from orchestrator import units
from orchestrator.model import Burst, Gate, GateCheck, Tier
from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Column, Items, Paragraph, Part, Section, Table
from orchestrator.report.findings import Findings

_ENFORCEMENT = {
    "emulated": "emulated block device",
    "cgroup": "control-group limits",
    "mounted": "real disk, not throttled",
    "none": "not limited",
}


def disks(findings: Findings) -> Section:
    """What each tier declares, what fio found, and what it costs."""
    declared = Part("Declared, per disk", (_declared(findings),))
    prices = Part("Price, per disk", (_prices(findings),))
    return Section("disks", "The disk tiers", (declared, _gates(findings), prices))


def _declared(findings: Findings) -> Table:
    columns = (
        Column("Tier"),
        Column("IOPS", numeric=True),
        Column("Bandwidth", numeric=True),
        Column("Read latency", numeric=True),
        Column("Write latency", numeric=True),
        Column("Burst"),
        Column("Held to it by"),
        Column("Source"),
    )
    rows = tuple(_declared_row(profile.name, profile.tier) for profile in findings.profiles)
    return Table(columns, rows)


def _declared_row(name: str, tier: Tier) -> tuple[Cell, ...]:
    source = f"{tier.source}, as of {tier.as_of}" if tier.source and tier.as_of else tier.source
    return (
        Cell(name, detail=tier.title, tier=name),
        _limit(tier.iops, ""),
        _limit(tier.bytes_per_s, "bytes/s"),
        _limit(tier.read_latency_s, "s"),
        _limit(tier.write_latency_s, "s"),
        Cell(_burst(tier.burst)),
        Cell(_ENFORCEMENT[tier.enforcement], detail=tier.notes),
        Cell(source or "not stated"),
    )


def _limit(value: float | None, unit: str) -> Cell:
    return Cell("none declared") if value is None else Cell(units.format_quantity(value, unit))


def _burst(burst: Burst | None) -> str:
    if burst is None:
        return "none"
    rates = [
        units.format_number(burst.iops) + " IOPS" if burst.iops is not None else "",
        units.format_bytes_per_s(burst.bytes_per_s) if burst.bytes_per_s is not None else "",
    ]
    most = wording.listing([rate for rate in rates if rate])
    start = units.format_quantity(burst.start_pct, "%")
    return f"up to {most} for {units.format_seconds(burst.duration_s)}, credit {start} at the start"


def _gate(findings: Findings, profile: str) -> Gate | None:
    """The last gate taken for a profile; one that failed is shown before any that passed."""
    gates = [
        data.record.gate
        for data in findings.campaign.runs
        if data.record.run.profile == profile and data.record.gate is not None
    ]
    return max(gates, key=lambda gate: (not gate.passed, gate.taken_s), default=None)


_GATE_COLUMNS = (
    Column("Limit"),
    Column("Declared", numeric=True),
    Column("Measured", numeric=True),
    Column("Off by", numeric=True),
    Column("Allowed", numeric=True),
    Column("Verdict"),
)


def _gates(findings: Findings) -> Part:
    rows: list[tuple[Cell, ...]] = []
    for profile in findings.profiles:
        gate = _gate(findings, profile.name)
        if gate is None:
            untested = "no gate was recorded: nothing shows that the disk is what its tier declares"
            rows.append((Cell(f"{profile.name}: {untested}", strong=True),))
        else:
            rows.extend(_gate_rows(profile.name, gate))
    title = "Truth gate: fio on each tier's disk before it was used"
    return Part(title, (Table(_GATE_COLUMNS, tuple(rows)),))


def gate_table(gate: Gate) -> Table:
    """One gate alone, as `calibrate` shows it."""
    return Table(_GATE_COLUMNS, _gate_rows(gate.tier, gate))


def _gate_rows(name: str, gate: Gate) -> tuple[tuple[Cell, ...], ...]:
    heading = Cell(f"{name}: {'passed' if gate.passed else 'FAILED'}", strong=True)
    return ((heading,), *(_check_row(check) for check in gate.checks))


def _check_row(check: GateCheck) -> tuple[Cell, ...]:
    unit = "" if check.unit == "1/s" else check.unit
    declared, allowed, off = Cell("none declared"), "", ""
    if check.declared is not None:
        declared = Cell(units.format_quantity(check.declared, unit))
        if check.declared:
            off = units.format_change((check.measured / check.declared - 1) * 100)
    if check.tolerance_pct is not None:
        allowed = f"±{units.format_quantity(check.tolerance_pct, '%')}"
    return (
        Cell(check.limit),
        declared,
        Cell(units.format_quantity(check.measured, unit)),
        Cell(off),
        Cell(allowed),
        Cell(check.verdict, strong=check.verdict not in ("ok", "not declared")),
    )


def _prices(findings: Findings) -> Items:
    return Items(
        tuple(
            Paragraph(wording.price(profile.tier.price), lead=profile.name)
            for profile in findings.profiles
        )
    )
