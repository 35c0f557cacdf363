"""What each resource of a database node did while a run was measured: numbers, no judgement. Pure.

One dictionary per run and node; a figure that could not be had is not in it. Shares of a cap are
medians over seconds, so that a pause does not hide a cap; rates are from first to last sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from orchestrator import frames
from orchestrator.frames import Growth, RunData
from orchestrator.model import Gate, Node, Record, Tier

Array = np.ndarray[Any, np.dtype[np.float64]]

AT_CAP = 0.95  # of the cap: Azure calls 100 % of a minute capped; a second's sample wobbles
CEILING_NOPM_PER_WAREHOUSE = 12.86  # with the specification's think and keying times
MIN_SIDE = 5  # samples on each side of a change point
MIN_FALL = 0.2
BASE_TOLERANCE = 0.1


def gather(run: RunData, cpus: float | None) -> dict[str, dict[str, float]]:
    """All figures of each database node in a run's measured window; none where nothing was sampled.

    `cpus`: cores of the machine, for nodes that do not say theirs.
    """
    window = frames.measured_window(run.record)
    if window is None or run.samples.empty:
        return {}
    growth = Growth(run.samples, *window)
    shared = {
        **dict(_machine(run.record.nodes, growth, cpus)),
        **dict(_sessions(run.record)),
    }
    return {
        node.name: {
            **dict(_disk(run, node, window)),
            **dict(_means(run, node, growth, cpus)),
            **shared,
        }
        for node in run.record.nodes
        if node.role == "database"
    }


# ------------------------------------------------------------------ the disk against its caps


@dataclass(frozen=True)
class Demand:
    """A node's disk second by second from the first sample on: rates, and the caps in force.

    `iops` counts an I/O larger than the tier's unit as several, as the tier does; seen from the
    sums of a second this is a lower bound. Caps are None where the tier declares none.
    `credit_pct`: burst credit left after each second, of a full bucket; None without burst.
    """

    time_s: Array
    step_s: Array
    iops: Array
    bytes_per_s: Array
    iops_cap: Array | None
    bytes_cap: Array | None
    credit_pct: Array | None

    def within(self, start_s: float, end_s: float) -> Demand:
        kept = (self.time_s > start_s) & (self.time_s <= end_s)

        def cut(series: Array | None) -> Array | None:
            return None if series is None else series[kept]

        return Demand(
            self.time_s[kept],
            self.step_s[kept],
            self.iops[kept],
            self.bytes_per_s[kept],
            cut(self.iops_cap),
            cut(self.bytes_cap),
            cut(self.credit_pct),
        )


def demand(tier: Tier, samples: pd.DataFrame, node: str) -> Demand | None:
    """None where the node's disk was not sampled."""
    wide = frames.wide_rates(samples, node)
    wanted = [frames.READS, frames.WRITES, frames.READ_BYTES, frames.WRITTEN_BYTES]
    if not set(wanted) <= set(wide.columns):
        return None
    wide = wide.dropna(subset=wanted)
    if wide.empty:
        return None
    step_s = wide["step_s"].to_numpy(dtype=float)
    bytes_per_s = (wide[frames.READ_BYTES] + wide[frames.WRITTEN_BYTES]).to_numpy(dtype=float)
    whole = (wide[frames.READS] + wide[frames.WRITES]).to_numpy(dtype=float)
    iops = np.maximum(whole, bytes_per_s / tier.io_unit_bytes)
    burst = tier.burst
    iops_cap, iops_credit = _cap(tier, iops, step_s, tier.iops, burst.iops if burst else None)
    bytes_cap, bytes_credit = _cap(
        tier, bytes_per_s, step_s, tier.bytes_per_s, burst.bytes_per_s if burst else None
    )
    credits = [credit for credit in (iops_credit, bytes_credit) if credit is not None]
    return Demand(
        wide.index.to_numpy(dtype=float),
        step_s,
        iops,
        bytes_per_s,
        iops_cap,
        bytes_cap,
        np.minimum.reduce(credits) if credits else None,
    )


def _cap(
    tier: Tier, rate: Array, step_s: Array, base: int | None, top: int | None
) -> tuple[Array | None, Array | None]:
    """The cap in force each second, and the credit left after it in % of a full bucket.

    A bucket of (top − base) × duration drains by what is used above the base rate and fills by
    what is left of it. One that starts empty is kept empty (docs/TIERS.md), so the base holds.
    """
    if base is None:
        return None, None
    burst = tier.burst
    if burst is None or top is None or top <= base or burst.start_pct <= 0:
        return np.full(rate.size, float(base)), None
    full = (top - base) * burst.duration_s
    credit = full * burst.start_pct / 100
    caps, left = np.empty(rate.size), np.empty(rate.size)
    for index, (used, seconds) in enumerate(zip(rate, step_s, strict=True)):
        caps[index] = top if credit > 0 else base
        credit = min(full, max(0.0, credit - (used - base) * seconds))
        left[index] = 100 * credit / full
    return caps, left


def _disk(run: RunData, node: Node, window: tuple[float, float]) -> Iterator[tuple[str, float]]:
    tier = run.record.profile.tier
    whole = demand(tier, run.samples, node.name)
    if whole is None:
        return
    found = whole.within(*window)
    if found.iops.size == 0:
        return
    for name, rate, cap in (
        ("iops", found.iops, found.iops_cap),
        ("bandwidth", found.bytes_per_s, found.bytes_cap),
    ):
        if cap is not None:
            share = rate / cap
            yield f"{name}_of_cap_pct", 100 * float(np.median(share))
            yield f"time_at_{name}_cap_pct", 100 * float(np.mean(share >= AT_CAP))
    if found.credit_pct is not None:
        yield "burst_credit_left_pct", float(found.credit_pct[-1])
        fall = fall_to(found.iops, float(tier.iops or 0))
        if fall is not None:
            yield "iops_before_fall", fall[0]
            yield "iops_after_fall", fall[1]


def fall_to(rate: Array, base: float) -> tuple[float, float] | None:
    """Means before and after the point that best splits a series in two levels, where it falls
    there by 20 % or more to within 10 % of `base`: burst credit that ran out. None otherwise."""
    n = rate.size
    if n < 2 * MIN_SIDE or base <= 0:
        return None
    sums = np.cumsum(rate)
    count = np.arange(MIN_SIDE, n - MIN_SIDE + 1)
    before = sums[count - 1] / count
    after = (sums[-1] - sums[count - 1]) / (n - count)
    best = int(np.argmax(count * (n - count) * (before - after) ** 2))
    high, low = float(before[best]), float(after[best])
    fell = low <= (1 - MIN_FALL) * high and abs(low / base - 1) <= BASE_TOLERANCE
    return (high, low) if fell else None


# ------------------------------------------------------------------ means over the window


def _means(
    run: RunData, node: Node, growth: Growth, cpus: float | None
) -> Iterator[tuple[str, float]]:
    reads, writes = growth.per_s(node.name, frames.READS), growth.per_s(node.name, frames.WRITES)
    size = growth.per_s(node.name, frames.READ_BYTES, frames.WRITTEN_BYTES)
    waited = growth.per_s(node.name, frames.READ_SECONDS, frames.WRITE_SECONDS)
    if reads is not None and writes is not None:
        count = reads + writes
        yield "disk_iops", count
        if size is not None:
            yield "disk_bytes_per_s", size
        if count > 0 and waited is not None:
            yield "disk_await_s", waited / count
        if count > 0 and size is not None:
            yield "io_size_bytes", size / count
        idle_s = idle_latency_s(run.record.profile.tier, run.record.gate, reads, writes)
        if idle_s is not None:
            yield "idle_disk_latency_s", idle_s
    for name, counter, factor in (
        ("disk_queue_depth", frames.QUEUE_SECONDS, 1.0),
        ("disk_busy_pct", frames.BUSY_SECONDS, 100.0),
    ):
        value = growth.per_s(node.name, counter)
        if value is not None:
            yield name, factor * value
    used, limit = growth.per_s(node.name, frames.CPU_SECONDS), node.cpus or cpus
    if used is not None and limit:
        yield "cpu_pct", 100 * used / limit


def idle_latency_s(tier: Tier, gate: Gate | None, reads: float, writes: float) -> float | None:
    """What one I/O of this mix takes on the idle disk: declared, else as the gate measured it."""
    read_s = tier.read_latency_s or _gate_latency_s(gate, "read")
    write_s = tier.write_latency_s or _gate_latency_s(gate, "write")
    if reads + writes <= 0 or (reads > 0 and read_s is None) or (writes > 0 and write_s is None):
        return None
    return (reads * (read_s or 0.0) + writes * (write_s or 0.0)) / (reads + writes)


def _gate_latency_s(gate: Gate | None, way: str) -> float | None:
    for check in gate.checks if gate else ():
        name = check.limit.lower()
        if check.unit == "s" and "latency" in name and way in name and check.measured > 0:
            return check.measured
    return None


def of_machine(run: RunData, cpus: float | None) -> dict[str, float]:
    """Who used the machine while a run was measured, in % of its CPU."""
    window = frames.measured_window(run.record)
    if window is None or run.samples.empty:
        return {}
    return dict(_machine(run.record.nodes, Growth(run.samples, *window), cpus))


def _machine(
    nodes: Sequence[Node], growth: Growth, cpus: float | None
) -> Iterator[tuple[str, float]]:
    host = next((node for node in nodes if node.role == "host"), None)
    machine = (host.cpus if host else None) or cpus
    pressure = growth.per_s(host.name, frames.MEMORY_PRESSURE_SECONDS) if host else None
    if pressure is not None:
        yield "memory_pressure_pct", 100 * pressure
    if not machine:
        return
    used: dict[str, float] = {}
    for node in nodes:
        seconds = growth.per_s(node.name, frames.CPU_SECONDS)
        if seconds is not None:
            used[node.role] = used.get(node.role, 0.0) + 100 * seconds / machine
    for name, role in (("client_cpu_pct", "client"), ("disk_server_cpu_pct", "disk")):
        if role in used:
            yield name, used[role]
    busy = growth.per_s(host.name, frames.HOST_CPU_SECONDS) if host else None
    if busy is not None:
        yield "host_cpu_pct", 100 * busy / machine
        if "database" in used:
            yield "other_cpu_pct", max(0.0, 100 * busy / machine - sum(used.values()))


# ------------------------------------------------------------------ what sessions waited for


def _sessions(record: Record) -> Iterator[tuple[str, float]]:
    ceiling = ceiling_nopm(record)
    nopm = frames.value_of(record, "nopm")
    if ceiling and nopm is not None:
        yield "nopm_of_ceiling_pct", 100 * nopm / ceiling
    begin, measure = record.phase("warm-up"), record.phase("measure")
    if begin is None or measure is None or measure.end_s <= begin.start_s:
        return
    elapsed_s = measure.end_s - begin.start_s
    reading_s, syncing_s = _counted(record, "blks_read_s"), _counted(record, "wal_sync_s")
    if reading_s is not None and record.workload.threads:
        yield "sessions_reading_pct", 100 * reading_s / elapsed_s / record.workload.threads
    if syncing_s is not None:
        yield "log_syncing_pct", 100 * syncing_s / elapsed_s


def _counted(record: Record, name: str) -> float | None:
    """What a counter of the database grew by from just before warm-up to the end.

    What it had counted before (filling the cache) is taken off, where that was recorded.
    """
    groups = (record.facts.get(key) for key in ("database_before", "database"))
    counters = [g.get("since_reset") if isinstance(g, Mapping) else None for g in groups]
    before, after = (c.get(name) if isinstance(c, Mapping) else None for c in counters)
    if not isinstance(after, (int, float)):
        return None
    return max(0.0, after - (before if isinstance(before, (int, float)) else 0.0))


def ceiling_nopm(record: Record) -> float | None:
    """New-Orders a minute that think time allows at most; None where there is no think time."""
    warehouses = record.workload.dataset.parameters.get("warehouses")
    thinks = record.workload.options.get("think", "none") not in ("none", 0, "0", "off", "no")
    if not thinks or not isinstance(warehouses, (int, float)):
        return None
    return CEILING_NOPM_PER_WAREHOUSE * warehouses
