"""The real disks of each tier as they were found: device, queue, file system, identity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator import units
from orchestrator.facts import group
from orchestrator.report.blocks import Cell, Paragraph, Part, Table, numbers, texts
from orchestrator.report.report_index import ReportIndex

_COLUMNS = (
    *texts("Tier", "Used by", "Device"),
    *numbers("Size"),
    *texts("File system", "Scheduler"),
    *numbers("Read-ahead"),
    *texts("Write cache", "Rotational", "Model", "Host cache", "The cloud says"),
)


def parts(index: ReportIndex) -> tuple[Part, ...]:
    """One table of all tiers on real disks; nothing if there are none."""
    rows = [row for profile in index.profiles for row in _rows(index, profile.name)]
    if not rows:
        return ()
    failures = [
        Paragraph(str(failure), lead=profile.name)
        for profile in index.profiles
        if (failure := _cloud(index, profile.name).get("failure"))
    ]
    return (Part("As found", (Table(_COLUMNS, tuple(rows)), *failures)),)


def _tier_facts(index: ReportIndex, profile: str) -> Iterator[Mapping[str, Any]]:
    """The facts of the tier as its runs recorded them, the first ones first."""
    for data in index.campaign.runs:
        facts = data.record.facts.get("tier")
        if data.record.run.profile == profile and isinstance(facts, Mapping):
            yield facts


def _cloud(index: ReportIndex, profile: str) -> Mapping[str, Any]:
    return next((group(facts, "cloud") for facts in _tier_facts(index, profile)), {})


def _rows(index: ReportIndex, profile: str) -> Iterator[tuple[Cell, ...]]:
    disks = next((group(facts, "disks") for facts in _tier_facts(index, profile)), {})
    told = group(_cloud(index, profile), "disks")
    gates = (data.record.gate for data in index.campaign.runs if data.record.run.profile == profile)
    measured = next((group(gate.device, "disks") for gate in gates if gate), {})
    for path, facts in disks.items():
        cache = str(group(measured, path).get("host_cache", ""))
        yield (
            Cell(profile, tier=profile),
            *_cells(path, facts),
            Cell(cache),
            _told(told.get(path)),
        )


def _cells(path: str, facts: Mapping[str, Any]) -> Iterator[Cell]:
    yield Cell(", ".join(facts.get("used_by", ())), detail=path)
    yield Cell(str(facts.get("device", "")), detail=str(facts.get("made_of", "")))
    yield Cell(_bytes(facts.get("size_bytes")))
    yield Cell(str(facts.get("file_system", "")), detail=str(facts.get("mount_options", "")))
    yield Cell(str(facts.get("scheduler", "")))
    yield Cell(_bytes(facts.get("read_ahead_bytes")))
    yield Cell(str(facts.get("write_cache", "")))
    rotational = facts.get("rotational")
    yield Cell("" if rotational is None else "yes" if rotational else "no")
    identity = [str(facts[name]) for name in ("serial", "firmware") if facts.get(name)]
    yield Cell(str(facts.get("model", "")), detail=", ".join(identity))


def _bytes(value: object) -> str:
    return units.format_bytes(value) if isinstance(value, int) else ""


def _told(devices: object) -> Cell:
    """What the metadata service said of the devices under a path."""
    if not isinstance(devices, Mapping):
        return Cell("")
    types = dict.fromkeys(str(told.get("type", "")) for told in devices.values())
    caching = dict.fromkeys(str(told["caching"]) for told in devices.values() if "caching" in told)
    detail = f"host caching {', '.join(caching)}" if caching else ""
    return Cell(", ".join(types), detail=detail)
