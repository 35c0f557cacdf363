"""From the runs of a cell to another tier: figures with 90 % intervals. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from statistics import fmean, stdev

import numpy as np

from orchestrator.analysis.answers.record import PriceScope
from orchestrator.analysis.answers.to_buy import stated_price
from orchestrator.analysis.metric_values import Key, whole
from orchestrator.analysis.predictions import T90, Estimate, FigureKey, Prediction
from orchestrator.analysis.results import Results, RunData, finished, machine_cpus
from orchestrator.analysis.statistics.stats import percentile_min_count
from orchestrator.design import purchase_prices
from orchestrator.design.slo import WORDS, format_objective
from orchestrator.errors import Mistake
from orchestrator.extensions.predict import demands
from orchestrator.extensions.predict.courses import Simulated
from orchestrator.extensions.predict.demands import (
    CAPPED,
    loaded,
    model,
    time_at_cap,
)
from orchestrator.extensions.predict.disks import SimulatedDisk, disk_of
from orchestrator.extensions.predict.model_errors import (
    TAIL_ERRORS,
    are_beside_others,
    rate_error,
)
from orchestrator.extensions.predict.sharing import simulate
from orchestrator.extensions.predict.simulated_system import System
from orchestrator.keys.refusals import refused
from orchestrator.metrics import METRICS, PERCENTILES
from orchestrator.model import ClusterSpec, Objective, Profile, Workload
from orchestrator.texts.prose import listed
from orchestrator.tier import Limits, Tier

SEEDS = (1, 2, 3)
# Noise between runs of one tier, where only one was measured (docs/research/ERROR-RATES.md).
NOISE = 0.03
# Share of the measured tier's average latency: below it a prediction is upwards.
FASTER = 0.98
THROUGHPUT = "throughput_per_s"
# Rates of what ends well. How many transactions fail is no matter of a disk's speed.
PREDICTED_RATES = (THROUGHPUT, "nopm")
FIGURES: tuple[Key, ...] = (
    (THROUGHPUT, "all"),
    ("latency_avg_s", "all"),
    ("latency_p99_s", "all"),
)


class Predictor:
    """Predicts other tiers from the middle run of a cell; the cell's repetitions give the noise.

    hour: of an observation, whose load then takes the place of the run's. UsageError: nothing can
    be said.
    """

    def __init__(
        self,
        campaign: Results,
        run: RunData,
        hour: demands.Hour | None = None,
    ) -> None:
        self._campaign = campaign
        self._runs = _repetitions(campaign, run)
        self.measured = self._runs[len(self._runs) // 2]
        cpus = machine_cpus(campaign)
        quiet = quiet_run(campaign, run)
        self._system, disk = model(self.measured, quiet, cpus)
        self._here = _with_all_seeds(self._system, disk)
        # Errors are larger without a quiet run, as what a cap hides is missing.
        self._wider = 1.0
        if not quiet:
            self._wider += time_at_cap(self.measured, cpus) / CAPPED
        # What other work let a run have is not what it will let another tier have.
        self.is_beside_others = are_beside_others(self._runs, cpus)
        self._asked = self._system
        if hour:
            self._asked = loaded(self.measured, self._system, hour)

    def predict(
        self,
        tier: Tier,
        slo: Sequence[Objective] = (),
        cluster: ClusterSpec | None = None,
        machine: Limits | None = None,
    ) -> Prediction:
        """`cluster`: whose machines are paid for, if not the run's. `machine`: what it lets through
        to disks of data and log together. UsageError if nothing says how long an I/O of the tier
        takes."""
        there = _with_all_seeds(self._asked, disk_of(tier, machine=machine))
        upwards = self._is_faster(there)
        estimates: dict[str, Estimate | None] = {}
        figures: dict[str, Estimate] = {}
        for metric, scope in _keys(slo):
            name = FigureKey(metric, scope).stored_name
            estimate = self._estimate(there, (metric, scope), upwards)
            estimates[name] = estimate
            if estimate:
                figures[name] = estimate
        prediction = Prediction(
            tier.name,
            upwards,
            limit=there[0].limit,
            figures=figures,
            monthly_cost=None,
            currency=_currency(tier),
            chance=_chance(estimates, slo),
            run=self.measured.record.run.slug,
        )
        return self._priced(prediction, self._paid_for(tier, cluster))

    def check(self, slo: Sequence[Objective]) -> None:
        """UsageError with each clause of which no tier can be predicted."""
        mistakes: list[Mistake] = []
        for objective in slo:
            if not self._can_be_told(objective):
                clause = format_objective(objective)
                mistakes.append(Mistake("--slo", f"{clause!r}: {self._cannot_be_told}"))
        if mistakes:
            raise refused(mistakes)

    def _can_be_told(self, objective: Objective) -> bool:
        metric = objective.metric
        if METRICS[metric].unit != "s" and metric not in PREDICTED_RATES:
            return False
        if not whole(self._runs, (metric, objective.scope)):
            return False
        return math.isfinite(_figure(self._here, metric))

    @property
    def _cannot_be_told(self) -> str:
        """Why a clause is refused, with the figures that an SLO may have."""
        words: list[str] = []
        for word, metric in WORDS.items():
            if self._can_be_told(Objective(metric, "all", 1.0)):
                words.append(word)
        run = self.measured.record.run
        return (
            f"it cannot be predicted from {run.profile} and {run.workload}, of which "
            f"these can: {listed(words)}"
        )

    @property
    def commits(self) -> bool:
        """Whether transactions wait for the log."""
        return self._asked.commits

    def _priced(self, prediction: Prediction, profile: Profile) -> Prediction:
        """The prediction with what the disks of all nodes cost, and their machines where that is
        known."""
        scope: PriceScope = "disks"
        machine = ""
        with_vms = self._knows_vm_price(profile)
        if with_vms:
            scope = "disks and machines"
            machine = profile.cluster.vm or ""
        amount = purchase_prices.monthly(profile, with_vms)
        if amount is None:
            return replace(prediction, machine=machine)
        price = stated_price(profile, amount, prediction.currency, scope)
        return replace(prediction, machine=machine, monthly_cost=amount, price=price)

    def _is_faster(self, there: Sequence[Simulated]) -> bool:
        there_s = _figure(there, "latency_avg_s")
        here_s = _figure(self._here, "latency_avg_s")
        return there_s / here_s < FASTER

    def _paid_for(self, tier: Tier, cluster: ClusterSpec | None) -> Profile:
        """The run's profile with this tier, and all of its nodes on machines of a cluster."""
        profile = self.measured.record.profile
        paid_for = replace(
            cluster or profile.cluster,
            nodes=self._system.nodes,
            profile_nodes=profile.cluster.nodes_to_buy,
        )
        return replace(profile, tier=tier, cluster=paid_for)

    def _knows_vm_price(self, profile: Profile) -> bool:
        """Whether machines can be added to the price of disks."""
        price = profile.tier.price
        vm_price = profile.cluster.vm_price
        if not price or not vm_price:
            return False
        return (
            vm_price.currency == price.currency
        )  # amounts in two of them cannot be added

    def compared(self) -> Iterator[Prediction]:
        """Predictions of the campaign's other tiers that were measured too, beside what they
        did."""
        measured = self.measured.record
        for profile in self._campaign.plan.tiers:
            runs = finished(self._campaign, profile.name, measured.workload.name)
            if not runs or profile.name == measured.profile.name:
                continue
            means = {}
            for metric, scope in FIGURES:
                values = whole(runs, (metric, scope))
                if values:
                    means[FigureKey(metric, scope).stored_name] = fmean(values)
            tier = replace(profile.tier, name=profile.name)
            prediction = self.predict(tier, cluster=profile.cluster)
            yield replace(prediction, measured=means)

    def _estimate(
        self, there: Sequence[Simulated], key: Key, upwards: bool
    ) -> Estimate | None:
        """A figure on the tier that was simulated, by `_rate` or `_percentile`. None if it was not
        measured in all runs, or too few transactions were simulated for it.

        Its interval is of the noise of runs, the error of the model, larger by the time at a cap
        and beside other work, and what the model misses of the run itself.
        """
        metric, _ = key
        measured = whole(self._runs, key)
        all_values = whole(self._runs, (_simulated_as(metric), "all"))
        if not measured or not all_values:
            return None
        here = _figure(self._here, metric)
        times = _figure(there, metric) / here
        if not math.isfinite(times):
            return None
        if metric in PERCENTILES:
            error = self._wider * TAIL_ERRORS.of(upwards)
            value = self._percentile(fmean(measured), here, times)
            return self._around(value, measured, error)
        limit = there[0].limit
        error = rate_error(upwards, limit, self.is_beside_others, self._wider)
        missed = math.log(here / fmean(all_values))
        # What the tier's simulation gives, of a mix its share.
        value = fmean(measured) * times * math.exp(missed)
        return self._around(value, measured, error, missed)

    def _percentile(self, measured: float, here: float, times: float) -> float:
        """A percentile of latency on the predicted tier."""
        longer_s = measured - here
        if longer_s > 0 and not self._is_a_mix():
            # Transactions that are all alike have the simulated percentile. What the measured one
            # was longer stays as long, whatever the tier.
            return here * times + longer_s
        # A mix of types makes most of a percentile, and is not simulated.
        return measured * times

    def _is_a_mix(self) -> bool:
        """Whether types of transactions were measured apart."""
        figures = self.measured.record.measurements
        return any(figure.scope != "all" for figure in figures)

    def _around(
        self,
        value: float,
        measured: Sequence[float],
        model_error: float,
        missed: float = 0.0,
    ) -> Estimate:
        """The value with its interval of 90 %. Errors are logarithms."""
        error = model_error / T90  # the model's are at 90 % too
        # The noise is that of the mean of so many runs, and that of the one predicted.
        noise = _noise(measured) * math.sqrt(1 + 1 / len(measured))
        sd = math.hypot(noise, error, missed)
        low = value * math.exp(-T90 * sd)
        high = value * math.exp(T90 * sd)
        return Estimate(value, low, high)


def _with_all_seeds(system: System, disk: SimulatedDisk) -> list[Simulated]:
    simulated = []
    for seed in SEEDS:
        simulated.append(simulate(system, disk, seed))
    return simulated


def _keys(slo: Sequence[Objective]) -> Sequence[Key]:
    """The figures that are predicted: those of an SLO, if there is one."""
    if not slo:
        return FIGURES
    return [(objective.metric, objective.scope) for objective in slo]


def quiet_run(campaign: Results, run: RunData) -> RunData | None:
    """The quietest run of the same tier, script and data with fewer sessions, not held at a cap: a
    probe, or one of a sweep."""
    load = run.record.workload
    cpus = machine_cpus(campaign)
    quiet = []
    for other in campaign.done:
        if other.record.profile != run.record.profile:
            continue
        if not _is_alike(other.record.workload, load):
            continue
        if time_at_cap(other, cpus) < CAPPED:
            quiet.append(other)
    return min(
        quiet,
        key=attrgetter("record.workload.threads", "record.run.number"),
        default=None,
    )


def _is_alike(load: Workload, louder: Workload) -> bool:
    if load.threads >= louder.threads:
        return False
    return load.script == louder.script and load.dataset == louder.dataset


def _repetitions(campaign: Results, run: RunData) -> list[RunData]:
    """The runs of its cell that may enter results, from slow to fast; else the run alone."""
    record = run.record
    runs = finished(campaign, record.profile.name, record.workload.name) or [run]

    def throughput(repetition: RunData) -> tuple[float, ...]:
        return whole([repetition], FIGURES[0])

    return sorted(runs, key=throughput)


def _currency(tier: Tier) -> str:
    if tier.price:
        return tier.price.currency
    return ""


def _chance(
    estimates: Mapping[str, Estimate | None], slo: Sequence[Objective]
) -> float | None:
    """The chance that the SLO is met: that of its least likely clause. 0 if it cannot be told."""
    chances = []
    for estimate, objective in zip(estimates.values(), slo, strict=False):
        chance = 0.0
        if estimate:
            chance = estimate.chance(objective)
        chances.append(chance)
    return min(chances, default=None)


def _noise(measured: Sequence[float]) -> float:
    """The standard deviation of runs, as a logarithm."""
    if len(measured) < 2:
        return NOISE
    return stdev([math.log(value) for value in measured])


def _simulated_as(metric: str) -> str:
    """The metric that a simulation has in its place: transactions a second for each rate."""
    if METRICS[metric].unit == "s":
        return metric
    # NOPM counts one type of transactions by the minute: it follows throughput.
    return THROUGHPUT


def _figure(simulated: Sequence[Simulated], metric: str) -> float:
    """The mean of all seeds; NaN for a percentile of too few. A rate is that of throughput."""
    if _simulated_as(metric) == THROUGHPUT:
        return fmean(seed.throughput_per_s for seed in simulated)
    latencies_s = np.concatenate([seed.latencies_s for seed in simulated])
    if metric not in PERCENTILES:
        return float(latencies_s.mean())
    percentile = PERCENTILES[metric]
    if latencies_s.size < percentile_min_count(percentile):
        return math.nan
    return float(np.percentile(latencies_s, percentile))
