"""A Prometheus server that reads node_exporter: its raw samples, with the times of the readings.

`/api/v1/query` with a range selector gives samples as they were scraped. `query_range` would not:
it answers at times of its own from the last sample within five minutes, so that a lost scrape looks
like a pause and then like a burst, and it refuses more than 11,000 points
(https://prometheus.io/docs/prometheus/latest/querying/api). node_time_seconds is the clock of the
reading itself: a scrape that came late would be a burst. Nothing is written."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.observed.demand import QUANTITIES, grown
from orchestrator.errors import UsageError
from orchestrator.keys import strict_yaml
from orchestrator.system.http_client import get_json, understood

CHUNK_S = (
    6 * 3600
)  # a request: below the server's 50 million samples for hundreds of disks
_TIMEOUT_S = 120.0
GetJson = Callable[..., Any]


def read(
    url: str,
    match: str,
    device: str,
    begin_s: float,
    end_s: float,
    get: GetJson = get_json,
) -> pd.DataFrame:
    """A table with INTERVALS. match: selectors such as `job="node",instance=~"db.*"`; device: as
    the exporter names it, or several with | between. A node is called as its instance.
    UsageError if there is no such series or a counter lacks, OSError as of `get`."""
    names: dict[str, str] = strict_yaml.shipped(__package__, "names.yaml")["prometheus"]
    tables = list[pd.DataFrame]()
    page = f"{url.rstrip('/')}/api/v1/query"
    for start_s in np.arange(begin_s, end_s, CHUNK_S).tolist():
        until_s = min(start_s + CHUNK_S, end_s)
        series = dict[tuple[str, str, str], Any]()
        for metric, name in names.items():
            labels = ",".join(
                filter(None, [match, f'device=~"{device}"' * (name in QUANTITIES)])
            )
            query = f"{metric}{{{labels}}}[{round(until_s - start_s)}s]"
            answer = get(page, _TIMEOUT_S, question={"query": query, "time": until_s})
            with understood(url):
                for result in answer["data"]["result"]:
                    scraped_s, values = np.array(result["values"], dtype=float).T
                    node, disk = (
                        result["metric"].get(n, "") for n in ("instance", "device")
                    )
                    series[name, node, disk] = pd.Series(values, scraped_s)
        for node, disk in dict.fromkeys(
            (node, disk) for _, node, disk in series if disk
        ):
            at = {
                name: (name, node, disk * (name in QUANTITIES))
                for name in names.values()
            }
            table = pd.DataFrame({name: series.get(key) for name, key in at.items()})
            tables.append(table.assign(node=node, device=disk))
    if not tables:
        raise _no_such_series(url, device, match)
    readings = pd.concat(tables)
    for node, rows in readings.groupby("node"):
        for metric in (
            metric for metric, name in names.items() if rows[name].isna().all()
        ):
            raise _metric_lacking(url, metric, str(node))
    return grown(readings.dropna().drop_duplicates(["node", "device", "time_s"]))


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
