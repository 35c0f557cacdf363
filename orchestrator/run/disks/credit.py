"""The burst credit of real disks from run to run, estimated from gates and /proc/diskstats.

No provider tells a guest how full the bucket of its disk is. What can be said are bounds: at
first everything between empty and full; each second above the base rate takes away what it
used of it, each second below adds what it left, within the bucket's size. So a disk that was
idle for long is known to be full, and one that was loaded for long to be empty.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from orchestrator.analysis import disks_of_nodes
from orchestrator.analysis.disks_of_nodes import PlacedDisk
from orchestrator.kernel import block_devices
from orchestrator.model import Node, Sample
from orchestrator.powers import World
from orchestrator.run.disks.credit_buckets import (
    Buckets,
    Seen,
    by_gate,
    recorded,
    since,
    unknown,
)
from orchestrator.tier import Gate, Tier

_IOS = ("disk_reads_total", "disk_writes_total")
_BYTES = ("disk_read_bytes_total", "disk_written_bytes_total")
COUNTERS = (*_IOS, *_BYTES)


class _CreditKnown(NamedTuple):
    """What is known of a disk, and its counters since when its buckets are as they are."""

    buckets: Buckets
    since: Seen | None


class BurstCredit:
    """What is known of the credit of each real disk of a campaign, by its device."""

    def __init__(self, world: World) -> None:
        self._world = world
        # Counters at the last gate.
        self._counters: dict[PlacedDisk, Seen] = {}
        # Tier → its last gate.
        self._gates: dict[str, Gate] = {}
        # Tier and disk → what is known.
        self._disks: dict[tuple[str, PlacedDisk], _CreditKnown] = {}

    def checked(self, tier: Tier, gate: Gate) -> None:
        """A gate was taken just now."""
        if not unknown(tier):
            return
        self._gates[tier.name] = gate
        self._read_counters()
        for key, credit in self._disks.items():
            tier_name, disk = key
            if tier_name == tier.name:
                buckets = by_gate(credit.buckets, gate, disk.place, disk.device)
                now = self._counters.get(disk)
                self._disks[key] = _CreditKnown(buckets, now)

    def _read_counters(self) -> None:
        for machine in self._world.platform.machines():
            # A machine that does not answer leaves its disks at the bounds they had.
            with suppress(OSError):
                machine.refresh()
                now_s = self._world.clock.now()
                for name, row in block_devices.counters_by_device(machine).items():
                    disk = PlacedDisk(machine.name, name)
                    self._counters[disk] = _seen(now_s, row)

    def of_run(
        self,
        tier: Tier,
        nodes: Sequence[Node],
        samples: Iterable[Sample],
        start_s: float,
    ) -> dict[str, dict[str, Any]]:
        """Database node → its disk's credit when the window began at `start_s`.

        By what `samples` of `COUNTERS` and earlier runs have shown. Empty if the tier is no
        real disk that bursts.
        """
        buckets_by_node: dict[str, dict[str, Any]] = {}
        if not unknown(tier):
            return buckets_by_node
        # Nodes on one disk share its bucket and its counters, so one of them tells all.
        series = _series(samples)
        for disk, nodes_on_disk in disks_of_nodes.by_disk(nodes).items():
            credit = self._before_run(tier, disk)
            at_start = credit.buckets
            for now in series.get(nodes_on_disk[0].name, ()):
                buckets = since(credit.buckets, credit.since, now)
                credit = _CreditKnown(buckets, now)
                # The credit with which the window began counts, not what it left.
                if now.time_s <= start_s:
                    at_start = buckets
            self._disks[tier.name, disk] = credit
            for node in nodes_on_disk:
                buckets_by_node[node.name] = recorded(at_start)
        return buckets_by_node

    def _before_run(self, tier: Tier, disk: PlacedDisk) -> _CreditKnown:
        """What is known of a disk since the run before this one, or else since the gate."""
        # The gate had another volume too.
        if tier.disk.is_rented_for_each_run:
            return _CreditKnown(unknown(tier), None)
        credit = self._disks.get((tier.name, disk))
        if credit:
            return credit
        buckets = unknown(tier)
        gate = self._gates.get(tier.name)
        if gate:
            buckets = by_gate(buckets, gate, disk.place, disk.device)
        return _CreditKnown(buckets, self._counters.get(disk))


def _series(samples: Iterable[Sample]) -> dict[str, list[Seen]]:
    """Node → its disk's counters, in order of time, where all of them were read."""
    rows: dict[str, dict[float, dict[str, float]]] = {}
    for sample in samples:
        if sample.metric in COUNTERS:
            node_rows = rows.setdefault(sample.node, {})
            node_rows.setdefault(sample.time_s, {})[sample.metric] = sample.value
    series: dict[str, list[Seen]] = {}
    for node, by_time in rows.items():
        series[node] = []
        for time_s, row in sorted(by_time.items()):
            # A second with one counter missing would look like one without reads or
            # writes.
            if len(row) == len(COUNTERS):
                series[node].append(_seen(time_s, row))
    return series


def _seen(time_s: float, row: Mapping[str, float]) -> Seen:
    ios = sum(row[name] for name in _IOS)
    moved_bytes = sum(row[name] for name in _BYTES)
    return Seen(time_s, ios, moved_bytes)
