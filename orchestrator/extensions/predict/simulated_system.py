"""What is simulated: a cluster and its load, and about how fast a disk lets it be. Pure."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from orchestrator.design.latency_quantiles import mean_s
from orchestrator.extensions.predict.disks import SimulatedDisk

SLICES = 4  # parts in which a transaction uses CPU and reads
_LEAST = 1e-9  # stands for no demand, so that it can be divided by


class Stage(NamedTuple):
    """What a transaction asks for in the mean, of data, until so many have been done since the load
    began. With stages the cache warms up."""

    until: float  # transactions
    reads: float
    writes: float


@dataclass(frozen=True)
class System:
    """Cluster and load, which stay the same on every tier. Demands are means of one transaction."""

    sessions: int  # sessions of all load generators together
    node_s: float  # CPU time
    client_s: float
    node_cpus: float  # cores of each node
    client_cpus: float  # cores of all load generators
    commits: bool  # whether a transaction waits for the log
    # Rate of arrivals; None: each session begins the next transaction at once.
    rate_per_s: float | None = None
    other_s: float = 0.0  # CPU time of all else on a machine that all share
    machine_cpus: float = math.inf  # cores of that machine; infinite: they share none
    # The stages in their order; the last has no end.
    stages: tuple[Stage, ...] = (Stage(math.inf, 0.0, 0.0),)
    read_bytes: float = 8192.0
    write_bytes: float = 8192.0
    batch: float = 1.0  # pages that are written at once
    ahead: float = 0.0  # I/Os behind which a session's own write of a page waits
    read_ahead: float = 0.0  # I/Os behind which a read waits, beyond those simulated
    # Pages that a node's background writer takes in a round; 0: nothing is known of one.
    round_pages: float = 0.0
    log_bytes: float = 0.0  # bytes that a transaction writes to the log
    sync_s: float = 0.0  # time by which a sync is longer than simulated
    delay_s: float = 0.0  # delay by all else
    # Wait for other transactions, as a share of what one takes without it.
    waiting: float = 0.0
    nodes: int = 1
    disks: int = 1
    copies: int = 1  # copies of the log, of which a majority must be synced
    warmup_s: float = 6.0
    measure_s: float = 54.0  # length of the only part that counts


def events_per_s(system: System, disk: SimulatedDisk) -> float:
    """About: by what a transaction takes alone, CPU of the nodes, and the disk's caps."""
    stage = system.stages[-1]
    cpu_s = system.node_s or _LEAST
    rates = [
        system.rate_per_s or system.sessions / _alone_s(system, disk),
        system.nodes * system.node_cpus / cpu_s,
    ]
    data_bytes = stage.reads * system.read_bytes + stage.writes * system.write_bytes
    ios = stage.reads + stage.writes
    all_bytes = data_bytes + system.log_bytes
    if disk.log is None:
        rates += _at_caps(system, disk, ios, all_bytes)
    else:
        rates += _at_caps(system, disk, ios, data_bytes)
        rates += _at_caps(system, disk.log, 0.0, system.log_bytes)
    if disk.together is not None:
        machine = replace(disk, limits=disk.together)
        rates += _at_caps(system, machine, ios, all_bytes)
    # Each slice has CPU of client and node; then come the commit, the wait, and the next begin.
    return min(rates) * (2 * SLICES + 3 + stage.reads)


def _at_caps(
    system: System, disk: SimulatedDisk, ios: float, size: float
) -> Iterator[float]:
    """Transactions a second that each cap of such disks lets through. ios, size: of one."""
    for rate, need in zip(disk.rates(), (ios, size), strict=True):
        yield system.disks * rate.peak / (need or _LEAST)


def _alone_s(system: System, disk: SimulatedDisk) -> float:
    """What a transaction takes for which nothing queues."""
    reads = system.stages[-1].reads
    cpu_and_delay_s = system.node_s + system.client_s + system.delay_s
    alone_s = cpu_and_delay_s + reads * mean_s(disk.read)
    if system.commits:
        alone_s += mean_s(disk.with_log.write)
    return alone_s


class WaitsBehind(NamedTuple):
    """For how long reads, and a session's own writes of pages, wait for I/Os of others that are not
    simulated: a disk that lets more through is done with them sooner."""

    read_s: float
    write_s: float


def waits_behind(system: System, disk: SimulatedDisk) -> WaitsBehind:
    """What the I/Os ahead come to on this disk."""
    by_iops = next(disk.rates())
    return WaitsBehind(
        read_s=system.read_ahead / by_iops.peak, write_s=system.ahead / by_iops.peak
    )
