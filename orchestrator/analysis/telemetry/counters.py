"""The samples of a run: counters as they were read → how much they grew per second. Pure.

A hundred nodes leave nine million samples an hour, more than memory should hold. So they stay where
they are kept: `Samples` reads them, and `kept.py` says what stays in memory of them.

The counters that collectors write are in growth.yaml."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import pandas as pd
from pandas.api.types import union_categoricals

from orchestrator.keys.strict_yaml import shipped
from orchestrator.metrics import SAMPLE_COLUMNS

READS = "disk_reads_total"
WRITES = "disk_writes_total"
READ_BYTES = "disk_read_bytes_total"
WRITTEN_BYTES = "disk_written_bytes_total"
READ_SECONDS = "disk_read_seconds_total"
WRITE_SECONDS = "disk_write_seconds_total"
BUSY_SECONDS = "disk_busy_seconds_total"
WAL_READ_BYTES = "wal_disk_read_bytes_total"
WAL_WRITTEN_BYTES = "wal_disk_written_bytes_total"
CPU_SECONDS = "cpu_seconds_total"
PERIODS = "cpu_periods_total"
THROTTLED_PERIODS = "cpu_throttled_periods_total"
HOST_CPU_SECONDS = "cpu_busy_seconds_total"
RECEIVED_BYTES = "network_received_bytes_total"
SENT_BYTES = "network_sent_bytes_total"

GROWTH = shipped(__package__, "growth.yaml")

MIN_COVERAGE = 0.5  # share of the window that samples must cover to stand for it


def rates(samples: pd.DataFrame) -> pd.DataFrame:
    """Counters per second: time_s (end of the step), step_s, node, metric, value, phase. One row
    per two successive samples, so a gap is one long step at its mean rate. A step where the counter
    falls was a reset: how much it grew is not known, so the step is left out."""
    counted = [
        name for name in samples["metric"].unique() if str(name).endswith("_total")
    ]
    counters = samples[samples["metric"].isin(counted)]
    ordered = counters.sort_values(["node", "metric", "time_s"], ignore_index=True)
    series = ordered.groupby(["node", "metric"], sort=False, observed=True)
    steps = series[["time_s", "value"]].diff()
    step_s = steps["time_s"]
    growth = steps["value"]
    kept = (step_s > 0) & (growth >= 0)
    table = ordered.loc[kept, ["time_s", "node", "metric", "phase"]].assign(
        step_s=step_s[kept], value=growth[kept] / step_s[kept]
    )
    return table[["time_s", "step_s", "node", "metric", "value", "phase"]].reset_index(
        drop=True
    )


def wide(rates: pd.DataFrame, node: str, metrics: Sequence[str]) -> pd.DataFrame:
    """Of one node: time_s, step_s, a column for each counter, where all are known."""
    own = rates.loc[rates["node"] == node, ["time_s", "step_s", "metric", "value"]]
    series = {name: own[own["metric"] == name].set_index("time_s") for name in metrics}
    values = {name: table["value"] for name, table in series.items()}
    table = pd.DataFrame({"step_s": series[metrics[0]]["step_s"], **values})
    return table.dropna().reset_index()


def moved(
    rates: pd.DataFrame, start_s: float, end_s: float
) -> dict[tuple[str, str], float]:
    """Node and counter → its growth in [start_s, end_s]: of a step that reaches beyond, its part
    at the step's mean rate. So nothing between adjacent spans is lost or counted twice."""
    reaches = (rates["time_s"] > start_s) & (rates["time_s"] - rates["step_s"] < end_s)
    own = rates[reaches]  # few, where there are many spans
    begin_s = (own["time_s"] - own["step_s"]).clip(lower=start_s)
    overlap_s = own["time_s"].clip(upper=end_s) - begin_s
    parts = own.assign(moved=own["value"] * overlap_s)[overlap_s > 0]
    sums = parts.groupby(["node", "metric"], observed=True)["moved"].sum()
    of_counters = zip(sums.index, sums, strict=True)
    return {
        (str(node), str(metric)): float(value) for (node, metric), value in of_counters
    }


class Growth:
    """Growth per second of each node's counters between the window's first and last sample: no mean
    of rates, which uneven sampling would bend. Those sampled for less than half are left out."""

    def __init__(self, start_s: float, end_s: float) -> None:
        self._start_s = start_s
        self._end_s = end_s
        self._per_s: dict[tuple[str, str], float] = {}

    def add(self, rates: pd.DataFrame) -> None:
        """Takes in all `rates` of some nodes."""
        start_s = self._start_s
        end_s = self._end_s
        begin_s = rates["time_s"] - rates["step_s"]
        table = rates[(begin_s >= start_s) & (rates["time_s"] <= end_s)]
        sums = (
            table.assign(growth=table["value"] * table["step_s"])
            .groupby(["node", "metric"], observed=True)[["growth", "step_s"]]
            .sum()
        )
        enough = sums[sums["step_s"] >= MIN_COVERAGE * (end_s - start_s)]
        rows = zip(enough.index, enough["growth"], enough["step_s"], strict=True)
        for (node, metric), growth, step_s in rows:
            self._per_s[str(node), str(metric)] = float(growth) / float(step_s)

    def per_s(self, node: str, *metrics: str) -> float | None:
        """The sum of these counters per second; None if any was not sampled."""
        values = [self._per_s.get((node, metric)) for metric in metrics]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            return sum(known)
        return None

    def of(self, node: str, counters: Mapping[str, Sequence[str]]) -> dict[str, float]:
        """Name → its counters together per second, without those of which any was not sampled."""
        values = {
            name: self.per_s(node, *metrics) for name, metrics in counters.items()
        }
        return {name: value for name, value in values.items() if value is not None}


def with_quotients(values: Mapping[str, float], **more: float) -> dict[str, float]:
    """With those whose parts are there, among `more`; `nodes`: of so many together."""
    parts = {"nodes": 1, **values, **more}
    quotients = {
        name: times * parts[over] / parts[under]
        for name, (over, under, times) in GROWTH["quotients"].items()
        if over in parts and parts.get(under)
    }
    return {**values, **quotients}


def summed(several: Collection[Mapping[str, float]]) -> dict[str, float]:
    """The sum of each value that all of them have; empty without any."""
    first, *rest = several or ({},)
    shared = [name for name in first if all(name in values for values in rest)]
    return {name: sum(values[name] for values in several) for name in shared}


class Samples:
    """Tables with time_s (Unix), node, metric, unit, value, phase: counters as read, no rates.
    `parts` reads them from the first on at each call; the text columns may be categories, which are
    then in alphabetical order in what is returned."""

    at_once = (
        2**21
    )  # rows, or one node more: with what is computed from them some 600 MB

    def __init__(self, parts: Callable[[], Iterable[pd.DataFrame]]) -> None:
        self.parts = parts

    def by_nodes(self) -> Iterator[pd.DataFrame]:
        """All of them, in tables that have all of some nodes each; none if there are none. They are
        read once, unless they are more than `at_once`."""
        rows = Counter[str]()
        held = list[pd.DataFrame]()
        for part in self.parts():
            rows.update(
                {str(node): int(n) for node, n in part["node"].value_counts().items()}
            )
            if rows.total() <= self.at_once:
                held = [*held, part]
            else:
                held = []
        if held or not rows:
            yield from [joined(held)] if rows else []
            return
        of_nodes = pd.Series(dict(sorted(rows.items())), dtype="int64")
        for _, group in of_nodes.groupby(of_nodes.cumsum() // self.at_once):
            yield joined(part[part["node"].isin(group.index)] for part in self.parts())


def joined(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """One table of several with the same columns; without any an empty one of samples."""
    tables = list(parts)
    if not tables:
        return pd.DataFrame(columns=list(SAMPLE_COLUMNS))
    texts = [str(name) for name, kind in tables[0].dtypes.items() if kind == "category"]
    rest = pd.concat([table.drop(columns=texts) for table in tables], ignore_index=True)
    united = {
        name: union_categoricals(
            [table[name] for table in tables], sort_categories=True
        )
        for name in texts
    }
    return rest.assign(**united)[list(tables[0].columns)]
