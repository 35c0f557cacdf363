"""What tiers are predicted to do that were not measured, beside a verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist

from orchestrator import facts, metrics, model
from orchestrator.analysis.answers.record import MonthlyPrice

# Standard deviations from the middle of an interval of 90 % to its ends.
T90 = NormalDist().inv_cdf(0.95)


@dataclass(frozen=True)
class FigureKey:
    """Which figure is predicted: that of all transactions, or of one type such as `new_order`."""

    metric: str
    scope: str = "all"

    @property
    def stored_name(self) -> str:
        """Its name in files: `new_order latency_p99_s`, or `latency_p99_s` of all."""
        if self.scope == "all":
            return self.metric
        return f"{self.scope} {self.metric}"

    @classmethod
    def of_stored(cls, stored_name: str) -> FigureKey:
        """The key with this `stored_name`."""
        scope, _, metric = stored_name.rpartition(" ")
        return cls(metric, scope or "all")


@dataclass(frozen=True)
class Estimate:
    """A predicted figure. low, high: the interval that holds it with a probability of 90 %."""

    value: float
    low: float
    high: float

    def chance(self, objective: model.Objective) -> float:
        """The chance that the clause is met, if the logarithm has a normal distribution."""
        # Each end of the interval of 90 % is T90 standard deviations from the middle.
        sd = math.log(self.high / self.low) / 2 / T90
        below = NormalDist(math.log(self.value), sd).cdf(math.log(objective.limit))
        if metrics.METRICS[objective.metric].less_is_better:
            return below
        return 1 - below


@dataclass(frozen=True)
class Prediction:
    """What a tier is predicted to do.

    upwards: whether it is faster than the tier that was measured.
    figures: what can be told, by the stored names of their keys.
    monthly_cost: of the disks of all nodes, and of their machines, if `machine` names their type.
    price: the same, with the number of nodes and where it was read.
    chance: that the SLO is met: that of its least likely clause.
    run: the run that the prediction rests on. doubts: what limits that run, and so the chance.
    measured: the figures of the tier itself, by the same names, where it was measured too.
    other_machines: on which it costs and does the same as on `machine`.
    """

    tier: str
    upwards: bool
    limit: facts.BottleneckCause
    figures: Mapping[str, Estimate]
    monthly_cost: float | None
    currency: str
    chance: float | None = None
    run: str = ""
    measured: Mapping[str, float] = field(default_factory=dict)
    machine: str = ""
    price: MonthlyPrice | None = None
    doubts: tuple[str, ...] = ()
    other_machines: tuple[str, ...] = ()

    @property
    def by_key(self) -> Mapping[FigureKey, Estimate]:
        """All figures, each with what it is of."""
        estimates: dict[FigureKey, Estimate] = {}
        for stored_name, figure in self.figures.items():
            estimates[FigureKey.of_stored(stored_name)] = figure
        return estimates

    def figure(self, key: FigureKey) -> Estimate | None:
        """What is predicted of one figure. None if it cannot be told."""
        return self.figures.get(key.stored_name)

    def measured_figure(self, key: FigureKey) -> float | None:
        """What its own runs did. None if it was not measured too."""
        return self.measured.get(key.stored_name)

    @property
    def machines(self) -> str:
        """`m5.2xlarge or m6i.2xlarge`: all of them, without their provider; empty if none is
        known."""
        names: list[str] = []
        for machine in (self.machine, *self.other_machines):
            _, _, name = machine.partition("/")
            if name:
                names.append(name)
        return " or ".join(names)
