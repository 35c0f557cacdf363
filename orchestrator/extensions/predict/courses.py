"""The course of a simulation: what happened when. It is the same on all disks that let the same
I/Os through at the same times: most of a catalog hold none back. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from orchestrator.extensions.predict.disks import (
    AskedIos,
    BucketKind,
    DiskCaps,
    SimulatedDisk,
)
from orchestrator.facts import BottleneckCause

FULL = 0.9  # a resource that is used more limits


@dataclass(frozen=True)
class Simulated:
    """What a simulation came to. latencies_s: each transaction's. sync_s: the mean of the log's."""

    throughput_per_s: float
    latencies_s: np.ndarray
    limit: BottleneckCause
    sync_s: float = 0.0


@dataclass(frozen=True)
class Course:
    """What happened in a simulation until `end_s`, all but the names of what limits it.

    lapse: seconds of the run in one of the simulation. cores_used: by cause, the share of CPU time.
    rate_per_s: of arrivals; infinite without. asked: of each disk, its I/Os. held_back: of each
    disk, the buckets for which some of them waited.
    """

    throughput_per_s: float
    latencies_s: np.ndarray
    sync_s: float
    end_s: float
    lapse: float
    cores_used: Mapping[BottleneckCause, float]
    rate_per_s: float
    asked: Sequence[AskedIos]
    held_back: Sequence[Sequence[BucketKind]]

    def is_the_same_on(self, disk: SimulatedDisk) -> bool:
        """Whether all of it would happen at the same times, if the disks were such ones with the
        same latencies. False too where only rounding tells."""
        return held_back(disk, self.lapse, self.asked) == self.held_back

    def on(self, disk: SimulatedDisk) -> Simulated:
        """The simulation on that disk: what limits it is what was used most, unless nothing was
        near its end."""
        used = dict(self.cores_used)
        for asked in self.asked:
            used |= DiskCaps(disk, self.lapse).used_shares(asked, self.end_s)
        used["load_bound"] = self.throughput_per_s / self.rate_per_s
        limit, share = max(used.items(), key=itemgetter(1))
        if share < FULL:
            limit = "latency_bound"
        return Simulated(self.throughput_per_s, self.latencies_s, limit, self.sync_s)


def held_back(
    disk: SimulatedDisk, lapse: float, asked_of_disks: Sequence[AskedIos]
) -> list[list[BucketKind]]:
    """For each of several such disks, the buckets for which some of its I/Os wait."""
    kinds = []
    for asked in asked_of_disks:
        kinds.append(DiskCaps(disk, lapse).that_hold_back(asked))
    return kinds
