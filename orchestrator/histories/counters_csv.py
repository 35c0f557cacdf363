"""A table of counters, for whatever reads them: `time,node,device,reads,writes,read_bytes,
written_bytes`, a line for each reading.

time: Unix seconds, or ISO 8601 with a zone, of the reading itself. The others are counters, which
grow from some beginning, as in /proc/diskstats (whose sectors are 512 bytes).
"""

import io
from collections.abc import Sequence

import pandas as pd

from orchestrator.analysis.observed.demand import Demand, of_readings

FIRST = "time,node,device,"


def read(text: str, node: str, device: str) -> Sequence[Demand]:
    table = pd.read_csv(io.StringIO(text), dtype={"node": str, "device": str})
    times = table.pop("time")
    if times.dtype.kind not in "if":
        since = pd.to_datetime(times, format="ISO8601", utc=True) - pd.Timestamp(0, tz="UTC")
        times = since.dt.total_seconds()
    return of_readings(table.assign(time_s=times), node)
