"""A Prometheus server that reads node_exporter: its raw samples, with the times of the readings.

`/api/v1/query` with a range selector gives samples as they were scraped. `query_range` would not:
it answers at times of its own from the last sample within five minutes, so that a lost scrape looks
like a pause and then like a burst, and it refuses more than 11,000 points
(https://prometheus.io/docs/prometheus/latest/querying/api). node_time_seconds is the clock of the
reading itself: a scrape that came late would be a burst. Nothing is written.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.observed.demand import QUANTITIES, grown
from orchestrator.errors import UsageError
from orchestrator.keys.messages import failure
from orchestrator.system import http_client

CHUNK_S = 6 * 3600  # a request: below the server's 50 million samples for hundreds of disks
_TIMEOUT_S = 120.0
_METRICS = {  # of READINGS
    "time_s": "node_time_seconds",
    "reads": "node_disk_reads_completed_total",
    "writes": "node_disk_writes_completed_total",
    "read_bytes": "node_disk_read_bytes_total",
    "written_bytes": "node_disk_written_bytes_total",
}
GetJson = Callable[[str, float], Any]


def read(
    url: str,
    match: str,
    device: str,
    begin_s: float,
    end_s: float,
    get: GetJson = http_client.get_json,
) -> pd.DataFrame:
    """A table with INTERVALS. match: selectors such as `job="node",instance=~"db.*"`; device: as
    the exporter names it, or several with | between. A node is called as its instance.
    UsageError if there is no such series or a counter lacks, OSError as of `get`."""
    series = defaultdict[tuple[str, str, str], list["pd.Series[float]"]](list)
    for start_s in np.arange(begin_s, end_s, CHUNK_S).tolist():
        until_s = min(start_s + CHUNK_S, end_s)
        for name, metric in _METRICS.items():
            of_disk = [f'device=~"{device}"'] if name in QUANTITIES else []
            selector = f"{metric}{{{','.join(filter(None, [match, *of_disk]))}}}"
            asked = {"query": f"{selector}[{round(until_s - start_s)}s]", "time": until_s}
            page = f"{url.rstrip('/')}/api/v1/query?{http_client.encoded(asked)}"
            answer = get(page, _TIMEOUT_S)
            with http_client.understood(url):
                for result in answer["data"]["result"]:
                    node = result["metric"].get("instance", "node")
                    scraped_s, values = np.array(result["values"], dtype=float).T
                    of = node, result["metric"].get("device", ""), name
                    series[of].append(pd.Series(values, scraped_s))
    disks = dict.fromkeys((node, disk) for node, disk, _ in series if disk)
    tables = []
    for node, disk in disks:
        parts = {name: series[node, disk if name in QUANTITIES else "", name] for name in _METRICS}
        if lacking := [_METRICS[name] for name, of in parts.items() if not of]:
            raise failure(UsageError, "metric lacking", url=url, node=node, name=lacking[0])
        columns = [pd.concat(of).groupby(level=0).first().rename(n) for n, of in parts.items()]
        table = pd.concat(columns, axis=1, join="inner")
        tables.append(grown(table.assign(node=node, device=disk)))
    if not tables:
        raise failure(UsageError, "no such series", url=url, device=device, match=match)
    return pd.concat(tables)
