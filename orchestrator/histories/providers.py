"""Providers' own metrics of a disk: Azure Monitor's by `az monitor metrics list -o json`, rates of
a minute; CloudWatch's by `aws cloudwatch get-metric-data` with the statistic `Sum`.

Names: Microsoft's supported metrics of virtual machines ("Data Disk …", the LUN is a dimension) and
of disks ("Composite Disk …"); AWS's CloudWatch metrics for EBS, where a sum is that of the whole
period. Layouts: those of the REST APIs (`Metrics - List`, `MetricDataResult`). A missing value is a
gap.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

import numpy as np

from orchestrator.analysis.observed.demand import QUANTITIES, Demand, of_intervals, prevailing

_AZURE = re.compile(r".*Disk (Read|Write) (Operations|Bytes)/sec", re.I)
_AZURE_NODE = re.compile(r"/(?:virtualMachines|disks)/([^/]+)/", re.I)
_GRAIN, _GRAIN_S = re.compile(r"PT(\d+)([SMH])"), {"S": 1, "M": 60, "H": 3600}
_EBS = ("VolumeReadOps", "VolumeWriteOps", "VolumeReadBytes", "VolumeWriteBytes")
_VOLUME = re.compile(r"vol-[0-9a-f]+")
# Node, device, begin of the interval, which of QUANTITIES, its sum.
Point = tuple[str, str, str, int, float]


def azure(text: str, node: str, device: str) -> Sequence[Demand]:
    answer = json.loads(text)
    if (grain := _GRAIN.fullmatch(answer["interval"])) is None:
        raise ValueError(f"its interval {answer['interval']!r} is not known")
    step_s = float(grain[1]) * _GRAIN_S[grain[2]]
    points = list[Point]()
    for metric in answer["value"]:
        if (name := _AZURE.fullmatch(metric["name"]["value"])) is None:
            continue
        which = 2 * (name[2].lower() == "bytes") + (name[1].lower() == "write")
        resource = _AZURE_NODE.search(metric.get("id", ""))
        named = node or (resource[1] if resource else "node")
        for series in metric["timeseries"]:
            luns = [f"lun{each['value']}" for each in series.get("metadatavalues", ())]
            for point in series["data"]:
                total = step_s * point.get("average", np.nan)
                disk = (luns or [device or "disk"])[0]
                points.append((named, disk, point["timeStamp"], which, total))
    return _demands(points, step_s)


def cloudwatch(text: str, node: str, device: str) -> Sequence[Demand]:
    """Its labels name the metric, and the volume if they were asked to. A period is as long as the
    usual distance of two, which the answer does not say."""
    points = list[Point]()
    for result in json.loads(text)["MetricDataResults"]:
        which = next((n for n, name in enumerate(_EBS) if name in result["Label"]), None)
        if which is not None:
            named = _VOLUME.search(result["Label"])
            volume = named[0] if named else device or "volume"
            values = zip(result["Timestamps"], result["Values"], strict=True)
            points += [(node or volume, volume, time, which, value) for time, value in values]
    return _demands(points)


def _demands(points: Iterable[Point], step_s: float | None = None) -> list[Demand]:
    disks = defaultdict[tuple[str, str], dict[float, list[float]]](dict)
    for node, device, time, which, total in points:
        begin_s = datetime.fromisoformat(time).timestamp()
        row = disks[node, device].setdefault(begin_s, [np.nan] * len(QUANTITIES))
        row[which] = total
    demands = []
    for place, rows in disks.items():
        begin = np.array(sorted(rows))
        end = begin + (step_s or prevailing(np.diff(begin)))
        amounts = np.array([rows[begin_s] for begin_s in begin.tolist()]).T
        demands.append(of_intervals(*place, begin, end, amounts))
    return demands
