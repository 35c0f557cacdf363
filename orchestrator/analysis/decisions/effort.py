"""What one more repetition of a workload takes: its time, what is rented meanwhile, and its level.
Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Self

from orchestrator.analysis.results import Results
from orchestrator.design import costs
from orchestrator.design.costs import RentedItem
from orchestrator.model import Workload
from orchestrator.units import format_seconds


@dataclass(frozen=True)
class RepetitionEffort:
    """What another repetition of a contest takes.

    `repetition_s`: its length on all tiers together, 0 if that is not known. `looks`: the looks in
    the plan. `rented`: what is paid by the hour, for `rented_s` of the repetition.
    """

    repetition_s: float = 0.0
    looks: Mapping[int, float] = field(default_factory=dict)
    rented: tuple[RentedItem, ...] = ()
    rented_s: float = 1.0

    @classmethod
    def of_campaign(cls, campaign: Results, loads: Sequence[Workload]) -> Self:
        """The effort, by the median time from the begin of one run to the begin of the next."""
        plan = campaign.plan
        # One more repetition is made on every tier, under each of these loads.
        runs = len(plan.profiles) * len(loads)
        return cls(
            repetition_s=runs * _run_s(campaign),
            looks=plan.repeats.looks,
            rented=costs.rented(plan),
            # Costs are told for the longest time that the plan may take. At least 1, as it is
            # divided by.
            rented_s=max(costs.most_s(plan), 1.0),
        )

    def share(self, repetitions: int, usual: float) -> float:
        """The share of the usual level at a look after so many repetitions.

        Without planned looks it is `usual`; where no look is planned, that of the last one.
        """
        if not self.looks:
            return usual
        return self.looks.get(repetitions, self.looks[max(self.looks)])

    def in_words(self, least: int, most: int) -> str:
        """`2 h to 4 h, 12.00 USD to 24.00 USD` of so many repetitions; empty if not known."""
        if not self.repetition_s:
            return ""
        times = [repetitions * self.repetition_s for repetitions in (least, most)]
        texts = [format_seconds(time_s) for time_s in times]
        amounts = [
            costs.total_in_words(self.rented, time_s / self.rented_s)
            for time_s in times
        ]
        parts = [_range(texts), _range(amounts)]
        return ", ".join(part for part in parts if part)


def _run_s(campaign: Results) -> float:
    """0 with fewer than two runs."""
    begun_s: list[float] = []
    for run in campaign.runs:
        if run.record.phases:
            begun_s.append(run.record.phases[0].start_s)
    begun_s.sort()
    between_s = [later - earlier for earlier, later in pairwise(begun_s)]
    if not between_s:
        return 0.0
    # The median stands for it: a campaign may have been interrupted, and resumed days later.
    return median(between_s)


def _range(texts: Sequence[str]) -> str:
    least, most = texts
    if least == most:
        return least
    return f"{least} to {most}"
