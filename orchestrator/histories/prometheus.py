"""A Prometheus server that reads node_exporter: its raw samples, with the times of the readings.

`/api/v1/query` with a range selector gives samples as they were scraped. `query_range` would not:
it answers at times of its own from the last sample within five minutes, so that a lost scrape looks
like a pause and then like a burst, and it refuses more than 11,000 points
(https://prometheus.io/docs/prometheus/latest/querying/api). node_time_seconds is the clock of the
reading itself; without it, the time of the scrape is taken. Nothing is written.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from orchestrator.analysis.observed.demand import Array, Demand, of_counters
from orchestrator.errors import UsageError
from orchestrator.system import http_client

CHUNK_S = 6 * 3600  # a request: below the server's 50 million samples for hundreds of disks
_TIMEOUT_S = 120.0
_COUNTERS = (
    *("node_disk_reads_completed_total", "node_disk_writes_completed_total"),
    *("node_disk_read_bytes_total", "node_disk_written_bytes_total"),
)
_CLOCK = "node_time_seconds"
GetJson = Callable[[str, float], Any]
Parts = list[Array]  # of a series: rows of a scrape's time and the value, in pieces of CHUNK_S


def read(
    url: str,
    match: str,
    device: str,
    begin_s: float,
    end_s: float,
    get: GetJson = http_client.get_json,
) -> list[Demand]:
    """match: selectors such as `job="node",instance=~"db.*"`; device: as the exporter names it, or
    several with | between. UsageError if there is no such series, OSError as of `get`."""
    series = defaultdict[tuple[str, str, str], Parts](list)
    for start_s in np.arange(begin_s, end_s, CHUNK_S).tolist():
        until_s = min(start_s + CHUNK_S, end_s)
        for metric in (*_COUNTERS, _CLOCK):
            of_disk = [f'device=~"{device}"'] if metric != _CLOCK else []
            labels = ",".join(filter(None, [match, *of_disk]))
            selector = f"{metric}{{{labels}}}[{round(until_s - start_s)}s]"
            query = http_client.encoded({"query": selector, "time": until_s})
            answer = get(f"{url.rstrip('/')}/api/v1/query?{query}", _TIMEOUT_S)
            with http_client.understood(url):
                for result in answer["data"]["result"]:
                    of = result["metric"]
                    name = of.get("instance", "node"), of.get("device", ""), metric
                    series[name].append(np.array(result["values"], dtype=float))
    disks = dict.fromkeys((node, disk) for node, disk, _ in series if disk)
    if not disks:
        advice = "node_exporter leaves out loop devices and partitions unless it is told otherwise"
        raise UsageError(f"{url} has no device {device} of {{{match}}}", advice=advice)
    with http_client.understood(url):
        return [
            _demand(*disk, [series[*disk, name] for name in _COUNTERS], series[disk[0], "", _CLOCK])
            for disk in disks
        ]


def _demand(node: str, device: str, counters: Sequence[Parts], clock: Parts) -> Demand:
    """Of the scrapes that have all counters."""
    tables = [np.unique(np.concatenate(parts), axis=0).T for parts in counters]
    scraped = reduce(np.intersect1d, [table[0] for table in tables])
    values = np.array([table[1][np.searchsorted(table[0], scraped)] for table in tables])
    own = np.unique(np.concatenate(clock), axis=0).T if clock else np.empty((2, 0))
    has_clock = bool(np.isin(scraped, own[0]).all())
    times = own[1][np.searchsorted(own[0], scraped)] if has_clock else scraped
    return of_counters(node, device, times, values, own_clock=has_clock)
