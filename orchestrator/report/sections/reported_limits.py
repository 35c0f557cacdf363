"""What providers reported of the limits of each disk while runs were measured."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from orchestrator import units
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.counters import rates, reported_disks
from orchestrator.analysis.telemetry.counters.rates import LimitShares
from orchestrator.design.nodes_by_role import nodes_of_role
from orchestrator.report.blocks import Cell, Part, table_of
from orchestrator.report.report_index import ReportIndex
from orchestrator.tier.slow_disk import disk_of_node

_ABOUT = (
    "The share of the measured window in minutes in which a limit was reached, as the provider "
    "reports: the mean of a tier's finished runs. The machine's limits are those of all its "
    "disks together."
)
_WORDS = ("Tier", "Workload", "Disk")


def of_each_disk(index: ReportIndex) -> Iterator[Part]:
    """A row for each disk of which something is reported; nothing without any."""
    rows: list[dict[str, Cell | str]] = []
    for workload in index.workloads:
        for profile in index.profiles:
            runs = index.finished(profile.name, workload.name)
            for disk, shares in _by_disk(runs).items():
                row: dict[str, Cell | str] = {}
                row["Tier"] = Cell(profile.name, tier=profile.name)
                row["Workload"] = workload.name
                row["Disk"] = disk
                rows.append({**row, **_cells(shares)})
    if rows:
        table = table_of(rows, _WORDS, (_ABOUT,))
        yield Part("Limits that were reached, as the provider reports", (table,))


def _by_disk(runs: Sequence[RunData]) -> dict[str, list[LimitShares]]:
    """`node-1/lun0` → what is reported of it in each run."""
    by_disk: dict[str, list[LimitShares]] = {}
    for run in runs:
        growth = run.telemetry.growth
        if growth is None:
            continue
        for node in nodes_of_role(run.record.nodes, "database"):
            reached = rates.reached_shares(growth, node.name)
            data = disk_of_node(node.name, of_log=False)
            for disk, shares in reached.data_disks.items():
                by_disk.setdefault(reported_disks.series(data, disk), []).append(shares)
            log = disk_of_node(node.name, of_log=True)
            for disk, shares in reached.log_disks.items():
                by_disk.setdefault(reported_disks.series(log, disk), []).append(shares)
    return by_disk


def _cells(shares: Sequence[LimitShares]) -> dict[str, Cell | str]:
    iops_pct: list[float | None] = []
    bandwidth_pct: list[float | None] = []
    machine_iops_pct: list[float | None] = []
    machine_bandwidth_pct: list[float | None] = []
    for of_run in shares:
        iops_pct.append(of_run.disk_iops_pct)
        bandwidth_pct.append(of_run.disk_bandwidth_pct)
        machine_iops_pct.append(of_run.machine_iops_pct)
        machine_bandwidth_pct.append(of_run.machine_bandwidth_pct)
    return {
        "IOPS limit": _mean(iops_pct),
        "Bandwidth limit": _mean(bandwidth_pct),
        "Machine's IOPS": _mean(machine_iops_pct),
        "Machine's bandwidth": _mean(machine_bandwidth_pct),
    }


def _mean(shares_pct: Sequence[float | None]) -> str:
    """The mean of the runs of which it is known; empty where it is of none."""
    sampled_pct: list[float] = []
    for share_pct in shares_pct:
        if share_pct is not None:
            sampled_pct.append(share_pct)
    if not sampled_pct:
        return ""
    return units.format_quantity(round(fmean(sampled_pct), 1), "%")
