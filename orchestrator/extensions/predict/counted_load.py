"""What a run asked for, as counted: transactions, CPU time, log and I/O of its nodes. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from orchestrator import facts, units
from orchestrator.analysis import results
from orchestrator.analysis.metric_values import value_of
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.counters import counter_names
from orchestrator.analysis.telemetry.counters.counter_series import Array
from orchestrator.analysis.telemetry.use import machine_cpu, node_use
from orchestrator.analysis.telemetry.use.node_values import Evidence
from orchestrator.design.nodes_by_role import nodes_of_role
from orchestrator.errors import UsageError
from orchestrator.model import Node, Record

TRANSACTIONS = "transactions"
# Counters of disks that are sampled of database nodes.
_COUNTED = (
    counter_names.READS,
    counter_names.WRITES,
    counter_names.READ_BYTES,
    counter_names.WRITTEN_BYTES,
    counter_names.WRITE_SECONDS,
    counter_names.READ_SECONDS,
)
# This stands for a counter that did not grow, so that it can be divided by.
_NONE = 1e-9


class LogUse(NamedTuple):
    """What a commit asks of the log: syncs, of which several commits may share one, and bytes."""

    syncs: float
    size_bytes: float


@dataclass(frozen=True)
class _RunTotals:
    """What a run did since its warm-up began: transactions, and I/O of all database nodes.

    `writes` are of pages, and of the log where it is on the same disk. `write_s`, `read_s`: the
    sums of how long each took.
    """

    transactions: float
    reads: float
    writes: float
    read_bytes: float
    written_bytes: float
    write_s: float
    read_s: float


@dataclass(frozen=True)
class CountedLoad:
    """What a run's counters say of its load, all of it known."""

    record: Record
    rate_per_s: float
    database: Sequence[Node]
    cpu_s: Mapping[str, float]  # CPU time of a transaction, by role
    cpu_limits: Mapping[str, float]  # cores by node
    counted: Mapping[str, Array]  # `_counted`
    totals: _RunTotals
    log: LogUse
    seen: Evidence  # values of the first database node

    @property
    def log_on_data_disk(self) -> LogUse:
        """What a commit asks of the data's disk for its log: nothing, if the log has its own."""
        if is_log_apart(self.record):
            return LogUse(0.0, 0.0)
        return self.log

    @property
    def page_writes(self) -> float:
        """All writes but the log's: a small difference of large numbers, so at least a bit."""
        totals = self.totals
        # Each sync of the log is a write of its disk.
        syncs_total = self.log_on_data_disk.syncs * totals.transactions
        return max(totals.writes / 100, totals.writes - syncs_total)

    @property
    def reading_share(self) -> float:
        """The share of sessions that were seen in I/O of data files."""
        return (self.seen.load.seen_reading_pct or 0.0) / 100

    @property
    def locked_share(self) -> float:
        """The share of sessions that were seen to wait for locks of others."""
        return (self.seen.load.seen_locked_pct or 0.0) / 100


def asked_for(run: RunData, cpus: float | None) -> CountedLoad:
    """The load that was asked for, by counters of the run.

    UsageError if a necessary one is not known.
    """
    record = run.record
    if record.workload.slow:
        raise UsageError(
            f"a disk was slow in the window of {record.run.slug}: it tells nothing of the tier",
            advice="predict from a run without `slow` (--slow)",
        )
    rate = value_of(record, "throughput_per_s")
    database = nodes_of_role(record.nodes, "database")
    cpu_s = _cpu_s(run, rate)
    cpu_limits = machine_cpu.cpu_limits(record.nodes, cpus)
    counted = _counted(run)
    has_samples = counted[TRANSACTIONS].size > 1
    if not rate or not cpu_s.get("database") or not has_samples:
        raise _not_all_known(record.run.slug)
    for node in database:
        if node.name not in cpu_limits:
            raise _not_all_known(record.run.slug)
    return CountedLoad(
        record=record,
        rate_per_s=rate,
        database=database,
        cpu_s=cpu_s,
        cpu_limits=cpu_limits,
        counted=counted,
        totals=_totals(counted),
        log=log_use(record),
        seen=node_use.gather(run, cpus).get(database[0].name, Evidence()),
    )


def is_log_apart(record: Record) -> bool:
    """Whether database nodes have a disk for their log alone, whose I/O is counted by itself."""
    return any(node.role == "database" and node.wal_device for node in record.nodes)


def _cpu_s(run: RunData, rate_per_s: float | None) -> dict[str, float]:
    """CPU time of a transaction by role, nodes of a role together; nothing where none is known."""
    growth = run.telemetry.growth
    if not growth or not rate_per_s:
        return {}
    used_s: dict[str, float] = {}
    nodes_by_role = units.gathered((node.role, node.name) for node in run.record.nodes)
    for role, names in nodes_by_role.items():
        busy = 0.0  # cores
        for name in names:
            busy += growth.per_s(name, counter_names.CPU_SECONDS) or 0.0
        used_s[role] = busy / rate_per_s
    return used_s


def log_use(record: Record) -> LogUse:
    """What a commit asks of the log, counted from before the warm-up on."""
    commits = _grown(record, "xact_commit")
    if not commits:
        return LogUse(0.0, 0.0)
    syncs = _grown(record, facts.WAL_SYNCS)
    size_bytes = _grown(record, "wal_bytes")
    return LogUse(syncs / commits, size_bytes / commits)


def _grown(record: Record, counter: str) -> float:
    before = results.database_before(record).counter(counter) or 0.0
    after = results.database(record).counter(counter) or 0.0
    return max(0.0, after - before)


def _counted(run: RunData) -> dict[str, Array]:
    """What was done since the warm-up began, a value for each second: transactions, and by
    counter what all database nodes did together. Empty arrays without intervals."""
    database = {node.name for node in run.record.nodes if node.role == "database"}
    # Each interval is of a second: the end of the last one has a value too.
    begins_s = run.intervals["time_s"].to_numpy()
    times_s = np.concatenate([begins_s, begins_s[-1:] + 1])
    done = np.concatenate([[0.0], np.cumsum(run.intervals["throughput_per_s"])])
    counted = {counter: np.zeros(len(times_s)) for counter in _COUNTED}
    for samples in run.sampled.by_nodes():
        is_wanted = samples["node"].isin(database) & samples["metric"].isin(_COUNTED)
        by_series = samples[is_wanted].groupby(["node", "metric"], observed=True)
        for (_, counter), sampled in by_series:
            # Nodes are sampled at moments of their own, which need not be those of the intervals.
            values = np.interp(times_s, sampled["time_s"], sampled["value"])
            counted[str(counter)] += values
    counted[TRANSACTIONS] = done[: len(times_s)]
    for series in counted.values():
        # Counters of devices began when their machine did.
        series -= series[:1].copy()
    return counted


def _totals(counted: Mapping[str, Array]) -> _RunTotals:
    def total(counter: str) -> float:
        return float(counted[counter][-1]) + _NONE

    return _RunTotals(
        transactions=total(TRANSACTIONS),
        reads=total(counter_names.READS),
        writes=total(counter_names.WRITES),
        read_bytes=total(counter_names.READ_BYTES),
        written_bytes=total(counter_names.WRITTEN_BYTES),
        write_s=total(counter_names.WRITE_SECONDS),
        read_s=total(counter_names.READ_SECONDS),
    )


def _not_all_known(run: str) -> UsageError:
    return UsageError(
        f"{run}: transactions, CPU, its limit, and I/O are not all known",
        advice="predict from a run whose telemetry has them",
    )
