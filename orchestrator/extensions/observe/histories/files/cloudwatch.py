"""CloudWatch's metrics of disks → tables with INTERVALS, of minutes at best.

They are sums of AWS/EBS and means per second of AWS/RDS from a time on, which does not say of how
long (https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDataResult.html).
What says itself that a part is missing is refused. Checks report when a volume was at its limit.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from orchestrator.extensions.observe.histories.files.metric_points import (
    DiskPlace,
    MetricPoint,
    intervals,
)
from orchestrator.extensions.observe.histories.files.texts import FormError
from orchestrator.extensions.observe.judging.demand import QUANTITIES
from orchestrator.extensions.observe.judging.managed_servers import RDS_STORAGE
from orchestrator.extensions.observe.judging.reported_throttle import DISK_SHARES
from orchestrator.keys import shipped_yaml

_TABLES = shipped_yaml.shipped(__package__, "names.yaml")
_PER_SECOND = _TABLES["per_second"]
_DISK_NAMES = {**_TABLES["providers"], **_TABLES["reported"]}
_NAMES = {**_DISK_NAMES, **_PER_SECOND}
# A check is 1 of a minute with more asked than provided, for some time in it
# (https://docs.aws.amazon.com/compute-optimizer/latest/ug/ebs-metrics-analyzed.html,
# https://repost.aws/knowledge-center/ebs-identify-micro-bursting).
_CHECK_S = 60.0
_NOT_WHOLE = "ask for less time, and give several files"
_TOO_MUCH = "ask for fewer volumes or less time, and give several files"
LABEL = "${PROP('Dim.VolumeId')} ${PROP('MetricName')}"


def read(content: Any) -> pd.DataFrame:
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
            rates += _points(result, _place_of_label(words, name, RDS_STORAGE))
        elif name in _DISK_NAMES:
            sums += _points(result, _place_of_label(words, name))
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
    for column in DISK_SHARES:
        if column not in table:
            continue
        sums = table[column].dropna()
        if (sums % 1 != 0).any():
            raise FormError(
                "a check of a limit is no sum of whole minutes",
                "ask for Sum, and for 60",
            )
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


def _points(result: Any, place: DiskPlace) -> Iterator[MetricPoint]:
    name = result["Label"].split()[-1]
    quantity = _NAMES[name]
    for begin, value in zip(result["Timestamps"], result["Values"], strict=True):
        yield MetricPoint(place.node, place.device, begin, quantity, value)
