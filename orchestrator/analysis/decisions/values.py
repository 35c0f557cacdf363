"""A workload at all values of what is varied: its runs, tier by tier and value by value. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Self

from orchestrator import facts, model, units
from orchestrator.analysis import conclusions, results
from orchestrator.planning import factors, plan

Causes = Mapping[
    tuple[str, str], facts.BottleneckCause
]  # of each cell, what limited it


def causes_of(of_cells: Sequence[conclusions.Bottleneck]) -> Causes:
    return {(cell.profile, cell.workload): cell.cause for cell in of_cells}


@dataclass(frozen=True)
class Values:
    """The workloads that stand for the values, in their order."""

    campaign: results.Results
    name: str  # of the workload that is varied
    loads: Sequence[tuple[facts.Varied, model.Workload]]

    @classmethod
    def of_plan(
        cls, campaign: results.Results, question: facts.Question
    ) -> dict[str, Self]:
        """By the name of the workload of which that is asked."""
        asked = (
            (factors.asks(load, question), load) for load in campaign.plan.workloads
        )
        every = units.gathered(
            (varied.of, (varied, load)) for varied, load in asked if varied
        )
        return {name: cls(campaign, name, loads) for name, loads in every.items()}

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(factors.in_words(value) for value, _ in self.loads)

    @cached_property
    def workloads(self) -> tuple[str, ...]:
        return tuple(load.name for _, load in self.loads)

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """None unless all values are numbers."""
        known = tuple(
            value.number for value, _ in self.loads if value.number is not None
        )
        return known if len(known) == len(self.loads) else ()

    def runs(self, tier: str) -> Sequence[tuple[results.RunData, ...]]:
        """The finished ones at each value."""
        return [results.finished(self.campaign, tier, load) for load in self.workloads]

    def nodes(self, tier: str) -> list[int]:
        profile = self.campaign.plan.profile(tier)
        return [plan.as_used(profile, load).cluster.nodes for _, load in self.loads]

    def means(self, tier: str, metric: str) -> dict[int, float]:
        """Place of each value with runs that have the metric → the mean of these."""
        figures = units.gathered(
            (place, figure)
            for place, runs in enumerate(self.runs(tier))
            for run in runs
            if (figure := results.value_of(run.record, metric)) is not None
        )
        return {place: fmean(known) for place, known in figures.items()}

    @property
    def keys(self) -> tuple[results.Key, results.Key, results.Key]:
        """Throughput, average latency and p99, of New-Orders if they are counted."""
        of_tiers = (self.runs(tier.name) for tier in self.campaign.plan.tiers)
        rate = results.rate_of([run for runs in of_tiers for at in runs for run in at])
        scope = "new_order" if rate == "nopm" else "all"
        return (rate, "all"), ("latency_avg_s", scope), ("latency_p99_s", scope)
