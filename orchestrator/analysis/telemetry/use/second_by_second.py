"""What database nodes did in each second, as a table for charts and for some doubts. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.telemetry.counters import counter_names
from orchestrator.analysis.telemetry.counters.counter_series import (
    Array,
    Key,
    Steps,
    Texts,
)
from orchestrator.analysis.telemetry.use import (
    cap_binding,
    disk_seconds,
    machine_cpu,
    node_values,
)
from orchestrator.analysis.telemetry.use.disk_accounts import CountedSeconds
from orchestrator.analysis.telemetry.use.disk_seconds import DiskSeconds
from orchestrator.model import Node, Record

Numbers = np.ndarray[Any, np.dtype[np.int_]]

# Phases that have rows second by second, in the order in which these stand.
_SHOWN_PHASES = ("measure", "warm-up")
# Column of `run_telemetry.Telemetry.by_second` → the counters that it adds up.
_BY_SECOND: Mapping[str, list[str]] = {
    "cpus": [counter_names.CPU_SECONDS],
    "disk_iops": [counter_names.READS, counter_names.WRITES],
    "disk_bytes_per_s": [counter_names.READ_BYTES, counter_names.WRITTEN_BYTES],
    "flushed_bytes_per_s": [counter_names.FLUSHED_BYTES],
}


@dataclass(frozen=True)
class _CountedSteps:
    """Steps of several counters of several nodes, one behind the other."""

    node: Numbers  # its place among the nodes
    begin_s: Array
    end_s: Array
    phase: Numbers  # its place among `_SHOWN_PHASES`
    metric: Texts
    per_s: Array


_NO_NUMBERS = np.empty(0, dtype=int)
_NO_VALUES = np.empty(0)
_NOTHING = _CountedSteps(
    node=_NO_NUMBERS,
    begin_s=_NO_VALUES,
    end_s=_NO_VALUES,
    phase=_NO_NUMBERS,
    metric=np.empty(0, dtype=object),
    per_s=_NO_VALUES,
)


def by_second(
    rates: Mapping[Key, Steps],
    nodes: Sequence[str],
    limits: Mapping[str, Mapping[float, str]],
    held_back_pct: Mapping[str, Mapping[float, float]],
) -> pd.DataFrame:
    """The table `by_second` of `run_telemetry.Telemetry`.

    `nodes`: of databases, that were sampled. Node → end of a second → `limits`: what was at its
    limit in it (`at_limits`); `held_back_pct`: what its disk counted (`disk_accounts`)."""
    names = sorted(nodes)
    counted = _counted(rates, names)
    second, firsts = _seconds(counted)
    columns: dict[str, Any] = {}
    columns["node"] = _named(counted.node[firsts], names)
    columns["time_s"] = counted.begin_s[firsts]
    columns["phase"] = _named(counted.phase[firsts], _SHOWN_PHASES)
    for column in _BY_SECOND:
        columns[column] = _column(column, counted, second, len(firsts))
    rows = _CpuRows(counted, second, names)
    columns["held_back_pct"] = rows.placed(held_back_pct, np.nan, len(firsts), float)
    limit = rows.placed(limits, "", len(firsts), object)
    columns["limit"] = pd.Series(limit, dtype=str)
    return pd.DataFrame(columns)


def _column(name: str, counted: _CountedSteps, second: Numbers, seconds: int) -> Array:
    """For each second, the sum of the counters of a column; NaN where none was sampled."""
    has_metric = np.isin(counted.metric, _BY_SECOND[name])
    return _sums(second[has_metric], counted.per_s[has_metric], seconds)


@dataclass(frozen=True)
class _CpuRows:
    """What is known of a node by the ends of seconds gets to their rows by the steps of the CPU,
    of which each second has one."""

    counted: _CountedSteps
    second: Numbers
    names: Sequence[str]

    def placed(
        self,
        by_node: Mapping[str, Mapping[float, Any]],
        otherwise: Any,
        seconds: int,
        kind: type,
    ) -> np.ndarray[Any, np.dtype[Any]]:
        """A value for each second: `otherwise` where the node has none, and nothing where no CPU
        was sampled."""
        counted = self.counted
        column: np.ndarray[Any, np.dtype[Any]] = np.full(seconds, None, dtype=kind)
        is_cpu = counted.metric == counter_names.CPU_SECONDS
        for row in np.flatnonzero(is_cpu).tolist():
            by_end = by_node.get(self.names[counted.node[row]], {})
            column[self.second[row]] = by_end.get(float(counted.end_s[row]), otherwise)
        return column


def _named(places: Numbers, names: Sequence[str]) -> pd.Categorical[str]:
    """The names at these places."""
    return pd.Categorical.from_codes(places, pd.Index(names, dtype=str))


def _counted(rates: Mapping[Key, Steps], names: Sequence[str]) -> _CountedSteps:
    """What `_BY_SECOND` adds up on these nodes, in the phases that are shown."""
    parts = [_NOTHING]
    for number, node in enumerate(names):
        for metric in _all_counters():
            steps = rates.get((node, metric))
            if steps is None:
                continue
            for phase in range(len(_SHOWN_PHASES)):
                parts.append(_in_phase(steps, number, phase, metric))
    return _together(parts)


def _in_phase(steps: Steps, node: int, phase: int, metric: str) -> _CountedSteps:
    """The steps of one counter in one phase. `node`, `phase`: their numbers."""
    rows = steps.phase == _SHOWN_PHASES[phase]
    count = int(np.count_nonzero(rows))
    return _CountedSteps(
        node=np.full(count, node),
        begin_s=steps.begin_s[rows],
        end_s=steps.end_s[rows],
        phase=np.full(count, phase),
        metric=np.full(count, metric, dtype=object),
        per_s=steps.per_s[rows],
    )


def _together(parts: Sequence[_CountedSteps]) -> _CountedSteps:
    """One behind the other."""
    columns: dict[str, list[Any]] = defaultdict(list)
    for part in parts:
        for name, values in vars(part).items():
            columns[name].append(values)
    joined: dict[str, Any] = {}
    for name, arrays in columns.items():
        joined[name] = np.concatenate(arrays)
    return _CountedSteps(**joined)


def _seconds(counted: _CountedSteps) -> tuple[Numbers, Numbers]:
    """For each step, the number of its node, second and phase, in this order.

    The second result is the place of the first step of each.
    """
    places = np.column_stack([counted.node, counted.begin_s, counted.phase])
    ordered = np.lexsort(places.T[::-1])
    steps = np.diff(places[ordered], axis=0, prepend=np.nan)
    is_another = np.any(steps != 0, axis=1)
    second = np.empty(len(places), dtype=int)
    second[ordered] = np.cumsum(is_another) - 1
    return second, ordered[is_another]


def _sums(second: Numbers, values: Array, seconds: int) -> Array:
    """For each second, the sum of the values; NaN where there is none."""
    sums = np.bincount(second, values, seconds).astype(float)
    # A second without a sample is a gap, not zero.
    sums[np.bincount(second, minlength=seconds) == 0] = np.nan
    return sums


def _all_counters() -> list[str]:
    names: list[str] = []
    for metrics in _BY_SECOND.values():
        names += metrics
    return names


def at_limits(
    record: Record,
    rates: Mapping[Key, Steps],
    node: Node,
    disk: DiskSeconds,
    account: CountedSeconds,
) -> dict[float, str]:
    """End of each second in which something of the node was at its limit → what it was.

    It is a cap of its disk (within 5 %), else that of its machine on the disks of data and log,
    else its CPU, else what the disk counts of limits below which the second as a whole was.

    `disk`: of `disk_seconds.of_node`. `account`: of `disk_accounts.of_node`; where it counts that
    next to nothing was held back, a second at a cap asked for just that rate.
    """
    is_held_back = account.held_back_pct >= cap_binding.SURELY_HELD_BACK_PCT
    held_back_s = account.end_s[is_held_back]
    limits = dict.fromkeys(held_back_s.tolist(), BY_ACCOUNT)
    cpu = rates.get((node.name, counter_names.CPU_SECONDS))
    if cpu is not None:
        cpus = machine_cpu.cpu_limits(record.nodes, None).get(node.name, math.inf)
        is_busy = 100 * cpu.per_s >= machine_cpu.CPU_PCT * cpus
        limits |= dict.fromkeys(cpu.end_s[is_busy].tolist(), "node CPU")
    # Caps come after the CPU and overwrite it: a cap is what a buyer of disks asks about.
    both = _both_disks(record, rates, node)
    at_machine = dict.fromkeys(_at_caps(both, account), BY_MACHINE)
    return {**limits, **at_machine, **_at_caps(disk, account)}


def _both_disks(record: Record, rates: Mapping[Key, Steps], node: Node) -> DiskSeconds:
    """The disks of data and log together; empty where no machine's limit is known of them."""
    tier = record.profile.tier
    if tier.machine is None or not node.wal_device:
        return disk_seconds.demand(tier, {}, node.name)
    return disk_seconds.both_disks(tier, tier.machine, rates, node.name)


def _at_caps(disk: DiskSeconds, account: CountedSeconds) -> dict[float, str]:
    """End of each second in which the disk was at a cap → which one."""
    is_free = account.at(disk.end_s) < cap_binding.HELD_BACK_PCT
    caps: dict[float, str] = {}
    for cap, share in disk.shares().items():
        at_cap_s = disk.end_s[(share >= disk_seconds.AT_CAP) & ~is_free]
        caps |= dict.fromkeys(at_cap_s.tolist(), _CAP_TITLES[cap])
    return caps


BY_ACCOUNT = "disk limits, counted"
BY_MACHINE = "machine's cap on disks"
_CAP_TITLES: Mapping[node_values.CapName, str] = {
    "iops": "IOPS cap",
    "bandwidth": "bandwidth cap",
}
