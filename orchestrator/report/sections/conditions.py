"""The conditions of the measurement: data set against cache, machine, settings."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from orchestrator import units
from orchestrator.analysis.results import database
from orchestrator.model import Profile, Workload
from orchestrator.report import prose, report_index
from orchestrator.report.blocks import (
    Block,
    Cell,
    Paragraph,
    Part,
    Section,
    Table,
    table_of,
)


def cache(index: report_index.ReportIndex) -> Section:
    """Whether each data set fits in the database's cache: if so, its reads need no disk."""
    loads = [workload.name for workload in index.workloads if workload.database is None]
    blocks: tuple[Block, ...]
    if not loads:
        blocks = (Paragraph("No database was measured, and so no cache of one."),)
    elif index.campaign.published:
        blocks = (
            Paragraph(
                "Neither the size of the data nor that of a cache was published."
            ),
        )
    else:
        rows = [row for workload in loads for row in _cache_rows(index, workload)]
        table = table_of(rows, ("Workload", "Tier", "What follows"))
        blocks = (Paragraph(prose.said("cache.about")), table)
    return Section("cache", "Data set against cache", (Part("", blocks),))


def _cache_rows(
    index: report_index.ReportIndex, workload: str
) -> Iterator[dict[str, Cell]]:
    """One row if all tiers agree, else one each."""
    rows = {tier: _cache_cells(index, tier, workload) for tier in index.tiers}
    first, *others = rows.values()
    if others and all(other == first for other in others):
        yield {"Workload": Cell(workload), "Tier": Cell("all tiers"), **first}
        return
    for tier, cells in rows.items():
        yield {"Workload": Cell(workload), "Tier": Cell(tier, tier=tier), **cells}


def _cache_cells(
    index: report_index.ReportIndex, tier: str, workload: str
) -> dict[str, Cell]:
    facts = [database(run.record) for run in index.finished(tier, workload)]
    data = next((f.data_bytes for f in facts if f.data_bytes is not None), None)
    cached = next((f.cache_bytes for f in facts if f.cache_bytes is not None), None)
    lost = Cell("missing", missing=True)
    sizes = (
        lost if of is None else Cell(units.format_bytes(of)) for of in (data, cached)
    )
    ratio = ""
    follows = Cell(
        "not recorded" if facts else "missing: no finished run", missing=True
    )
    if data is not None and cached:
        ratio = f"{data / cached:.1f}"
        fits = data <= cached
        follows = Cell(
            "fits in the cache: reads need no disk" if fits else "exceeds the cache"
        )
    columns = "Data set", "Cache", "Data : cache", "What follows"
    return dict(zip(columns, (*sizes, Cell(ratio), follows), strict=True))


def environment(index: report_index.ReportIndex) -> Section:
    """The machine, the software, and every setting that was given or read back."""
    machine = list(_pairs(index.campaign.fingerprint))
    specs = [profile.cluster for profile in index.profiles]
    shown = {  # whether the column says anything that is not the same without it
        "Load clients": any(spec.clients > 1 for spec in specs),
        "Client": any(spec.client != "outside" for spec in specs),
        "Network": any(spec.network_bytes_per_s for spec in specs),
    }
    words = ("Tier", "Database", "Settings", "Client", "Network")
    clusters = list(map(_cluster_row, index.profiles))
    titles = [title for title in clusters[0] if shown.get(title, True)]
    given = ", ".join(index.campaign.plan.overrides)
    overrides: tuple[Paragraph, ...] = ()
    if given:
        overrides = (Paragraph(prose.said("environment.overrides", given=given)),)
    parts = (
        Part("Machine", (_facts(machine) if machine else Paragraph("Not recorded."),)),
        Part("Clusters", (table_of(clusters, words, titles=titles),)),
        Part("Workloads", (*overrides, _workloads(index))),
        Part("Read back from the running database", _read_back(index)),
    )
    return Section("environment", "Environment and settings", parts)


def _facts(facts: Iterable[tuple[str, str]]) -> Table:
    rows = ({"Fact": name, "Value": value} for name, value in facts)
    return table_of(rows, ("Fact", "Value"))


def _pairs(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested facts as `outer.inner` and value."""
    for key, value in facts.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _pairs(value, f"{name}.")
        elif value is not None and value != "" and value != []:
            yield name.removesuffix("_bytes"), _value(name, value)


def _value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        if value:
            return "yes"
        return "no"
    if isinstance(value, (int, float)):
        if name.endswith("bytes_per_s"):
            return units.format_bytes_per_s(value)
        if name.endswith("bytes"):
            return units.format_bytes(value)
        if isinstance(value, float):
            return f"{value:.6g}"
        return str(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(str(item) for item in value)
    return str(value)


def _cluster_row(profile: Profile) -> dict[str, Cell | str]:
    cluster = profile.cluster
    size = profile.cluster.node
    given = (*cluster.settings.items(), *cluster.existing.items())
    settings = ", ".join(f"{key} = {value}" for key, value in given)
    rate = cluster.network_bytes_per_s
    undeclared = Cell("not declared", missing=True)
    return {
        "Tier": Cell(profile.name, tier=profile.name),
        "Database": f"{cluster.database} {cluster.version or ''}".strip(),
        "Nodes": str(cluster.nodes),
        "Copies": str(cluster.replication_factor),
        "CPUs per node": f"{size.cpus:g}" if size else undeclared,
        "Memory per node": units.format_bytes(size.memory_bytes)
        if size
        else undeclared,
        "Disk per node": units.format_bytes(size.disk_bytes) if size else undeclared,
        "Settings": settings or "the defaults of this tool",
        "Load clients": str(cluster.clients),
        "Client": "beside the first node" if cluster.client == "beside" else "outside",
        "Network": units.format_link_rate(rate) if rate else "not limited",
    }


def _workloads(index: report_index.ReportIndex) -> Table:
    rows: list[dict[str, Cell | str]] = [
        {
            "Workload": load.name,
            "Generator": Cell(load.generator, detail=load.script),
            "Data set": units.named(load.dataset.parameters),
            "Threads": str(load.threads),
            "Loaders": str(load.loader_threads),
            "Warm-up": _warm_up(load),
            "Measured": units.format_seconds(load.measure_s),
            "Options": units.named(load.options) or "none",
        }
        for load in index.workloads
    ]
    return table_of(rows, ("Workload", "Generator", "Data set", "Options"))


# Data, cache and disks have their own sections; the others are what a run did, not how it was set.
_NOT_SETTINGS = frozenset(
    {
        "data",
        "cache",
        "disks",
        "telemetry",
        "database_before",
        "since_reset",
        "published",
    }
)


def _read_back(index: report_index.ReportIndex) -> tuple[Table | Paragraph, ...]:
    """Facts in which all finished runs of a tier agree; given once if all tiers do."""
    known = {tier: facts for tier in index.tiers if (facts := _constant(index, tier))}
    if not known:
        why = "no run was finished"
        if index.campaign.published:
            why = "others ran it"
        return (Paragraph(f"Nothing: {why}."),)
    names = dict.fromkeys(name for facts in known.values() for name in facts)
    rows = {}
    for name in names:
        values = {
            tier: facts.get(name, "not recorded") for tier, facts in known.items()
        }
        each = "; ".join(f"{tier}: {value}" for tier, value in values.items())
        rows[name] = values.popitem()[1] if len({*values.values()}) == 1 else each
    return (_facts(rows.items()),)


def _warm_up(workload: Workload) -> str:
    least = units.format_seconds(workload.warmup_s)
    if workload.warmup_most_s is None:
        return least
    return f"{least} to {units.format_seconds(workload.warmup_most_s)}, until steady"


def _constant(index: report_index.ReportIndex, tier: str) -> dict[str, str]:
    """Facts that changed from run to run are left out: they stand in the runs' records."""
    done = (data.record for data in index.campaign.done)
    runs = [dict(_pairs(record.facts)) for record in done if record.run.profile == tier]
    return {
        name: value
        for name, value in (runs[0].items() if runs else ())
        if not _NOT_SETTINGS & set(name.split("."))
        and all(run.get(name, value) == value for run in runs)
    }
