"""Figures, their changes and their names in words, as every sentence and table has them. Pure."""

from collections.abc import Mapping

from orchestrator import metrics, units
from orchestrator.analysis.conclusions import CellSummary, Change, Delta

# A compared metric within a sentence.
METRICS: Mapping[str, str] = {
    "throughput_per_s": "transactions/s",
    "nopm": "NOPM",
    "payload_bytes_per_s": "payload",
    "latency_avg_s": "average latency",
    "latency_p99_s": "p99 latency",
    "rebuild_s": "time to rebuild a node",
    "slow_share_pct": "throughput kept while a disk is slow",
    "recovery_s": "time to recover from a slow disk",
}


def value(cell: CellSummary, figure: float | None = None) -> str:
    """The mean, or another figure of its unit; without a unit that the column's title gives."""
    if figure is None:
        figure = cell.mean
    return metrics.number_in_words(cell.metric, figure)


def value_with_unit(cell: CellSummary) -> str:
    """The mean, where no column's title gives its unit."""
    return metrics.value_in_words(cell.metric, cell.mean)


def interval(delta: Delta | Change) -> str:
    """`+5.1 to +9.8 %`; empty if one run on a side leaves no interval."""
    if delta.ci_low_pct is None or delta.ci_high_pct is None:
        return ""
    low = units.signed_digits(delta.ci_low_pct)
    return f"{low} to {units.format_change(delta.ci_high_pct)}"
