"""CloudWatch's metrics of an EBS volume as `aws cloudwatch get-metric-data` prints them.

Asked for with the statistic `Sum`: the four of the period in all (AWS, Amazon CloudWatch metrics
for Amazon EBS). The answer does not say how long a period is: it is the usual distance of two. Its
labels name the metric, and the volume where they name it.
"""

import json
import re
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from orchestrator.analysis.observed.demand import QUANTITIES, Demand, of_intervals, prevailing

_METRICS = ("VolumeReadOps", "VolumeWriteOps", "VolumeReadBytes", "VolumeWriteBytes")
_VOLUME = re.compile(r"vol-[0-9a-f]+")


def read(text: str, node: str, device: str) -> Sequence[Demand]:
    volumes: dict[str, dict[float, list[float]]] = {}
    for result in json.loads(text)["MetricDataResults"]:
        which = [number for number, name in enumerate(_METRICS) if name in result["Label"]]
        if not which:
            continue
        named = _VOLUME.search(result["Label"])
        rows = volumes.setdefault(named[0] if named else device or "volume", {})
        for time, value in zip(result["Timestamps"], result["Values"], strict=True):
            begin_s = datetime.fromisoformat(time).timestamp()
            rows.setdefault(begin_s, [np.nan] * len(QUANTITIES))[which[0]] = value
    demands = []
    for volume, rows in volumes.items():
        begin = np.sort(np.array(list(rows)))
        end = begin + prevailing(np.diff(begin))
        amounts = np.array([rows[begin_s] for begin_s in begin.tolist()]).T
        demands.append(of_intervals(node or volume, volume, begin, end, amounts))
    return demands
