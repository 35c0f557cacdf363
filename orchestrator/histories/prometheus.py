"""A Prometheus server that reads node_exporter: its raw samples, with the times of the readings.

`/api/v1/query` with a range selector gives samples as they were scraped. `query_range` would not:
it answers at times of its own from the last sample within five minutes, so that a lost scrape looks
like a pause and then like a burst, and it refuses more than 11,000 points
(https://prometheus.io/docs/prometheus/latest/querying/api). node_time_seconds is the clock of the
reading itself: a scrape that came late would be a burst. Nothing is written."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orchestrator.analysis.observed.demand import QUANTITIES, grown
from orchestrator.errors import UsageError
from orchestrator.keys import strict_yaml
from orchestrator.system.http_client import get_history, understood

# A request: below the server's 50 million samples for hundreds of disks.
CHUNK_S = 6 * 3600
_TIMEOUT_S = 120.0
GetJson = Callable[..., Any]


class _Selection(NamedTuple):
    """What is asked for: selectors of Prometheus and names of devices; where, and by what."""

    url: str
    match: str
    device: str
    get: GetJson


class _DiskSeries(NamedTuple):
    """A column of what is read. Without `device` it is the clock of a node."""

    column: str
    node: str
    device: str


def read(
    url: str,
    match: str,
    device: str,
    begin_s: float,
    end_s: float,
    get: GetJson = get_history,
) -> pd.DataFrame:
    """A table with INTERVALS. match: selectors such as `job="node",instance=~"db.*"`; device: as
    the exporter names it, or several with | between. A node is called as its instance.
    UsageError if there is no such series or a counter lacks, OSError as of `get`."""
    columns: dict[str, str] = strict_yaml.shipped(__package__, "names.yaml")[
        "prometheus"
    ]
    selection = _Selection(url, match, device, get)
    tables = list[pd.DataFrame]()
    for start_s in np.arange(begin_s, end_s, CHUNK_S).tolist():
        until_s = min(start_s + CHUNK_S, end_s)
        series = _samples(selection, columns, start_s, until_s)
        tables += _by_disk(series, list(columns.values()))
    if not tables:
        raise _no_such_series(url, device, match)
    readings = pd.concat(tables)
    _refuse_lacking(url, readings, columns)
    complete = readings.dropna()
    return grown(complete.drop_duplicates(["node", "device", "time_s"]))


def _samples(
    selection: _Selection, columns: Mapping[str, str], start_s: float, until_s: float
) -> dict[_DiskSeries, "pd.Series[float]"]:
    """Raw samples of that time, by when they were scraped."""
    page = f"{selection.url.rstrip('/')}/api/v1/query"
    series = {}
    for metric, column in columns.items():
        selectors = _selectors(selection, column)
        query = f"{metric}{{{selectors}}}[{round(until_s - start_s)}s]"
        question = {"query": query, "time": until_s}
        answer = selection.get(page, _TIMEOUT_S, question=question)
        with understood(selection.url):
            for result in answer["data"]["result"]:
                scraped_s, values = np.array(result["values"], dtype=float).T
                labels = result["metric"]
                node = labels.get("instance", "")
                key = _DiskSeries(column, node, labels.get("device", ""))
                series[key] = pd.Series(values, scraped_s)
    return series


def _selectors(selection: _Selection, column: str) -> str:
    """The clock of a node is of no device."""
    selectors = []
    if selection.match:
        selectors.append(selection.match)
    if column in QUANTITIES:
        selectors.append(f'device=~"{selection.device}"')
    return ",".join(selectors)


def _by_disk(
    series: Mapping[_DiskSeries, "pd.Series[float]"], columns: list[str]
) -> Iterator[pd.DataFrame]:
    """A table for each disk, with the clock of its node."""
    disks = [(key.node, key.device) for key in series if key.device]
    for node, device in dict.fromkeys(disks):
        of_disk = {}
        for column in columns:
            key = _DiskSeries(column, node, "")
            if column in QUANTITIES:
                key = _DiskSeries(column, node, device)
            of_disk[column] = series.get(key)
        yield pd.DataFrame(of_disk).assign(node=node, device=device)


def _refuse_lacking(
    url: str, readings: pd.DataFrame, columns: Mapping[str, str]
) -> None:
    """Of every node every metric must be there."""
    for node, rows in readings.groupby("node"):
        for metric, column in columns.items():
            if rows[column].isna().all():
                raise _metric_lacking(url, metric, str(node))


def _no_such_series(url: str, device: str, match: str) -> UsageError:
    return UsageError(
        f"{url} has no device {device} of {{{match}}}",
        advice="node_exporter leaves out loop devices and partitions unless it is told "
        "otherwise",
    )


def _metric_lacking(url: str, metric: str, node: str) -> UsageError:
    return UsageError(
        f"{url} has no {metric} of {node}",
        advice="node_exporter has it unless its collectors `diskstats` or `time` are "
        "switched off",
    )
