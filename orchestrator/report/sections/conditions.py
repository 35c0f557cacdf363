"""The conditions of the measurement: data set against cache, machine, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator import units
from orchestrator.analysis.results import database
from orchestrator.model import NodeSize, Profile, Workload
from orchestrator.report.blocks import Cell, Paragraph, Part, Section, Table, numbers, texts
from orchestrator.report.report_index import ReportIndex

# ------------------------------------------------------------------ data set against cache


def cache(index: ReportIndex) -> Section:
    """Whether each data set fits in the database's cache: if so, its reads need no disk."""
    loads = [workload.name for workload in index.workloads if workload.database is None]
    if not loads:
        nothing = Paragraph("No database was measured, and so no cache of one.")
        return Section("cache", "Data set against cache", (Part("", (nothing,)),))
    if index.published:
        unknown = Paragraph("Neither the size of the data nor that of a cache was published.")
        return Section("cache", "Data set against cache", (Part("", (unknown,)),))
    rows = tuple(row for workload in loads for row in _cache_rows(index, workload))
    columns = (
        *texts("Workload", "Tier"),
        *numbers("Data set", "Cache", "Data : cache"),
        *texts("What follows"),
    )
    about = Paragraph(
        "Data and cache of one database node, as read back from the running server. A data set "
        "that fits in the cache is read from memory, whatever the disk."
    )
    return Section("cache", "Data set against cache", (Part("", (about, Table(columns, rows))),))


def _cache_rows(index: ReportIndex, workload: str) -> Iterator[tuple[Cell, ...]]:
    """One row if all tiers agree, else one each."""
    rows = {tier: _cache_cells(index, tier, workload) for tier in index.tiers}
    if len(rows) > 1 and len(set(rows.values())) == 1:
        yield (Cell(workload), Cell("all tiers"), *next(iter(rows.values())))
        return
    for tier, cells in rows.items():
        yield (Cell(workload), Cell(tier, tier=tier), *cells)


def _cache_cells(index: ReportIndex, tier: str, workload: str) -> tuple[Cell, ...]:
    facts = [database(run.record) for run in index.finished(tier, workload)]
    data = next((f.data_bytes for f in facts if f.data_bytes is not None), None)
    cached = next((f.cache_bytes for f in facts if f.cache_bytes is not None), None)
    sizes = [
        Cell("missing", missing=True) if size is None else Cell(units.format_bytes(size))
        for size in (data, cached)
    ]
    if data is None or not cached:
        text = "not recorded" if facts else "missing: no finished run"
        return (*sizes, Cell(""), Cell(text, missing=True))
    ratio = data / cached
    return (
        *sizes,
        Cell(f"{ratio:.1f}"),
        Cell("exceeds the cache" if ratio > 1 else "fits in the cache: reads need no disk"),
    )


# ------------------------------------------------------------------ environment and settings


def environment(index: ReportIndex) -> Section:
    """The machine, the software, and every setting that was given or read back."""
    machine = Table(texts("Fact", "Value"), tuple(_pairs(index.campaign.fingerprint)))
    parts = (
        Part("Machine", (machine if machine.rows else Paragraph("Not recorded."),)),
        Part("Clusters", (_clusters(index),)),
        Part("Workloads", (*_overrides(index), _workloads(index))),
        Part("Read back from the running database", _read_back(index)),
    )
    return Section("environment", "Environment and settings", parts)


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


def _clusters(index: ReportIndex) -> Table:
    several = any(profile.cluster.clients > 1 for profile in index.profiles)
    columns = (
        *texts("Tier", "Database"),
        *numbers("Nodes", "Copies", "CPUs per node", "Memory per node", "Disk per node"),
        *texts("Settings"),
        *(numbers("Load clients") if several else ()),
    )
    return Table(columns, tuple(_cluster_row(profile, several) for profile in index.profiles))


def _cluster_row(profile: Profile, several: bool) -> tuple[Cell, ...]:
    """`several`: the load of some of the profiles comes from more than one client."""
    cluster = profile.cluster
    settings = ", ".join(f"{key} = {value}" for key, value in cluster.settings.items())
    return (
        Cell(profile.name, tier=profile.name),
        Cell(f"{cluster.database} {cluster.version or ''}".strip()),
        Cell(str(cluster.nodes)),
        Cell(str(cluster.replication_factor)),
        *_node_cells(cluster.node),
        Cell(settings or "the defaults of this tool"),
        *((Cell(str(cluster.clients)),) if several else ()),
    )


def _node_cells(node: NodeSize | None) -> tuple[Cell, ...]:
    if node is None:
        return 3 * (Cell("not declared", missing=True),)
    return (
        Cell(f"{node.cpus:g}"),
        Cell(units.format_bytes(node.memory_bytes)),
        Cell(units.format_bytes(node.disk_bytes)),
    )


def _overrides(index: ReportIndex) -> tuple[Paragraph, ...]:
    given = index.campaign.plan.overrides
    text = f"Not as in the workloads' files, but as set on the command line: {', '.join(given)}."
    return (Paragraph(text),) if given else ()


def _workloads(index: ReportIndex) -> Table:
    columns = (
        *texts("Workload", "Generator", "Data set"),
        *numbers("Threads", "Loaders", "Warm-up", "Measured"),
        *texts("Options"),
    )
    rows = tuple(
        (
            Cell(w.name),
            Cell(w.generator, detail=w.script),
            Cell(_named(w.dataset.parameters)),
            Cell(str(w.threads)),
            Cell(str(w.loader_threads)),
            Cell(_warm_up(w)),
            Cell(units.format_seconds(w.measure_s)),
            Cell(_named(w.options) or "none"),
        )
        for w in index.workloads
    )
    return Table(columns, rows)


def _named(values: Mapping[str, int | float | str]) -> str:
    return ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}"
        for name, value in values.items()
    )


# Data, cache and disks have sections of their own; the others are what a run did, not how it was
# set.
_NOT_SETTINGS = frozenset(
    {"data", "cache", "disks", "telemetry", "database_before", "since_reset", "published"}
)


def _read_back(index: ReportIndex) -> tuple[Table | Paragraph, ...]:
    """Facts in which all finished runs of a tier agree; given once if all tiers do."""
    known = {tier: facts for tier in index.tiers if (facts := _constant(index, tier))}
    if not known:
        why = "others ran it" if index.published else "no run was finished"
        return (Paragraph(f"Nothing: {why}."),)
    names = dict.fromkeys(name for facts in known.values() for name in facts)
    rows = tuple(
        (Cell(name), Cell(_shared({tier: facts.get(name) for tier, facts in known.items()})))
        for name in names
    )
    return (Table(texts("Fact", "Value"), rows),)


def _warm_up(workload: Workload) -> str:
    least = units.format_seconds(workload.warmup_s)
    if workload.warmup_most_s is None:
        return least
    return f"{least} to {units.format_seconds(workload.warmup_most_s)}, until steady"


def _constant(index: ReportIndex, tier: str) -> dict[str, str]:
    """Facts that changed from run to run are left out: they stand in the runs' records."""
    runs = [
        {name.text: value.text for name, value in _pairs(data.record.facts)}
        for data in index.campaign.runs
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
