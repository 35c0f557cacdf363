"""`tierbench analyze --disk-metrics`: what a provider kept of a campaign's disks, given afterwards.

The files are kept as they are in the campaign's folder. Beside them lies, for each run, what they
report of the limits of its nodes' disks, as samples; a judgement reads these with the run's own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from orchestrator import units
from orchestrator.analysis import provider_names
from orchestrator.analysis.disks_of_nodes import database_nodes
from orchestrator.analysis.observed import machine_reports
from orchestrator.errors import UsageError
from orchestrator.histories import files as history_files
from orchestrator.histories import limit_samples
from orchestrator.histories.files.texts import Remark
from orchestrator.model import Node, Record
from orchestrator.system import disk_metric_files, store
from orchestrator.tier import Emulated

_ASK = "ask for the metrics of limits too (docs/SOURCES.md)"


class _FileDisk(NamedTuple):
    """A disk as the files call it."""

    node: str
    device: str

    def __str__(self) -> str:
        return f"{self.node}/{self.device}"


class _NodeDisk(NamedTuple):
    """A node's disk under a profile, as `--disk` names it."""

    profile: str
    node: str

    def __str__(self) -> str:
        return f"{self.profile}/{self.node}"


@dataclass(frozen=True)
class _GivenMetrics:
    """disks: the intervals of each disk in the files. named: what the user calls a node's disk.
    is_of_one: whether the campaign has one profile, so that a node has one disk."""

    disks: Mapping[_FileDisk, pd.DataFrame]
    named: Mapping[_NodeDisk, str]
    is_of_one: bool

    def of_node(self, record: Record, node: Node) -> pd.DataFrame | None:
        """The intervals of a node's disk in a run; None if the files have none. UsageError if they
        have several."""
        place = _NodeDisk(record.run.profile, node.name)
        names: list[str] = []
        of_disk: pd.DataFrame | None = None
        for disk, intervals in self.disks.items():
            if self._is_of(disk, record, node):
                names.append(str(disk))
                of_disk = intervals
        if len(names) > 1:
            raise UsageError(
                f"{place} may be {units.listed(names)}",
                f"name its disk: --disk {place}={names[0]}",
            )
        return of_disk

    def _is_of(self, disk: _FileDisk, record: Record, node: Node) -> bool:
        wanted = self.named.get(_NodeDisk(record.run.profile, node.name))
        if wanted is not None:
            return wanted in (disk.device, str(disk))
        # Azure's names are the same in letters of either size.
        machine = disk.node.casefold()
        is_machine = machine in (node.name.casefold(), node.machine.casefold())
        recorded = provider_names.of_node(record, node.name)
        if recorded:
            # A number is of one machine, and the name of a volume of all.
            is_number = disk.device.startswith("lun")
            return disk.device in recorded and (is_machine or not is_number)
        # Another tier's disk may be beside it on the same machine.
        return is_machine and self.is_of_one


def keep(
    campaign: Path, files: Sequence[Path], disks: Sequence[str], remark: Remark
) -> None:
    """Keeps files, and what they report of each run, over what was kept before. UsageError if
    they report nothing of any run."""
    runs = _on_disks_of_providers(campaign)
    profiles = sorted({record.run.profile for record in runs})
    named = _named(disks, profiles)
    metrics = _GivenMetrics(_read(files, remark), named, len(profiles) == 1)
    _require_disks(metrics, runs)
    disk_metric_files.save(campaign, files, _samples(metrics, runs))


def _samples(
    metrics: _GivenMetrics, runs: Sequence[Record]
) -> Mapping[str, pd.DataFrame]:
    """The samples of each run that has some, by its slug. UsageError if none has."""
    samples: dict[str, pd.DataFrame] = {}
    for record in runs:
        tables = list(_of_run(record, metrics))
        if tables:
            samples[record.run.slug] = pd.concat(tables, ignore_index=True)
    if not samples:
        raise _no_time(metrics)
    return samples


def _on_disks_of_providers(campaign: Path) -> list[Record]:
    """Its runs. UsageError if all are on emulated disks: what is below these is not the tier's."""
    records: list[Record] = []
    for run in store.load(campaign, tables=False).runs:
        if not isinstance(run.record.profile.tier.disk, Emulated):
            records.append(run.record)
    if not records:
        raise UsageError(
            "the campaign has no run on disks of a provider",
            "emulated disks count for themselves",
        )
    return records


def _of_run(record: Record, metrics: _GivenMetrics) -> Iterator[pd.DataFrame]:
    """Samples of each node in the time of a run."""
    if not record.phases:
        return
    begin_s = record.phases[0].start_s
    end_s = record.phases[-1].end_s
    for node in database_nodes(record.nodes):
        intervals = metrics.of_node(record, node)
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
    return _by_disk(pd.concat(disks), remark)


def _by_disk(table: pd.DataFrame, remark: Remark) -> Mapping[_FileDisk, pd.DataFrame]:
    """The intervals of each disk of which a limit is reported. UsageError if there is none."""
    by_disk: dict[_FileDisk, pd.DataFrame] = {}
    without_limits: list[str] = []
    for (node, device), intervals in table.groupby(["node", "device"]):
        disk = _FileDisk(str(node), str(device))
        reported = intervals.dropna(axis="columns", how="all")
        if reported.columns.isin(list(limit_samples.REPORTS)).any():
            by_disk[disk] = reported
        else:
            without_limits.append(str(disk))
    if not by_disk:
        raise UsageError("these files report of no limit of a disk", _ASK)
    if without_limits:
        remark(
            f"the files report of no limit of {units.listed(without_limits)}: {_ASK}"
        )
    return by_disk


def _named(disks: Sequence[str], profiles: Sequence[str]) -> Mapping[_NodeDisk, str]:
    """`node-1=lun0`, or `p15/node-1=lun0` where there are several profiles. UsageError for another
    form."""
    named: dict[_NodeDisk, str] = {}
    for text in disks:
        place, _, disk = text.partition("=")
        profile, _, node = place.rpartition("/")
        if not node or not disk:
            raise UsageError(
                f"--disk {text} does not name a disk", "write --disk node-1=lun0"
            )
        if not profile and len(profiles) > 1:
            raise UsageError(
                f"--disk {text} may be of {units.listed(profiles)}",
                f"name the profile too: --disk {profiles[0]}/{text}",
            )
        if not profile:
            profile = profiles[0]
        named[_NodeDisk(profile, node)] = disk
    return named


def _require_disks(metrics: _GivenMetrics, runs: Sequence[Record]) -> None:
    """UsageError unless each disk that is named is there, and some node has one."""
    has_disk = _nodes(metrics, runs)
    for place, disk in metrics.named.items():
        if place not in has_disk:
            raise UsageError(
                f"the campaign has no node {place}", f"it has {_listed(has_disk)}"
            )
        if not has_disk[place]:
            raise UsageError(
                f"the files have no disk {disk}", f"they have {_listed(metrics.disks)}"
            )
    if not any(has_disk.values()):
        place = next(iter(has_disk))
        disk = str(next(iter(metrics.disks)))
        raise UsageError(
            f"which disk is whose is not known of {_listed(metrics.disks)}",
            f"name the disk of each node, such as --disk {place}={disk}",
        )


def _nodes(metrics: _GivenMetrics, runs: Sequence[Record]) -> dict[_NodeDisk, bool]:
    """The nodes under each profile, and whether the files have a disk of theirs."""
    has_disk: dict[_NodeDisk, bool] = {}
    for record in runs:
        for node in database_nodes(record.nodes):
            place = _NodeDisk(record.run.profile, node.name)
            if metrics.of_node(record, node) is not None:
                has_disk[place] = True
            has_disk.setdefault(place, False)
    return has_disk


def _listed(names: Iterable[_FileDisk | _NodeDisk]) -> str:
    texts: list[str] = []
    for name in names:
        texts.append(str(name))
    return units.listed(texts)


def _no_time(metrics: _GivenMetrics) -> UsageError:
    intervals = pd.concat(metrics.disks.values())
    begin = units.format_moment(float(intervals["begin_s"].min()))
    end = units.format_moment(float(intervals["end_s"].max()))
    return UsageError(
        f"the files are from {begin} to {end}, when no run was made",
        "ask for the time of the campaign; times are UTC",
    )
