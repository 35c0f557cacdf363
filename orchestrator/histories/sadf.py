"""sysstat's daily files as `sadf -j FILE -- -d` prints them (sysstat 12.6).

sar counts reads, writes and discards together in `tps`, so reads and writes are not known apart and
I/Os are an upper figure where a file system discards. Its kB are 1,024 bytes.
"""

import json
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from orchestrator.analysis.observed.demand import Demand, of_intervals

_KB = 1024


def read(text: str, node: str, device: str) -> Sequence[Demand]:
    """A record is of the `interval` seconds before its time; those of local time must be asked for
    in UTC (`sadf -j`, without -T)."""
    demands = []
    for host in json.loads(text)["sysstat"]["hosts"]:
        rows: dict[str, list[list[float]]] = {}
        for record in host["statistics"]:
            stamp = record["timestamp"]
            if not stamp["utc"]:
                raise ValueError("its times are local: leave out -T and -t")
            when = datetime.fromisoformat(f"{stamp['date']}T{stamp['time']}+00:00").timestamp()
            seconds = float(stamp["interval"])
            for disk in record.get("disk", ()):
                kept = [0.0, disk["tps"], _KB * disk["rkB"], _KB * disk["wkB"]]
                row = [when - seconds, when, *(seconds * rate for rate in kept)]
                rows.setdefault(disk["disk-device"], []).append(row)
        for name, of_disk in rows.items():
            table = np.array(of_disk).T
            place = node or host["nodename"], name
            demands.append(of_intervals(*place, table[0], table[1], table[2:], apart=False))
    return demands
