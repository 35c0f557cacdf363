"""From the runs of a cell to another tier: figures with 90 % intervals. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean, stdev

import numpy as np

from orchestrator.analysis.conclusions import T90, Estimate, Prediction
from orchestrator.analysis.prediction import demands
from orchestrator.analysis.prediction.demands import (
    CAPPED,
    disk_of,
    loaded,
    model,
    time_at_cap,
)
from orchestrator.analysis.prediction.miss_curve import with_memory
from orchestrator.analysis.prediction.simulation import Simulated, simulate
from orchestrator.analysis.results import (
    Key,
    Results,
    RunData,
    finished,
    machine_cpus,
    whole,
)
from orchestrator.analysis.statistics.stats import percentile_min_count
from orchestrator.facts import Varied
from orchestrator.metrics import METRICS, PERCENTILES
from orchestrator.model import ClusterSpec, Objective
from orchestrator.planning import costs, durations, factors, sizes
from orchestrator.tier import Tier
from orchestrator.units import format_bytes

SEEDS = (1, 2, 3)
NOISE = (
    0.03  # between runs of one tier, where only one was measured (docs/ERROR-RATES.md)
)
FASTER = (
    0.98  # of the measured tier's average latency: below it a prediction is upwards
)
FIGURES: tuple[Key, ...] = tuple(
    (metric, "all") for metric in ("throughput_per_s", "latency_avg_s", "latency_p99_s")
)
# What nine errors of the model in ten stay below, as logarithms, downwards and upwards: of rates
# and averages, and of percentiles (docs/PREDICTION.md, on real parts).
RATE_ERRORS = (0.2, 0.3)
TAIL_ERRORS = (1.1, 1.4)


class Predictor:
    """Of the cell of a run, whose repetitions give the noise. `hour`: of an observation, whose load
    is there in the place of the run's. `memory_bytes`: of each node; 0: the run's. `data`: a value
    of that factor; None: the run's. `disk_bytes`: what each node's disk must hold, if the data are
    others. UsageError: nothing can be said."""

    def __init__(
        self,
        campaign: Results,
        run: RunData,
        hour: demands.Hour | None = None,
        memory_bytes: int = 0,
        data: Varied | None = None,
    ) -> None:
        self._campaign = campaign
        of_cell = finished(campaign, run.record.profile.name, run.record.workload.name)
        self._runs = sorted(of_cell or [run], key=lambda r: whole([r], FIGURES[0]))
        self.measured = self._runs[len(self._runs) // 2]
        cpus = machine_cpus(campaign)
        quiet = quiet_run(campaign, run)
        self._system, own = model(self.measured, quiet, cpus)
        if quiet:
            self._wider = 1.0
        else:
            self._wider = 1 + time_at_cap(self.measured, cpus) / CAPPED
        self._here = [simulate(self._system, own, seed) for seed in SEEDS]
        if hour:
            self._asked = loaded(self.measured, self._system, hour)
        else:
            self._asked = self._system
        self._spread = 0.0
        self.disk_bytes = 0
        self._memory_bytes = memory_bytes
        if memory_bytes:
            told = [f"{format_bytes(memory_bytes)} of memory"]
        else:
            told = []
        if memory_bytes or data:
            times = 1.0
            if data:
                times = self._of_data(data)
            if data:
                told += [factors.in_words(data)]
            changed = with_memory(self.measured, memory_bytes, self._system, times)
            self._asked, self._spread = changed
        if told:
            self._told = f" with {' and '.join(told)}"
        else:
            self._told = ""

    def _of_data(self, data: Varied) -> float:
        """How many times the run's data these are, for which the disks are then sized."""
        record = self.measured.record
        load = sizes.at_data(record.profile, record.workload, data)
        own, asked = (
            durations.data_bytes(each) or 0 for each in (record.workload, load)
        )
        (roomy,) = sizes.with_room([record.profile], asked)
        if roomy.cluster.node:
            self.disk_bytes = roomy.cluster.node.disk_bytes
        else:
            self.disk_bytes = 0
        if own and asked:
            return asked / own
        return math.inf

    def predict(
        self,
        tier: Tier,
        slo: Sequence[Objective] = (),
        cluster: ClusterSpec | None = None,
    ) -> Prediction:
        """`cluster`: whose machines are paid for, if not the run's. UsageError if nothing says how
        long an I/O of the tier takes."""
        there = [simulate(self._asked, disk_of(tier), seed) for seed in SEEDS]
        slower = _figure(there, "latency_avg_s") / _figure(self._here, "latency_avg_s")
        keys = [(objective.metric, objective.scope) for objective in slo] or FIGURES
        every = {
            named(*key): self._estimate(there, key, slower < FASTER) for key in keys
        }
        figures = {name: estimate for name, estimate in every.items() if estimate}
        of_clauses = zip(every.values(), slo, strict=False)
        chances = [of.chance(clause) if of else 0.0 for of, clause in of_clauses]
        own = self.measured.record.profile
        price = tier.price
        on = replace(cluster or own.cluster, nodes=self._system.nodes)
        # A machine with other memory is another one, whose price nobody said.
        priced = bool(price and on.vm_price and on.vm_price.currency == price.currency)
        with_vms = priced and not self._memory_bytes
        cost = costs.monthly(replace(own, tier=tier, cluster=on), with_vms)
        told = (there[0].limit, figures, cost, price.currency if price else "")
        return Prediction(
            tier.name + self._told,
            slower < FASTER,
            *told,
            min(chances, default=None),
            run=self.measured.record.run.slug,
            machine=(on.vm or "") if with_vms else "",
        )

    def compared(self) -> Iterator[Prediction]:
        """Of the campaign's other tiers that were measured too, beside what they did."""
        own = self.measured.record
        for profile in self._campaign.plan.tiers:
            runs = finished(self._campaign, profile.name, own.workload.name)
            if runs and profile.name != own.profile.name:
                each = {named(*key): whole(runs, key) for key in FIGURES}
                measured = {
                    name: fmean(values) for name, values in each.items() if values
                }
                tier = replace(profile.tier, name=profile.name)
                prediction = self.predict(tier, cluster=profile.cluster)
                yield replace(prediction, measured=measured)

    def _estimate(
        self, there: Sequence[Simulated], key: Key, upwards: bool
    ) -> Estimate | None:
        """Of a rate or average what the tier's simulation gives. A percentile of transactions that
        are all alike is its, and what the measured one was longer than simulated; of a mix, which
        is not simulated, it is the measured one, times what the simulation of the tier is to that
        of the measured one. Interval: noise of runs, error of the model, larger by the time at a
        cap, and what it misses of the run itself."""
        measured = whole(self._runs, key)
        metric, _ = key
        of_all = whole(self._runs, (metric, "all"))
        here = _figure(self._here, metric)
        if not (measured and of_all) or not math.isfinite(
            told := _figure(there, metric) / here
        ):
            return None
        errors = RATE_ERRORS
        missed = math.log(here / fmean(of_all))
        value = fmean(measured) * told * math.exp(missed)
        if metric in PERCENTILES:
            errors = TAIL_ERRORS
            missed = 0.0
            longer_s = fmean(measured) - here
            alike = all(m.scope == "all" for m in self.measured.record.measurements)
            if alike and longer_s > 0:
                value = here * told + longer_s
            else:
                value = fmean(measured) * told
        noise = NOISE
        if len(measured) > 1:
            noise = stdev(map(math.log, measured))
        error = math.hypot(self._wider * errors[upwards], self._spread) / T90
        sd = math.hypot(noise * math.sqrt(1 + 1 / len(measured)), error, missed)
        return Estimate(value, value * math.exp(-T90 * sd), value * math.exp(T90 * sd))


def named(metric: str, scope: str) -> str:
    if scope == "all":
        return metric
    return f"{scope} {metric}"


def _figure(simulated: Sequence[Simulated], metric: str) -> float:
    """Of all seeds together; NaN for a percentile of too few. A rate is throughput's."""
    latencies_s = np.concatenate([each.latencies_s for each in simulated])
    if METRICS[metric].unit != "s":
        return fmean(each.throughput_per_s for each in simulated)
    if metric not in PERCENTILES:
        return float(latencies_s.mean())
    enough = latencies_s.size >= percentile_min_count(PERCENTILES[metric])
    if enough:
        return float(np.percentile(latencies_s, PERCENTILES[metric]))
    return math.nan


def quiet_run(campaign: Results, run: RunData) -> RunData | None:
    """The quietest run of the same tier, script and data with fewer sessions, not held at a cap: a
    probe, or one of a sweep."""
    own = run.record.workload
    cpus = machine_cpus(campaign)
    every = [
        other for other in campaign.done if other.record.profile == run.record.profile
    ]
    loads = (
        (other.record.workload, other)
        for other in every
        if time_at_cap(other, cpus) < CAPPED
    )
    quiet = [
        (load.threads, other.record.run.number, other)
        for load, other in loads
        if load.threads < own.threads
        and (load.script, load.dataset) == (own.script, own.dataset)
    ]
    if quiet:
        return min(quiet)[-1]
    return None
