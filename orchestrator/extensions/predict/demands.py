"""A run's counters → what a transaction asks of nodes, client and disk, and the delay that is left.

Demands are counters divided by transactions (utilisation law). The delay is what a quiet run took
longer than its simulation without one: a run of the same tier and workload with fewer sessions,
or the run itself, whichever says less. Pure.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from orchestrator import facts
from orchestrator.analysis import disks_of_nodes, results
from orchestrator.analysis.metric_values import value_of
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.counters import counter_names
from orchestrator.analysis.telemetry.counters.counter_series import Array
from orchestrator.analysis.telemetry.use import cap_binding, node_use
from orchestrator.analysis.telemetry.use.node_values import CAPS, Evidence, largest
from orchestrator.design import varied_workloads
from orchestrator.design.latency_quantiles import mean_s
from orchestrator.errors import UsageError
from orchestrator.extensions.predict.counted_load import (
    TRANSACTIONS,
    CountedLoad,
    asked_for,
    is_log_apart,
    log_use,
)
from orchestrator.extensions.predict.courses import Simulated
from orchestrator.extensions.predict.disks import SimulatedDisk, disk_of
from orchestrator.extensions.predict.sharing import simulate
from orchestrator.extensions.predict.simulated_system import Stage, System
from orchestrator.extensions.predict.simulation import ROUND_S
from orchestrator.model import Node, Record

CAPPED = 0.5  # share of the window from which a cap hides what else takes time
# Use of a cap of the log's own disk in the median second: then half of the seconds were at the cap.
LOG_AT_CAP_PCT = 95.0
BUSY = 0.8  # use of CPU from which queueing for it is not told apart from a delay
QUEUE = 128.0  # I/Os that a block device takes at once (its nr_requests), so no batch is larger
# Pages in a round of PostgreSQL's background writer (bgwriter_lru_maxpages).
ROUND_PAGES = 100.0
OWN = 0.5  # pages that a session writes out itself for a transaction: of fewer nothing is told
LEAST_READS = 100  # of fewer the mean tells nothing
_ROUNDS = 5  # rounds in which the delay is found
# Share of the time: nearer to all of it the wait would grow without bound.
_MOST_LOCKED = 0.9

# Figures of an hour that was observed: reads_per_s, writes_per_s, read_bytes_per_s and more.
Hour = Mapping[str, float]


# ------------------------------------------------------------------ the system of a run


def model(
    run: RunData, quiet: RunData | None, cpus: float | None
) -> tuple[System, SimulatedDisk]:
    """The measured system, ready to be simulated, and the disk on which it ran.

    `quiet`: a run of the same tier and workload with fewer sessions. `cpus`: of the machine, for
    nodes that do not say theirs. UsageError for what cannot be told from the run.
    """
    stage = varied_workloads.stage_left_out(run.record.workload)
    if stage:
        raise UsageError(
            f"{run.record.run.slug} was measured without {stage}, to see whether that was "
            "the limit",
            advice="predict from a run of the same campaign that has all stages",
        )
    disk = disk_of(run.record.profile.tier, run.record.gate)
    probes = _probes(run, quiet, cpus)
    loads = [asked_for(probe, cpus) for probe in probes]
    last = _system(loads[-1], disk)
    system_of_run = last
    if probes[-1] is not run:
        system_of_run = _system(asked_for(run, cpus), disk)
    measured = _queueing_as(last, system_of_run)
    measured = replace(measured, delay_s=math.inf, sync_s=math.inf)
    for probe, asked in zip(probes, loads, strict=True):
        system = _queueing_as(last, _system(asked, disk))
        below_caps = 1 - time_at_cap(probe, cpus)
        delayed = _with_delays(asked, system, disk, below_caps)
        measured = replace(
            measured,
            # The probe that says less is believed.
            delay_s=min(measured.delay_s, delayed.delay_s),
            sync_s=min(measured.sync_s, delayed.sync_s),
            # That of the last one stays: of a quiet run little stands before a read.
            read_ahead=delayed.read_ahead,
        )
    return measured, disk


def _queueing_as(probed: System, system: System) -> System:
    """The system with what stands before its writes in a probe."""
    # Writes at a cap wait for other I/Os too, so that such a run does not tell it.
    return replace(system, batch=probed.batch, ahead=probed.ahead)


def _probes(
    run: RunData, quiet: RunData | None, cpus: float | None
) -> Sequence[RunData]:
    """The runs that tell a delay, because no cap hides it; the run itself is the last of them."""
    probes = []
    if quiet:
        probes.append(quiet)
    # I/Os at a cap wait for the disk, and that hides what else takes time.
    capped = time_at_cap(run, cpus)
    if capped < CAPPED:
        probes.append(run)
    if not probes:
        raise _at_a_cap(run.record.run.slug, 100 * capped)
    return probes


def loaded(run: RunData, system: System, hour: Hour) -> System:
    """The system with an observed load: arrivals that write as often as the run's transactions did,
    syncs among it, with as many reads as there were.

    `hour`: reads, writes and bytes per second. UsageError if reads and writes are not known apart,
    or either of hour and run has no writes.
    """
    writes = system.stages[-1].writes
    # An observation counts one disk: that of the data, with the log where the run has it there.
    writes_and_syncs = writes
    if not is_log_apart(run.record):
        writes_and_syncs += log_use(run.record).syncs
    writes_per_s = hour["writes_per_s"]
    reads_per_s = hour["reads_per_s"]
    if math.isnan(reads_per_s) or not writes_per_s * writes_and_syncs:
        raise _no_mix(run.record.run.slug)
    # Writes tell how many transactions there were: reads depend on how warm the cache was.
    rate_per_s = writes_per_s / writes_and_syncs
    read_bytes = system.read_bytes
    if reads_per_s:
        read_bytes = hour["read_bytes_per_s"] / reads_per_s
    stage = Stage(math.inf, reads_per_s / rate_per_s, writes)
    return replace(
        system, rate_per_s=rate_per_s, stages=(stage,), read_bytes=read_bytes
    )


def time_at_cap(run: RunData, cpus: float | None) -> float:
    """The share of the window in which a cap of one of its disks held I/Os back."""
    most = 0.0
    for values in node_use.gather(run, cpus).values():
        most = max(most, time_at_caps(values))
    return most


def time_at_caps(values: Evidence) -> float:
    """The share of the window in which a node's disks were at a cap that held I/Os back."""
    most = 0.0
    for cap in CAPS:
        # Both disks may be at the cap of their machine, and neither at its own.
        share_pct = largest(
            values.caps.time_at_cap_pct(cap), values.caps.time_at_machine_pct(cap)
        )
        share = share_pct / 100
        if share and cap_binding.binds(cap, values):
            most = max(most, share)
    for log_share_pct in (
        values.caps.wal_iops_of_cap_pct,
        values.caps.wal_bandwidth_of_cap_pct,
    ):
        if (log_share_pct or 0.0) >= LOG_AT_CAP_PCT:
            most = max(most, CAPPED)
    return most


def _with_delays(
    asked: CountedLoad, system: System, disk: SimulatedDisk, below_caps: float
) -> System:
    """The system with what is left of measured times: of a transaction, a sync and a read.

    below_caps: the share of the window in which no cap held I/Os back.
    """
    # It is found in rounds, because a transaction's wait depends on how long others take.
    for _ in range(_ROUNDS):
        system = _nearer_to_measured(asked, system, disk, below_caps)
    return system


def _nearer_to_measured(
    asked: CountedLoad, system: System, disk: SimulatedDisk, below_caps: float
) -> System:
    """The system with delays that are longer by what its simulation lacks of measured times."""
    simulated = simulate(system, disk)
    left_s = _left_s(asked, system, simulated)
    # At a cap reads wait for the cap, so that only other seconds tell of I/Os of others.
    read_ahead = below_caps * _read_ahead(asked, system, disk, simulated, left_s)
    measured_sync_s = (
        results.database(asked.record).counter(facts.WAL_SYNC_AVG_S) or 0.0
    )
    return replace(
        system,
        delay_s=_delay_s(asked, system, disk, left_s, read_ahead),
        sync_s=max(0.0, system.sync_s + measured_sync_s - simulated.sync_s),
        read_ahead=read_ahead,
    )


def _left_s(asked: CountedLoad, system: System, simulated: Simulated) -> float:
    """What a measured transaction took beyond its simulation without a delay."""
    latency_s = value_of(asked.record, "latency_avg_s") or 0.0
    longer_s = latency_s - float(simulated.latencies_s.mean())
    # While a transaction is delayed, those that wait for it are delayed too.
    return system.delay_s + longer_s / (1 + system.waiting)


def _delay_s(
    asked: CountedLoad,
    system: System,
    disk: SimulatedDisk,
    left_s: float,
    read_ahead: float,
) -> float:
    """What is left of a transaction's time when its reads wait behind so many I/Os."""
    cores = asked.rate_per_s * system.node_s
    # Where the CPU is busy sessions queue for it, which is not told apart from a delay.
    if cores >= BUSY * system.nodes * system.node_cpus:
        return 0.0
    more_ahead = read_ahead - system.read_ahead
    reads_s = system.stages[-1].reads * more_ahead / _iops(disk)
    return max(0.0, left_s - reads_s)


def _read_ahead(
    asked: CountedLoad,
    system: System,
    disk: SimulatedDisk,
    simulated: Simulated,
    left_s: float,
) -> float:
    """I/Os behind which a read waits at most, by how much longer it took than in this simulation.

    left_s: how much longer the whole transaction took.
    """
    totals = asked.totals
    reads = system.stages[-1].reads
    iops = _iops(disk)
    if iops == math.inf or not reads or totals.reads < LEAST_READS:
        return 0.0
    longer_s = totals.read_s / totals.reads - simulated.read_s
    # Some reads are made ahead, and no transaction waits for the whole of them.
    longer_s = min(longer_s, left_s / reads)
    return min(max(0.0, system.read_ahead + longer_s * iops), QUEUE)


# ------------------------------------------------------------------ a run as a system


def _system(asked: CountedLoad, disk: SimulatedDisk) -> System:
    """Cluster and load of a run, with the demands of its transactions."""
    record = asked.record
    totals = asked.totals
    database = asked.database
    locked = asked.locked_share
    # The log's own counters tell its share of a disk's writes: the rest are pages.
    log_bytes = asked.log_on_data_disk.size_bytes * totals.transactions
    page_bytes = max(0.0, totals.written_bytes - log_bytes)
    is_durable = results.database(record).durable is not False
    return System(
        sessions=record.workload.threads,
        rate_per_s=_arrivals_per_s(asked),
        node_s=asked.cpu_s["database"],
        client_s=asked.cpu_s.get("client", 0.0),
        other_s=asked.cpu_s.get("disk", 0.0),
        node_cpus=asked.cpu_limits[database[0].name],
        client_cpus=_client_cpus(asked),
        machine_cpus=_machine_cpus(record.nodes),
        stages=tuple(_stages(asked.counted, asked.log_on_data_disk.syncs)),
        read_bytes=totals.read_bytes / totals.reads,
        write_bytes=page_bytes / asked.page_writes,
        batch=_batch(asked, disk),
        commits=record.workload.writes and is_durable,
        log_bytes=asked.log.size_bytes,
        ahead=_ahead(asked, disk),
        round_pages=_round_pages(asked),
        waiting=locked / (1 - min(locked, _MOST_LOCKED)),
        nodes=len(database),
        disks=len(disks_of_nodes.by_disk(database)),
        copies=min(record.profile.cluster.replication_factor, len(database)),
        warmup_s=_warmup_s(record),
        measure_s=_measure_s(record),
    )


def _arrivals_per_s(asked: CountedLoad) -> float | None:
    """Sessions that think arrive as often as they did, however fast the disk is."""
    if asked.record.workload.thinks:
        return asked.rate_per_s
    return results.generator(asked.record).arrival_rate_per_s


def _client_cpus(asked: CountedLoad) -> float:
    """Cores of all load generators together; one of each whose limit is not known."""
    cpus = 0.0
    for node in asked.record.nodes:
        if node.role == "client":
            cpus += asked.cpu_limits.get(node.name, 1.0)
    return cpus or 1.0


def _machine_cpus(nodes: Sequence[Node]) -> float:
    """The CPUs of the machine that all share; infinite if there is none, or its cores are not
    known."""
    hosts = [node.cpus for node in nodes if node.role == "host"]
    if len(hosts) != 1:
        return math.inf
    return hosts[0] or math.inf


def _batch(asked: CountedLoad, disk: SimulatedDisk) -> float:
    """Pages that are written at once."""
    iops = _iops(disk)
    if iops == math.inf:  # a disk without a cap holds none back, so it does not tell
        return 1.0
    totals = asked.totals
    syncs = asked.log_on_data_disk.syncs * totals.transactions
    sync_s = results.database(asked.record).counter(facts.WAL_SYNC_AVG_S) or 0.0
    write_s = max(0.0, totals.write_s - syncs * sync_s) / asked.page_writes
    # A write waits for those before it in its batch, which are half of it in the mean.
    before = iops * (write_s - mean_s(disk.write))
    return min(max(1.0, 2 * before), QUEUE)


def _ahead(asked: CountedLoad, disk: SimulatedDisk) -> float:
    """I/Os behind which a session's own write of a page waits, by how much longer it takes."""
    iops = _iops(disk)
    if iops == math.inf:
        return 0.0
    longer_s = max(0.0, _session_write_s(asked) - mean_s(disk.write))
    return min(longer_s * iops, QUEUE)


def _session_write_s(asked: CountedLoad) -> float:
    """How long a session takes to write a page itself: its time in I/O without that of reads, by
    the pages that the background writer, with all its rounds, does not get to."""
    totals = asked.totals
    pages = asked.page_writes / totals.transactions
    rounds_per_s = ROUND_PAGES / ROUND_S
    own_pages = pages - rounds_per_s * len(asked.database) / asked.rate_per_s
    latency_s = value_of(asked.record, "latency_avg_s") or 0.0
    # The share of sessions that were seen in I/O is that of a transaction's time (once a second).
    in_io_s = asked.reading_share * latency_s
    writing_s = in_io_s - totals.read_s / totals.transactions
    return writing_s / max(own_pages, OWN)


def _round_pages(asked: CountedLoad) -> float:
    """How many pages a background writer writes in a round; 0 if nothing is known of one."""
    # Only sessions of PostgreSQL are seen in I/O, and its manual says how its writer works.
    if asked.seen.load.seen_reading_pct is None:
        return 0.0
    return ROUND_PAGES


def _iops(disk: SimulatedDisk) -> float:
    by_iops = next(disk.rates())
    return by_iops.base


def _warmup_s(record: Record) -> float:
    phase = record.phase("warm-up")
    if phase:
        return phase.duration_s
    return 0.0


def _measure_s(record: Record) -> float:
    phase = record.phase("measure")
    if phase:
        return phase.duration_s
    return record.workload.measure_s


def _stages(counted: Mapping[str, Array], syncs: float) -> Iterator[Stage]:
    """Reads and writes of a transaction by how many were done before. counted:
    `CountedLoad.counted`."""
    done = counted[TRANSACTIONS]
    # Stages go by transactions and not by time. A tier that does a tenth of them reads what the
    # fast one read in its first seconds.
    ends = [0, *np.flatnonzero(np.diff(done) >= 1) + 1]
    # The last quarter's mean stands for all that comes after the samples.
    borders = [*ends[: len(ends) * 3 // 4 + 1], ends[-1]]
    last = len(borders) - 1
    for number in range(1, len(borders)):
        begin = borders[number - 1]
        end = borders[number]
        transactions = max(_between(done, begin, end), 1.0)
        reads = _between(counted[counter_names.READS], begin, end)
        writes = _between(counted[counter_names.WRITES], begin, end)
        until = math.inf
        if number < last:
            until = float(done[end])
        page_writes = max(0.0, writes / transactions - syncs)
        yield Stage(until, reads / transactions, page_writes)


def _between(counted: Array, begin: int, end: int) -> float:
    """How much was counted from one second to another."""
    # Python's own numbers, because each transaction that is simulated calculates with them.
    return float(counted[end] - counted[begin])


# ------------------------------------------------------------------ what is refused


def _at_a_cap(run: str, at_cap_pct: float) -> UsageError:
    return UsageError(
        f"{run} was at a cap of its disk for {at_cap_pct:.0f} % of its time. That hides "
        "other delays",
        advice=(
            "predict from a run on the fastest tier. Or measure one session "
            "too, which no cap holds back: the same command with --probe"
        ),
    )


def _no_mix(run: str) -> UsageError:
    return UsageError(
        "the observation does not tell reads and writes apart, or has no "
        f"writes; or {run} wrote nothing",
        advice=(
            "observe with node_exporter, iostat or a CSV, because sar counts "
            "reads and writes together. Advise from a run whose workload writes"
        ),
    )
