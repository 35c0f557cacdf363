"""`tierbench analyze --disk-metrics`: what a provider kept of a campaign's disks, given afterwards.

The files are kept as they are in the campaign's folder. Beside them lies, for each run, what they
report of the limits of its nodes' disks, as samples; a judgement reads these with the run's own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from orchestrator import units
from orchestrator.analysis.telemetry.counters import reported_disks
from orchestrator.errors import UsageError
from orchestrator.extensions.observe import device_names
from orchestrator.extensions.observe.campaign_disks import limit_samples
from orchestrator.extensions.observe.campaign_disks.reported_disks_of_nodes import (
    CampaignDisk,
    FileDisk,
    GivenDisks,
    listed,
    places_of,
)
from orchestrator.extensions.observe.histories import files as history_files
from orchestrator.extensions.observe.histories.files.texts import Remark
from orchestrator.extensions.observe.judging import machine_reports
from orchestrator.model import Node, Record
from orchestrator.system import disk_metric_files, store
from orchestrator.texts import prose
from orchestrator.tier import Tier
from orchestrator.tier.slow_disk import LOG_OF_NODE

_ASK = "ask for the metrics of limits too (docs/SOURCES.md)"


def keep(
    campaign: Path, files: Sequence[Path], disks: Sequence[str], remark: Remark
) -> None:
    """Keeps files, and what they report of each run, over what was kept before. UsageError if
    they report nothing of any run."""
    runs = _on_disks_of_providers(campaign)
    profiles = sorted({record.run.profile for record in runs})
    named = _named(disks, profiles)
    given = GivenDisks(_read(files, remark), named, len(profiles) == 1)
    _require_disks(given, runs)
    _remark_missing(given, runs, remark)
    disk_metric_files.save(campaign, files, _samples(given, runs))


def _samples(given: GivenDisks, runs: Sequence[Record]) -> dict[str, pd.DataFrame]:
    """The samples of each run that has some, by its slug. UsageError if none has."""
    samples: dict[str, pd.DataFrame] = {}
    for record in runs:
        tables = list(_of_run(record, given))
        if tables:
            samples[record.run.slug] = pd.concat(tables, ignore_index=True)
    if not samples:
        raise _no_time(given)
    return samples


def _on_disks_of_providers(campaign: Path) -> list[Record]:
    """Its runs. UsageError if all are on emulated disks: what is below these is not the tier's."""
    records: list[Record] = []
    for run in store.load_without_tables(campaign).runs:
        if not run.record.profile.tier.disk.holds_limits:
            records.append(run.record)
    if not records:
        raise UsageError(
            "the campaign has no run on disks of a provider",
            "emulated disks count for themselves",
        )
    return records


def _of_run(record: Record, given: GivenDisks) -> Iterator[pd.DataFrame]:
    """Samples of each disk in the time of a run."""
    if not record.phases:
        return
    begin_s = record.phases[0].start_s
    end_s = record.phases[-1].end_s
    for place in places_of(record):
        disks = given.of_place(record, place)
        for disk in disks:
            intervals = given.disks[disk]
            ends_later = intervals["end_s"] > begin_s
            is_meanwhile = ends_later & (intervals["begin_s"] < end_s)
            if is_meanwhile.any():
                series = reported_disks.series(place.of_node, _told_apart(disk, disks))
                yield limit_samples.of_disk(intervals[is_meanwhile], series)


def _told_apart(disk: FileDisk, disks: Sequence[FileDisk]) -> str:
    """Its name among those of its place: two machines may have one of the same name."""
    devices = [other.device for other in disks]
    if devices.count(disk.device) > 1:
        return str(disk)
    return disk.device


# ------------------------------------------------------------------ what is given


def _read(files: Sequence[Path], remark: Remark) -> dict[FileDisk, pd.DataFrame]:
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


def _by_disk(table: pd.DataFrame, remark: Remark) -> dict[FileDisk, pd.DataFrame]:
    """The intervals of each disk of which a limit is reported. UsageError if there is none."""
    by_disk: dict[FileDisk, pd.DataFrame] = {}
    without_limits: list[str] = []
    for (node, device), intervals in table.groupby(["node", "device"]):
        disk = FileDisk(str(node), str(device))
        reported = intervals.dropna(axis="columns", how="all")
        if reported.columns.isin(list(limit_samples.REPORTS)).any():
            by_disk[disk] = reported
        else:
            without_limits.append(str(disk))
    if not by_disk:
        raise UsageError("these files report of no limit of a disk", _ASK)
    if without_limits:
        remark(
            f"the files report of no limit of {prose.listed(without_limits)}: {_ASK}"
        )
    return by_disk


def _named(
    disks: Sequence[str], profiles: Sequence[str]
) -> dict[CampaignDisk, tuple[str, ...]]:
    """`node-1=lun0`, or `p15/node-1=lun0` where there are several profiles, once for each disk.
    UsageError for another form."""
    named: dict[CampaignDisk, tuple[str, ...]] = {}
    for text in disks:
        words, _, disk = text.partition("=")
        profile, _, node = words.rpartition("/")
        of_log = node.endswith(LOG_OF_NODE)
        node = node.removesuffix(LOG_OF_NODE)
        if not node or not disk:
            raise UsageError(
                f"--disk {text} does not name a disk", "write --disk node-1=lun0"
            )
        if not profile and len(profiles) > 1:
            raise UsageError(
                f"--disk {text} may be of {prose.listed(profiles)}",
                f"name the profile too: --disk {profiles[0]}/{text}",
            )
        place = CampaignDisk(profile or profiles[0], node, of_log)
        before = named.get(place, ())
        if disk not in before:
            named[place] = (*before, disk)
    return named


# ------------------------------------------------------------------ whether it fits


def _require_disks(given: GivenDisks, runs: Sequence[Record]) -> None:
    """UsageError unless each disk that is named is there, and some node has one."""
    has_disk = _places(given, runs)
    if not has_disk:
        raise UsageError(
            "no run of the campaign came as far as its database's nodes",
            "measure it again: `tierbench resume` goes on with a campaign",
        )
    for place, disks in given.named.items():
        if place not in has_disk:
            raise _no_place(place, has_disk)
        for disk in disks:
            if not given.called(disk):
                raise UsageError(
                    f"the files have no disk {disk}",
                    f"they have {listed(given.disks)}",
                )
    for record in runs:
        for place in given.named:
            if place.of_log and place.profile == record.run.profile:
                _require_apart(given, record, place)
        _require_one_owner(given, record)
    if not any(has_disk.values()):
        place = next(iter(has_disk))
        disk = str(next(iter(given.disks)))
        raise UsageError(
            f"which disk is whose is not known of {listed(given.disks)}",
            f"name the disk of each node, such as --disk {place}={disk}",
        )


def _require_apart(given: GivenDisks, record: Record, log: CampaignDisk) -> None:
    """UsageError if a disk of a node's log is one of its data: both would have its limits."""
    of_data = given.of_place(record, log.of_data)
    for disk in given.of_place(record, log):
        if disk in of_data:
            raise UsageError(
                f"{disk} is named for the log of {log.of_data}, and holds its data",
                f"name another disk: --disk {log}=DISK",
            )


def _require_one_owner(given: GivenDisks, record: Record) -> None:
    """UsageError if a disk is named for nodes that cannot share it: its limits would count for each
    of them."""
    nodes = {node.name: node for node in record.nodes}
    first_users: dict[FileDisk, CampaignDisk] = {}
    for place in given.named:
        if place.profile != record.run.profile or place.node not in nodes:
            continue
        for disk in given.of_place(record, place):
            first = first_users.setdefault(disk, place)
            if first.node == place.node:
                continue
            devices = (_device(nodes, first), _device(nodes, place))
            machines = (nodes[first.node].machine, nodes[place.node].machine)
            why = _why_apart(record.profile.tier, machines, devices)
            if why:
                raise UsageError(
                    f"{disk} is named for {first} and {place}, which {why}",
                    f"name another disk: --disk {place}=DISK",
                )


def _device(nodes: Mapping[str, Node], place: CampaignDisk) -> str:
    """The device of a node's data or log; empty if it is not known."""
    node = nodes[place.node]
    if place.of_log:
        return node.wal_device or ""
    return node.device or ""


def _why_apart(tier: Tier, machines: tuple[str, str], devices: tuple[str, str]) -> str:
    """Why two nodes cannot share a disk; empty where they may: on one machine a path may be that of
    all nodes. Machines and devices that are not known are empty."""
    # A disk is attached to one machine.
    if all(machines) and machines[0] != machines[1]:
        return "are on two machines"
    if tier.disk.is_rented_for_each_run:
        return "have a volume of their own each"
    if all(devices) and not device_names.may_be_one_disk(*devices):
        return f"are on {devices[0]} and {devices[1]}"
    return ""


def _no_place(place: CampaignDisk, there: Iterable[CampaignDisk]) -> UsageError:
    advice = f"it has {listed(there)}"
    if place.of_log and place.of_data in there:
        what = f"{place.of_data} has no disk of its own for the WAL"
        return UsageError(what, advice)
    return UsageError(f"the campaign has no node {place}", advice)


def _places(given: GivenDisks, runs: Sequence[Record]) -> dict[CampaignDisk, bool]:
    """The disks of nodes under each profile, and whether the files have some of theirs."""
    has_disk: dict[CampaignDisk, bool] = {}
    for record in runs:
        for place in places_of(record):
            if given.of_place(record, place):
                has_disk[place] = True
            has_disk.setdefault(place, False)
    return has_disk


def _remark_missing(given: GivenDisks, runs: Sequence[Record], remark: Remark) -> None:
    """Warns of striped disks that the files lack: the one that is missing may be the limit."""
    missing: dict[str, None] = {}
    for record in runs:
        for place in places_of(record):
            count = len(given.of_place(record, place))
            striped = place.striped(record)
            if 0 < count < striped:
                text = f"the files have {count} of the {striped} disks of {place}"
                missing[text] = None
    for text in missing:
        remark(f"{text}: the others may have been at a limit that is not seen")


def _no_time(given: GivenDisks) -> UsageError:
    intervals = pd.concat(given.disks.values())
    begin = units.format_moment(float(intervals["begin_s"].min()))
    end = units.format_moment(float(intervals["end_s"].max()))
    return UsageError(
        f"the files are from {begin} to {end}, when no run was made",
        "ask for the time of the campaign; times are UTC",
    )
