"""sysstat's JSON (12.6): daily files by `sadf -j FILE -- -d`, and `S_TIME_FORMAT=ISO iostat -o JSON
-xt 1`. Rates, whose kB are 1,024 bytes.

sar counts reads, writes and discards together in `tps`, so reads and writes are not known apart,
and I/Os are an upper figure where a file system discards. iostat's first record is since the start
of the machine, and says nothing of a second; its times are whole seconds, of which one is left out
now and then, because a record takes a little longer: each is of the mean distance between two.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from orchestrator.analysis.observed.demand import Demand, of_intervals, prevailing

_KB = 1024


def sadf(text: str, node: str, device: str) -> Sequence[Demand]:
    """A record is of the `interval` seconds before its time, in UTC (without -T and -t)."""
    demands = []
    for host in json.loads(text)["sysstat"]["hosts"]:
        rows = defaultdict[str, list[list[float]]](list)
        for record in host["statistics"]:
            stamp = record["timestamp"]
            if not stamp["utc"]:
                raise ValueError("its times are local: leave out -T and -t")
            end_s = datetime.fromisoformat(f"{stamp['date']}T{stamp['time']}+00:00").timestamp()
            step_s = float(stamp["interval"])
            for disk in record.get("disk", ()):
                rates = (0.0, disk["tps"], _KB * disk["rkB"], _KB * disk["wkB"])
                row = [end_s - step_s, end_s, *(step_s * rate for rate in rates)]
                rows[disk["disk-device"]].append(row)
        for name, of_disk in rows.items():
            begin, end, *amounts = np.array(of_disk).T
            place = node or host["nodename"], name
            demands.append(of_intervals(*place, begin, end, np.array(amounts), apart=False))
    return demands


def iostat(text: str, node: str, device: str) -> Sequence[Demand]:
    """ValueError for times without a zone, which another S_TIME_FORMAT prints."""
    demands = []
    for host in json.loads(text)["sysstat"]["hosts"]:
        rows = defaultdict[str, list[list[float]]](list)
        for record in host["statistics"][1:]:
            time = datetime.fromisoformat(record["timestamp"])
            if time.tzinfo is None:
                raise ValueError("its times have no zone: set S_TIME_FORMAT=ISO")
            for disk in record["disk"]:
                moved = _KB * disk["rkB/s"], _KB * disk["wkB/s"]
                row = [time.timestamp(), disk["r/s"], disk["w/s"], *moved]
                rows[disk["disk_device"]].append(row)
        for name, of_disk in rows.items():
            end, *rates = np.array(of_disk).T
            usual_s = prevailing(steps := np.diff(end))
            mean_s = float(steps[steps <= 2 * usual_s].mean())
            place = node or host["nodename"], name
            demands.append(of_intervals(*place, end - usual_s, end, mean_s * np.array(rates)))
    return demands
