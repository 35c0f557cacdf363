"""What is kept in memory of a run's samples: all that judging and charts ask for. Pure.

Samples are read once (`read`), table by table. What single seconds of the window show is kept too,
because the growth over the whole window hides it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pandas as pd

from orchestrator.analysis.telemetry.counters import (
    counter_names,
    counter_series,
    window_growth,
)
from orchestrator.analysis.telemetry.counters.counter_series import (
    Array,
    Key,
    SampledSeries,
    Steps,
)
from orchestrator.analysis.telemetry.counters.sample_tables import Samples, joined
from orchestrator.analysis.telemetry.counters.window_growth import Growth
from orchestrator.analysis.telemetry.use import (
    disk_accounts,
    disk_cap_use,
    disk_seconds,
    machine_cpu,
    network_links,
    second_by_second,
)
from orchestrator.analysis.telemetry.use.node_values import CapUse, LinkUse
from orchestrator.design.nodes_by_role import nodes_of_role
from orchestrator.model import Node, Record

WINDOWS = "windows"  # all together, of a load generator that measures in several
# Phases, and those windows, of which it is kept how much counters grew.
_MOVED = ("warm-up", "measure", "settle", WINDOWS)
# Begins the names of the gauges that count sessions, by what they wait for.
_SESSIONS = "sessions_"
_CORE = "busiest_core_pct"

Window = tuple[float, float]
Moved = dict[Key, float]  # node and counter → how much it grew


@dataclass(frozen=True)
class NodeSeconds:
    """What single seconds of the window show of a node. time_at_cpu_pct: of the seconds, in which
    its CPU was full; None: not known."""

    time_at_cpu_pct: float | None = None
    link: LinkUse = field(default_factory=LinkUse)


@dataclass(frozen=True)
class Telemetry:
    """growth: of all counters in the measured window; None without window or samples.
    against_caps: sampled database node → its disk against the caps of its tier (`disk_cap_use`).
    by_second: of database nodes in warm-up and window; time_s (begin of a step), node, phase, cpus
    (used), disk_iops, disk_bytes_per_s, flushed_bytes_per_s, NaN where it was not sampled;
    held_back_pct: for which share limits held I/Os back by the disk's own count (`disk_accounts`),
    NaN without one; limit: what was at its limit (`seconds.at_limits`), "" for nothing.
    of_seconds: node → what single seconds of the window show of it.
    busiest_cores_pct: node of role "host" → its machine's busiest core, in its median second.
    sessions: node → what sessions wait for → their mean number.
    moved: phase or windows (of `_MOVED`) → node and counter → how much it grew in it.
    empty: whether nothing was sampled at all."""

    growth: Growth | None
    against_caps: Mapping[str, CapUse]
    by_second: pd.DataFrame
    of_seconds: Mapping[str, NodeSeconds]
    busiest_cores_pct: Mapping[str, float]
    sessions: Mapping[str, Mapping[str, float]]
    moved: Mapping[str, Mapping[Key, float]]
    empty: bool


def read(record: Record, samples: Samples, window: Window | None) -> Telemetry:
    """Reads all samples of a run; `window` is the measured one, if the run came that far."""
    growth: Growth | None = None
    if window:
        growth = Growth(*window)
    seconds: list[pd.DataFrame] = []
    against_caps: dict[str, CapUse] = {}
    of_seconds: dict[str, NodeSeconds] = {}
    busiest_cores_pct: dict[str, float] = {}
    sessions: dict[str, Mapping[str, float]] = {}
    moved: dict[str, Moved] = {name: {} for name in _MOVED}
    for table in samples.by_nodes():
        series = counter_series.by_series(table)
        rates = counter_series.rates(series)
        nodes = _sampled_databases(record, series)
        disks = {node.name: disk_seconds.of_node(record, rates, node) for node in nodes}
        seconds.append(_by_second(record, rates, nodes, disks))
        # Each table has all samples of some nodes, so no two show the same.
        for phase, grown in _moved(record, rates).items():
            moved[phase] |= grown
        if growth is None or window is None:
            continue
        growth.add(rates)
        for node in nodes:
            against_caps[node.name] = disk_cap_use.against_caps(
                record, rates, node, window, disks[node.name]
            )
        of_seconds |= _node_seconds(record, rates, window)
        busiest_cores_pct |= _busiest_cores_pct(series, window)
        sessions |= _sessions(series, window)
    if not seconds:
        # Without a sample growth is not known, which is not zero.
        return Telemetry(None, {}, _no_seconds().copy(), {}, {}, {}, moved, empty=True)
    return Telemetry(
        growth=growth,
        against_caps=against_caps,
        by_second=joined(seconds),
        of_seconds=of_seconds,
        busiest_cores_pct=busiest_cores_pct,
        sessions=sessions,
        moved=moved,
        empty=False,
    )


@cache
def _no_seconds() -> pd.DataFrame:
    """`Telemetry.by_second` of a run without samples, which takes long to make."""
    return second_by_second.by_second({}, [], {}, {})


def _by_second(
    record: Record,
    rates: Mapping[Key, Steps],
    nodes: Sequence[Node],
    disks: Mapping[str, disk_seconds.DiskSeconds],
) -> pd.DataFrame:
    """`Telemetry.by_second` of these nodes."""
    limits: dict[str, Mapping[float, str]] = {}
    held_back_pct: dict[str, Mapping[float, float]] = {}
    for node in nodes:
        account = disk_accounts.of_node(rates, node.name)
        held_back_pct[node.name] = account.by_end()
        limits[node.name] = second_by_second.at_limits(
            record, rates, node, disks[node.name], account
        )
    return second_by_second.by_second(rates, list(limits), limits, held_back_pct)


def _sampled_databases(
    record: Record, series: Mapping[Key, SampledSeries]
) -> list[Node]:
    sampled = {node for node, _metric in series}
    databases = nodes_of_role(record.nodes, "database")
    return [node for node in databases if node.name in sampled]


def _moved(record: Record, rates: Mapping[Key, Steps]) -> dict[str, Moved]:
    """`Telemetry.moved`."""
    by_phase: dict[str, Moved] = {name: {} for name in _MOVED}
    for phase in record.phases:
        if phase.name in _MOVED:
            moved = window_growth.moved(rates, phase.start_s, phase.end_s)
            by_phase[phase.name] |= moved
    # Windows of a load generator count together, counter by counter.
    together = by_phase[WINDOWS]
    for window in record.read_facts.generator.windows or ():
        moved = window_growth.moved(rates, window["start_s"], window["end_s"])
        for counter, growth in moved.items():
            together[counter] = together.get(counter, 0.0) + growth
    return by_phase


# ------------------------------------------------------------------ of single seconds


def _node_seconds(
    record: Record, rates: Mapping[Key, Steps], window: Window
) -> dict[str, NodeSeconds]:
    times_pct = _times_at_cpu_pct(record, rates, window)
    links = network_links.by_node(record, rates, window)
    by_node: dict[str, NodeSeconds] = {}
    for node in dict.fromkeys([*times_pct, *links]):
        link = links.get(node, LinkUse())
        by_node[node] = NodeSeconds(times_pct.get(node), link)
    return by_node


def _gauges(
    series: Mapping[Key, SampledSeries],
    window: Window,
    is_wanted: Callable[[str], bool],
) -> Iterator[tuple[Key, Array]]:
    """The gauges that are wanted, and what they showed in the window."""
    start_s, end_s = window
    for key, readings in series.items():
        _node, metric = key
        if is_wanted(metric):
            inside = (readings.time_s > start_s) & (readings.time_s <= end_s)
            if inside.any():
                yield key, readings.value[inside]


def _busiest_cores_pct(
    series: Mapping[Key, SampledSeries], window: Window
) -> dict[str, float]:
    by_machine: dict[str, float] = {}
    for (node, _), values in _gauges(series, window, _CORE.__eq__):
        by_machine[node] = float(np.median(values))
    return by_machine


def _sessions(
    series: Mapping[Key, SampledSeries], window: Window
) -> dict[str, dict[str, float]]:
    """Node → what its sessions wait for → their mean number."""
    by_node: dict[str, dict[str, float]] = {}
    for (node, metric), values in _gauges(series, window, _counts_sessions):
        by_state = by_node.setdefault(node, {})
        by_state[metric.removeprefix(_SESSIONS)] = float(np.mean(values))
    return by_node


def _counts_sessions(metric: str) -> bool:
    return metric.startswith(_SESSIONS)


def _times_at_cpu_pct(
    record: Record, rates: Mapping[Key, Steps], window: Window
) -> dict[str, float]:
    """Node → in which share of the seconds its CPU was full."""
    by_node: dict[str, float] = {}
    for node, cpus in machine_cpu.cpu_limits(record.nodes, None).items():
        used = rates.get((node, counter_names.CPU_SECONDS))
        if used is None:
            continue
        cores = used.within(*window)
        if cores.size:
            is_busy = 100 * cores / cpus >= machine_cpu.CPU_PCT
            by_node[node] = 100 * float(np.mean(is_busy))
    return by_node
