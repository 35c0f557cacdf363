"""Azure Monitor's metrics of disks and machines → tables with INTERVALS, of minutes at best.

They are means per second from a time on, and percentages of limits
(https://learn.microsoft.com/rest/api/monitor/metrics/list). What has no value is a gap, and what
says itself that a part is missing is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from orchestrator.extensions.observe.histories.files.metric_points import (
    DiskPlace,
    MetricPoint,
    intervals,
)
from orchestrator.extensions.observe.histories.files.texts import FormError, Remark
from orchestrator.extensions.observe.judging.demand import QUANTITIES
from orchestrator.extensions.observe.judging.machine_reports import MACHINE
from orchestrator.extensions.observe.judging.managed_servers import (
    FLEXIBLE_SERVER_STORAGE,
)
from orchestrator.extensions.observe.judging.reported_throttle import SHARES
from orchestrator.keys import shipped_yaml
from orchestrator.texts.prose import counted, listed

_TABLES = shipped_yaml.shipped(__package__, "names.yaml")
_REPORTED = _TABLES["reported"]
_OF_MACHINES = _TABLES["reported_of_machines"]
_QUANTITIES = {**_TABLES["providers"], **_REPORTED, **_OF_MACHINES}
# They are what was done over what is provisioned, as means of a minute, and rounded. At 100 the
# limit holds I/Os back; the example there is at 101
# (https://learn.microsoft.com/azure/virtual-machines/disks-metrics).
_AT_LIMIT_PCT = 99.0
# Burst credit alone lets more through, which the limit did not hold back. Whether that of the burst
# did is not told (https://learn.microsoft.com/azure/virtual-machines/disk-bursting).
_BURST_PCT = 105.0
_MINUTE_S = 60.0
_ASK_AGAIN = "ask for it again, and write nothing else into the file"
_NOT_WHOLE = "ask for less time, and give several files"


def read(content: Any, remark: Remark) -> pd.DataFrame:
    """Devices are `lun0` and `os` of a machine, a disk that is its own node, or MACHINE for what is
    reported of a machine itself. FormError if those of a machine are not told apart.

    `remark` is called with how often burst credit let more through than a limit."""
    interval = pd.to_timedelta(content["interval"], errors="coerce")
    step_s = interval.total_seconds()
    points = list[MetricPoint]()
    for metric in content["value"]:
        if _is_report(metric) and not _has_success(metric):
            continue  # not all machines report of their disks' limits
        _check_success(metric)
        points += _points(metric, step_s)
        if _is_report(metric):
            _remark_bursts(metric, remark)
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


def _points(metric: Any, step_s: float) -> Iterator[MetricPoint]:
    """The points of a metric, a mean of `step_s` each; none if it is not read."""
    whole_name = metric["name"]["value"].lower()
    # `data disk read bytes/sec`, or `read_iops` of a flexible server, which has one disk.
    disk, _, name = whole_name.partition(" disk ")
    if not name:
        disk = FLEXIBLE_SERVER_STORAGE
        name = whole_name
    if name in _OF_MACHINES:
        disk = MACHINE
    quantity = _QUANTITIES.get(name)
    if quantity is None:
        return
    for series in metric["timeseries"]:
        _check_aggregation(name, series["data"])
        if not _has_values(series["data"]):
            continue  # a machine without cached disks has none of them
        place = _place(disk, metric["id"], series.get("metadatavalues") or ())
        for point in series["data"]:
            value = point.get("average")
            if quantity in SHARES and value is not None:
                value = _share_at_limit(metric["name"]["value"], value, step_s)
            yield MetricPoint(
                place.node, place.device, point["timeStamp"], quantity, value
            )


def _has_values(data: Sequence[Mapping[str, Any]]) -> bool:
    averages: set[float | None] = set()
    for point in data:
        averages.add(point.get("average"))
    return bool(averages - {None})


def _share_at_limit(name: str, percentage: Any, step_s: float) -> float | None:
    """For which share of an interval a limit was reached, by its mean percentage; None if that does
    not tell. FormError if it is no number."""
    if isinstance(percentage, bool) or not isinstance(percentage, int | float):
        raise FormError(
            f"a value of {name} is not a number: {percentage!r}", _ASK_AGAIN
        )
    if not 0 <= percentage <= _BURST_PCT:
        return None
    if percentage >= _AT_LIMIT_PCT:
        return 1.0
    # The mean of an hour may be far below 100 though the limit was reached in half of its minutes.
    if step_s > _MINUTE_S:
        return None
    return 0.0


def _remark_bursts(metric: Any, remark: Remark) -> None:
    bursts = 0
    for series in metric["timeseries"]:
        for point in series["data"]:
            percentage = point.get("average")
            if percentage is not None and percentage > _BURST_PCT:
                bursts += 1
    if bursts:
        name = metric["name"]["value"]
        values = counted(bursts, "value")
        remark(
            f"{values} of {name} above {_BURST_PCT:g} % left out: burst credit lets more through "
            "than the limit, and its own limit is not told"
        )


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


def _place(disk: str, metric_id: str, dimensions: Any) -> DiskPlace:
    """The disk and the node that a series is of. FormError if it is of several.

    `disk`: `data`, `os`, `temp`, `composite` or one of our own words. `metric_id`:
    `.../providers/Microsoft.Compute/virtualMachines/db-1/providers/...`, or the same with
    `virtualMachineScaleSets/db`, behind which one machine of the set may be named.
    `dimensions`: by which the series was told apart, such as VMName and LUN.
    """
    values = {}
    for dimension in dimensions:
        values[dimension["name"]["value"].lower()] = dimension["value"]
    resource = metric_id.split("/providers/")[1]
    _, kind, *names = resource.split("/")
    node = values.get("vmname", "_".join(names[::2]))
    if disk == FLEXIBLE_SERVER_STORAGE:
        return DiskPlace(node, disk)
    if disk == "composite":
        return DiskPlace(node, node)
    names_whole_set = len(names) == 1 and "sets" in kind.lower()
    is_data_disk = disk not in ("os", "temp", MACHINE)
    needed: list[str] = []
    if names_whole_set:
        needed.append("VMName")
    if is_data_disk:
        needed.append("LUN")
    _require_dimensions(needed, values, node)
    if is_data_disk:
        return DiskPlace(node, f"lun{values['lun']}")
    return DiskPlace(node, disk)


def _require_dimensions(
    needed: Sequence[str], values: Mapping[str, str], node: str
) -> None:
    """FormError without one of them: a series is of all disks, or of all machines of a set then."""
    if all(name.lower() in values for name in needed):
        return
    asked = " and ".join(f"{name} eq '*'" for name in needed)
    raise FormError(
        f"disks of {node} are not told apart", f'ask with --filter "{asked}"'
    )
