"""The burst credit of real disks from run to run, estimated from gates and /proc/diskstats.

No provider tells a guest how full the bucket of its disk is. What can be said are bounds: at
first everything between empty and full; each second above the base rate takes away what it
used of it, each second below adds what it left, within the bucket's size. So a disk that was
idle for long is known to be full, and one that was loaded for long to be empty.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

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
_AT_BASE = 0.99  # of the base rate: what a measurement at it shows at least
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

    `bursting`: the disk was seen to burst, and cannot have used up its credit since.
    """

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
    buckets: dict[str, Bucket] = {}
    iops = _full_or_empty(tier.limits.iops, burst.iops, burst.duration_s)
    if iops:
        buckets["iops"] = iops
    rate = _full_or_empty(tier.limits.bytes_per_s, burst.bytes_per_s, burst.duration_s)
    if rate:
        buckets["bytes"] = rate
    return buckets


def _full_or_empty(
    base: int | None, peak: int | None, duration_s: float
) -> Bucket | None:
    """A bucket that may be anything from empty to full; None if the tier does not burst in it."""
    if not base or not peak or peak <= base:
        return None
    size = (peak - base) * duration_s
    return Bucket(base, peak, size, least=0.0, most=size)


def by_gate(
    buckets: Buckets, gate: Gate, machine: str, device: str
) -> dict[str, Bucket]:
    """What the gate has found.

    A disk at its base rate under a load that would burst has no credit left, and by the
    end of the gate what it can have earned since; a disk above it has some.
    """
    judged = dict(buckets)
    disk = _gated_disk(gate, machine, device)
    for name, bucket in buckets.items():
        last = _last_check(disk.checks, _OF_BUCKET[name])
        if last is None:
            continue
        if last.verdict == "bursting":
            judged[name] = replace(bucket, least=0.0, bursting=True)
            continue
        # A disk at the base rate of this bucket would have shown its credit.
        at_base = (last.declared or 0.0) >= _AT_BASE * bucket.base_per_s
        if last.verdict == "ok" and at_base:
            checked_s = disk.checked_s.get(last.quantity, 0.0)
            since_s = max(0.0, gate.taken_s - checked_s)
            most = min(bucket.size, bucket.base_per_s * since_s)
            judged[name] = replace(bucket, least=0.0, most=most, bursting=False)
    return judged


def _last_check(
    checks: Sequence[GateCheck], quantities: Sequence[GateQuantity]
) -> GateCheck | None:
    """A rate that another limit holds down says nothing of a bucket; the last check counts,
    because those before it may have used the credit up."""
    for check in reversed(checks):
        if check.quantity in quantities and check.declared is not None:
            return check
    return None


class _GatedDisk(NamedTuple):
    """One disk among those of a gate. `checked_s`: quantity → when it was measured."""

    checked_s: Mapping[Any, float]
    checks: Sequence[GateCheck]


def _gated_disk(gate: Gate, machine: str, device: str) -> _GatedDisk:
    """Disks are known to a gate by their paths."""
    for path, facts in gate.device.get("disks", {}).items():
        if facts.get("device") == device and facts.get("machine", machine) == machine:
            checks = [
                check for check in gate.checks if check.disk.endswith(f"({path})")
            ]
            return _GatedDisk(facts.get("checked_s", {}), checks)
    checks = [check for check in gate.checks if not check.disk]
    return _GatedDisk(gate.device.get("checked_s", {}), checks)


def since(buckets: Buckets, before: Seen | None, now: Seen) -> Buckets:
    """After what the disk's counters grew by; unchanged if they did not grow in time."""
    if before is None or now.time_s <= before.time_s:
        return buckets
    seconds = now.time_s - before.time_s
    used = {
        "iops": max(0.0, now.ios - before.ios),
        "bytes": max(0.0, now.moved_bytes - before.moved_bytes),
    }
    return {name: bucket.after(used[name], seconds) for name, bucket in buckets.items()}


def recorded(buckets: Buckets) -> dict[str, dict[str, float | str]]:
    """The buckets as a run's facts keep them."""
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


class _CreditKnown(NamedTuple):
    """What is known of a disk, and its counters since when its buckets are as they are."""

    buckets: Buckets
    since: Seen | None


class BurstCredit:
    """What is known of the credit of each real disk of a campaign, by its device."""

    def __init__(self, world: World) -> None:
        self._world = world
        # At the last gate: machine and device → counters.
        self._counters: dict[tuple[str, ...], Seen] = {}
        # Tier → its last gate.
        self._gates: dict[str, Gate] = {}
        # Tier, machine and device → what is known.
        self._disks: dict[tuple[str, ...], _CreditKnown] = {}

    def checked(self, tier: Tier, gate: Gate) -> None:
        """A gate was taken just now."""
        if not unknown(tier):
            return
        self._gates[tier.name] = gate
        self._read_counters()
        for key, credit in self._disks.items():
            name, *place = key
            if name == tier.name:
                buckets = by_gate(credit.buckets, gate, place[0], place[-1])
                now = self._counters.get(tuple(place))
                self._disks[key] = _CreditKnown(buckets, now)

    def _read_counters(self) -> None:
        for machine in self._world.platform.machines():
            with suppress(OSError):
                machine.refresh()
                now_s = self._world.clock.now()
                for name, row in block_devices.counters_by_device(machine).items():
                    self._counters[machine.name, name] = _seen(now_s, row)

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
        series = _series(samples)
        for place, nodes_on_disk in results.by_disk(nodes).items():
            credit = self._before_run(tier, place)
            at_start = credit.buckets
            for now in series.get(nodes_on_disk[0].name, ()):
                buckets = since(credit.buckets, credit.since, now)
                credit = _CreditKnown(buckets, now)
                if now.time_s <= start_s:
                    at_start = buckets
            self._disks[tier.name, *place] = credit
            for node in nodes_on_disk:
                buckets_by_node[node.name] = recorded(at_start)
        return buckets_by_node

    def _before_run(self, tier: Tier, place: tuple[str, ...]) -> _CreditKnown:
        """What is known of a disk since the run before this one, or else since the gate."""
        if isinstance(tier.disk, ClassVolumes):
            # Another volume for each run, and for the gate.
            return _CreditKnown(unknown(tier), None)
        credit = self._disks.get((tier.name, *place))
        if credit:
            return credit
        buckets = unknown(tier)
        gate = self._gates.get(tier.name)
        if gate:
            buckets = by_gate(buckets, gate, place[0], place[-1])
        return _CreditKnown(buckets, self._counters.get(place))


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
            if len(row) == len(COUNTERS):
                series[node].append(_seen(time_s, row))
    return series


def _seen(time_s: float, row: Mapping[str, float]) -> Seen:
    ios = sum(row[name] for name in _IOS)
    moved_bytes = sum(row[name] for name in _BYTES)
    return Seen(time_s, ios, moved_bytes)
