"""The tiers as declared, as fio found them before they were used, and what they cost."""

from __future__ import annotations

from orchestrator import units
from orchestrator.model import Burst, DiskKind, Gate, GateCheck, Tier
from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Column, Items, Paragraph, Part, Section, Table
from orchestrator.report.findings import Findings, sentence

_HELD_BY: dict[DiskKind, str] = {
    "emulated": "emulated block device",
    "cgroup": "control-group limits",
    "mounted": "real disk, not throttled",
    "existing": "not held to it: another's disk",
    "none": "not limited",
    "dry": "nothing: a rehearsal, there was no disk",
}


def disks(findings: Findings) -> Section:
    """What each tier declares, what fio found, and what it costs."""
    declared = Part("Declared, per disk", (_declared(findings),))
    sources = Part("Sources and prices", (_sources(findings),))
    return Section("disks", "The disk tiers", (declared, _gates(findings), sources))


def _declared(findings: Findings) -> Table:
    columns = (
        Column("Tier"),
        Column("IOPS", numeric=True),
        Column("Bandwidth", numeric=True),
        Column("Read latency", numeric=True),
        Column("Write latency", numeric=True),
        Column("Burst"),
        Column("Held to it by"),
    )
    rows = tuple(_declared_row(profile.name, profile.tier) for profile in findings.profiles)
    return Table(columns, rows)


def _declared_row(name: str, tier: Tier) -> tuple[Cell, ...]:
    return (
        Cell(name, detail=tier.title, tier=name),
        _limit(tier.iops, ""),
        _limit(tier.bytes_per_s, "bytes/s"),
        _limit(tier.read_latency_s, "s"),
        _limit(tier.write_latency_s, "s"),
        Cell(_burst(tier.burst)),
        Cell(_HELD_BY[tier.kind] + (f" ({tier.enforcement})" if tier.like else "")),
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


_PROVES_LITTLE_PCT = 30.0
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
        elif not gate.checks:
            untested = "not measured; its limits are only declared"
            rows.append((Cell(f"{profile.name}: {untested}", strong=True),))
        else:
            rows.extend(_gate_rows(profile.name, gate, _age_s(findings, profile.name, gate)))
    title = "Truth gate: fio on each tier's disk before it was used"
    return Part(title, (Table(_GATE_COLUMNS, tuple(rows)),))


def _age_s(findings: Findings, profile: str, gate: Gate) -> float:
    """How old the gate was when the profile's first run began."""
    began = [
        data.record.phases[0].start_s
        for data in findings.campaign.runs
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
    heading = Cell(f"{name}: {word}", strong=True)
    return ((heading,), *(_check_row(check) for check in gate.checks))


def _check_row(check: GateCheck) -> tuple[Cell, ...]:
    unit = "" if check.unit == "1/s" else check.unit
    declared, allowed, off = Cell("none declared"), "", ""
    if check.declared is not None:
        declared = Cell(units.format_quantity(check.declared, unit))
        if check.declared:
            off = units.format_change((check.measured / check.declared - 1) * 100)
    if check.tolerance_pct is not None:
        allowed = f"±{units.format_number(check.tolerance_pct)} %"
    return (
        Cell(check.limit),
        declared,
        Cell(units.format_quantity(check.measured, unit)),
        Cell(off),
        Cell(allowed),
        Cell(check.verdict, strong=not check.passed),
    )


def _sources(findings: Findings) -> Items:
    """Where each tier's limits and price were read, and what is to be known about them."""
    rows = []
    for profile in findings.profiles:
        tier = profile.tier
        source = f"{tier.source}, as of {tier.as_of}" if tier.source and tier.as_of else tier.source
        told = [
            sentence(f"limits: {source or 'source not stated'}"),
            sentence(tier.notes.strip()),
            *(sentence(cap) for cap in tier.vm_caps),
            sentence(f"price of a disk: {wording.price(tier.price)}"),
        ]
        rows.append(Paragraph(" ".join(part for part in told if part), lead=profile.name))
    return Items(tuple(rows))
