"""Points of providers' metrics → a table with INTERVALS: the seam of all providers.

One name is one disk. Where a provider's answer has two series of one name neither is taken."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orchestrator.extensions.observe.histories.files.texts import FormError
from orchestrator.extensions.observe.histories.files.times import unix_s
from orchestrator.extensions.observe.judging.demand import INTERVALS, QUANTITIES
from orchestrator.extensions.observe.judging.machine_reports import MACHINE, reached
from orchestrator.extensions.observe.judging.reported_throttle import SHARES

_FLEXIBLE_SERVER = "read_iops write_iops read_throughput write_throughput"
_NOTHING_READ = (
    "for machines ask Azure for Data Disk Read Operations/Sec and the metrics beside "
    f"it. For flexible servers ask for {_FLEXIBLE_SERVER}. Ask CloudWatch for "
    "VolumeReadOps or ReadIOPS and those beside it"
)
_ONE_NAME_EACH = (
    "give each its own name. With CloudWatch use the Label. With Azure "
    "ask for one machine at a time, with --filter \"LUN eq '*'\" alone"
)
_DISK = ["node", "device"]
_PLACE = [*_DISK, "begin_s"]


class DiskPlace(NamedTuple):
    """The disk that a metric is about."""

    node: str
    device: str


class MetricPoint(NamedTuple):
    """A value of one of QUANTITIES, or of a column of `reported_throttle`, from a time on, which is
    written as the provider writes it."""

    node: str
    device: str
    begin_s: str
    quantity: str
    value: Any


def intervals(
    points: Sequence[MetricPoint], step_s: float | None = None
) -> pd.DataFrame:
    """step_s: of each point; otherwise that of each disk follows from the distances of its points.

    FormError if there is none, or a disk lacks a metric or has two values of it at one time."""
    table = pd.DataFrame(points, columns=[*_PLACE, "quantity", "value"])
    table = table.astype({"value": float})
    # Of a machine's limit it counts that it is not known: the other one does not stand for both.
    table = table[table["value"].notna() | (table["device"] == MACHINE)]
    if table["value"].isna().all():
        raise _nothing_read()
    table["begin_s"] = unix_s(table["begin_s"])
    table["step_s"] = step_s or _periods_s(table)
    if not (table["step_s"] > 0).all():
        raise _nothing_read()
    _check_all_metrics(table)
    _check_one_series(table)
    wide = reached(table, [*_PLACE, "step_s", "quantity"]).unstack("quantity")
    wide = wide.reset_index()
    for quantity in QUANTITIES:
        if quantity not in wide:
            wide[quantity] = np.nan
    has_all = wide[list(QUANTITIES)].notna().all(axis=1)
    # Of a machine nothing but its limits is reported.
    complete = wide[has_all | (wide["device"] == MACHINE)]
    end_s = complete["begin_s"] + complete["step_s"]
    columns = [*INTERVALS, *SHARES]
    in_order = complete.assign(end_s=end_s).reindex(columns=columns)
    # A provider that does not report of limits has no column of them.
    reports = in_order.columns.difference(list(INTERVALS))
    unknown = reports[in_order[reports].isna().all()]
    return in_order.drop(columns=unknown)


def _nothing_read() -> FormError:
    return FormError(
        "it does not tell what a disk read and wrote, or in how long a time",
        _NOTHING_READ,
    )


def _periods_s(table: pd.DataFrame) -> "pd.Series[float]":
    """The period of each point's disk.

    A disk with one point has the others' period, if they have one.
    """
    periods_s = table.groupby(_DISK)["begin_s"].transform(_period_s)
    if periods_s.nunique() == 1:
        return periods_s.fillna(periods_s.min())
    return periods_s


def _period_s(times_s: "pd.Series[float]") -> float:
    """The period of one disk's points; NaN of less than two."""
    # Values may be missing, so that no two are one period apart. All distances are multiples of it.
    distances_s = np.diff(np.unique(times_s.to_numpy(float)))
    if not len(distances_s):
        return float("nan")
    return float(np.gcd.reduce(distances_s.round().astype(int)))


def _check_all_metrics(table: pd.DataFrame) -> None:
    demand_metrics = table["quantity"].where(table["quantity"].isin(QUANTITIES))
    quantities = demand_metrics.groupby([table["node"], table["device"]]).nunique()
    for node, device in quantities.index[quantities < len(QUANTITIES)]:
        if device == MACHINE:
            continue
        raise FormError(f"{node} {device} lacks one of its metrics", "ask for all four")


def _check_one_series(table: pd.DataFrame) -> None:
    """FormError with the name of two series."""
    # The same value twice is no second series: two pages of an answer may both have it. A machine
    # has two limits of each kind, with host caching and without.
    of_disks = table[table["device"] != MACHINE]
    values = of_disks.groupby([*_PLACE, "quantity"])["value"].agg(
        ["nunique", "min", "max"]
    )
    unlike = values[values["nunique"] > 1]
    if unlike.empty:
        return
    node, device, _, quantity = unlike.index[0]
    first = unlike.iloc[0]
    name = f"{node} {device}"
    if node == device:
        name = node
    raise FormError(
        f"two series are called `{name}`: one has {first['min']:,g} of {quantity} where the other "
        f"has {first['max']:,g}",
        _ONE_NAME_EACH,
    )
