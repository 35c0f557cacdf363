"""The burst credit of real disks from run to run, estimated from gates and /proc/diskstats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from orchestrator.analysis import results
from orchestrator.analysis.telemetry import burst_credit
from orchestrator.analysis.telemetry.burst_credit import Buckets, Seen
from orchestrator.kernel import block_devices
from orchestrator.model import Node, Sample
from orchestrator.powers import World
from orchestrator.tier import ClassVolumes, Gate, Tier

_IOS = ("disk_reads_total", "disk_writes_total")
_BYTES = ("disk_read_bytes_total", "disk_written_bytes_total")
COUNTERS = (*_IOS, *_BYTES)


@dataclass
class _DiskCredit:
    buckets: Buckets
    seen: Seen | None = None  # since when the buckets are as they are


class BurstCredit:
    """What is known of the credit of each real disk of a campaign, by its device."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._counters: dict[tuple[str, ...], Seen] = {}  # by machine, device, at the last gate
        self._gates: dict[str, Gate] = {}  # of each tier, the last
        self._disks: dict[tuple[str, ...], _DiskCredit] = {}  # by tier, machine, device

    def checked(self, tier: Tier, gate: Gate) -> None:
        """A gate was taken just now."""
        if not burst_credit.unknown(tier):
            return
        self._gates[tier.name] = gate
        for machine in self._world.platform.machines():
            with suppress(OSError):
                machine.refresh()
                now_s = self._world.clock.now()
                for name, row in block_devices.counters_by_device(machine).items():
                    self._counters[machine.name, name] = _seen(now_s, row)
        for key, state in self._disks.items():
            if key[0] == tier.name:
                buckets = burst_credit.by_gate(state.buckets, gate, key[1], key[-1])
                self._disks[key] = _DiskCredit(buckets, self._counters.get(key[1:]))

    def of_run(
        self, tier: Tier, nodes: Sequence[Node], samples: Iterable[Sample], start_s: float
    ) -> dict[str, dict[str, Any]]:
        """Database node → its disk's credit when the window began at `start_s`, by what `samples`
        of COUNTERS and earlier runs have shown. Empty if the tier is no real disk that bursts."""
        found: dict[str, dict[str, Any]] = {}
        if not burst_credit.unknown(tier):
            return found
        series = _series(samples)
        for place, on_it in results.by_disk(nodes).items():
            state = self._disks.get((tier.name, *place))
            if isinstance(tier.disk, ClassVolumes):  # another volume for each run, and for the gate
                state = _DiskCredit(burst_credit.unknown(tier))
            elif state is None:
                state = _DiskCredit(burst_credit.unknown(tier), self._counters.get(place))
                if gate := self._gates.get(tier.name):
                    state.buckets = burst_credit.by_gate(state.buckets, gate, place[0], place[-1])
            at_start = state.buckets
            for now in series.get(on_it[0].name, ()):
                buckets = state.buckets
                if state.seen is not None:
                    buckets = burst_credit.since(buckets, state.seen, now)
                state = _DiskCredit(buckets, now)
                if now.time_s <= start_s:
                    at_start = buckets
            self._disks[tier.name, *place] = state
            found |= {node.name: burst_credit.recorded(at_start) for node in on_it}
        return found


def _series(samples: Iterable[Sample]) -> dict[str, list[Seen]]:
    """Node → its disk's counters, in order of time, where all of them were read."""
    rows: dict[str, dict[float, dict[str, float]]] = {}
    for sample in samples:
        if sample.metric in COUNTERS:
            of_node = rows.setdefault(sample.node, {})
            of_node.setdefault(sample.time_s, {})[sample.metric] = sample.value
    return {
        node: [_seen(at_s, row) for at_s, row in sorted(found.items()) if len(row) == len(COUNTERS)]
        for node, found in rows.items()
    }


def _seen(time_s: float, row: dict[str, float]) -> Seen:
    ios, moved = (sum(row[name] for name in names) for names in (_IOS, _BYTES))
    return Seen(time_s, ios, moved)
