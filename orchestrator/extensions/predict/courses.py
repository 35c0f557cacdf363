"""The course of a simulation: what happened when. It is the same on all disks that let the same
I/Os through at the same times: most of a catalog hold none back. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from orchestrator.extensions.predict.disks import (
    AskedIos,
    BucketKind,
    DiskCaps,
    SimulatedDisk,
)
from orchestrator.facts import BottleneckCause
from orchestrator.tier import Limits

FULL = 0.9  # a resource that is used more limits


@dataclass(frozen=True)
class Simulated:
    """What a simulation came to. latencies_s: each transaction's. sync_s, read_s: the mean of the
    log's syncs, and of reads; 0 if there was none."""

    throughput_per_s: float
    latencies_s: np.ndarray
    limit: BottleneckCause
    sync_s: float = 0.0
    read_s: float = 0.0


class AskedOfDisks(NamedTuple):
    """What the disks of all nodes were asked for. logs: of disks that hold only a log, if any."""

    data: Sequence[AskedIos]
    logs: Sequence[AskedIos]


@dataclass(frozen=True)
class Course:
    """What happened in a simulation until `end_s`, all but the names of what limits it.

    lapse: seconds of the run in one of the simulation. cores_used: by cause, the share of CPU time.
    rate_per_s: of arrivals; infinite without. held_back: of each disk and each machine, the buckets
    for which some I/Os waited.
    """

    throughput_per_s: float
    latencies_s: np.ndarray
    sync_s: float
    read_s: float
    end_s: float
    lapse: float
    cores_used: Mapping[BottleneckCause, float]
    rate_per_s: float
    asked: AskedOfDisks
    held_back: Sequence[Sequence[BucketKind]]

    def is_the_same_on(self, disk: SimulatedDisk) -> bool:
        """Whether all of it would happen at the same times, if the disks were such ones with the
        same latencies. False too where only rounding tells."""
        return held_back(disk, self.lapse, self.asked) == self.held_back

    def on(self, disk: SimulatedDisk) -> Simulated:
        """The simulation on that disk: what limits it is what was used most, unless nothing was
        near its end."""
        used = dict(self.cores_used)
        for asked in self.asked.data:
            used |= DiskCaps(disk, self.lapse).used_shares(asked, self.end_s)
        for asked in self.asked.logs:
            caps = DiskCaps(disk.with_log, self.lapse)
            used["wal_disk_bound"] = max(caps.used_shares(asked, self.end_s).values())
        if disk.together is not None:
            used["vm_cap"] = self._machine_used(disk, disk.together)
        # Arrivals at a rate that all are served limit themselves; without one this is 0.
        used["load_bound"] = self.throughput_per_s / self.rate_per_s
        limit, share = max(used.items(), key=itemgetter(1))
        if share < FULL:
            limit = "latency_bound"
        return Simulated(
            self.throughput_per_s, self.latencies_s, limit, self.sync_s, self.read_s
        )

    def _machine_used(self, disk: SimulatedDisk, together: Limits) -> float:
        """The most that a machine's limits were used, by the disks of data and of log together."""
        # Both disks pass the machine's own limits, so their shares of these add up.
        caps = DiskCaps(replace(disk, limits=together), self.lapse)
        most = 0.0
        for data, log in zip(self.asked.data, self.asked.logs, strict=True):
            by_data = caps.used_shares(data, self.end_s)
            by_log = caps.used_shares(log, self.end_s)
            for cause, share in by_data.items():
                most = max(most, share + by_log[cause])
        return most


def held_back(
    disk: SimulatedDisk, lapse: float, asked: AskedOfDisks
) -> list[list[BucketKind]]:
    """For each of several such disks, and each of their machines, the buckets for which some I/Os
    wait."""
    kinds = []
    for ios in asked.data:
        kinds.append(DiskCaps(disk, lapse).that_hold_back(ios))
    for ios in asked.logs:
        kinds.append(DiskCaps(disk.with_log, lapse).that_hold_back(ios))
    if disk.together is not None:
        kinds += _held_back_by_machines(disk, disk.together, lapse, asked)
    else:
        kinds += [[] for _ in asked.logs]
    return kinds


def _held_back_by_machines(
    disk: SimulatedDisk, together: Limits, lapse: float, asked: AskedOfDisks
) -> list[list[BucketKind]]:
    caps = DiskCaps(replace(disk, limits=together), lapse)
    kinds = []
    for data, log in zip(asked.data, asked.logs, strict=True):
        kinds.append(caps.that_hold_back(_in_order(data, log)))
    return kinds


def _in_order(data: AskedIos, log: AskedIos) -> AskedIos:
    """The I/Os of both disks as their machine gets them. A transaction asks for its pages before it
    commits, so at one moment the log comes second."""
    times_s = np.concatenate([data.times_s, log.times_s])
    sizes = np.concatenate([data.sizes, log.sizes])
    order = np.argsort(times_s, kind="stable")
    return AskedIos(times_s[order], sizes[order])
