"""What is kept of a run's samples: all that judging and charts ask for, from one reading; among it
what single seconds of the window show of a node, which its growth hides. Pure."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from orchestrator.analysis.telemetry import counters, disk_demand, machines
from orchestrator.analysis.telemetry.counters import Growth, Samples
from orchestrator.facts import GeneratorFacts
from orchestrator.model import STORE, Node, Record

_COUNTED = ("warm-up", "measure", "settle")
WINDOWS = "windows"  # all together, of a load generator that measures in several
_BY_SECOND: Mapping[str, list[str]] = counters.GROWTH["by_second"]
CPU_PCT = 85.0  # of what a node may use
# Of a link's rate: of full frames 4 % are headers that the kernel does not count.
LINK_PCT = 90.0
# around the median second of so many or more: throughput stood
_FLAT_PCT = 10.0
_FLAT_FROM = 10
SESSIONS = (
    "sessions_"  # begins the names of the gauges that count them, by what they wait for
)
_CORE = "busiest_core_pct"
_WAYS = [counters.SENT_BYTES, counters.RECEIVED_BYTES]


OfNodes = Mapping[str, Mapping[str, float]]  # node → values by name


@dataclass(frozen=True)
class Telemetry:
    """growth: of all counters in the measured window; None without window or samples.
    against_caps: sampled database node → its disk against the caps of its tier (`disk_demand`).
    by_second: of database nodes in warm-up and window; time_s (begin of a step), node, phase, cpus
    (used), disk_iops, disk_bytes_per_s, flushed_bytes_per_s, NaN where it was not sampled; limit:
    what was at its limit (`_at_limits`), "" for nothing.
    of_seconds: node → what single seconds show of it (`_of_seconds`).
    moved: phase (of `_COUNTED`), or `WINDOWS` → node and counter → how much it grew in it.
    empty: whether nothing was sampled at all."""

    growth: Growth | None
    against_caps: OfNodes
    by_second: pd.DataFrame
    of_seconds: OfNodes
    moved: Mapping[str, Mapping[tuple[str, str], float]]
    empty: bool


def read(
    record: Record, samples: Samples, window: tuple[float, float] | None
) -> Telemetry:
    """Reads all samples of a run; `window` is the measured one, if the run came that far."""
    growth = None
    if window:
        growth = Growth(*window)
    of_disks: dict[str, dict[str, float]] = {}
    of_seconds: dict[str, dict[str, float]] = {}
    database = {node.name: node for node in record.nodes if node.role == "database"}
    moved: dict[str, dict[tuple[str, str], float]] = {
        name: {} for name in (*_COUNTED, WINDOWS)
    }
    windows = GeneratorFacts.read(record.facts.get("generator")).windows or ()
    tables = []
    for table in samples.by_nodes():
        rates = counters.rates(table)
        own = rates[rates["node"].isin(list(database))]
        present = database.keys() & set(table["node"].unique())
        limits = {name: _at_limits(record, own, database[name]) for name in present}
        tables.append(_by_second(own, limits))
        for phase in (phase for phase in record.phases if phase.name in moved):
            moved[phase.name] |= counters.moved(rates, phase.start_s, phase.end_s)
        counted = Counter[tuple[str, str]]()
        for each in windows:
            counted.update(counters.moved(rates, each["start_s"], each["end_s"]))
        moved[WINDOWS] |= counted
        if growth is not None and window is not None:
            growth.add(rates)
            of_seconds |= _of_seconds(record, table, rates, window)
            for name in present:
                of_disks[name] = dict(
                    disk_demand.against_caps(record, own, database[name], window)
                )
    empty = not tables
    if empty:
        growth = None
        tables = [_by_second(counters.rates(counters.joined([])), {})]
    by_second = counters.joined(tables)
    return Telemetry(growth, of_disks, by_second, of_seconds, moved, empty)


def _by_second(
    rates: pd.DataFrame, limits: Mapping[str, Mapping[float, str]]
) -> pd.DataFrame:
    counted = [metric for of in _BY_SECOND.values() for metric in of]
    own = rates[
        rates["metric"].isin(counted) & rates["phase"].isin(["warm-up", "measure"])
    ]
    used = own[own["metric"] == counters.CPU_SECONDS]
    pairs = zip(used["node"], used["time_s"], strict=True)
    at_limit = [limits.get(str(node), {}).get(time_s, "") for node, time_s in pairs]
    begun = own.assign(time_s=own["time_s"] - own["step_s"])
    places = ["node", "time_s", "phase"]
    columns = {
        name: begun[begun["metric"].isin(of)]
        .groupby(places, observed=True)["value"]
        .sum()
        for name, of in _BY_SECOND.items()
    }
    named = begun.loc[used.index].assign(
        limit=pd.Series(at_limit, used.index, dtype=str)
    )
    columns["limit"] = named.groupby(places, observed=True)["limit"].first()
    return pd.DataFrame(columns).reset_index()


def _of_seconds(
    record: Record,
    samples: pd.DataFrame,
    rates: pd.DataFrame,
    window: tuple[float, float],
) -> dict[str, dict[str, float]]:
    """Node → its values, named as in `resources.VALUES`, and what it counted of sessions."""
    limits = machines.cpu_limits(record.nodes, None)
    names = [str(name) for name in samples["metric"].unique()]
    kept = [name for name in names if name == _CORE or name.startswith(SESSIONS)]
    gauges = _in(samples, kept, window).groupby(["node", "metric"], observed=True)[
        "value"
    ]
    by_node: dict[str, dict[str, float]] = {}
    for (node, metric), values in gauges:
        if metric == _CORE:
            typical = values.median()
        else:
            typical = values.mean()
        by_node.setdefault(str(node), {})[str(metric)] = float(typical)
    used = _in(rates, [counters.CPU_SECONDS], window).groupby("node", observed=True)[
        "value"
    ]
    for node, cores in used:
        if node in limits:
            busy = 100 * cores / limits[str(node)] >= CPU_PCT
            by_node.setdefault(str(node), {})["time_at_cpu_pct"] = 100 * float(
                busy.mean()
            )
    declared = record.profile.cluster.network_bytes_per_s
    speeds = {
        n.name: sum(n.cards.values()) for n in record.nodes if all(n.cards.values())
    }
    of_store = record.profile.cluster.member == STORE
    if not (declared or of_store or any(speeds.values())):
        return by_node
    ways = _in(rates, _WAYS, window).groupby(["node", "time_s"], observed=True)["value"]
    for node, busier in ways.max().groupby("node", observed=True):
        own = by_node.setdefault(str(node), {})
        typical = float(busier.median())
        if of_store and len(busier) >= _FLAT_FROM:
            near = (busier - typical).abs() <= typical * _FLAT_PCT / 100
            own |= {
                "way_bytes_per_s": typical,
                "time_at_way_pct": 100 * float(near.mean()),
            }
        rate = declared or speeds.get(str(node))
        if rate:
            own |= {} if declared else {"network_cards_bytes_per_s": rate}
            own["network_of_rate_pct"] = 100 * typical / rate
            own["time_at_network_rate_pct"] = 100 * float(
                (100 * busier / rate >= LINK_PCT).mean()
            )
    return by_node


def _at_limits(record: Record, rates: pd.DataFrame, node: Node) -> dict[float, str]:
    """End of each second in which something of the node was at its limit → what it was: a cap of
    its disk (within 5 %), else its CPU."""
    own = rates[
        (rates["node"] == node.name) & (rates["metric"] == counters.CPU_SECONDS)
    ]
    cpus = machines.cpu_limits(record.nodes, None).get(node.name, math.inf)
    reached = [(own["time_s"][100 * own["value"] >= CPU_PCT * cpus], "node CPU")]
    disk = disk_demand.of_node(record, rates, node)
    for name, share in disk_demand.of_caps(disk):
        if name == "iops":
            title = "IOPS cap"
        else:
            title = f"{name} cap"
        reached.append((disk["time_s"][share >= disk_demand.AT_CAP], title))
    return {time_s: name for times_s, name in reached for time_s in times_s}


def _in(
    table: pd.DataFrame, metrics: list[str], window: tuple[float, float]
) -> pd.DataFrame:
    return disk_demand.within(window, table[table["metric"].isin(metrics)])
