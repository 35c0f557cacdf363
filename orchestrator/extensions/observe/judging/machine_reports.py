"""What a provider reports of machines stands beside the readings of their disks. Pure.

A table of such reports has INTERVALS without amounts, of a device that is called MACHINE. A report
is of what lies within its interval: of a longer one, or of another machine, it says nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from orchestrator.extensions.observe.judging.demand import Array
from orchestrator.extensions.observe.judging.reported_throttle import MACHINE_SHARES

MACHINE = "machine"
_PLACE = ["node", "begin_s", "end_s"]
_REPORTS = list(MACHINE_SHARES)
# Times that two tools write of one moment differ by their rounding.
_SAME_MOMENT_S = 0.001


class DisksAndReports(NamedTuple):
    """Tables of disks, and of their machines a row for each interval: node, begin_s, end_s and what
    is reported, in the order of time."""

    disks: Sequence[pd.DataFrame]
    reports: pd.DataFrame

    def beside_disks(self) -> list[pd.DataFrame]:
        """The tables of disks, with what is reported of the machine meanwhile."""
        if self.reports.empty:
            return [*self.disks]
        return [_with_reports(table, self.reports) for table in self.disks]


def apart(tables: Sequence[pd.DataFrame]) -> DisksAndReports:
    """Tables of readings: of disks, and what is reported of machines."""
    disks: list[pd.DataFrame] = []
    reports: list[pd.DataFrame] = []
    for table in tables:
        is_report = table["device"] == MACHINE
        # A week's table is not copied where it has no report.
        if is_report.any():
            reports.append(table[is_report])
            table = table[~is_report]
        if len(table) or not is_report.any():
            disks.append(table)
    if not reports:
        return DisksAndReports(disks, pd.DataFrame(columns=[*_PLACE, *_REPORTS]))
    limits: dict[str, pd.Series[float]] = {}
    for name in _REPORTS:
        limits[name] = reached(_of_limit(reports, name), _PLACE)
    of_machines = pd.DataFrame(limits).reset_index()
    return DisksAndReports(disks, of_machines.sort_values("begin_s"))


def reached(reports: pd.DataFrame, place: Sequence[str]) -> pd.Series[float]:
    """For which share of an interval a limit of a machine was reached. `reports`: `value` and the
    columns of `place`, by which the result is indexed.

    A machine has two limits of each kind, with host caching and without. One that is not known may
    have been reached, unless the other one was all of the time.
    """
    keys = [reports[column] for column in place]
    most = reports.groupby(list(place))["value"].max()
    is_unknown = reports["value"].isna().groupby(keys).any()
    return most.where(~is_unknown | (most >= 1.0))


def _of_limit(reports: Sequence[pd.DataFrame], name: str) -> pd.DataFrame:
    """The rows that are of one limit, with its `value`; NaN where a source of it has none."""
    rows = [pd.DataFrame(columns=[*_PLACE, "value"])]
    for table in reports:
        if name not in table:
            continue
        # A source that has the limit of another machine alone was not asked for this one's.
        nodes = table["node"][table[name].notna()].unique()
        of_limit = table[table["node"].isin(nodes)]
        rows.append(of_limit[_PLACE].assign(value=of_limit[name]))
    return pd.concat(rows[1:] or rows)


def without_disks(
    reports: pd.DataFrame, beside: Sequence[pd.DataFrame]
) -> Iterator[str]:
    """Machines whose reports fit no interval of their disks. `beside`: as of `beside_disks`."""
    for node in reports["node"].unique():
        if not any(_has_report(table, node) for table in beside):
            yield str(node)


def fit_no_interval(machine: str) -> str:
    """What a person should know of such a machine."""
    return (
        f"reports of the machine {machine} fit no interval of its disks: ask for both with the "
        "same --interval, time and name"
    )


def _has_report(disks: pd.DataFrame, node: str) -> bool:
    of_node = disks.loc[disks["node"] == node, _REPORTS]
    return bool(of_node.notna().any(axis=None))


def _with_reports(disks: pd.DataFrame, reports: pd.DataFrame) -> pd.DataFrame:
    values = np.full((len(disks), len(_REPORTS)), np.nan)
    for node, of_machine in reports.groupby("node"):
        is_of_node = (disks["node"] == node).to_numpy()
        values[is_of_node] = _reported(disks[is_of_node], of_machine)
    columns = {name: values[:, place] for place, name in enumerate(_REPORTS)}
    return disks.assign(**columns)


def _reported(disks: pd.DataFrame, of_machine: pd.DataFrame) -> Array:
    """A row for each interval of a machine's disks, with what is reported of it; NaN where it lies
    in no report."""
    columns: list[Array] = []
    for name in _REPORTS:
        # Reports of one limit alone may lie between those of the other.
        of_limit = of_machine.dropna(subset=[name])
        columns.append(_around(disks, of_limit, name))
    return np.column_stack(columns)


def _around(disks: pd.DataFrame, reports: pd.DataFrame, name: str) -> Array:
    """The value of the report that each interval lies in; of several that which began last, because
    it is the closest."""
    begin_s = disks["begin_s"].to_numpy(float)
    end_s = disks["end_s"].to_numpy(float) - _SAME_MOMENT_S
    last_s = reports["end_s"].to_numpy(float)
    reported = reports[name].to_numpy(float)
    values = np.full(len(disks), np.nan)
    # When the longest of those that began so far ends.
    latest_s = np.maximum.accumulate(last_s)
    first_s = reports["begin_s"].to_numpy(float)
    place = np.searchsorted(first_s, begin_s + _SAME_MOMENT_S, side="right") - 1
    open_rows = np.flatnonzero(place >= 0)
    while len(open_rows):
        # None of those that began so far lasts as long as the others.
        open_rows = open_rows[end_s[open_rows] <= latest_s[place[open_rows]]]
        lies_within = end_s[open_rows] <= last_s[place[open_rows]]
        inner_rows = open_rows[lies_within]
        values[inner_rows] = reported[place[inner_rows]]
        open_rows = open_rows[~lies_within]
        place[open_rows] -= 1
    return values
