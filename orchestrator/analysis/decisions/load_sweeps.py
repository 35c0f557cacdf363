"""A workload over several loads: its knee and its capacity at the SLO, per tier. Pure.

The knee is the least load whose mean throughput is within 5 % of the highest: beyond it, more load
buys waiting and hardly any throughput (Jain, The Art of Computer Systems Performance Analysis,
1991, section 3.3).

Capacity at the SLO (Jain's usable capacity): loads are tested from the least upwards, each at the
same level, up to the first that is not proven."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from orchestrator import metrics, model
from orchestrator.analysis import overload
from orchestrator.analysis.conclusions import TierValues
from orchestrator.analysis.decisions import (
    candidates,
    contests,
)
from orchestrator.analysis.decisions.contest_rules import ContestRules
from orchestrator.analysis.decisions.levels import ONE_SIDED
from orchestrator.analysis.decisions.objective_tests import ObjectiveTest
from orchestrator.analysis.decisions.values import Values
from orchestrator.design.slo import format_objective

# Throughput of this share of the highest, or more, counts as the highest. It is a rule on rates
# alone. One on the bend of the curve (Kneedle: Satopää and others 2011) needs many points. Its
# answer also depends on how far one measures.
PLATEAU = 0.95


@dataclass(frozen=True)
class UsableLoad:
    """The capacity of a tier at the SLO.

    `place`: that of the highest load proven within the SLO's latencies; None if there is none.
    `stopped`: why no higher one is proven, or empty.
    `missed`: the clause that the next load is proven to miss, or empty.
    """

    place: int | None
    stopped: str
    missed: str = ""


@dataclass(frozen=True)
class Loads(Values):
    """A workload at the loads of a sweep, in rising order."""

    @cached_property
    def slo(self) -> tuple[model.Objective, ...]:
        _, least = self.loads[0]
        return least.slo

    @cached_property
    def latencies(self) -> tuple[model.Objective, ...]:
        """The clauses that a load may be too much for."""
        return tuple(clause for clause in self.slo if _has_upper_limit(clause))

    @cached_property
    def rates(self) -> tuple[model.Objective, ...]:
        """The clauses that say how much load is needed."""
        return tuple(clause for clause in self.slo if not _has_upper_limit(clause))

    @cached_property
    def level(self) -> float:
        """The level of each test. Clauses on rates take half of it, if there are any."""
        kinds_of_clauses = 1
        if self.rates:
            kinds_of_clauses = 2
        # Loads are tested in an order fixed beforehand, up to the first that fails. So the chance
        # of any false claim is that of one (Goeman and Solari 2010). Only tiers share it.
        return ONE_SIDED / len(self.campaign.plan.tiers) / kinds_of_clauses

    @cached_property
    def usable(self) -> Mapping[str, UsableLoad]:
        """The load that each tier can carry."""
        tiers = self.campaign.plan.tiers
        return {profile.name: _usable(self, profile.name) for profile in tiers}

    def with_capacity(self, values: TierValues) -> TierValues:
        """The tier's values with its peak, its knee and the load at which it meets the SLO."""
        rates = self.means(values.tier, "throughput_per_s")
        usable = self.usable[values.tier]
        at_slo: float | None = None
        at_slo_per_s: float | None = None
        if usable.place is not None:
            at_slo = self.numbers[usable.place]
            at_slo_per_s = rates[usable.place]
        load_at_knee: float | None = None
        place_of_knee = knee(rates)
        if place_of_knee is not None:
            load_at_knee = self.numbers[place_of_knee]
        return replace(
            values,
            peak_per_s=max(rates.values(), default=None),
            knee=load_at_knee,
            at_slo=at_slo,
            at_slo_per_s=at_slo_per_s,
            stopped=usable.stopped,
        )


def _has_upper_limit(clause: model.Objective) -> bool:
    return metrics.METRICS[clause.metric].less_is_better


def knee(rates: Mapping[int, float]) -> int | None:
    """The place of the knee among loads with these throughputs, in rising order of load; None
    where throughput still rose with the last."""
    if not rates:
        return None
    plateau = PLATEAU * max(rates.values())
    on_plateau = [place for place, rate in rates.items() if rate >= plateau]
    # Loads rise in this order: the first on the plateau is the least.
    first = on_plateau[0]
    # Nobody knows whether throughput would have risen on if there is no higher load.
    if first == max(rates):
        return None
    return first


# ------------------------------------------------------------------ capacity at the SLO


def _usable(loads: Loads, tier: str) -> UsableLoad:
    """The load that a tier can carry: load by load from the least, up to the first that is not
    proven."""
    usable = UsableLoad(None, "")
    if not loads.latencies:
        return usable
    for place, runs in enumerate(loads.runs(tier)):
        if not runs:
            continue
        load = loads.words[place]
        # While a queue grows, latency depends on how long one measures, at higher loads too.
        if any(overload.overloaded(run.record) for run in runs):
            return replace(usable, stopped=f"overloaded at {load}")
        tests = objective_tests(loads, tier, place, loads.latencies)
        # Too few transactions for the figure say nothing of the tier: the next load is tested.
        if any(test.value is None for test in tests):
            lack = f"at {load} not every run has the figures"
            usable = replace(usable, stopped=lack)
            continue
        unproven = [test for test in tests if test.p_value > loads.level]
        if unproven:
            return replace(
                usable,
                stopped=f"at {load} it {_unmet(unproven)}",
                missed=first_missed(unproven),
            )
        usable = UsableLoad(place, "")
    return usable


def _unmet(unproven: Sequence[ObjectiveTest]) -> str:
    """The first clause that is proven to be missed, or else the first that is not proven."""
    for test in unproven:
        if test.missed:
            return f"misses {test}"
    return f"is not proven to meet {unproven[0]}"


def first_missed(tests: Sequence[ObjectiveTest]) -> str:
    """The first clause that is proven to be missed; or an empty text."""
    for test in tests:
        if test.missed:
            return format_objective(test.objective)
    return ""


def objective_tests(
    loads: Loads, tier: str, place: int, objectives: Sequence[model.Objective]
) -> tuple[ObjectiveTest, ...]:
    """Clauses of the SLO at one load, held against the runs of a tier there."""
    plan = loads.campaign.plan
    tiers: list[candidates.Candidate] = []
    # All tiers, though one is asked about: what is missed is tested at a level that they share.
    for profile in plan.tiers:
        runs = loads.runs(profile.name)[place]
        tiers.append(candidates.Candidate.of_runs(profile, runs, (), objectives))
    rules = ContestRules(plan.judging.margin_pct, (), slo=tuple(objectives))
    contest = contests.make_contest(loads.name, tiers, (), rules)
    return contest.proof.objectives[tier]
