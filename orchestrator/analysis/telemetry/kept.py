"""What is kept of a run's samples: all that judging and charts ask for, from one reading. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from orchestrator.analysis.telemetry import counters, seconds
from orchestrator.analysis.telemetry.counters import Growth, Samples
from orchestrator.analysis.telemetry.disk_demand import against_caps
from orchestrator.model import Record

_COUNTED = ("warm-up", "measure", "settle")
# Column of `by_second` → the counters of a database node whose growth it is.
_BY_SECOND = {
    "cpus": (counters.CPU_SECONDS,),
    "disk_iops": (counters.READS, counters.WRITES),
    "disk_bytes_per_s": (counters.READ_BYTES, counters.WRITTEN_BYTES),
    "flushed_bytes_per_s": ("flush_written_bytes_total",),  # of the collector for YugabyteDB
}


@dataclass(frozen=True)
class Telemetry:
    """growth: of all counters in the measured window; None without window or samples.
    against_caps: sampled database node → its disk against the caps of its tier (`disk_demand`).
    by_second: of database nodes in warm-up and window; time_s (begin of a step), node, phase, cpus
    (used), disk_iops, disk_bytes_per_s, flushed_bytes_per_s, NaN where it was not sampled; limit:
    what was at its limit (`seconds.at_limits`), "" for nothing.
    of_seconds: node → what single seconds show of it (`seconds`).
    moved: phase (of `_COUNTED`) → node and counter → how much it grew in it.
    empty: whether nothing was sampled at all.
    """

    growth: Growth | None
    against_caps: Mapping[str, Mapping[str, float]]
    by_second: pd.DataFrame
    of_seconds: Mapping[str, Mapping[str, float]]
    empty: bool
    moved: Mapping[str, Mapping[tuple[str, str], float]] = field(default_factory=dict)


def read(record: Record, samples: Samples, window: tuple[float, float] | None) -> Telemetry:
    """Reads all samples of a run; `window` is the measured one, if the run came that far."""
    growth = Growth(*window) if window else None
    of_disks: dict[str, dict[str, float]] = {}
    of_seconds: dict[str, dict[str, float]] = {}
    database = {node.name: node for node in record.nodes if node.role == "database"}
    moved: dict[str, dict[tuple[str, str], float]] = {name: {} for name in _COUNTED}
    tables = []
    for table in samples.by_nodes():
        rates = counters.rates(table)
        own = rates[rates["node"].isin(list(database))]
        present = database.keys() & set(table["node"].unique())
        limits = {name: seconds.at_limits(record, own, database[name]) for name in present}
        tables.append(_by_second(own, limits))
        for phase in (phase for phase in record.phases if phase.name in moved):
            moved[phase.name] |= counters.moved(rates, phase.start_s, phase.end_s)
        if growth is not None and window is not None:
            growth.add(rates)
            of_seconds |= seconds.of_nodes(record, table, rates, window)
            for name in present:
                of_disks[name] = dict(against_caps(record, own, database[name], window))
    if not tables:
        return NOTHING
    by_second = counters.joined(tables)
    return Telemetry(growth, of_disks, by_second, of_seconds, empty=False, moved=moved)


def _by_second(rates: pd.DataFrame, limits: Mapping[str, Mapping[float, str]] = {}) -> pd.DataFrame:
    counted = [metric for of in _BY_SECOND.values() for metric in of]
    own = rates[rates["metric"].isin(counted) & rates["phase"].isin(["warm-up", "measure"])]
    used = own[own["metric"] == counters.CPU_SECONDS]
    pairs = zip(used["node"], used["time_s"], strict=True)
    at_limit = [limits.get(str(node), {}).get(time_s, "") for node, time_s in pairs]
    begun = own.assign(time_s=own["time_s"] - own["step_s"])
    places = ["node", "time_s", "phase"]
    columns = {
        name: begun[begun["metric"].isin(of)].groupby(places, observed=True)["value"].sum()
        for name, of in _BY_SECOND.items()
    }
    named = begun.loc[used.index].assign(limit=pd.Series(at_limit, used.index, dtype=str))
    columns["limit"] = named.groupby(places, observed=True)["limit"].first()
    return pd.DataFrame(columns).reset_index()


NOTHING = Telemetry(None, {}, _by_second(counters.rates(counters.joined([]))), {}, empty=True)
