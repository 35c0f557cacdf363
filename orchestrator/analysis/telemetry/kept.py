"""What is kept of a run's samples: all that judging and charts ask for, from one reading; among it
what single seconds of the window show of a node, which its growth hides. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from orchestrator.analysis.telemetry import counters, disk_demand, machines, node_values
from orchestrator.analysis.telemetry.counters import Growth, Samples
from orchestrator.analysis.telemetry.node_values import Evidence
from orchestrator.facts import GeneratorFacts
from orchestrator.model import STORE, Node, Record

WINDOWS = "windows"  # all together, of a load generator that measures in several
# Phases, and those windows, of which it is kept how much counters grew.
_MOVED = ("warm-up", "measure", "settle", WINDOWS)
CPU_PCT = 85.0  # of what a node may use
# Of a link's rate: of full frames 4 % are headers that the kernel does not count.
LINK_PCT = 90.0
# around the median second of so many or more: throughput stood
_FLAT_PCT = 10.0
_FLAT_FROM = 10
# Begins the names of the gauges that count sessions, by what they wait for.
SESSIONS = "sessions_"
_CORE = "busiest_core_pct"
_WAYS = [counters.SENT_BYTES, counters.RECEIVED_BYTES]
_PLACE = ["node", "time_s", "phase"]
# Column of `Telemetry.by_second` → the counters that it adds up.
_BY_SECOND: Mapping[str, list[str]] = {
    "cpus": [counters.CPU_SECONDS],
    "disk_iops": [counters.READS, counters.WRITES],
    "disk_bytes_per_s": [counters.READ_BYTES, counters.WRITTEN_BYTES],
    "flushed_bytes_per_s": [counters.FLUSHED_BYTES],
}

Window = tuple[float, float]
Moved = dict[tuple[str, str], float]  # node and counter → how much it grew


@dataclass(frozen=True)
class Telemetry:
    """growth: of all counters in the measured window; None without window or samples.
    against_caps: sampled database node → its disk against the caps of its tier (`disk_demand`).
    by_second: of database nodes in warm-up and window; time_s (begin of a step), node, phase, cpus
    (used), disk_iops, disk_bytes_per_s, flushed_bytes_per_s, NaN where it was not sampled; limit:
    what was at its limit (`_at_limits`), "" for nothing.
    of_seconds: node → what single seconds of the window show of it.
    sessions: node → what sessions wait for → their mean number.
    moved: phase or windows (of `_MOVED`) → node and counter → how much it grew in it.
    empty: whether nothing was sampled at all."""

    growth: Growth | None
    against_caps: Mapping[str, Evidence]
    by_second: pd.DataFrame
    of_seconds: Mapping[str, Evidence]
    sessions: Mapping[str, Mapping[str, float]]
    moved: Mapping[str, Mapping[tuple[str, str], float]]
    empty: bool


def read(record: Record, samples: Samples, window: Window | None) -> Telemetry:
    """Reads all samples of a run; `window` is the measured one, if the run came that far."""
    reading = _Reading(record, window)
    for table in samples.by_nodes():
        reading.take(table)
    return reading.telemetry()


class _Reading:
    """What was made so far of tables that have all samples of some nodes each."""

    def __init__(self, record: Record, window: Window | None) -> None:
        self._record = record
        self._window = window
        nodes = [node for node in record.nodes if node.role == "database"]
        self._database = {node.name: node for node in nodes}
        self._growth: Growth | None = None
        if window:
            self._growth = Growth(*window)
        self._against_caps: dict[str, Evidence] = {}
        self._of_seconds: dict[str, Evidence] = {}
        self._sessions: dict[str, dict[str, float]] = {}
        self._moved: dict[str, Moved] = {name: {} for name in _MOVED}
        self._by_second: list[pd.DataFrame] = []

    def take(self, table: pd.DataFrame) -> None:
        rates = counters.rates(table)
        of_database = rates[rates["node"].isin(list(self._database))]
        limits: dict[str, Mapping[float, str]] = {}
        for node in self._present(table):
            of_node = of_database[of_database["node"] == node.name]
            disk = disk_demand.of_node(self._record, of_node, node)
            limits[node.name] = _at_limits(self._record, of_node, node, disk)
            if self._window is not None:
                self._against_caps[node.name] = disk_demand.against_caps(
                    self._record, of_node, node, self._window, disk
                )
        self._by_second.append(_by_second(of_database, limits))
        self._take_moved(rates)
        if self._growth is None or self._window is None:
            return
        self._growth.add(rates)
        self._of_seconds |= _of_seconds(self._record, table, rates, self._window)
        self._sessions |= _sessions(table, self._window)

    def _present(self, table: pd.DataFrame) -> list[Node]:
        """The database nodes that were sampled."""
        sampled = set(table["node"].unique())
        return [node for name, node in self._database.items() if name in sampled]

    def _take_moved(self, rates: pd.DataFrame) -> None:
        for phase in self._record.phases:
            if phase.name in _MOVED:
                moved = counters.moved(rates, phase.start_s, phase.end_s)
                self._moved[phase.name] |= moved
        together = self._moved[WINDOWS]
        generator = GeneratorFacts.read(self._record.facts.get("generator"))
        for window in generator.windows or ():
            moved = counters.moved(rates, window["start_s"], window["end_s"])
            for counter, growth in moved.items():
                together[counter] = together.get(counter, 0.0) + growth

    def telemetry(self) -> Telemetry:
        empty = not self._by_second
        growth = self._growth
        tables = self._by_second
        if empty:
            growth = None
            no_rates = counters.rates(counters.joined([]))
            tables = [_by_second(no_rates, {})]
        return Telemetry(
            growth=growth,
            against_caps=self._against_caps,
            by_second=counters.joined(tables),
            of_seconds=self._of_seconds,
            sessions=self._sessions,
            moved=self._moved,
            empty=empty,
        )


# ------------------------------------------------------------------ second by second


def _by_second(
    rates: pd.DataFrame, limits: Mapping[str, Mapping[float, str]]
) -> pd.DataFrame:
    """`limits`: node → end of a second → what was at its limit in it."""
    phases = rates["phase"].isin(["warm-up", "measure"])
    counted = rates[rates["metric"].isin(_all_counters()) & phases]
    begun = counted.assign(time_s=counted["time_s"] - counted["step_s"])
    second, firsts = _seconds(begun)
    by_second = begun[_PLACE].iloc[firsts].reset_index(drop=True)
    metric = begun["metric"].to_numpy(dtype=object)
    value = begun["value"].to_numpy(dtype=float)
    for name, metrics in _BY_SECOND.items():
        has_metric = np.isin(metric, metrics)
        by_second[name] = _sums(second[has_metric], value[has_metric], len(firsts))
    # Limits are known by the ends of seconds, and one row of a second is enough.
    is_cpu = metric == counters.CPU_SECONDS
    titles = _limits_at(counted[is_cpu], limits)
    by_second["limit"] = pd.Series(titles, second[is_cpu], dtype=str)
    return by_second


def _seconds(begun: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Of each row the number of its node, second and phase, in this order; and the place of the
    first row of each. `begun`: rates with the begins of their seconds as times."""
    node = begun["node"].astype("category").cat.codes.to_numpy()
    phase = begun["phase"].astype("category").cat.codes.to_numpy()
    places = np.column_stack([node, begun["time_s"].to_numpy(dtype=float), phase])
    ordered = np.lexsort(places.T[::-1])
    steps = np.diff(places[ordered], axis=0, prepend=np.nan)
    is_another = np.any(steps != 0, axis=1)
    second = np.empty(len(places), dtype=int)
    second[ordered] = np.cumsum(is_another) - 1
    return second, ordered[is_another]


def _sums(second: np.ndarray, values: np.ndarray, seconds: int) -> np.ndarray:
    """Of each second; NaN where there is no value."""
    sums = np.bincount(second, values, seconds).astype(float)
    sums[np.bincount(second, minlength=seconds) == 0] = np.nan
    return sums


def _all_counters() -> list[str]:
    names: list[str] = []
    for metrics in _BY_SECOND.values():
        names += metrics
    return names


def _limits_at(
    steps: pd.DataFrame, limits: Mapping[str, Mapping[float, str]]
) -> list[str]:
    titles: list[str] = []
    for node, end_s in zip(steps["node"], steps["time_s"], strict=True):
        of_node = limits.get(str(node), {})
        titles.append(of_node.get(end_s, ""))
    return titles


def _at_limits(
    record: Record, rates: pd.DataFrame, node: Node, disk: pd.DataFrame
) -> dict[float, str]:
    """End of each second in which something of the node was at its limit → what it was: a cap of
    its disk (within 5 %), else its CPU. `rates`: of the node; `disk`: of `disk_demand.of_node`."""
    limits: dict[float, str] = {}
    for end_s in _ends_at_cpu(record, rates, node):
        limits[end_s] = "node CPU"
    for cap, share in disk_demand.of_caps(disk):
        for end_s in disk["time_s"][share >= disk_demand.AT_CAP]:
            limits[end_s] = _CAP_TITLES[cap]
    return limits


def _ends_at_cpu(record: Record, rates: pd.DataFrame, node: Node) -> pd.Series:
    """Ends of the seconds in which the node's CPU was at its limit."""
    cpu = rates[rates["metric"] == counters.CPU_SECONDS]
    cpus = machines.cpu_limits(record.nodes, None).get(node.name, math.inf)
    return cpu["time_s"][100 * cpu["value"] >= CPU_PCT * cpus]


_CAP_TITLES: Mapping[node_values.CapName, str] = {
    "iops": "IOPS cap",
    "bandwidth": "bandwidth cap",
}


# ------------------------------------------------------------------ of single seconds


def _of_seconds(
    record: Record, samples: pd.DataFrame, rates: pd.DataFrame, window: Window
) -> dict[str, Evidence]:
    parts = (
        _busiest_cores(samples, window),
        _times_at_cpu(record, rates, window),
        _of_links(record, rates, window),
    )
    by_node: dict[str, Evidence] = {}
    for part in parts:
        for node, values in part.items():
            before = by_node.get(node, Evidence())
            by_node[node] = node_values.merged([before, values])
    return by_node


def _busiest_cores(samples: pd.DataFrame, window: Window) -> dict[str, Evidence]:
    gauges = _in(samples, [_CORE], window)
    by_node: dict[str, Evidence] = {}
    for node, values in gauges.groupby("node", observed=True)["value"]:
        by_node[str(node)] = Evidence(busiest_core_pct=float(values.median()))
    return by_node


def _sessions(samples: pd.DataFrame, window: Window) -> dict[str, dict[str, float]]:
    """Node → what its sessions wait for → their mean number."""
    gauges = _in(samples, _session_gauges(samples), window)
    series = gauges.groupby(["node", "metric"], observed=True)["value"]
    by_node: dict[str, dict[str, float]] = {}
    for (node, metric), values in series:
        state = str(metric).removeprefix(SESSIONS)
        by_state = by_node.setdefault(str(node), {})
        by_state[state] = float(values.mean())
    return by_node


def _session_gauges(samples: pd.DataFrame) -> list[str]:
    metrics = [str(name) for name in samples["metric"].unique()]
    return [name for name in metrics if name.startswith(SESSIONS)]


def _times_at_cpu(
    record: Record, rates: pd.DataFrame, window: Window
) -> dict[str, Evidence]:
    limits = machines.cpu_limits(record.nodes, None)
    used = _in(rates, [counters.CPU_SECONDS], window).groupby("node", observed=True)
    by_node: dict[str, Evidence] = {}
    for node, cores in used["value"]:
        if node in limits:
            is_busy = 100 * cores / limits[str(node)] >= CPU_PCT
            time_pct = 100 * float(is_busy.mean())
            by_node[str(node)] = Evidence(time_at_cpu_pct=time_pct)
    return by_node


def _of_links(
    record: Record, rates: pd.DataFrame, window: Window
) -> dict[str, Evidence]:
    """Each link by its busier way, where its speed is known, or a store of others is behind it."""
    of_store = record.profile.cluster.member == STORE
    declared = record.profile.cluster.network_bytes_per_s
    speeds = _card_speeds(record.nodes)
    if not (declared or of_store or any(speeds.values())):
        return {}
    ways = _in(rates, _WAYS, window).groupby(["node", "time_s"], observed=True)
    by_node: dict[str, Evidence] = {}
    for node, busier in ways["value"].max().groupby("node", observed=True):
        parts = _of_link(busier, declared, speeds.get(str(node)))
        if of_store:
            parts.append(_of_store_link(busier))
        by_node[str(node)] = node_values.merged(parts)
    return by_node


def _of_link(
    busier: pd.Series, declared: float | None, cards: float | None
) -> list[Evidence]:
    """Against the rate that is declared, else against the speed of its network cards."""
    if declared:
        return [_of_rate(busier, declared)]
    if cards:
        return [Evidence(network_cards_bytes_per_s=cards), _of_rate(busier, cards)]
    return []


def _card_speeds(nodes: Sequence[Node]) -> dict[str, float]:
    """Node → the speed of its network cards together, if each says its own."""
    speeds: dict[str, float] = {}
    for node in nodes:
        if all(node.cards.values()):
            speeds[node.name] = sum(node.cards.values())
    return speeds


def _of_store_link(busier: pd.Series) -> Evidence:
    """How steady throughput is: what stands still may be held by the other side."""
    if len(busier) < _FLAT_FROM:
        return Evidence()
    typical = float(busier.median())
    stood = (busier - typical).abs() <= typical * _FLAT_PCT / 100
    time_pct = 100 * float(stood.mean())
    return Evidence(way_bytes_per_s=typical, time_at_way_pct=time_pct)


def _of_rate(busier: pd.Series, rate: float) -> Evidence:
    typical = float(busier.median())
    is_full = 100 * busier / rate >= LINK_PCT
    time_pct = 100 * float(is_full.mean())
    return Evidence(
        network_of_rate_pct=100 * typical / rate, time_at_network_rate_pct=time_pct
    )


def _in(table: pd.DataFrame, metrics: list[str], window: Window) -> pd.DataFrame:
    return disk_demand.within(window, table[table["metric"].isin(metrics)])
