"""Under which conditions the figures came about: data set against cache, machine, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator import units
from orchestrator.analysis.results import database
from orchestrator.model import NodeSize, Profile
from orchestrator.report.blocks import Cell, Column, Paragraph, Part, Section, Table
from orchestrator.report.findings import Findings

# ------------------------------------------------------------------ data set against cache


def cache(findings: Findings) -> Section:
    """Whether each workload's data set fits in the database's cache: if so, reads say nothing."""
    asked = [workload.name for workload in findings.workloads if workload.database is None]
    if not asked:
        nothing = Paragraph("No database was measured, and so no cache of one.")
        return Section("cache", "Data set against cache", (Part("", (nothing,)),))
    rows = [row for workload in asked for row in _cache_rows(findings, workload)]
    columns = (
        Column("Workload"),
        Column("Tier"),
        Column("Data set", numeric=True),
        Column("Cache", numeric=True),
        Column("Data : cache", numeric=True),
        Column("What follows"),
    )
    about = Paragraph(
        "Data and cache of one database node, as read back from the running server. A data set "
        "that fits in the cache is read from memory, whatever the disk."
    )
    blocks = (about, Table(columns, tuple(rows)))
    return Section("cache", "Data set against cache", (Part("", blocks),))


def _cache_rows(findings: Findings, workload: str) -> Iterator[tuple[Cell, ...]]:
    """One row where all tiers agree, else one each."""
    found = {tier: _cache_cells(findings, tier, workload) for tier in findings.tiers}
    if len(found) > 1 and len(set(found.values())) == 1:
        yield (Cell(workload), Cell("all tiers"), *next(iter(found.values())))
        return
    for tier, cells in found.items():
        yield (Cell(workload), Cell(tier, tier=tier), *cells)


def _cache_cells(findings: Findings, tier: str, workload: str) -> tuple[Cell, ...]:
    facts = [database(run.record) for run in findings.finished(tier, workload)]
    data = next((one.data_bytes for one in facts if one.data_bytes is not None), None)
    held = next((one.cache_bytes for one in facts if one.cache_bytes is not None), None)
    if data is None or not held:
        text = "not recorded" if facts else "missing: no finished run"
        shown = [
            Cell("missing", missing=True) if v is None else Cell(units.format_bytes(v))
            for v in (data, held)
        ]
        return (*shown, Cell(""), Cell(text, missing=True))
    ratio = data / held
    return (
        Cell(units.format_bytes(data)),
        Cell(units.format_bytes(held)),
        Cell(f"{ratio:.1f}"),
        Cell("exceeds the cache" if ratio > 1 else "fits in the cache: reads need no disk"),
    )


# ------------------------------------------------------------------ environment and settings


def environment(findings: Findings) -> Section:
    """The machine, the software, and every setting that was asked for or read back."""
    machine = Table((Column("Fact"), Column("Value")), tuple(_pairs(findings.campaign.fingerprint)))
    parts = [Part("Machine", (machine,) if machine.rows else (Paragraph("Not recorded."),))]
    parts.append(Part("Clusters", (_clusters(findings),)))
    parts.append(Part("Workloads", (_workloads(findings),)))
    parts.append(Part("Read back from the running database", _read_back(findings)))
    return Section("environment", "Environment and settings", tuple(parts))


def _pairs(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[Cell, Cell]]:
    """Nested facts as rows `outer.inner: value`."""
    for key, value in facts.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _pairs(value, f"{name}.")
        elif value is not None and value != "" and value != []:
            yield Cell(name.removesuffix("_bytes")), Cell(_value(name, value))


def _value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        if name.endswith("bytes_per_s"):
            return units.format_bytes_per_s(value)
        if name.endswith("bytes"):
            return units.format_bytes(value)
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(str(item) for item in value)
    return str(value)


def _clusters(findings: Findings) -> Table:
    columns = (
        Column("Tier"),
        Column("Database"),
        Column("Nodes", numeric=True),
        Column("Copies", numeric=True),
        Column("CPUs per node", numeric=True),
        Column("Memory per node", numeric=True),
        Column("Disk per node", numeric=True),
        Column("Settings"),
    )
    return Table(columns, tuple(_cluster_row(profile) for profile in findings.profiles))


def _cluster_row(profile: Profile) -> tuple[Cell, ...]:
    cluster = profile.cluster
    settings = ", ".join(f"{key} = {value}" for key, value in cluster.settings.items())
    return (
        Cell(profile.name, tier=profile.name),
        Cell(f"{cluster.database} {cluster.version or ''}".strip()),
        Cell(str(cluster.nodes)),
        Cell(str(cluster.replication_factor)),
        *_node_cells(cluster.node),
        Cell(settings or "the defaults of this tool"),
    )


def _node_cells(node: NodeSize | None) -> tuple[Cell, ...]:
    if node is None:
        return 3 * (Cell("not declared", missing=True),)
    return (
        Cell(f"{node.cpus:g}"),
        Cell(units.format_bytes(node.memory_bytes)),
        Cell(units.format_bytes(node.disk_bytes)),
    )


def _workloads(findings: Findings) -> Table:
    columns = (
        Column("Workload"),
        Column("Generator"),
        Column("Data set"),
        Column("Threads", numeric=True),
        Column("Loaders", numeric=True),
        Column("Warm-up", numeric=True),
        Column("Measured", numeric=True),
        Column("Options"),
    )
    rows = tuple(
        (
            Cell(w.name),
            Cell(w.generator, detail=w.script),
            Cell(_named(w.dataset.parameters)),
            Cell(str(w.threads)),
            Cell(str(w.loader_threads)),
            Cell(units.format_seconds(w.warmup_s)),
            Cell(units.format_seconds(w.measure_s)),
            Cell(_named(w.options) or "none"),
        )
        for w in findings.workloads
    )
    return Table(columns, rows)


def _named(values: Mapping[str, int | float | str]) -> str:
    return ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}"
        for name, value in values.items()
    )


# Data and cache have a section of their own; the others are what a run did, not how it was set.
_NOT_SETTINGS = frozenset({"data", "cache", "telemetry", "database_before", "since_reset"})


def _read_back(findings: Findings) -> tuple[Table | Paragraph, ...]:
    """Facts in which all finished runs of a tier agree; given once where all tiers do."""
    facts = {tier: _constant(findings, tier) for tier in findings.tiers}
    known = {tier: found for tier, found in facts.items() if found}
    if not known:
        return (Paragraph("Nothing: no run was finished."),)
    names = dict.fromkeys(name for found in known.values() for name in found)
    rows = tuple(
        (Cell(name), Cell(_shared({tier: found.get(name) for tier, found in known.items()})))
        for name in names
    )
    return (Table((Column("Fact"), Column("Value")), rows),)


def _constant(findings: Findings, tier: str) -> dict[str, str]:
    """A fact that changes from run to run is a measurement, and stands in the run's record."""
    runs = [
        {name.text: value.text for name, value in _pairs(data.record.facts)}
        for data in findings.campaign.runs
        if data.record.outcome == "done" and data.record.run.profile == tier
    ]
    return {
        name: value
        for name, value in (runs[0].items() if runs else ())
        if not _NOT_SETTINGS & set(name.split("."))
        and all(run.get(name, value) == value for run in runs)
    }


def _shared(values: Mapping[str, str | None]) -> str:
    if len(set(values.values())) == 1:
        return str(next(iter(values.values())))
    return "; ".join(f"{tier}: {value or 'not recorded'}" for tier, value in values.items())
