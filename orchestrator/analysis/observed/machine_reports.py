"""What a provider reports of machines stands beside the readings of their disks. Pure.

A table of such reports has INTERVALS without amounts, of a device that is called MACHINE."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from orchestrator.analysis.observed.reported_throttle import MACHINE_COLUMNS

MACHINE = "machine"
_PLACE = ["node", "begin_s"]
_REPORTS = list(MACHINE_COLUMNS.values())


def beside_disks(tables: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """The tables of disks, with what is reported of the machine in the same interval."""
    reports: list[pd.DataFrame] = []
    disks: list[pd.DataFrame] = []
    for table in tables:
        is_report = table["device"] == MACHINE
        # A week's table is not copied where it has no report.
        if is_report.any():
            reports.append(table[is_report])
            table = table[~is_report]
        if len(table) or not is_report.any():
            disks.append(table)
    if not reports:
        return disks
    of_machines = pd.concat(reports).reindex(columns=[*_PLACE, *_REPORTS])
    of_machines = of_machines.groupby(_PLACE, as_index=False).max()
    return [_with_reports(table, of_machines) for table in disks]


def _with_reports(disks: pd.DataFrame, of_machines: pd.DataFrame) -> pd.DataFrame:
    plain = disks.drop(columns=_REPORTS, errors="ignore")
    return plain.merge(of_machines, on=_PLACE, how="left")
