"""The tiers as declared, as found, as fio measured them before use, and what they cost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from orchestrator import units
from orchestrator.analysis.results import RunData, span_s
from orchestrator.analysis.telemetry.disk_demand import overheads
from orchestrator.facts import group
from orchestrator.planning.latency_quantiles import described
from orchestrator.report import prose, wording
from orchestrator.report.blocks import (
    Cell,
    Items,
    Paragraph,
    Part,
    Row,
    Section,
    Table,
    table_of,
)
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.wording import sentence
from orchestrator.tier import Burst, Gate, GateCheck, OthersDisks, Tier

_HELD_BY = prose.words("disks.held_by")


def section(index: ReportIndex) -> Section:
    declared = Part("Declared, per disk", (_declared(index),))
    sources = Part("Sources and prices", (_sources(index),))
    measured = (*_as_found(index), _gates(index), *_overhead_parts(index))
    return Section("disks", "The disk tiers", (declared, *measured, sources))


def _declared(index: ReportIndex) -> Table:
    rows: list[Row] = []
    for name, tier in ((profile.name, profile.tier) for profile in index.profiles):
        rows.append(_declared_row(name, tier))
        if tier.shared:
            held = {"Held to it by": "emulated limit of all disks together"}
            rows.append(_declared_row(name, replace(tier, limits=tier.shared)) | held)
        if tier.wal:
            held = {"Held to it by": "real disk for WAL, not throttled"}
            rows.append(_declared_row(name, tier.wal) | held)
    return table_of(rows, ("Tier", "Burst", "Held to it by"))


def _declared_row(name: str, tier: Tier) -> dict[str, Cell | str]:
    kind = tier.disk.kind
    mechanism = tier.disk.enforcement
    unmodelled = isinstance(tier.disk, OthersDisks) and not tier.limits.burst
    return {
        "Tier": Cell(name, detail=tier.title, tier=name),
        "IOPS": wording.declared(tier.limits.iops, ""),
        "Bandwidth": wording.declared(tier.limits.bytes_per_s, "bytes/s"),
        "Read latency": wording.declared(tier.latency.read_s, "s"),
        "Write latency": wording.declared(tier.latency.write_s, "s"),
        "Burst": "not modelled" if unmodelled else _burst(tier.limits.burst),
        "Held to it by": _HELD_BY[kind]
        + (f" ({mechanism})" if mechanism != kind else ""),
    }


def _burst(burst: Burst | None) -> str:
    if burst is None:
        return "none"
    rates = ((burst.iops, "IOPS"), (burst.bytes_per_s, "bytes/s"))
    most = units.listed(
        [units.format_quantity(of, unit) for of, unit in rates if of is not None]
    )
    start = units.format_quantity(burst.start_pct, "%")
    return f"up to {most} for {units.format_seconds(burst.duration_s)}, credit {start} at the start"


def _runs(index: ReportIndex, profile: str) -> Iterator[RunData]:
    return (run for run in index.campaign.runs if run.record.run.profile == profile)


_PROVES_LITTLE_PCT = 30.0
_GATE_COLUMNS = ("Limit", "Declared", "Measured", "Off by", "Allowed", "Verdict")
_GATE_WORDS = ("Limit", "Verdict")


def _gates(index: ReportIndex) -> Part:
    title = "Truth gate: fio on each tier's disk before it was used"
    rows: list[Row] = []
    for profile in index.profiles:
        runs = list(_runs(index, profile.name))
        gates = [gate for run in runs if (gate := run.record.gate) is not None]
        # The last, but one that failed before any that passed.
        gate = max(
            gates, key=lambda gate: (not gate.passed, gate.taken_s), default=None
        )
        if gate and gate.checks:
            began_s, _ = span_s(runs) or (gate.taken_s, 0.0)
            rows.extend(
                _gate_rows(profile.name, gate, max(0.0, began_s - gate.taken_s))
            )
            continue
        untested = prose.said("disks.not_measured" if gate else "disks.no_gate")
        rows.append(f"{profile.name}: {untested}")
    return Part(title, (table_of(rows, _GATE_WORDS, titles=_GATE_COLUMNS),))


def gate_table(gate: Gate) -> Table:
    """One gate alone, as `calibrate` shows it."""
    return table_of(_gate_rows(gate.tier, gate), _GATE_WORDS, titles=_GATE_COLUMNS)


def _gate_rows(name: str, gate: Gate, age_s: float = 0.0) -> Iterator[Row]:
    """`age_s`: of the gate, when the first run of its profile began."""
    word = "FAILED"
    if gate.passed:
        word = "passed"
    widest = max((check.tolerance_pct or 0.0 for check in gate.checks), default=0.0)
    if gate.passed and widest > _PROVES_LITTLE_PCT:
        word = prose.said("disks.proves_little")
    if gate.reused:
        word += f", {units.format_seconds(age_s)} before; nothing it depends on changed since"
    latency = gate.device.get("latency")
    if latency:
        word += f"; latency: {latency}"
    yield f"{name}: {word}"
    for disk, checks in groupby(gate.checks, key=lambda check: check.disk):
        if disk:
            yield disk
        yield from map(_check_row, checks)


def _check_row(check: GateCheck) -> Row:
    if check.unit == "1/s":
        unit = ""
    else:
        unit = check.unit
    allowed_pct = check.tolerance_pct
    off_pct = None
    if check.declared:
        off_pct = (check.measured / check.declared - 1) * 100
    return {
        "Limit": check.limit,
        "Declared": wording.declared(check.declared, unit),
        "Measured": units.format_quantity(check.measured, unit),
        "Off by": "" if off_pct is None else units.format_change(off_pct),
        "Allowed": ""
        if allowed_pct is None
        else f"±{units.format_quantity(allowed_pct, '%')}",
        "Verdict": Cell(check.verdict, strong=not check.passed),
    }


def _sources(index: ReportIndex) -> Items:
    """Where each tier's limits and price were read, with the notes on them."""
    rows = []
    for profile in index.profiles:
        tier = profile.tier
        origin = profile.tier.origin
        dated = origin.source and origin.as_of
        if dated:
            source = f"{origin.source}, as of {origin.as_of}"
        else:
            source = origin.source
        texts = (
            f"limits: {source or 'source not stated'}",
            f"latency: {latency}" if (latency := described(tier)) else "",
            origin.notes.strip(),
            *origin.vm_caps,
            f"price of a disk: {wording.price(tier.price)}",
            f"price of a disk for WAL: {wording.price(tier.wal.price)}"
            if tier.wal
            else "",
        )
        rows.append(
            Paragraph(" ".join(map(sentence, filter(None, texts))), lead=profile.name)
        )
    return Items(tuple(rows))


def _overhead_parts(index: ReportIndex) -> tuple[Part, ...]:
    """One row of each tier for its reads, and one for its writes; nothing without counters."""
    rows = [
        row for profile in index.profiles for row in _overhead_rows(index, profile.name)
    ]
    if not rows:
        return ()
    table = table_of(rows, ("Tier", "Requests"))
    return (
        Part("Overhead of emulation", (Paragraph(prose.said("disks.overhead")), table)),
    )


def _overhead_rows(index: ReportIndex, profile: str) -> Iterator[dict[str, Cell | str]]:
    windows = units.gathered(
        pair
        for run in _runs(index, profile)
        for disk in group(run.record.facts, "disks")
        for pair in overheads(run.record, disk).items()
    )
    for way, costs in sorted(windows.items()):  # reads, then writes
        off = max(
            (c.off_pct for c in costs if c.off_pct is not None), key=abs, default=None
        )
        yield {
            "Tier": Cell(profile, tier=profile),
            "Requests": f"{way}s",
            "Taken off, µs": _range(
                [c.taken_off_us for c in costs if c.taken_off_us is not None]
            ),
            "In the windows, µs": _range([cost.overhead_us for cost in costs]),
            "Change in a request's time, at most": ""
            if off is None
            else units.format_change(off),
            "In flight": _range([cost.queue_depth for cost in costs]),
        }


def _range(values: Sequence[float]) -> str:
    ends: tuple[float, ...] = ()
    if values:
        ends = (min(values), max(values))
    return " to ".join(
        dict.fromkeys(units.format_number(round(end, 1)) for end in ends)
    )


def _as_found(index: ReportIndex) -> tuple[Part, ...]:
    """Device, queue, file system and identity of all real disks; nothing if there are none."""
    rows = [
        row for profile in index.profiles for row in _found_rows(index, profile.name)
    ]
    if not rows:
        return ()
    failures = [
        Paragraph(str(failure), lead=profile.name)
        for profile in index.profiles
        if (failure := _recorded(index, profile.name, "cloud").get("failure"))
    ]
    numeric = ("Size", "Read-ahead")
    table = table_of(rows, [title for title in rows[0] if title not in numeric])
    return (Part("As found", (table, *failures)),)


def _recorded(index: ReportIndex, profile: str, name: str) -> Mapping[str, Any]:
    """A group of the facts about the tier, as the first of its runs recorded them."""
    facts = (run.record.facts.get("tier") for run in _runs(index, profile))
    return next((group(tier, name) for tier in facts if isinstance(tier, Mapping)), {})


def _found_rows(index: ReportIndex, profile: str) -> Iterator[dict[str, Cell | str]]:
    told = group(_recorded(index, profile, "cloud"), "disks")
    gates = (run.record.gate for run in _runs(index, profile))
    measured = next((group(gate.device, "disks") for gate in gates if gate), {})
    for path, facts in _recorded(index, profile, "disks").items():
        rotational = facts.get("rotational")
        identity = [
            str(facts[name]) for name in ("serial", "firmware") if facts.get(name)
        ]
        yield {
            "Tier": Cell(profile, tier=profile),
            "Used by": Cell(", ".join(facts.get("used_by", ())), detail=path),
            "Device": _fact(facts, "device", "made_of"),
            "Size": _bytes(facts.get("size_bytes")),
            "File system": _fact(facts, "file_system", "mount_options"),
            "Scheduler": _fact(facts, "scheduler"),
            "Read-ahead": _bytes(facts.get("read_ahead_bytes")),
            "Write cache": _fact(facts, "write_cache"),
            "Rotational": "" if rotational is None else "yes" if rotational else "no",
            "Model": Cell(str(facts.get("model", "")), detail=", ".join(identity)),
            "Host cache": _fact(group(measured, path), "host_cache"),
            "The cloud says": _told(told.get(path)),
        }


def _fact(facts: Mapping[str, Any], name: str, detail: str = "") -> Cell:
    return Cell(str(facts.get(name, "")), detail=str(facts.get(detail, "")))


def _bytes(value: object) -> str:
    if isinstance(value, int):
        return units.format_bytes(value)
    return ""


def _told(devices: object) -> Cell:
    """What the metadata service said of the devices under a path."""
    if not isinstance(devices, Mapping):
        return Cell("")
    types = dict.fromkeys(str(told.get("type", "")) for told in devices.values())
    caching = dict.fromkeys(
        str(told["caching"]) for told in devices.values() if "caching" in told
    )
    detail = ""
    if caching:
        detail = f"host caching {', '.join(caching)}"
    return Cell(", ".join(types), detail=detail)
