"""From the runs of a cell to another tier: figures with 90 % intervals. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev

from orchestrator.analysis.prediction.demands import at_cap, disk_of, model
from orchestrator.analysis.prediction.simulation import ALL, Simulated, simulate
from orchestrator.analysis.results import Results, RunData, finished, machine_cpus, whole
from orchestrator.facts import BottleneckCause
from orchestrator.metrics import PERCENTILES
from orchestrator.tier import Tier

SEEDS = (1, 2, 3)
NOISE = 0.03  # between runs of one tier, where only one was measured (docs/ERROR-RATES.md)
FASTER = 0.98  # of the measured tier's average latency: below it a prediction is upwards
FIGURES = ("throughput_per_s", "latency_avg_s", "latency_p99_s")
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


@dataclass(frozen=True)
class Prediction:
    """What a tier is predicted to do. `upwards`: faster than the tier that was measured.
    `figures`: by metric, those that can be told. `monthly_cost`: of the disks of all nodes."""

    tier: str
    upwards: bool
    limit: BottleneckCause
    figures: Mapping[str, Estimate]
    monthly_cost: float | None
    currency: str


class Predictor:
    """Of the cell of a run, whose repetitions give the noise. UsageError: nothing can be said."""

    def __init__(self, campaign: Results, run: RunData) -> None:
        of_cell = finished(campaign, run.record.profile.name, run.record.workload.name)
        self._runs = sorted(of_cell or [run], key=lambda r: whole([r], (FIGURES[0], ALL)))
        self.measured = self._runs[len(self._runs) // 2]
        self._system, own = model(self.measured, probe(campaign, run), machine_cpus(campaign))
        self._here = [simulate(self._system, own, seed) for seed in SEEDS]

    def predict(self, tier: Tier) -> Prediction:
        """UsageError if nothing says how long an I/O of the tier takes."""
        there = [simulate(self._system, disk_of(tier), seed) for seed in SEEDS]
        average_s, own_s = (
            fmean(s.value("latency_avg_s") or 0.0 for s in of) for of in (there, self._here)
        )
        upwards = average_s < FASTER * own_s
        estimates = ((name, self._estimate(there, name, upwards)) for name in FIGURES)
        figures = {name: estimate for name, estimate in estimates if estimate}
        price = tier.price
        cost = round(price.monthly * self._system.nodes, 2) if price else None
        currency = price.currency if price else ""
        return Prediction(tier.name, upwards, there[0].limit, figures, cost, currency)

    def _estimate(self, there: Sequence[Simulated], metric: str, upwards: bool) -> Estimate | None:
        """A percentile is times what that of the measured tier is of its simulation: what is not
        simulated stays. Interval: noise of runs, spread of seeds, and error of the model."""
        values, own = ([v for s in of if (v := s.value(metric))] for of in (there, self._here))
        measured, is_tail = whole(self._runs, (metric, ALL)), metric in PERCENTILES
        if min(len(values), len(own)) < len(SEEDS) or not measured:
            return None
        value = fmean(values) * (fmean(measured) / fmean(own) if is_tail else 1.0)
        noise = stdev(map(math.log, measured)) if len(measured) > 1 else NOISE
        seeds = stdev(map(math.log, values)) / math.sqrt(len(SEEDS))
        error = (TAIL_ERRORS if is_tail else RATE_ERRORS)[upwards] / T90
        sd = math.hypot(noise * math.sqrt(1 + 1 / len(measured)), seeds, error)
        return Estimate(value, value * math.exp(-T90 * sd), value * math.exp(T90 * sd))


def probe(campaign: Results, run: RunData) -> RunData | None:
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
