"""What was measured of a disk matrix, and what each disk gives at most, in a line."""

from collections.abc import Mapping

import pandas as pd

from orchestrator import units
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.phrases import closed
from orchestrator.analysis.figures import matrix_laws
from orchestrator.analysis.results import finished
from orchestrator.design import disk_matrix
from orchestrator.model import Workload
from orchestrator.texts import prose

ByTier = Mapping[str, pd.DataFrame]  # tier → what was measured of its cells


def measured_by_tier(asked: Asked, workload: Workload) -> ByTier:
    """The matrices by tier, for each tier that has a run that was measured to its end; empty for a
    workload that is no matrix."""
    by_tier: dict[str, pd.DataFrame] = {}
    for tier in asked.tiers:
        rows = _measured(asked, tier, workload)
        if not rows.empty:
            by_tier[tier] = rows
    return by_tier


def _measured(asked: Asked, tier: str, workload: Workload) -> pd.DataFrame:
    """Means over the repetitions, of the cells that all of them have."""
    repetitions = len(finished(asked.campaign, tier, workload.name))
    wanted = (tier, workload.name, repetitions)
    means: dict[tuple[str, str], float] = {}
    for cell in asked.verdict.cells:
        # A mean without some of the repetitions is of other hours than the rest.
        if (cell.profile, cell.workload, cell.n) == wanted:
            means[cell.metric, cell.scope] = cell.mean
    return matrix_laws.table(disk_matrix.planned(workload.options), means)


def in_short(asked: Asked, workload: Workload) -> str:
    """`premium gives 1,100 IOPS, reads 125 MB/s, writes 124 MB/s; ultra …`: the ceilings of each
    disk; empty for a workload that is no matrix or has no figures."""
    texts: list[str] = []
    for tier, rows in measured_by_tier(asked, workload).items():
        texts.append(f"{tier} gives {prose.listed(_at_most(rows))}")
    return closed("; ".join(texts))


def _at_most(rows: pd.DataFrame) -> list[str]:
    """A ceiling that was not reached may be higher."""
    iops = matrix_laws.ceilings(rows, "iops")
    rates = matrix_laws.ceilings(rows, "bytes_per_s")
    texts = [bound(iops["all"], "IOPS")]
    for way, verb in (("read", "reading"), ("write", "writing")):
        if way in rates:
            texts.append(f"{bound(rates[way], 'bytes/s')} {verb}")
    return texts


def bound(ceiling: matrix_laws.Ceiling, unit: str) -> str:
    """`3,000 IOPS`, or `at least 3,000 IOPS` where the ceiling was not reached."""
    value = units.format_quantity(ceiling.value, unit)
    if ceiling.reached:
        return value
    return f"at least {value}"
