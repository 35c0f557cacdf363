"""Counters of the last minute of each node's disk, and how often it was at a cap of its tier."""

from collections import deque
from collections.abc import Sequence

import numpy as np

from orchestrator.analysis.telemetry.counters import counter_names, counter_series
from orchestrator.analysis.telemetry.counters.counter_series import Key, SampledSeries
from orchestrator.analysis.telemetry.use import disk_seconds
from orchestrator.counter_sources import data_devices
from orchestrator.model import Node, Sample
from orchestrator.run.progress.live_state import DiskAtCap
from orchestrator.tier import Tier

LAST_S = 60.0
METRICS = frozenset(
    [
        counter_names.READS,
        counter_names.WRITES,
        counter_names.READ_BYTES,
        counter_names.WRITTEN_BYTES,
    ]
)


class RecentDisks:
    """Disk counters of the last minute, of the nodes of a run. `tier`: whose caps count."""

    def __init__(self, tier: Tier) -> None:
        self._tier = tier
        self._nodes: list[str] = []
        self._samples: dict[Key, deque[tuple[float, float]]] = {}

    def watch(self, nodes: Sequence[Node]) -> None:
        """Takes these nodes in.

        A node with several disks is left out: its counters are the sum of disks, and the caps of
        the tier are those of each."""
        for node in nodes:
            devices = data_devices(node.sources)
            if node.role == "database" and len(devices) <= 1:
                self._nodes.append(node.name)

    def add(self, sample: Sample) -> None:
        """A sample of any metric; those of disks are kept for a minute."""
        if sample.metric not in METRICS:
            return
        series = self._samples.setdefault((sample.node, sample.metric), deque())
        series.append((sample.time_s, sample.value))
        # The newest is never dropped, so the loop ends before the series is empty.
        while series[0][0] < sample.time_s - LAST_S:
            series.popleft()

    def worst(self) -> DiskAtCap | None:
        """The disk that was at a cap in most of the seconds; None where that is not known."""
        if _has_credit_to_follow(self._tier):
            return None
        rates = counter_series.rates(self._series())
        worst: DiskAtCap | None = None
        for node in self._nodes:
            shares = disk_seconds.demand(self._tier, rates, node).shares()
            for cap, share in shares.items():
                at_cap_pct = 100 * float(np.mean(share >= disk_seconds.AT_CAP))
                if worst is None or at_cap_pct > worst.seconds_pct:
                    worst = DiskAtCap(node, cap, at_cap_pct)
        return worst

    def _series(self) -> dict[Key, SampledSeries]:
        series: dict[Key, SampledSeries] = {}
        for key, samples in list(self._samples.items()):
            pairs = np.array(samples, dtype=float)
            # The last minute counts, whichever phases it is of.
            without_phase = np.full(len(pairs), "", dtype=object)
            series[key] = SampledSeries(pairs[:, 0], pairs[:, 1], without_phase)
        return series


def _has_credit_to_follow(tier: Tier) -> bool:
    """Whether the cap depends on burst credit: on all that was used since the disk was attached."""
    burst = tier.limits.burst
    return burst is not None and burst.start_pct > 0 and not tier.disk.is_real
