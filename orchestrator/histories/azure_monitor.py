"""Azure Monitor's metrics as `az monitor metrics list` prints them: rates of a minute.

Names of the four metrics: Microsoft's list of supported metrics of virtual machines ("Data Disk …",
with the LUN as a dimension) and of disks ("Composite Disk …"); the layout is that of the REST API
(`Metrics - List`). A minute without `average` is a gap.
"""

import json
import re
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from orchestrator.analysis.observed.demand import QUANTITIES, Demand, of_intervals

_NAME = re.compile(r".*Disk (Read|Write) (Operations|Bytes)/sec", re.I)
_NODE = re.compile(r"/(?:virtualMachines|disks)/([^/]+)/", re.I)
_SECONDS = {"S": 1, "M": 60, "H": 3600}


def read(text: str, node: str, device: str) -> Sequence[Demand]:
    answer = json.loads(text)
    length = re.fullmatch(r"PT(\d+)([SMH])", answer["interval"])
    if length is None:
        raise ValueError(f"its interval {answer['interval']!r} is not known")
    step_s = float(length[1]) * _SECONDS[length[2]]
    disks: dict[tuple[str, str], dict[float, list[float]]] = {}
    for metric in answer["value"]:
        name = _NAME.fullmatch(metric["name"]["value"])
        if name is None:
            continue
        which = 2 * (name[2].lower() == "bytes") + (name[1].lower() == "write")
        resource = _NODE.search(metric.get("id", ""))
        for series in metric["timeseries"]:
            luns = [f"lun{each['value']}" for each in series.get("metadatavalues", ())]
            disk = node or (resource[1] if resource else "node"), (luns or [device or "disk"])[0]
            rows = disks.setdefault(disk, {})
            for point in series["data"]:
                begin_s = datetime.fromisoformat(point["timeStamp"]).timestamp()
                row = rows.setdefault(begin_s, [np.nan] * len(QUANTITIES))
                row[which] = step_s * point.get("average", np.nan)
    demands = []
    for place, rows in disks.items():
        begin = np.array(list(rows))
        demands.append(of_intervals(*place, begin, begin + step_s, np.array([*rows.values()]).T))
    return demands
