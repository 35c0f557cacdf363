"""A run's counters → what a transaction asks of nodes, client and disk, and the delay that is left.

Demands are counters over the window divided by its transactions (utilisation law). The delay is
what a quiet run took longer than its simulation without one: a probe, which is a run of the same
tier and workload with fewer sessions, else the run itself. Pure.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

from orchestrator.analysis import results
from orchestrator.analysis.figures.transactions import DELIVERY, NEW_ORDER
from orchestrator.analysis.prediction import simulation
from orchestrator.analysis.prediction.simulation import (
    ALL,
    SimulatedDisk,
    System,
    TransactionDemand,
)
from orchestrator.analysis.results import RunData, value_of
from orchestrator.analysis.telemetry import counters, machines, resources
from orchestrator.analysis.telemetry.disk_demand import AT_CAP
from orchestrator.errors import UsageError
from orchestrator.facts import WAL_SYNC_AVG_S, WAL_SYNCS
from orchestrator.model import Record
from orchestrator.planning.latency_quantiles import mean_s
from orchestrator.tier import Gate, Quantiles, Tier

READ_ONLY = ("order_status", "stock_level")
# Mean seconds of keying and thinking before a transaction (TPC-C 5.11, clause 5.2.5.7).
THINK_S = {
    NEW_ORDER: 30.0,
    "payment": 15.0,
    "order_status": 12.0,
    DELIVERY: 7.0,
    "stock_level": 7.0,
}
TERMINALS = 10  # of a warehouse
BUSY = 0.8  # of CPU: sessions queue for it, and how long is not told apart from a delay
QUIET = "predict from a run on the fastest tier, or measure a quiet one too: --sweep threads=1,16"
_ROUNDS = 5  # in which the delay is found


def model(run: RunData, probe: RunData | None, cpus: float | None) -> tuple[System, SimulatedDisk]:
    """What was measured, so that it can be simulated, and the disk on which it was. `cpus`: of the
    machine, for nodes that do not say theirs. UsageError for what cannot be told from the run."""
    if probe is None and at_cap(run):
        what = f"{run.record.run.slug} was at a cap of its disk, which hides what else takes time"
        raise UsageError(what, advice=QUIET)
    loaded, quiet = _system(run, cpus), (probe or run).record
    disk = disk_of(run.record.profile.tier, run.record.gate)
    sync_s = results.database(quiet).counter(WAL_SYNC_AVG_S) or 0.0
    log_writes = max(1.0, sync_s / mean_s(disk.write))
    alone = replace(_system(probe, cpus) if probe else loaded, log_writes=log_writes)
    delay_s, latency_s = 0.0, value_of(quiet, "latency_avg_s") or 0.0
    used = (value_of(quiet, "throughput_per_s") or 0.0) * alone.node_s
    is_busy = used >= BUSY * alone.nodes * alone.node_cpus
    for _ in range(0 if is_busy else _ROUNDS):
        simulated = simulation.simulate(replace(alone, delay_s=delay_s), disk)
        delay_s = max(0.0, delay_s + latency_s - (simulated.value("latency_avg_s") or 0.0))
    return replace(loaded, log_writes=log_writes, delay_s=delay_s), disk


def at_cap(run: RunData) -> bool:
    """Whether one of its disks was, in the median second."""
    names = "iops_of_cap_pct", "bandwidth_of_cap_pct"
    of_disks = run.telemetry.against_caps.values()
    return any(own.get(name, 0.0) >= 100 * AT_CAP for own in of_disks for name in names)


def _system(run: RunData, cpus: float | None) -> System:
    """Cluster and load of a run, with the demands of its transactions."""
    record, growth = run.record, run.telemetry.growth
    rate = value_of(record, "throughput_per_s") or math.inf
    workload, limits = record.workload, machines.cpu_limits(record.nodes, cpus)
    database = [node for node in record.nodes if node.role == "database"]
    clients = [node.name for node in record.nodes if node.role == "client"]
    used = {n.name: growth.per_s(n.name, counters.CPU_SECONDS) for n in record.nodes if growth}
    each = {m.metric: m.value / rate for m in resources.telemetry_of(run) if m.scope == ALL}
    known = all(used.get(node.name) and node.name in limits for node in database)
    if not (database and known and "disk_write_bytes_per_s" in each and rate < math.inf):
        what = f"{record.run.slug}: transactions, CPU, its limit, and I/O are not all known"
        raise UsageError(what, advice="predict from a run whose telemetry has them")
    if any(node.wal_device for node in database):
        raise UsageError(f"{record.run.slug}: a log on a disk of its own is not simulated")
    begin, measure = record.phase("warm-up"), record.phase("measure")
    duration_s = measure.end_s - begin.start_s if begin and measure else 60.0
    before, after = results.database_before(record), results.database(record)
    commits, *of_log = (
        max(0.0, (after.counter(name) or 0.0) - (before.counter(name) or 0.0))
        for name in ("xact_commit", WAL_SYNCS, "wal_bytes")
    )
    waits = workload.writes and after.durable is not False  # commits, for the log
    syncs, log_bytes = (waits * n / (commits or rate * duration_s) for n in of_log)
    reads, writes = each["disk_read_iops"], max(0.0, each["disk_write_iops"] - syncs)
    written = max(0.0, each["disk_write_bytes_per_s"] - log_bytes)
    warehouses = int(workload.dataset.parameters.get("warehouses", 0))
    return System(
        types=_types(record, waits),
        sessions=TERMINALS * warehouses if workload.thinks else workload.threads,
        connections=workload.threads,
        node_s=sum(used[node.name] or 0.0 for node in database) / rate,
        client_s=sum(used.get(name) or 0.0 for name in clients) / rate,
        node_cpus=limits[database[0].name],
        client_cpus=sum(limits.get(name, 1.0) for name in clients) or 1.0,
        reads=reads,
        read_bytes=each["disk_read_bytes_per_s"] / reads if reads else 0.0,
        writes=writes,
        write_bytes=written / writes if writes else 0.0,
        log_bytes=log_bytes,
        rate_per_s=results.generator(record).arrival_rate_per_s,
        nodes=len(database),
        disks=len(results.by_disk(database)),
        copies=min(record.profile.cluster.replication_factor, len(database)),
        duration_s=duration_s,
    )


def _types(record: Record, waits: bool) -> tuple[TransactionDemand, ...]:
    """With the shares that were measured. What they ask for is not counted by type: it is taken to
    be as their mean latencies are to that of all."""
    counts = {m.scope: m.value for m in record.measurements if m.metric == "transactions"}
    every, average_s = counts.pop(ALL, 0.0), value_of(record, "latency_avg_s") or 1.0
    kinds = []
    for name in (name for name, count in counts.items() if count):
        weight = (value_of(record, "latency_avg_s", name) or average_s) / average_s
        think_s = THINK_S.get(name, 0.0) if record.workload.thinks else 0.0
        commits = waits and name not in READ_ONLY
        kinds.append(TransactionDemand(name, counts[name] / every, weight, commits, think_s))
    return tuple(kinds) or (TransactionDemand(ALL, commits=waits),)


def disk_of(tier: Tier, gate: Gate | None = None) -> SimulatedDisk:
    """A tier's disk: its latencies as modelled, else as its gate measured them, else as declared.
    UsageError if nothing says how long an I/O takes."""
    measured = {str(check.quantity): check.measured for check in (gate.checks if gate else ())}
    if drawn := tier.latency.model:
        return SimulatedDisk(tier.limits, drawn.read, drawn.write)
    tables = []
    for way, declared_s in (("read", tier.latency.read_s), ("write", tier.latency.write_s)):
        if not (median_s := measured.get(f"latency_{way}") or declared_s):
            what = f"nothing says how long a {way} of {tier.title or tier.name} takes"
            raise UsageError(what, advice=f"give its {way}_latency, or measure it with a gate")
        tables.append(log_normal(median_s, measured.get(f"latency_p99_{way}") or median_s))
    return SimulatedDisk(tier.limits, *tables)


def log_normal(p50_s: float, p99_s: float) -> Quantiles:
    """The distribution with this median and p99, as a table; equal ones are a constant."""
    normal = NormalDist(math.log(p50_s), math.log(max(p99_s / p50_s, 1.0001)) / 2.326)
    inner = [(step / 200, math.exp(normal.inv_cdf(step / 200))) for step in range(1, 200)]
    return ((0.0, inner[0][1]), *inner, (1.0, inner[-1][1]))
