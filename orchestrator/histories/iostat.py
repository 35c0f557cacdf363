"""What `S_TIME_FORMAT=ISO iostat -o JSON -xt 1` prints (sysstat 12.6): rates of each second.

The first record is since the machine was started, and says nothing of a second. Times are whole
seconds, of which now and then one is left out because a record takes a little longer: each is of
the mean distance between two. Its kB are 1,024 bytes.
"""

import json
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from orchestrator.analysis.observed.demand import Demand, of_intervals, prevailing

_KB = 1024
_RATES = (("r/s", 1), ("w/s", 1), ("rkB/s", _KB), ("wkB/s", _KB))


def read(text: str, node: str, device: str) -> Sequence[Demand]:
    """ValueError for times without a zone, which another S_TIME_FORMAT prints."""
    demands = []
    for host in json.loads(text)["sysstat"]["hosts"]:
        rows: dict[str, list[list[float]]] = {}
        for record in host["statistics"][1:]:
            time = datetime.fromisoformat(record["timestamp"])
            if time.tzinfo is None:
                raise ValueError("its times have no zone: set S_TIME_FORMAT=ISO")
            for disk in record["disk"]:
                rates = [float(disk[name]) * factor for name, factor in _RATES]
                rows.setdefault(disk["disk_device"], []).append([time.timestamp(), *rates])
        for name, of_disk in rows.items():
            table = np.array(of_disk).T
            steps = np.diff(table[0])
            usual_s = prevailing(steps)
            amounts = float(steps[steps <= 2 * usual_s].mean()) * table[1:]
            place = node or host["nodename"], name
            demands.append(of_intervals(*place, table[0] - usual_s, table[0], amounts))
    return demands
