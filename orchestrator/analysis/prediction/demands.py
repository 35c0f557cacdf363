"""A run's counters → what a transaction asks of nodes, client and disk, and the delay that is left.

Demands are counters divided by transactions (utilisation law). The delay is what a quiet run took
longer than its simulation without one: a run of the same tier and workload with fewer sessions,
or the run itself, whichever says less. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from orchestrator import facts, units
from orchestrator.analysis import results
from orchestrator.analysis.prediction import simulation
from orchestrator.analysis.results import RunData, value_of
from orchestrator.analysis.telemetry import counters, disk_demand, machines, resources
from orchestrator.errors import UsageError
from orchestrator.model import Record
from orchestrator.planning import factors
from orchestrator.planning.latency_quantiles import mean_s
from orchestrator.tier import Gate, Quantiles, Tier

COUNTED = (
    counters.READS, counters.WRITES, counters.READ_BYTES, counters.WRITTEN_BYTES,
    counters.WRITE_SECONDS, counters.READ_SECONDS,
)  # fmt: skip
CAPPED = 0.5  # of the window: from there on a cap hides what else takes time
BUSY = 0.8  # of CPU: how long sessions queue for it is not told apart from a delay
QUEUE = 128.0  # I/Os that a block device takes at once (its nr_requests), so no batch is larger
ROUND_PAGES = 100.0  # of PostgreSQL's background writer (bgwriter_lru_maxpages)
OWN = 0.5  # pages that a session writes out itself for a transaction: of fewer nothing is told
Hour = Mapping[str, float]
_ROUNDS = 5  # in which the delay is found


def model(
    run: RunData, quiet: RunData | None, cpus: float | None
) -> tuple[simulation.System, simulation.SimulatedDisk]:
    """What was measured, so that it can be simulated, and the disk on which it was. `cpus`: of the
    machine, for nodes that do not say theirs. UsageError for what cannot be told from the run."""
    stage = factors.lacks(run.record.workload)
    if stage:
        raise _lacks_a_stage(run.record.run.slug, stage)
    capped = time_at_cap(run, cpus)
    probes = [*filter(None, [quiet]), *([run] if capped < CAPPED else [])]
    if not probes:
        raise _at_a_cap(run.record.run.slug, 100 * capped)
    disk = disk_of(run.record.profile.tier, run.record.gate)
    systems = [_system(probe, disk, cpus) for probe in probes]
    # At a cap writes wait for other I/Os too.
    behind = {name: getattr(systems[-1], name) for name in ("batch", "ahead")}
    left = [
        _left_s(probe.record, replace(system, **behind), disk)
        for probe, system in zip(probes, systems, strict=True)
    ]
    delay_s, sync_s = map(min, zip(*left, strict=True))
    return replace(
        _system(run, disk, cpus), delay_s=delay_s, sync_s=sync_s, **behind
    ), disk


def loaded(run: RunData, system: simulation.System, hour: Hour) -> simulation.System:
    """The system with an observed load: arrivals that write as often as the run's transactions did,
    syncs among it, with as many reads as there were. hour: reads, writes and bytes per second.
    UsageError if reads and writes are not known apart, or either of hour and run has no writes."""
    _, _, writes = system.stages[-1]
    syncs, _ = _of_log(run.record)
    wrote = hour["writes_per_s"]
    asked_reads = hour["reads_per_s"]
    if math.isnan(asked_reads) or not wrote * (writes + syncs):
        raise _no_mix(run.record.run.slug)
    rate = wrote / (writes + syncs)
    if asked_reads:
        read_bytes = hour["read_bytes_per_s"] / asked_reads
    else:
        read_bytes = system.read_bytes
    stages = ((math.inf, asked_reads / rate, writes),)
    return replace(system, rate_per_s=rate, stages=stages, read_bytes=read_bytes)


def _left_s(
    record: Record, system: simulation.System, disk: simulation.SimulatedDisk
) -> tuple[float, float]:
    """What transactions and syncs took longer than simulated. No delay where the CPU was busy."""
    names = "throughput_per_s", "latency_avg_s"
    rate, took_s = (value_of(record, name) or 0.0 for name in names)
    synced_s = results.database(record).counter(facts.WAL_SYNC_AVG_S) or 0.0
    busy = rate * system.node_s >= BUSY * system.nodes * system.node_cpus
    for _ in range(_ROUNDS):
        simulated = simulation.simulate(system, disk)
        longer_s = (took_s - float(simulated.latencies_s.mean())) / (1 + system.waiting)
        if busy:
            delay_s = 0.0
        else:
            delay_s = max(0.0, system.delay_s + longer_s)
        sync_s = max(0.0, system.sync_s + synced_s - simulated.sync_s)
        system = replace(system, delay_s=delay_s, sync_s=sync_s)
    return system.delay_s, system.sync_s


def time_at_cap(run: RunData, cpus: float | None) -> float:
    """The share of the window in which a cap of one of its disks held I/Os back."""
    shares = [0.0]
    tier = run.record.profile.tier
    for values in resources.gather(run, cpus).values():
        for cap in ("iops", "bandwidth"):
            share = values.get(f"time_at_{cap}_cap_pct", 0.0) / 100
            if share and disk_demand.binds(cap, values, tier):
                shares += [share]
    return max(shares)


def _system(
    run: RunData, disk: simulation.SimulatedDisk, cpus: float | None
) -> simulation.System:
    """Cluster and load of a run, with the demands of its transactions."""
    record = run.record
    growth = run.telemetry.growth
    rate = value_of(record, "throughput_per_s")
    limits = machines.cpu_limits(record.nodes, cpus)
    by_role = units.gathered((node.role, node.name) for node in record.nodes)
    database = [node for node in record.nodes if node.role == "database"]
    used_s = {
        role: sum(growth.per_s(name, counters.CPU_SECONDS) or 0.0 for name in names)
        / rate
        for role, names in by_role.items()
        if growth and rate
    }
    total = counted(run, COUNTED)
    grown = total - total[:1]
    known = grown.shape[0] > 1 and all(node.name in limits for node in database)
    if not (rate and used_s.get("database") and known):
        what = f"{record.run.slug}: transactions, CPU, its limit, and I/O are not all known"
        raise UsageError(what, advice="predict from a run whose telemetry has them")
    if any(node.wal_device for node in database):
        raise UsageError(
            f"{record.run.slug}: a log on a disk of its own is not simulated"
        )
    syncs, log_bytes = _of_log(record)
    done, reads, ios, read_bytes, written, waited_s, read_s = grown[-1] + 1e-9
    writes = max(ios / 100, ios - syncs * done)  # a small difference of large numbers
    _, iops, _, _ = next(disk.rates())
    sync_s = results.database(record).counter(facts.WAL_SYNC_AVG_S) or 0.0
    write_s = max(0.0, waited_s - syncs * done * sync_s) / writes
    ahead = 0.0
    if iops < math.inf:
        ahead = iops * (write_s - mean_s(disk.write))
    seen = resources.gather(run, cpus).get(database[0].name, {})
    in_io, locked = (
        seen.get(f"seen_{n}_pct", 0.0) / 100 for n in ("reading", "locked")
    )
    own = writes / done - ROUND_PAGES / simulation.ROUND_S * len(database) / rate
    own_s = (in_io * (value_of(record, "latency_avg_s") or 0.0) - read_s / done) / max(
        own, OWN
    )
    hosts = [node.cpus for node in record.nodes if node.role == "host"]
    warmup = record.phase("warm-up")
    measure = record.phase("measure")
    return simulation.System(
        sessions=record.workload.threads,
        rate_per_s=rate
        if record.workload.thinks
        else results.generator(record).arrival_rate_per_s,
        node_s=used_s["database"],
        client_s=used_s.get("client", 0.0),
        other_s=used_s.get("disk", 0.0),
        node_cpus=limits[database[0].name],
        client_cpus=sum(limits.get(name, 1.0) for name in by_role.get("client", ()))
        or 1.0,
        machine_cpus=(hosts[0] if len(hosts) == 1 else None) or math.inf,
        stages=tuple(_stages(grown, syncs)),
        read_bytes=read_bytes / reads,
        write_bytes=max(0.0, written - log_bytes * done) / writes,
        batch=min(max(1.0, 2 * ahead), QUEUE),
        commits=record.workload.writes
        and results.database(record).durable is not False,
        log_bytes=log_bytes,
        ahead=min(max(0.0, own_s - mean_s(disk.write)) * iops, QUEUE)
        if iops < math.inf
        else 0.0,
        round_pages=ROUND_PAGES if "seen_reading_pct" in seen else 0.0,
        waiting=locked / (1 - min(locked, 0.9)),
        nodes=len(database),
        disks=len(results.by_disk(database)),
        copies=min(record.profile.cluster.replication_factor, len(database)),
        warmup_s=warmup.duration_s if warmup else 0.0,
        measure_s=measure.duration_s if measure else record.workload.measure_s,
    )


def _of_log(record: Record) -> tuple[float, ...]:
    """Syncs and bytes of the log for each commit, from before the warm-up on."""
    before = results.database_before(record)
    after = results.database(record)
    commits, *of_log = (
        max(0.0, (after.counter(name) or 0.0) - (before.counter(name) or 0.0))
        for name in ("xact_commit", facts.WAL_SYNCS, "wal_bytes")
    )
    return tuple(n / commits if commits else 0.0 for n in of_log)


def counted(run: RunData, metrics: Sequence[str]) -> np.ndarray:
    """Rows, one a second from the begin of the warm-up on: transactions since it began, and what
    was sampled of all database nodes together. No row without intervals."""
    nodes = {node.name for node in run.record.nodes if node.role == "database"}
    begins_s = run.intervals["time_s"].to_numpy()
    times_s = np.concatenate([begins_s, begins_s[-1:] + 1])
    done = np.concatenate([[0.0], np.cumsum(run.intervals["throughput_per_s"])])
    table = np.zeros((len(times_s), 1 + len(metrics)))
    table[:, 0] = done[: len(times_s)]
    for samples in run.sampled.by_nodes():
        own = samples[samples["node"].isin(nodes) & samples["metric"].isin(metrics)]
        for (_, name), of in own.groupby(["node", "metric"], observed=True):
            values = np.interp(times_s, of["time_s"], of["value"])
            table[:, 1 + metrics.index(str(name))] += values
    return table


def _stages(grown: np.ndarray, syncs: float) -> Iterator[simulation.Stage]:
    """Reads and writes of a transaction by how many were done before. The last quarter's mean
    stands for what comes after."""
    rows = grown[[0, *np.flatnonzero(np.diff(grown[:, 0]) >= 1) + 1]]
    rows = np.vstack([rows[: len(rows) * 3 // 4 + 1], rows[-1:]])
    for number in range(1, len(rows)):
        done, reads, writes, *_ = rows[number] - rows[number - 1]
        if number == len(rows) - 1:
            until = math.inf
        else:
            until = float(rows[number][0])
        yield until, reads / max(done, 1.0), max(0.0, writes / max(done, 1.0) - syncs)


def disk_of(tier: Tier, gate: Gate | None = None) -> simulation.SimulatedDisk:
    """A tier's disk: its latencies as modelled, else as its gate measured them, else as declared.
    UsageError if nothing says how long an I/O takes."""
    measured = {
        str(check.quantity): check.measured for check in (gate.checks if gate else ())
    }
    drawn = tier.latency.model
    if drawn:
        return simulation.SimulatedDisk(tier.limits, drawn.read, drawn.write)
    tables = []
    for way, declared_s in (
        ("read", tier.latency.read_s),
        ("write", tier.latency.write_s),
    ):
        median_s = measured.get(f"latency_{way}") or declared_s
        if not median_s:
            what = f"nothing says how long a {way} of {tier.title or tier.name} takes"
            raise UsageError(
                what, advice=f"give its {way}_latency, or measure it with a gate"
            )
        tables.append(
            log_normal(median_s, measured.get(f"latency_p99_{way}") or median_s)
        )
    return simulation.SimulatedDisk(tier.limits, *tables)


def log_normal(p50_s: float, p99_s: float) -> Quantiles:
    """The distribution with this median and p99, as a table; equal ones are a constant."""
    normal = NormalDist(math.log(p50_s), math.log(max(p99_s / p50_s, 1.0001)) / 2.326)
    inner = [
        (step / 200, math.exp(normal.inv_cdf(step / 200))) for step in range(1, 200)
    ]
    return ((0.0, inner[0][1]), *inner, (1.0, inner[-1][1]))


# ------------------------------------------------------------------ what is refused


def _lacks_a_stage(run: str, stage: str) -> UsageError:
    return UsageError(
        f"{run} was measured without {stage}, to see whether that was the limit",
        advice="predict from a run of the same campaign that has all stages",
    )


def _at_a_cap(run: str, at_cap_pct: float) -> UsageError:
    return UsageError(
        f"{run} was at a cap of its disk for {at_cap_pct:.0f} % of its time, "
        "which hides what else takes it",
        advice="predict from a run on the fastest tier, or measure one session too, at which "
        "no cap holds back: the same command with --probe",
    )


def _no_mix(run: str) -> UsageError:
    return UsageError(
        "what was observed does not tell reads and writes apart, or has no writes, "
        f"or {run} wrote nothing",
        advice="observe with node_exporter, iostat or a CSV, because sar counts reads and "
        "writes together; and advise from a run whose workload writes",
    )
