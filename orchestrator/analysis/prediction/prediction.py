"""From the runs of a cell to another tier: figures with 90 % intervals. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev

import numpy as np

from orchestrator.analysis.prediction.demands import at_cap, disk_of, model
from orchestrator.analysis.prediction.simulation import Simulated, simulate
from orchestrator.analysis.results import Key, Results, RunData, finished, machine_cpus, whole
from orchestrator.analysis.statistics.stats import percentile_min_count
from orchestrator.facts import BottleneckCause
from orchestrator.metrics import METRICS, PERCENTILES
from orchestrator.model import Objective
from orchestrator.tier import Tier

SEEDS = (1, 2, 3)
NOISE = 0.03  # between runs of one tier, where only one was measured (docs/ERROR-RATES.md)
FASTER = 0.98  # of the measured tier's average latency: below it a prediction is upwards
FIGURES: tuple[Key, ...] = tuple(
    (metric, "all") for metric in ("throughput_per_s", "latency_avg_s", "latency_p99_s")
)
T90 = NormalDist().inv_cdf(0.95)
# What nine errors of the model in ten stay below, as logarithms, downwards and upwards: of rates
# and averages, and of percentiles (docs/PREDICTION.md, on real parts).
RATE_ERRORS, TAIL_ERRORS = (0.28, 0.48), (1.1, 1.4)


@dataclass(frozen=True)
class Estimate:
    """`low`, `high`: of the interval that holds it in 90 %."""

    value: float
    low: float
    high: float

    def below(self, limit: float) -> float:
        """The chance that it is, by the normal distribution of its logarithm."""
        sd = math.log(self.high / self.low) / 2 / T90
        return NormalDist(math.log(self.value), sd).cdf(math.log(limit))


@dataclass(frozen=True)
class Prediction:
    """What a tier is predicted to do. `upwards`: faster than the tier that was measured.
    `figures`: those that can be told, `named`. `monthly_cost`: of the disks of all nodes."""

    tier: str
    upwards: bool
    limit: BottleneckCause
    figures: Mapping[str, Estimate]
    monthly_cost: float | None
    currency: str

    def chance(self, objectives: Sequence[Objective]) -> float:
        """That the least likely clause is met; 0 where a figure cannot be told."""
        chances = []
        for objective in objectives:
            estimate = self.figures.get(named(objective.metric, objective.scope))
            below = estimate.below(objective.limit) if estimate else 0.0
            lower = METRICS[objective.metric].direction == "lower" or not estimate
            chances.append(below if lower else 1 - below)
        return min(chances)


class Predictor:
    """Of the cell of a run, whose repetitions give the noise. UsageError: nothing can be said."""

    def __init__(self, campaign: Results, run: RunData) -> None:
        of_cell = finished(campaign, run.record.profile.name, run.record.workload.name)
        self._runs = sorted(of_cell or [run], key=lambda r: whole([r], FIGURES[0]))
        self.measured = self._runs[len(self._runs) // 2]
        quiet = quiet_run(campaign, run)
        self._system, own = model(self.measured, quiet, machine_cpus(campaign))
        self._at_cap = at_cap(self.measured)
        self._here = [simulate(self._system, own, seed) for seed in SEEDS]

    def predict(self, tier: Tier, keys: Sequence[Key] = FIGURES) -> Prediction:
        """UsageError if nothing says how long an I/O of the tier takes."""
        there = [simulate(self._system, disk_of(tier), seed) for seed in SEEDS]
        slower = _figure(there, "latency_avg_s") / _figure(self._here, "latency_avg_s")
        estimates = ((named(*key), self._estimate(there, key, slower < FASTER)) for key in keys)
        figures = {name: estimate for name, estimate in estimates if estimate}
        price = tier.price
        cost = round(price.monthly * self._system.nodes, 2) if price else None
        currency = price.currency if price else ""
        return Prediction(tier.name, slower < FASTER, there[0].limit, figures, cost, currency)

    def _estimate(self, there: Sequence[Simulated], key: Key, upwards: bool) -> Estimate | None:
        """What was measured, times what the simulation of the tier is to that of the measured one:
        what is not simulated stays. At a cap rates and averages are those of the cap alone.
        Interval: noise of runs, and error of the model."""
        measured, (metric, _) = whole(self._runs, key), key
        of_all = whole(self._runs, (metric, "all"))
        here = _figure(self._here, metric)
        if of_all and self._at_cap and metric not in PERCENTILES:
            here = fmean(of_all)
        if not measured or not math.isfinite(times := _figure(there, metric) / here):
            return None
        value = fmean(measured) * times
        noise = stdev(map(math.log, measured)) if len(measured) > 1 else NOISE
        error = (TAIL_ERRORS if metric in PERCENTILES else RATE_ERRORS)[upwards] / T90
        sd = math.hypot(noise * math.sqrt(1 + 1 / len(measured)), error)
        return Estimate(value, value * math.exp(-T90 * sd), value * math.exp(T90 * sd))


def named(metric: str, scope: str) -> str:
    return metric if scope == "all" else f"{scope} {metric}"


def _figure(simulated: Sequence[Simulated], metric: str) -> float:
    """Of all seeds together; NaN for a percentile of too few. A rate is throughput's."""
    latencies_s = np.concatenate([each.latencies_s for each in simulated])
    if METRICS[metric].unit != "s":
        return fmean(each.throughput_per_s for each in simulated)
    if metric not in PERCENTILES:
        return float(latencies_s.mean())
    enough = latencies_s.size >= percentile_min_count(PERCENTILES[metric])
    return float(np.percentile(latencies_s, PERCENTILES[metric])) if enough else math.nan


def quiet_run(campaign: Results, run: RunData) -> RunData | None:
    """The quietest run of the same tier, script and data with fewer sessions, at no cap."""
    own, tier = run.record.workload, run.record.profile.name
    loads = ((other, other.record.workload) for other in campaign.done)
    quiet = {
        load.threads: other
        for other, load in loads
        if other.record.profile.name == tier and load.threads < own.threads
        if (load.script, load.dataset) == (own.script, own.dataset) and not at_cap(other)
    }
    return quiet[min(quiet)] if quiet else None
