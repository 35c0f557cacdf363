"""A Prometheus server that reads node_exporter: its raw samples, with the times of the readings.

`/api/v1/query` with a range selector gives samples as they were scraped. `query_range` would not:
it answers at times of its own from the last sample within five minutes, so that a lost scrape looks
like a pause and then like a burst, and it refuses more than 11,000 points
(https://prometheus.io/docs/prometheus/latest/querying/api). node_time_seconds is the clock of the
reading itself; without it, the time of the scrape is taken. Nothing is written.
"""

from collections.abc import Callable
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
Series = dict[str, dict[float, float]]  # metric → time of the scrape → value


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
    disks: dict[tuple[str, str], Series] = {}
    clocks: dict[str, dict[float, float]] = {}
    for start_s in np.arange(begin_s, end_s, CHUNK_S).tolist():
        until_s = min(start_s + CHUNK_S, end_s)
        selected = f"[{round(until_s - start_s)}s]"
        for metric in (*_COUNTERS, _CLOCK):
            of_disk = [f'device=~"{device}"'] if metric != _CLOCK else []
            labels = ",".join(filter(None, [match, *of_disk]))
            query = http_client.encoded(
                {"query": f"{metric}{{{labels}}}{selected}", "time": until_s}
            )
            answer = get(f"{url.rstrip('/')}/api/v1/query?{query}", _TIMEOUT_S)
            with http_client.understood(url):
                for series in answer["data"]["result"]:
                    node = series["metric"].get("instance", "node")
                    values = {float(time): float(value) for time, value in series["values"]}
                    if metric == _CLOCK:
                        clocks.setdefault(node, {}).update(values)
                    else:
                        disk = disks.setdefault((node, series["metric"]["device"]), {})
                        disk.setdefault(metric, {}).update(values)
    if not disks:
        advice = "node_exporter leaves out loop devices and partitions unless it is told otherwise"
        raise UsageError(f"{url} has no device {device} of {{{match}}}", advice=advice)
    return [_demand(*place, series, clocks.get(place[0], {})) for place, series in disks.items()]


def _demand(node: str, device: str, series: Series, clock: dict[float, float]) -> Demand:
    scraped = sorted(set.intersection(*(set(series.get(name, {})) for name in _COUNTERS)))
    own = bool(clock) and all(time in clock for time in scraped)
    times: Array = np.array([clock[time] if own else time for time in scraped])
    values = np.array([[series[name][time] for time in scraped] for name in _COUNTERS])
    return of_counters(node, device, times, values, own_clock=own)
