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
    (used), disk_iops, disk_bytes_per_s, flushed_bytes_per_s; NaN where it was not sampled.
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
        tables.append(_by_second(own))
        for phase in (phase for phase in record.phases if phase.name in moved):
            moved[phase.name] |= counters.moved(rates, phase.start_s, phase.end_s)
        if growth is not None and window is not None:
            growth.add(rates)
            of_seconds |= seconds.of_nodes(record, table, rates, window)
            for name in database.keys() & set(table["node"].unique()):
                of_disks[name] = dict(against_caps(record, own, database[name], window))
    if not tables:
        return NOTHING
    by_second = counters.joined(tables)
    return Telemetry(growth, of_disks, by_second, of_seconds, empty=False, moved=moved)


def _by_second(rates: pd.DataFrame) -> pd.DataFrame:
    counted = [metric for of in _BY_SECOND.values() for metric in of]
    own = rates[rates["metric"].isin(counted) & rates["phase"].isin(["warm-up", "measure"])]
    own = own.assign(time_s=own["time_s"] - own["step_s"])
    places = ["node", "time_s", "phase"]
    sums = {
        name: own[own["metric"].isin(of)].groupby(places, observed=True)["value"].sum()
        for name, of in _BY_SECOND.items()
    }
    return pd.DataFrame(sums).reset_index()


NOTHING = Telemetry(None, {}, _by_second(counters.rates(counters.joined([]))), {}, empty=True)
