"""`tierbench analyze --disk-metrics`: what a provider kept of a campaign's disks, given afterwards.

The files are kept as they are in the campaign's folder. Beside them lies, for each run, what they
report of the limits of its nodes' disks, as samples; a judgement reads these with the run's own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from orchestrator import units
from orchestrator.analysis.disks_of_nodes import database_nodes
from orchestrator.analysis.observed import machine_reports
from orchestrator.errors import UsageError
from orchestrator.histories import files as history_files
from orchestrator.histories import limit_samples
from orchestrator.histories.files.texts import Remark
from orchestrator.model import Node, Record
from orchestrator.system import disk_metric_files, store

_ASK = "ask for the metrics of limits too (docs/SOURCES.md)"


class _FileDisk(NamedTuple):
    """A disk as the files call it."""

    node: str
    device: str

    def __str__(self) -> str:
        return f"{self.node}/{self.device}"


@dataclass(frozen=True)
class _GivenMetrics:
    """The intervals of each disk in the files. named: node of the campaign → its disk, as the user
    has written it."""

    disks: Mapping[_FileDisk, pd.DataFrame]
    named: Mapping[str, str]

    def of_node(self, node: Node) -> pd.DataFrame | None:
        """The intervals of a node's disk; None if the files have none. UsageError if they have
        several."""
        wanted = self.named.get(node.name)
        names: list[str] = []
        of_disk: pd.DataFrame | None = None
        for disk, intervals in self.disks.items():
            if _is_of(disk, node, wanted):
                names.append(str(disk))
                of_disk = intervals
        if len(names) > 1:
            raise UsageError(
                f"{node.name} may be {units.listed(names)}",
                f"name its disk: --disk {node.name}={names[0]}",
            )
        return of_disk


def _is_of(disk: _FileDisk, node: Node, wanted: str | None) -> bool:
    if wanted is not None:
        return wanted in (disk.device, str(disk))
    # Azure's names are the same in letters of either size.
    name = disk.node.casefold()
    return name in (node.name.casefold(), node.machine.casefold())


def keep(
    campaign: Path, files: Sequence[Path], disks: Sequence[str], remark: Remark
) -> None:
    """Keeps files, and what they report of each run, over what was kept before. UsageError if
    they report nothing of any run."""
    metrics = _GivenMetrics(_read(files, remark), _named(disks))
    samples: dict[str, pd.DataFrame] = {}
    nodes: dict[str, Node] = {}
    for run in store.load(campaign, tables=False).runs:
        for node in database_nodes(run.record.nodes):
            nodes[node.name] = node
        tables = list(_of_run(run.record, metrics))
        if tables:
            samples[run.record.run.slug] = pd.concat(tables, ignore_index=True)
    _require_nodes(metrics, nodes)
    if not samples:
        raise _no_time(metrics)
    disk_metric_files.save(campaign, files, samples)


def _of_run(record: Record, metrics: _GivenMetrics) -> Iterator[pd.DataFrame]:
    """Samples of each node in the time of a run."""
    if not record.phases:
        return
    begin_s = record.phases[0].start_s
    end_s = record.phases[-1].end_s
    for node in database_nodes(record.nodes):
        intervals = metrics.of_node(node)
        if intervals is None:
            continue
        is_meanwhile = (intervals["end_s"] > begin_s) & (intervals["begin_s"] < end_s)
        if is_meanwhile.any():
            yield limit_samples.of_disk(intervals[is_meanwhile], node.name)


def _read(files: Sequence[Path], remark: Remark) -> Mapping[_FileDisk, pd.DataFrame]:
    tables: list[pd.DataFrame] = []
    for file in files:
        tables.append(history_files.read(file, remark))
    parts = machine_reports.apart(tables)
    if not parts.disks:
        raise UsageError(
            "these files report of machines alone",
            "give the metrics of their disks as another --disk-metrics",
        )
    disks = parts.beside_disks()
    for machine in machine_reports.without_disks(parts.reports, disks):
        remark(machine_reports.fit_no_interval(machine))
    table = pd.concat(disks)
    columns = table.columns.intersection(list(limit_samples.REPORTS))
    if table[columns].isna().all(axis=None):
        raise UsageError("these files report of no limit of a disk", _ASK)
    by_disk: dict[_FileDisk, pd.DataFrame] = {}
    for (node, device), intervals in table.groupby(["node", "device"]):
        reported = intervals.dropna(axis="columns", how="all")
        by_disk[_FileDisk(str(node), str(device))] = reported
    return by_disk


def _named(disks: Sequence[str]) -> Mapping[str, str]:
    """`node-1=lun0` of each. UsageError for another form."""
    named: dict[str, str] = {}
    for text in disks:
        node, _, disk = text.partition("=")
        if not node or not disk:
            raise UsageError(
                f"--disk {text} does not name a disk", "write --disk node-1=lun0"
            )
        named[node] = disk
    return named


def _require_nodes(metrics: _GivenMetrics, nodes: Mapping[str, Node]) -> None:
    """UsageError unless each disk that is named is there, and some node has one."""
    for name, disk in metrics.named.items():
        if name not in nodes:
            names = units.listed(list(nodes))
            raise UsageError(f"the campaign has no node {name}", f"it has {names}")
        if metrics.of_node(nodes[name]) is None:
            raise UsageError(
                f"the files have no disk {disk}", f"they have {_disks_of(metrics)}"
            )
    for node in nodes.values():
        if metrics.of_node(node) is not None:
            return
    name = next(iter(nodes), "node-1")
    raise UsageError(
        f"no node of the campaign is called as a machine of the files: {_disks_of(metrics)}",
        f"name the disk of each node, such as --disk {name}={next(iter(metrics.disks))}",
    )


def _disks_of(metrics: _GivenMetrics) -> str:
    names: list[str] = []
    for disk in metrics.disks:
        names.append(str(disk))
    return units.listed(names)


def _no_time(metrics: _GivenMetrics) -> UsageError:
    intervals = pd.concat(metrics.disks.values())
    begin = units.format_moment(float(intervals["begin_s"].min()))
    end = units.format_moment(float(intervals["end_s"].max()))
    return UsageError(
        f"the files are from {begin} to {end}, when no run was made",
        "ask for the time of the campaign; times are UTC",
    )
