"""Which of a campaign's many figures stand for a workload, and where they are found. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from orchestrator.analysis import results
from orchestrator.analysis.conclusions import (
    CellSummary,
    DecidingFigure,
    Delta,
    Verdict,
)
from orchestrator.design import slow_disks, tpcc_data
from orchestrator.metrics import NEW_ORDER

ALL_TYPES = "all"
LATENCY_AVG = "latency_avg_s"
LATENCY_P99 = "latency_p99_s"


class ComparedFigure(NamedTuple):
    """What tiers are compared by. `scope`: the type of transactions, or the time in the window;
    empty: the one that stands for the workload."""

    metric: str
    scope: str = ""


# Of what was under way while a disk was slow.
LATENCY_SLOW_DISK = ComparedFigure(LATENCY_AVG, slow_disks.SLOW_SCOPE)
LATENCY_NAMES: Mapping[ComparedFigure, str] = {
    ComparedFigure(LATENCY_AVG): "average latency",
    ComparedFigure(LATENCY_P99): "p99 latency",
    LATENCY_SLOW_DISK: "average latency while a disk is slow",
}


def compared_by(figure: Delta | DecidingFigure) -> ComparedFigure:
    """What a figure was compared by, with its scope where that is another than usual."""
    if figure.scope == slow_disks.SLOW_SCOPE:
        return ComparedFigure(figure.metric, figure.scope)
    return ComparedFigure(figure.metric)


# Profile or contender, workload, metric, scope.
_Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class HeadlineFigures:
    """Values and changes of a verdict by tier, workload and metric. Where no scope is asked for,
    latency is New-Order's where a workload has it."""

    campaign: results.Results
    verdict: Verdict

    @cached_property
    def cells(self) -> Mapping[_Key, CellSummary]:
        """All values, by profile, workload, metric and scope."""
        by_key: dict[_Key, CellSummary] = {}
        for cell in self.verdict.cells:
            by_key[cell.profile, cell.workload, cell.metric, cell.scope] = cell
        return by_key

    @cached_property
    def _deltas(self) -> Mapping[_Key, Delta]:
        by_key: dict[_Key, Delta] = {}
        # The twin of `--aa` is shown as a contender too, though no decision counts it.
        for delta in (*self.verdict.deltas, *self.verdict.noise_floor):
            by_key[delta.contender, delta.workload, delta.metric, delta.scope] = delta
        return by_key

    def is_tpcc_derived(self, workload: str) -> bool:
        """Whether New-Orders were counted, or the data set is TPC-C's."""
        # The data set tells it too, as no run may have left any figure.
        dataset = self.campaign.plan.workload(workload).dataset
        return tpcc_data.is_tpcc_derived(dataset) or self._has(workload, metric="nopm")

    def throughput_metric(self, workload: str) -> str:
        """What counts as its throughput: New-Orders, bytes of rows, or transactions."""
        # Its runs have a rate of all transactions too, which is not the one that counts.
        if self.is_tpcc_derived(workload):
            return "nopm"
        if self._has(workload, metric="payload_bytes_per_s"):
            return "payload_bytes_per_s"
        return "throughput_per_s"

    def latency_scope(self, workload: str) -> str:
        """The type of transactions whose latency stands for the workload."""
        if self._has(workload, scope=NEW_ORDER):
            return NEW_ORDER
        return ALL_TYPES

    def _has(self, workload: str, metric: str = "", scope: str = "") -> bool:
        """Whether any tier has such a value. Empty: any metric, any scope."""
        for _, its_workload, its_metric, its_scope in self.cells:
            is_alike = metric in ("", its_metric) and scope in ("", its_scope)
            if its_workload == workload and is_alike:
                return True
        return False

    def has_metric(self, metric: str) -> bool:
        """Whether any cell of the campaign has it: else nothing need be said of it."""
        return any(cell.metric == metric for cell in self.verdict.cells)

    def compared_metrics(self, workload: str) -> dict[str, ComparedFigure]:
        """A table's title → what tiers are compared by; without p99 if no run has one.

        Titles are the same for all workloads, because these stand in one table.
        """
        metrics = {
            "Throughput": ComparedFigure(self.throughput_metric(workload)),
            "Average latency": ComparedFigure(LATENCY_AVG),
        }
        # Short runs have too few transactions for it: a column of gaps would say nothing.
        if self.has_metric(LATENCY_P99):
            metrics["p99 latency"] = ComparedFigure(LATENCY_P99)
        if self._is_slow_disk_measured:
            metrics["Average latency, a disk slow"] = LATENCY_SLOW_DISK
        return metrics

    @cached_property
    def _is_slow_disk_measured(self) -> bool:
        """Whether any cell of the campaign has the latency while a disk is slow."""
        for cell in self.verdict.cells:
            if cell.metric == LATENCY_AVG and cell.scope == slow_disks.SLOW_SCOPE:
                return True
        return False

    def cell(
        self, profile: str, workload: str, metric: str, scope: str = ""
    ) -> CellSummary | None:
        """The value that stands for a metric, or that of the scope given."""
        scope = scope or self._usual_scope(workload, metric)
        return self.cells.get((profile, workload, metric, scope))

    def delta(self, contender: str, workload: str, by: ComparedFigure) -> Delta | None:
        """A contender's change against the baseline."""
        scope = by.scope or self._usual_scope(workload, by.metric)
        return self._deltas.get((contender, workload, by.metric, scope))

    def _usual_scope(self, workload: str, metric: str) -> str:
        if metric.startswith("latency_"):
            return self.latency_scope(workload)
        return ALL_TYPES
