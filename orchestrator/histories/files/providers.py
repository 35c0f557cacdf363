"""Providers' own metrics of disks → tables with INTERVALS, of minutes at best.

`az monitor metrics list` of Azure Monitor has means per second from a time on, and one of all disks
of a machine, unless it was asked for each (https://learn.microsoft.com/rest/api/monitor/metrics/list
and azure/azure-monitor/reference/supported-metrics/microsoft-compute-virtualmachines-metrics).
`aws cloudwatch get-metric-data` has sums from a time on, and does not say of how long
(https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDataResult.html and
https://docs.aws.amazon.com/ebs/latest/userguide/using_cloudwatch_ebs.html). It joins pages, so that
the last part of a label tells whether all is there. What has no value is a gap."""

from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.observed.demand import INTERVALS, QUANTITIES
from orchestrator.histories.files.times import unix_s
from orchestrator.keys import strict_yaml

_NAMES = strict_yaml.shipped(__package__, "names.yaml")
_POINT = ["node", "device", "quantity", "begin_s", "value"]
LABEL = "${PROP('Dim.VolumeId')} ${PROP('MetricName')}"


def azure(content: Any) -> pd.DataFrame:
    """Devices are `lun0` or `os` of a machine, or a disk that is its own node. ValueError if those
    of a machine are not told apart, or nothing is told of a disk."""
    points = list[tuple[Any, ...]]()
    for metric in content["value"]:
        disk, _, name = metric["name"]["value"].lower().partition(" disk ")
        if quantity := _NAMES["azure"].get(name):
            for series in metric["timeseries"]:
                place = _place(disk, metric["id"], series.get("metadatavalues") or [])
                data = ((each["timeStamp"], each.get("average")) for each in series["data"])
                points += [(*place, quantity, *point) for point in data]
    step_s = pd.to_timedelta(content["interval"], errors="coerce").total_seconds()
    table = pd.DataFrame(points, columns=_POINT)
    return _intervals(table.assign(value=table["value"].astype(float) * step_s), step_s)


def _place(disk: str, metric: str, dimensions: list[Any]) -> tuple[str, str]:
    """metric: its id, as ".../providers/Microsoft.Compute/virtualMachines/db-1/providers/...", or
    with virtualMachineScaleSets/db/virtualMachines/0."""
    told = {each["name"]["value"].lower(): each["value"] for each in dimensions}
    kind, *names = metric.split("/providers/")[1].split("/")[1:]
    node = told.get("vmname", "_".join(names[::2]))
    if disk == "composite":
        return node, node
    is_set = len(names) == 1 and "set" in kind.lower()
    needed = ["VMName"] * is_set + ["LUN"] * (disk not in ("os", "temp"))
    if not {name.lower() for name in needed} <= set(told):
        how = " and ".join(f"{name} eq '*'" for name in needed)
        raise ValueError(f'disks of {node} are not told apart: ask with --filter "{how}"')
    return node, f"lun{told['lun']}" if "LUN" in needed else disk


def cloudwatch(content: Any) -> pd.DataFrame:
    """A volume is its own node. ValueError if a part is missing, or a label names no volume."""
    columns = ["Label", "Timestamps", "Values", "StatusCode"]
    table = pd.DataFrame(content["MetricDataResults"], columns=columns)
    table.columns = ["label", "begin_s", "value", "status"]
    if "NextToken" in content or (table.groupby("label")["status"].last() != "Complete").any():
        raise ValueError("a part of it is missing: ask for less time, and give several files")
    label = table["label"].astype(str).str
    table["quantity"] = label.extract(r"\b(Volume\w+)")[0].map(_NAMES["cloudwatch"])
    table["node"] = table["device"] = label.extract(r"\b(vol-\w+)")[0]
    table = table.dropna(subset="quantity").explode(["begin_s", "value"])
    if table["node"].isna().any():
        raise ValueError(f"a label names no volume: ask for it with Label {LABEL}")
    apart_s = np.diff(np.unique(unix_s(table["begin_s"].dropna())))
    return _intervals(table, float(min(apart_s, default=np.nan)))


def _intervals(points: pd.DataFrame, step_s: float) -> pd.DataFrame:
    """points: with the columns _POINT."""
    points = points.dropna(subset=_POINT).astype({"value": float})
    if points.empty or not step_s > 0:
        raise ValueError("it does not tell what a disk read and wrote, or in how long a time")
    points["begin_s"] = unix_s(points["begin_s"])
    table = points.pivot_table("value", ["node", "device", "begin_s"], "quantity", aggfunc="first")
    table = table.reindex(columns=QUANTITIES).reset_index()
    for (_, device), rows in table.groupby(["node", "device"]):
        if lacking := [name for name in QUANTITIES if rows[name].isna().all()]:
            raise ValueError(f"{', '.join(lacking)} of {device} are lacking: ask for all metrics")
    return table.assign(end_s=table["begin_s"] + step_s)[list(INTERVALS)].dropna()
