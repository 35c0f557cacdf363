"""What limited each cell: the cause in words, and each resource's figure beside it."""

from __future__ import annotations

from orchestrator import units
from orchestrator.model import Bottleneck
from orchestrator.report.blocks import Cell, Column, Part, Section, Table
from orchestrator.report.findings import Findings

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
    "background_log_syncing_pct": ("Log syncing behind commits", "%"),
}
_REMARK = (
    "Figures of the busiest database node while measuring. Of cap: median second, in percent of "
    "what the tier declares; Client and Machine CPU in percent of the whole machine. The other "
    "figures behind a cause are in verdict.json."
)


def limits(findings: Findings) -> Section:
    found = {(b.workload, b.profile): b for b in findings.verdict.bottlenecks}
    keys = [key for key in _SHOWN if any(key in b.evidence for b in found.values())]
    rows: list[tuple[Cell, ...]] = []
    for workload in findings.workloads:
        rows.append((Cell(workload.name, strong=True),))
        for tier in findings.tiers:
            bottleneck = found.get((workload.name, tier))
            if bottleneck is None:
                rows.append(_unknown_row(findings, tier, workload.name, keys))
            else:
                rows.append(_row(tier, bottleneck, keys))
    heads = (Column(_SHOWN[key][0], numeric=True) for key in keys)
    table = Table((Column("Tier"), Column("Limited by"), *heads), tuple(rows), remarks=(_REMARK,))
    return Section("limits", "What limited each run", (Part("", (table,)),))


def _row(tier: str, bottleneck: Bottleneck, keys: list[str]) -> tuple[Cell, ...]:
    node = bottleneck.node if bottleneck.node else "no node"
    return (
        Cell(tier, detail=node, tier=tier),
        Cell(_words(bottleneck.verdict), detail=bottleneck.text),
        *(_figure(bottleneck, key) for key in keys),
    )


def _figure(bottleneck: Bottleneck, key: str) -> Cell:
    value = bottleneck.evidence.get(key)
    if value is None:
        return Cell("not measured", missing=True)
    idle_s = bottleneck.evidence.get("idle_disk_latency_s") if key == "disk_await_s" else None
    idle = f"idle {units.format_seconds(idle_s)}" if idle_s else ""
    return Cell(units.format_quantity(value, _SHOWN[key][1]), detail=idle)


def _unknown_row(findings: Findings, tier: str, workload: str, keys: list[str]) -> tuple[Cell, ...]:
    done = findings.finished(tier, workload)
    text = "could not be told" if done else "missing: no finished run"
    return (Cell(tier, tier=tier), Cell(text, missing=True), *(Cell("") for _ in keys))


def _words(verdict: str) -> str:
    """`iops_cap` → `IOPS cap`."""
    return verdict.replace("_", " ").replace("iops", "IOPS").replace("cpu", "CPU")
