"""The burst credit of real disks from run to run, estimated from gates and /proc/diskstats.

No provider tells a guest how full the bucket of its disk is. What can be said are bounds: at first
everything between empty and full; each second above the base rate takes away what it used of it,
each second below adds what it left, within the bucket's size. So a disk that was idle for long is
known to be full, and one that was loaded for long to be empty."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self

from orchestrator.analysis import results
from orchestrator.facts import CreditState, GateQuantity
from orchestrator.kernel import block_devices
from orchestrator.model import Node, Sample
from orchestrator.powers import World
from orchestrator.tier import ClassVolumes, Gate, GateCheck, Tier

_IOS = ("disk_reads_total", "disk_writes_total")
_BYTES = ("disk_read_bytes_total", "disk_written_bytes_total")
COUNTERS = (*_IOS, *_BYTES)
EMPTY_PCT = 5.0  # of a full bucket: the rest lasts seconds
_OF_BUCKET: Mapping[str, tuple[GateQuantity, ...]] = {
    "iops": ("iops_read", "iops_write", "iops_mixed"),
    "bytes": ("bandwidth_read", "bandwidth_write"),
}


@dataclass(frozen=True)
class Seen:
    """Counters of a disk at one moment: I/Os and bytes since some beginning."""

    time_s: float
    ios: float
    moved_bytes: float


@dataclass(frozen=True)
class Bucket:
    """One credit bucket, in I/Os or bytes: its rates, and the bounds of what is in it.
    `bursting`: the disk was seen to burst, and cannot have used up its credit since."""

    base_per_s: float
    peak_per_s: float
    size: float
    least: float
    most: float
    bursting: bool = False

    @property
    def least_pct(self) -> float:
        return 100 * self.least / self.size

    @property
    def most_pct(self) -> float:
        return 100 * self.most / self.size

    @property
    def state(self) -> CreditState:
        if self.most_pct <= EMPTY_PCT:
            return "at base"
        if self.bursting or self.least_pct > EMPTY_PCT:
            return "bursting"
        return "unknown"

    def after(self, used: float, seconds: float) -> Self:
        """After `used` I/Os or bytes in so many seconds. A rate above the base shows credit."""
        earned = self.base_per_s * seconds - used
        most = min(self.size, max(0.0, self.most + earned))
        least = min(self.size, max(0.0, self.least + earned))
        bursting = self.bursting and 100 * most > EMPTY_PCT * self.size
        return replace(self, least=least, most=most, bursting=bursting)


Buckets = Mapping[str, Bucket]  # "iops", "bytes" → those that the tier has


def unknown(tier: Tier) -> dict[str, Bucket]:
    """The buckets of a real disk of which nothing was seen; none if the tier does not burst."""
    burst = tier.limits.burst
    if burst is None or not tier.disk.is_real:
        return {}
    rates = {
        "iops": (tier.limits.iops, burst.iops),
        "bytes": (tier.limits.bytes_per_s, burst.bytes_per_s),
    }
    return {
        name: Bucket(base, peak, size := (peak - base) * burst.duration_s, 0.0, size)
        for name, (base, peak) in rates.items()
        if base and peak and peak > base
    }


def by_gate(
    buckets: Buckets, gate: Gate, machine: str, device: str
) -> dict[str, Bucket]:
    """What the gate has found: a disk at its base rate under a load that would burst has no credit
    left, and by the end of the gate what it can have earned since; one above it has some."""
    known = dict(buckets)
    own, of_device = _of(gate, machine, device)
    checked_s = own.get("checked_s", {})
    for name, bucket in buckets.items():
        quantities = _OF_BUCKET[name]
        # A rate that another limit holds down says nothing of this bucket; the last check counts,
        # because those before it may have used the credit up.
        judged = [
            c for c in of_device if c.quantity in quantities and c.declared is not None
        ]
        if not judged:
            continue
        last = judged[-1]
        if last.verdict == "bursting":
            known[name] = replace(bucket, least=0.0, bursting=True)
        # One at the base rate of this bucket would have shown its credit.
        elif (
            last.verdict == "ok" and (last.declared or 0.0) >= 0.99 * bucket.base_per_s
        ):
            since_s = max(0.0, gate.taken_s - checked_s.get(last.quantity, 0.0))
            most = min(bucket.size, bucket.base_per_s * since_s)
            known[name] = replace(bucket, least=0.0, most=most, bursting=False)
    return known


def _of(
    gate: Gate, machine: str, device: str
) -> tuple[Mapping[str, Any], list[GateCheck]]:
    """The facts and checks of one disk among those of the gate, which are known by their paths."""
    for path, facts in gate.device.get("disks", {}).items():
        if facts.get("device") == device and facts.get("machine", machine) == machine:
            return facts, [
                check for check in gate.checks if check.disk.endswith(f"({path})")
            ]
    return gate.device, [check for check in gate.checks if not check.disk]


def since(buckets: Buckets, before: Seen | None, now: Seen) -> Buckets:
    """After what the disk's counters grew by; unchanged if they did not grow in time."""
    if before is None or (seconds := now.time_s - before.time_s) <= 0:
        return buckets
    used = {"iops": now.ios - before.ios, "bytes": now.moved_bytes - before.moved_bytes}
    return {
        name: bucket.after(max(0.0, used[name]), seconds)
        for name, bucket in buckets.items()
    }


def recorded(buckets: Buckets) -> dict[str, dict[str, float | str]]:
    """As a run's facts keep it."""
    facts: dict[str, dict[str, float | str]] = {}
    for name, bucket in buckets.items():
        least_pct = round(bucket.least_pct, 1)
        most_pct = round(bucket.most_pct, 1)
        facts[name] = {
            "state": bucket.state,
            "least_pct": least_pct,
            "most_pct": most_pct,
        }
    return facts


_Known = tuple[
    Buckets, Seen | None
]  # of a disk, and since when its buckets are as they are


class BurstCredit:
    """What is known of the credit of each real disk of a campaign, by its device."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._counters: dict[
            tuple[str, ...], Seen
        ] = {}  # by machine, device, at the last gate
        self._gates: dict[str, Gate] = {}  # of each tier, the last
        self._disks: dict[tuple[str, ...], _Known] = {}  # by tier, machine, device

    def checked(self, tier: Tier, gate: Gate) -> None:
        """A gate was taken just now."""
        if not unknown(tier):
            return
        self._gates[tier.name] = gate
        for machine in self._world.platform.machines():
            with suppress(OSError):
                machine.refresh()
                now_s = self._world.clock.now()
                for name, row in block_devices.counters_by_device(machine).items():
                    self._counters[machine.name, name] = _seen(now_s, row)
        for key, (buckets, _) in self._disks.items():
            if key[0] == tier.name:
                known = by_gate(buckets, gate, key[1], key[-1])
                self._disks[key] = known, self._counters.get(key[1:])

    def of_run(
        self,
        tier: Tier,
        nodes: Sequence[Node],
        samples: Iterable[Sample],
        start_s: float,
    ) -> dict[str, dict[str, Any]]:
        """Database node → its disk's credit when the window began at `start_s`, by what `samples`
        of COUNTERS and earlier runs have shown. Empty if the tier is no real disk that bursts."""
        of_nodes: dict[str, dict[str, Any]] = {}
        if not unknown(tier):
            return of_nodes
        series = _series(samples)
        for place, on_it in results.by_disk(nodes).items():
            buckets, seen = self._known(tier, place)
            at_start = buckets
            for now in series.get(on_it[0].name, ()):
                buckets = since(buckets, seen, now)
                seen = now
                if now.time_s <= start_s:
                    at_start = buckets
            self._disks[tier.name, *place] = buckets, seen
            of_nodes |= {node.name: recorded(at_start) for node in on_it}
        return of_nodes

    def _known(self, tier: Tier, place: tuple[str, ...]) -> _Known:
        """What is known of a disk since the run before this one, or else since the gate."""
        if isinstance(
            tier.disk, ClassVolumes
        ):  # another volume for each run, and for the gate
            return unknown(tier), None
        known = self._disks.get((tier.name, *place))
        if known:
            return known
        buckets = unknown(tier)
        gate = self._gates.get(tier.name)
        if gate:
            buckets = by_gate(buckets, gate, place[0], place[-1])
        return buckets, self._counters.get(place)


def _series(samples: Iterable[Sample]) -> dict[str, list[Seen]]:
    """Node → its disk's counters, in order of time, where all of them were read."""
    rows: dict[str, dict[float, dict[str, float]]] = {}
    for sample in samples:
        if sample.metric in COUNTERS:
            of_node = rows.setdefault(sample.node, {})
            of_node.setdefault(sample.time_s, {})[sample.metric] = sample.value
    return {
        node: [
            _seen(at_s, row)
            for at_s, row in sorted(own.items())
            if len(row) == len(COUNTERS)
        ]
        for node, own in rows.items()
    }


def _seen(time_s: float, row: dict[str, float]) -> Seen:
    ios, moved = (sum(row[name] for name in names) for names in (_IOS, _BYTES))
    return Seen(time_s, ios, moved)
