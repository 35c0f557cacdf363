"""Disks that were measured alone, on one axis: each a dot at the IOPS that it carried at most."""

from typing import Any

from orchestrator import units
from orchestrator.analysis.answers import disk_ceilings
from orchestrator.analysis.figures import matrix_laws
from orchestrator.model import Profile, Workload
from orchestrator.report import wording
from orchestrator.report.blocks import Chart
from orchestrator.report.charts import charts
from orchestrator.report.report_index import ReportIndex

# How far the axis reaches beyond the highest figure, so that it is not cut.
_ROOM = 1.08
_AXIS = "IOPS"


def picture(index: ReportIndex, workload: Workload) -> Chart | None:
    """The chart of a matrix; None where fewer than two disks were measured to their end."""
    rows: list[dict[str, Any]] = []
    labels: list[str] = []
    # Disks with a part of their cells are left out, as their highest may be yet to come.
    by_tier = disk_ceilings.measured_by_tier(index, workload)
    for tier, measured in by_tier.items():
        ceiling = matrix_laws.ceilings(measured, "iops")["all"]
        row = _row(index.campaign.plan.profile(tier), ceiling)
        rows.append(row)
        labels.append(row["label"])
    # One dot alone is compared with nothing.
    if len(rows) < 2:
        return None
    highest = 0.0
    for row in rows:
        highest = max(highest, row["value"])
    spec = charts.drawing(
        "tiers",
        index.tiers,
        value=_AXIS,
        labels=labels,
        reach=[0, highest * _ROOM],
    )
    tables: dict[str, list[dict[str, Any]]] = {"tiers": rows, "enough": []}
    title = "The most IOPS of each disk, by fio"
    return charts.figure(f"{workload.name}-tiers", title, spec, tables)


def _row(profile: Profile, ceiling: matrix_laws.Ceiling) -> dict[str, Any]:
    """The dot of one disk; its list price is that of a month."""
    price = profile.tier.price
    label = profile.name
    amount = "not known"
    if price is not None:
        amount = wording.money(price.monthly, price.currency)
        label = f"{profile.name}, {amount}"
    row: dict[str, Any] = {"tier": profile.name, "label": label, "price": amount}
    row["value"] = ceiling.value
    # The median of a plateau of one run has no interval.
    row["low"] = ceiling.value
    row["high"] = ceiling.value
    row["told"] = units.format_quantity(ceiling.value, _AXIS)
    return row
