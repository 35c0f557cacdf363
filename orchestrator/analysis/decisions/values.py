"""A workload at all values of what is varied: its runs, tier by tier and value by value. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

from orchestrator import facts, model
from orchestrator.analysis import conclusions, metric_values, results
from orchestrator.design import factors, used_profiles, varied_workloads

# Tier and workload → what limited it.
Causes = Mapping[results.Cell, facts.BottleneckCause]


def causes_of(of_cells: Sequence[conclusions.Bottleneck]) -> Causes:
    return {(cell.profile, cell.workload): cell.cause for cell in of_cells}


class VariedLoad(NamedTuple):
    """A value, and the workload that stands for it."""

    value: facts.Varied
    load: model.Workload


class Keys(NamedTuple):
    """The figures that laws are made of. If New-Orders are counted, the figures are theirs."""

    throughput: metric_values.Key
    average_latency: metric_values.Key
    p99_latency: metric_values.Key


@dataclass(frozen=True)
class Values:
    """The workloads that stand for the values, in their order."""

    campaign: results.Results
    name: str  # name of the workload that is varied
    loads: Sequence[VariedLoad]

    @classmethod
    def of_plan(
        cls, campaign: results.Results, question: facts.Question
    ) -> dict[str, Self]:
        """The values in question, by the name of the workload."""
        loads: dict[str, list[VariedLoad]] = {}
        for load in campaign.plan.workloads:
            varied = varied_workloads.asked_value(load, question)
            if varied:
                loads.setdefault(varied.of, []).append(VariedLoad(varied, load))
        return {
            name: cls(campaign, name, named_loads)
            for name, named_loads in loads.items()
        }

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(factors.in_words(value) for value, _ in self.loads)

    @cached_property
    def workloads(self) -> tuple[str, ...]:
        return tuple(load.name for _, load in self.loads)

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """The values as numbers; empty unless all of them are numbers."""
        numbers: list[float] = []
        for value, _ in self.loads:
            # A law over some of the values would leave out the others unseen.
            if value.number is None:
                return ()
            numbers.append(value.number)
        return tuple(numbers)

    @property
    def factor(self) -> str:
        """What is varied."""
        return self.loads[0].value.factor

    def runs(self, tier: str) -> Sequence[tuple[results.RunData, ...]]:
        """The finished ones at each value."""
        return [results.finished(self.campaign, tier, load) for load in self.workloads]

    def nodes(self, tier: str) -> list[int]:
        """How many there are at each value."""
        profile = self.campaign.plan.profile(tier)
        return [
            used_profiles.as_used(profile, load).cluster.nodes for _, load in self.loads
        ]

    def means(self, tier: str, metric: str) -> dict[int, float]:
        """Place of each value with runs that have the metric → the mean of these."""
        means: dict[int, float] = {}
        for place, runs in enumerate(self.runs(tier)):
            mean = metric_values.mean_of(runs, metric)
            if mean is not None:
                means[place] = mean
        return means

    @property
    def keys(self) -> Keys:
        runs: list[results.RunData] = []
        for tier in self.campaign.plan.tiers:
            for at_value in self.runs(tier.name):
                runs += at_value
        rate = metric_values.rate_of(runs)
        scope = "all"
        # Where New-Orders are counted, all types together would mostly be others.
        if rate == "nopm":
            scope = "new_order"
        return Keys((rate, "all"), ("latency_avg_s", scope), ("latency_p99_s", scope))
