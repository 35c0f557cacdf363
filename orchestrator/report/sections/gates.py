"""Disk checks: what fio measured of each tier's disk before it was used."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from orchestrator import units
from orchestrator.analysis.results import RunData, span_s
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Cell,
    Row,
    Table,
    table_of,
)
from orchestrator.report.report_index import ReportIndex
from orchestrator.tier import Gate, GateCheck

# A gate that allows more than this passes disks that are far off what they declare.
_PROVES_LITTLE_PCT = 30.0
_GATE_COLUMNS = ("Limit", "Declared", "Measured", "Off by", "Allowed", "Verdict")
_GATE_WORDS = ("Limit", "Verdict")


def gate_table(gate: Gate) -> Table:
    """One gate alone, as `calibrate` shows it."""
    return table_of(_gate_rows(gate.tier, gate), _GATE_WORDS, titles=_GATE_COLUMNS)


def table_of_gates(index: ReportIndex) -> Table:
    """The disk check of each tier, or why there is none."""
    rows: list[Row] = []
    for profile in index.profiles:
        runs = runs_of_tier(index, profile.name)
        gate = _telling_gate(runs)
        if gate is None:
            rows.append(
                f"{profile.name}: no disk check was recorded, so the disk may not be what its "
                "tier declares"
            )
        elif not gate.checks:
            rows.append(f"{profile.name}: not measured; its limits are only declared")
        else:
            age_s = _age_s(gate, runs)
            rows.extend(_gate_rows(profile.name, gate, age_s))
    return table_of(rows, _GATE_WORDS, titles=_GATE_COLUMNS)


def runs_of_tier(index: ReportIndex, tier: str) -> list[RunData]:
    """All runs that began, also those whose figures do not count."""
    return [run for run in index.campaign.runs if run.record.run.profile == tier]


def _telling_gate(runs: Iterable[RunData]) -> Gate | None:
    """The last, but one that failed before any that passed."""
    gates: list[Gate] = []
    for run in runs:
        if run.record.gate is not None:
            gates.append(run.record.gate)
    # A check that passed later must not hide one that failed.
    return max(gates, key=_how_telling, default=None)


def _how_telling(gate: Gate) -> tuple[bool, float]:
    # `True` stands above `False`, so a failure outranks every later pass.
    return not gate.passed, gate.taken_s


def _age_s(gate: Gate, runs: Sequence[RunData]) -> float:
    """How old it was when the first of these runs began; 0 if it was taken later."""
    span = span_s(runs)
    if span is None:
        return 0.0
    began_s = span.begin_s
    return max(0.0, began_s - gate.taken_s)


def _gate_rows(name: str, gate: Gate, age_s: float = 0.0) -> Iterator[Row]:
    """`age_s`: of the gate, when the first run of its profile began."""
    yield f"{name}: {_outcome(gate, age_s)}"
    for disk, checks in groupby(gate.checks, key=attrgetter("disk")):
        # A tier need not name its disks; then its checks stand right below it.
        if disk:
            yield disk
        for check in checks:
            yield _check_row(check)


def _outcome(gate: Gate, age_s: float) -> str:
    outcome = _outcome_word(gate)
    # The disk may have changed since, so how old the check is stands beside it.
    if gate.reused:
        age = units.format_seconds(age_s)
        outcome = f"{outcome}, {age} before; nothing it depends on changed since"
    if gate.facts.latency:
        outcome = f"{outcome}; latency: {gate.facts.latency}"
    return outcome


def _outcome_word(gate: Gate) -> str:
    if not gate.passed:
        return "FAILED"
    widest_pct = max((check.tolerance_pct or 0.0 for check in gate.checks), default=0.0)
    if widest_pct > _PROVES_LITTLE_PCT:
        return "passed, but with a tolerance so wide that it proves little"
    return "passed"


def _check_row(check: GateCheck) -> Row:
    unit = check.unit
    # Rates are given bare: the name of the limit says of what.
    if unit == "1/s":
        unit = ""
    row: dict[str, Cell | str] = {"Limit": check.limit}
    row["Declared"] = wording.declared(check.declared, unit)
    row["Measured"] = units.format_quantity(check.measured, unit)
    row["Off by"] = _off_by(check)
    row["Allowed"] = _allowed(check)
    row["Verdict"] = Cell(check.verdict, strong=not check.passed)
    return row


def _off_by(check: GateCheck) -> str:
    # A disk without such a limit was measured, and there is nothing to be off.
    if not check.declared:
        return ""
    return units.format_change((check.measured / check.declared - 1) * 100)


def _allowed(check: GateCheck) -> str:
    if check.tolerance_pct is None:
        return ""
    return f"±{units.format_quantity(check.tolerance_pct, '%')}"
