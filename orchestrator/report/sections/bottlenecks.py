"""What limited each cell: the cause in words, and the values of each resource beside it."""

from __future__ import annotations

from orchestrator import units
from orchestrator.analysis.conclusions import Bottleneck
from orchestrator.report.blocks import Cell, Part, Section, Table, numbers, texts
from orchestrator.report.report_index import ReportIndex

# Evidence → title and unit, in the order of columns; one that no cell has is left out.
_SHOWN = {
    "iops_of_cap_pct": ("IOPS, of cap", "%"),
    "bandwidth_of_cap_pct": ("Bandwidth, of cap", "%"),
    "disk_await_s": ("Time per I/O", "s"),
    "disk_queue_depth": ("I/Os in flight", ""),
    "cpu_pct": ("Node CPU", "%"),
    "client_cpu_pct": ("Client CPU", "%"),
    "host_cpu_pct": ("Machine CPU", "%"),
    "sessions_reading_pct": ("Sessions reading", "%"),
    "log_syncing_pct": ("Log syncing", "%"),
    "wal_disk_syncing_pct": ("Log syncing, on its own disk", "%"),
    "background_log_syncing_pct": ("Log syncing behind commits", "%"),
}
_REMARK = (
    "Figures of the busiest database node while measuring. Of cap: median second, in percent of "
    "what the tier declares; Client and Machine CPU in percent of the whole machine. The other "
    "figures behind a cause are in verdict.json."
)
_REMARK_PUBLISHED = (
    "Published means of a node, of what its tier declares; above 100 % is burst. Neither waits nor "
    "seconds are known, so a cause is named only where means alone carry it."
)


def section(index: ReportIndex) -> Section:
    bottlenecks = {(b.workload, b.profile): b for b in index.verdict.bottlenecks}
    keys = [key for key in _SHOWN if any(key in b.evidence for b in bottlenecks.values())]
    rows: list[tuple[Cell, ...]] = []
    for workload in index.workloads:
        rows.append((Cell(workload.name, strong=True),))
        for tier in index.tiers:
            if bottleneck := bottlenecks.get((workload.name, tier)):
                rows.append(_row(tier, bottleneck, keys))
            else:
                rows.append(_unknown_row(index, tier, workload.name, keys))
    columns = (*texts("Tier", "Limited by"), *numbers(*(_SHOWN[key][0] for key in keys)))
    remarks = (_REMARK_PUBLISHED if index.published else _REMARK,)
    table = Table(columns, tuple(rows), remarks=remarks)
    return Section("limits", "What limited each run", (Part("", (table,)),))


def _row(tier: str, bottleneck: Bottleneck, keys: list[str]) -> tuple[Cell, ...]:
    return (
        Cell(tier, detail=bottleneck.node or "no node", tier=tier),
        Cell(_words(bottleneck.cause), detail=bottleneck.text),
        *(_value(bottleneck, key) for key in keys),
    )


def _value(bottleneck: Bottleneck, key: str) -> Cell:
    value = bottleneck.evidence.get(key)
    if value is None:
        return Cell("not measured", missing=True)
    idle_s = bottleneck.evidence.get("idle_disk_latency_s") if key == "disk_await_s" else None
    idle = f"idle {units.format_seconds(idle_s)}" if idle_s else ""
    return Cell(units.format_quantity(value, _SHOWN[key][1]), detail=idle)


def _unknown_row(index: ReportIndex, tier: str, workload: str, keys: list[str]) -> tuple[Cell, ...]:
    done = index.finished(tier, workload)
    lost = "missing: not published" if index.published else "missing: no finished run"
    text = "could not be told" if done else lost
    return (Cell(tier, tier=tier), Cell(text, missing=True), *(Cell("") for _ in keys))


def _words(verdict: str) -> str:
    """`iops_cap` → `IOPS cap`."""
    return verdict.replace("_", " ").replace("iops", "IOPS").replace("cpu", "CPU")
