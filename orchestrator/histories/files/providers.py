"""Providers' own metrics of disks → tables with INTERVALS, of minutes at best.

Azure Monitor (https://learn.microsoft.com/rest/api/monitor/metrics/list) has means per second from
a time on. CloudWatch
(https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDataResult.html) has
sums of AWS/EBS and means per second of AWS/RDS from a time on, and does not say of how long. What
has no value is a gap, and what says itself that a part is missing is refused. Both may report
besides when a disk was at its limit."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from orchestrator.analysis.observed.demand import QUANTITIES
from orchestrator.analysis.observed.machine_reports import MACHINE
from orchestrator.analysis.observed.managed_servers import (
    FLEXIBLE_SERVER_STORAGE,
    RDS_STORAGE,
)
from orchestrator.analysis.observed.reported_throttle import COLUMNS as REPORTED
from orchestrator.histories.files.metric_points import MetricPoint, intervals
from orchestrator.histories.files.texts import FormError
from orchestrator.keys import strict_yaml
from orchestrator.units import listed

_TABLES = strict_yaml.shipped(__package__, "names.yaml")
_NAMES = _TABLES["providers"]
_PER_SECOND = _TABLES["per_second"]
_REPORTED = _TABLES["reported"]
_OF_MACHINES = _TABLES["reported_of_machines"]
_DISK_NAMES = {**_NAMES, **_REPORTED}
_CLOUDWATCH_NAMES = {**_DISK_NAMES, **_PER_SECOND}
# Azure's percentages are means of a minute, and rounded. At 100 the disk's limit holds I/Os back
# (https://learn.microsoft.com/azure/virtual-machines/disks-metrics).
_AT_LIMIT_PCT = 99.0
# A check of CloudWatch is 1 of a minute with more asked than provided, for some time in it
# (https://docs.aws.amazon.com/compute-optimizer/latest/ug/ebs-metrics-analyzed.html,
# https://repost.aws/knowledge-center/ebs-identify-micro-bursting).
_CHECK_S = 60.0
_NOT_WHOLE = "ask for less time, and give several files"
_TOO_MUCH = "ask for fewer volumes or less time, and give several files"
LABEL = "${PROP('Dim.VolumeId')} ${PROP('MetricName')}"


class DiskPlace(NamedTuple):
    """The disk that a metric is about."""

    node: str
    device: str


# ------------------------------------------------------------------ Azure Monitor


def azure(content: Any) -> pd.DataFrame:
    """Devices are `lun0` and `os` of a machine, a disk that is its own node, or MACHINE for what is
    reported of a machine itself. FormError if those of a machine are not told apart."""
    points = list[MetricPoint]()
    for metric in content["value"]:
        if _is_report(metric) and not _has_success(metric):
            continue  # not all machines report of their disks' limits
        _check_success(metric)
        points += _points_of_azure(metric)
    interval = pd.to_timedelta(content["interval"], errors="coerce")
    step_s = interval.total_seconds()
    table = intervals(points, step_s)
    table[list(QUANTITIES)] *= step_s  # means per second → sums
    return table


def _is_report(metric: Any) -> bool:
    """Whether it reports of a limit, without which the others are read all the same."""
    whole_name = metric["name"]["value"].lower()
    _, _, name = whole_name.partition(" disk ")
    return name in _REPORTED or whole_name in _OF_MACHINES


def _has_success(metric: Any) -> bool:
    return bool(metric.get("errorCode", "Success") == "Success")


def _check_success(metric: Any) -> None:
    """FormError if the provider says itself that it could not answer for this metric."""
    if not _has_success(metric):
        name = metric["name"]["value"]
        why = metric.get("errorMessage") or metric["errorCode"]
        raise FormError(f"Azure has no {name}: {why}", _NOT_WHOLE)


def _points_of_azure(metric: Any) -> Iterator[MetricPoint]:
    """The points of a metric of Azure; none if this metric is not read."""
    # `data disk read bytes/sec`, or `read_iops` of a flexible server.
    disk, _, of_disk = metric["name"]["value"].lower().partition(" disk ")
    name = of_disk or disk
    if name in _OF_MACHINES:
        yield from _points_of_machine(metric, name)
    if name not in _DISK_NAMES:
        return
    if not of_disk:  # a flexible server of PostgreSQL has one disk
        disk = FLEXIBLE_SERVER_STORAGE
    for series in metric["timeseries"]:
        _check_aggregation(name, series["data"])
        place = _place(disk, metric["id"], series.get("metadatavalues") or ())
        for point in series["data"]:
            yield MetricPoint(
                node=place.node,
                device=place.device,
                begin_s=point["timeStamp"],
                quantity=_DISK_NAMES[name],
                value=_value_of_azure(name, point.get("average")),
            )


def _points_of_machine(metric: Any, name: str) -> Iterator[MetricPoint]:
    """Whether the limit of a machine was reached in each minute."""
    for series in metric["timeseries"]:
        _check_aggregation(name, series["data"])
        place = _place(MACHINE, metric["id"], series.get("metadatavalues") or ())
        for point in series["data"]:
            average = point.get("average")
            if average is None:
                continue
            yield MetricPoint(
                node=place.node,
                device=MACHINE,
                begin_s=point["timeStamp"],
                quantity=_OF_MACHINES[name],
                value=float(average >= _AT_LIMIT_PCT),
            )


def _value_of_azure(name: str, average: float | None) -> float | None:
    """The value of a metric. A percentage becomes 1 if the limit was reached, else 0.

    If it was reached, it was so for the whole minute.
    """
    if average is None or name not in _REPORTED:
        return average
    return float(average >= _AT_LIMIT_PCT)


def _check_aggregation(name: str, data: Sequence[Mapping[str, Any]]) -> None:
    """FormError if it was asked for something else than means."""
    if any("average" in point for point in data):
        return
    asked: dict[str, None] = {}
    for point in data:
        asked.update(dict.fromkeys(point))
    asked.pop("timeStamp", None)
    if asked:
        raise FormError(
            f"of {name} it has {listed(list(asked))}, and no average",
            "ask with --aggregation Average",
        )


def _place(disk: str, metric: str, dimensions: Any) -> DiskPlace:
    """metric: its id, .../providers/Microsoft.Compute/virtualMachines/db-1/providers/..., or with
    virtualMachineScaleSets/db, of whose machines one may be named behind."""
    values = {}
    for dimension in dimensions:
        values[dimension["name"]["value"].lower()] = dimension["value"]
    _, kind, *names = metric.split("/providers/")[1].split("/")
    node = values.get("vmname", "_".join(names[::2]))
    if disk == FLEXIBLE_SERVER_STORAGE:
        return DiskPlace(node, disk)
    if disk == "composite":
        return DiskPlace(node, node)
    # A metric without its dimensions is of all disks of a machine, or all machines of a set.
    is_any_of_set = len(names) == 1 and "sets" in kind.lower()
    has_number = disk not in ("os", "temp", MACHINE)
    _check_apart(node, values, is_any_of_set, has_number)
    if has_number:
        return DiskPlace(node, f"lun{values['lun']}")
    return DiskPlace(node, disk)


def _check_apart(
    node: str, values: Mapping[str, str], is_any_of_set: bool, has_number: bool
) -> None:
    """FormError if several machines or disks are one."""
    needed = []
    if is_any_of_set:
        needed.append("VMName")
    if has_number:
        needed.append("LUN")
    if all(name.lower() in values for name in needed):
        return
    asked = " and ".join(f"{name} eq '*'" for name in needed)
    raise FormError(
        f"disks of {node} are not told apart", f'ask with --filter "{asked}"'
    )


# ------------------------------------------------------------------ CloudWatch


def aws(content: Any) -> pd.DataFrame:
    """Labels are a node, its device, if it is not called the same, and a metric. A longer one is a
    name of several words. FormError if a part of the answer is missing, or a label is a metric
    alone."""
    results = content["MetricDataResults"]
    _check_whole(content, results)
    sums = list[MetricPoint]()
    rates = list[MetricPoint]()
    for result in results:
        *words, name = result["Label"].split()
        if name in _PER_SECOND:
            # RDS alone has these metrics.
            rates += _points_of_aws(result, _place_of_label(words, name, RDS_STORAGE))
        elif name in _DISK_NAMES:
            sums += _points_of_aws(result, _place_of_label(words, name))
    tables = []
    if rates:
        tables.append(_as_sums(intervals(rates)))
    if sums or not rates:
        tables.append(_with_shares(intervals(sums)))
    return pd.concat(tables)


def _as_sums(rates: pd.DataFrame) -> pd.DataFrame:
    """Means per second → sums of each interval."""
    step_s = rates["end_s"] - rates["begin_s"]
    rates[list(QUANTITIES)] = rates[list(QUANTITIES)].mul(step_s, axis=0)
    return rates


def _with_shares(table: pd.DataFrame) -> pd.DataFrame:
    """Sums of checks → shares of the minutes of an interval. FormError if they are no such sums."""
    minutes = (table["end_s"] - table["begin_s"]) / _CHECK_S
    for column in REPORTED.values():
        if column not in table:
            continue
        table[column] /= minutes
        if not table[column].dropna().between(0, 1).all():
            raise FormError(
                "a check of a limit is more than 1 a minute", "ask for Sum, and for 60"
            )
    return table


def _check_whole(content: Any, results: Any) -> None:
    """Refuses results that are not whole."""
    # CloudWatch with a message answers as much as it can, which may lack series.
    for part in (content, *results):
        messages = [str(message.get("Value")) for message in part.get("Messages") or ()]
        if messages:
            raise FormError(f"CloudWatch says of it: {'; '.join(messages)}", _TOO_MUCH)
    # The command joins pages: the last part of a label says whether all of it is there.
    last = {result["Label"]: result["StatusCode"] for result in results}
    is_complete = all(status == "Complete" for status in last.values())
    if "NextToken" in content or not is_complete:
        raise FormError("a part of it is missing", _NOT_WHOLE)


def _place_of_label(words: Sequence[str], name: str, storage: str = "") -> DiskPlace:
    """`storage`: the device where the label names a node alone; "" if that is the device."""
    if not words:
        raise FormError(f"{name} does not name a volume", f"ask with the Label {LABEL}")
    if len(words) == 2:
        return DiskPlace(node=words[0], device=words[1])
    node = " ".join(words)
    return DiskPlace(node, storage or node)


def _points_of_aws(result: Any, place: DiskPlace) -> Iterator[MetricPoint]:
    name = result["Label"].split()[-1]
    quantity = _CLOUDWATCH_NAMES[name]
    for begin, value in zip(result["Timestamps"], result["Values"], strict=True):
        yield MetricPoint(place.node, place.device, begin, quantity, value)
