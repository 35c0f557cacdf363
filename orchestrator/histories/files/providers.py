"""Providers' own metrics of disks → tables with INTERVALS, of minutes at best.

Azure Monitor (https://learn.microsoft.com/rest/api/monitor/metrics/list) has means per second from
a time on, of all disks of a machine as one unless it was asked for each. CloudWatch
(https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDataResult.html) has
sums from a time on and does not say of how long; its command joins pages, so that the last part of
a label tells whether it is whole. What has no value is a gap."""

from typing import Any

import pandas as pd

from orchestrator.analysis.observed.demand import INTERVALS, QUANTITIES
from orchestrator.keys import strict_yaml

_NAMES = strict_yaml.shipped(__package__, "names.yaml")["providers"]
_PLACE = ["node", "device", "begin_s"]
LABEL = "${PROP('Dim.VolumeId')} ${PROP('MetricName')}"
Points = list[tuple[Any, ...]]  # of _PLACE, quantity and value


def azure(content: Any) -> pd.DataFrame:
    """Devices are `lun0` and `os` of a machine, or a disk that is its own node. ValueError if those
    of a machine are not told apart."""
    points = Points()
    for metric in content["value"]:
        disk, _, name = metric["name"]["value"].lower().partition(" disk ")
        for series in metric["timeseries"] if name in _NAMES else ():
            of = _place(disk, metric["id"], series.get("metadatavalues") or ())
            for point in series["data"]:
                points.append(
                    (*of, point["timeStamp"], _NAMES[name], point.get("average"))
                )
    step_s = pd.to_timedelta(content["interval"], errors="coerce").total_seconds()
    table = _intervals(points, step_s)
    table[list(QUANTITIES)] *= step_s
    return table


def _place(disk: str, metric: str, dimensions: Any) -> tuple[str, str]:
    """metric: its id, .../providers/Microsoft.Compute/virtualMachines/db-1/providers/..., or with
    virtualMachineScaleSets/db, of whose machines one may be named behind."""
    told = {each["name"]["value"].lower(): each["value"] for each in dimensions}
    _, kind, *names = metric.split("/providers/")[1].split("/")
    node = told.get("vmname", "_".join(names[::2]))
    if disk == "composite":
        return node, node
    needed = ["VMName"] * (len(names) == 1 and "sets" in kind.lower())
    needed += ["LUN"] * (disk not in ("os", "temp"))
    if not {name.lower() for name in needed} <= set(told):
        how = " and ".join(f"{name} eq '*'" for name in needed)
        raise ValueError(
            f'disks of {node} are not told apart: ask with --filter "{how}"'
        )
    return node, f"lun{told['lun']}" if "LUN" in needed else disk


def aws(content: Any) -> pd.DataFrame:
    """Labels are a node, its device, if it is not called the same, and a metric. ValueError if a
    part of the answer is missing, or a label is a metric alone."""
    points = Points()
    results = content["MetricDataResults"]
    last = {result["Label"]: result["StatusCode"] for result in results}
    if "NextToken" in content or {*last.values()} - {"Complete"}:
        raise ValueError(
            "a part of it is missing: ask for less time, and give several files"
        )
    for result in results:
        *of, name = result["Label"].split()
        if name in _NAMES and not of:
            raise ValueError(f"{name} is of no volume: ask with the Label {LABEL}")
        for at, value in zip(result["Timestamps"], result["Values"], strict=True):
            if name in _NAMES:
                points += [(of[0], of[-1], at, _NAMES[name], value)]
    return _intervals(points)


def _intervals(points: Points, step_s: float | None = None) -> pd.DataFrame:
    """step_s: of each point; otherwise the least distance of two, which is that of their period."""
    table = pd.DataFrame(points, columns=[*_PLACE, "quantity", "value"])
    table = table.astype({"value": float}).dropna()
    times = pd.to_datetime(table["begin_s"], format="ISO8601", utc=True)
    table["begin_s"] = (times - pd.Timestamp(0, tz="UTC")).dt.total_seconds()
    step_s = step_s or table["begin_s"].drop_duplicates().sort_values().diff().min()
    if table.empty or not step_s > 0:
        raise ValueError(
            "it does not tell what a disk read and wrote, or in how long a time"
        )
    known = table.groupby(_PLACE[:-1])["quantity"].nunique()
    for node, device in known.index[known < len(QUANTITIES)]:
        raise ValueError(f"{node} {device} lacks one of its metrics: ask for all four")
    wide = (
        table.pivot_table("value", _PLACE, "quantity", aggfunc="first")
        .dropna()
        .reset_index()
    )
    return wide.assign(end_s=wide["begin_s"] + step_s)[list(INTERVALS)]
