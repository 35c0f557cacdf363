"""A workload over several loads: its knee and its capacity at the SLO, per tier. Pure.

The knee is the least load whose mean throughput is within 5 % of the highest: beyond it, more load
buys waiting and hardly any throughput (Jain, The Art of Computer Systems Performance Analysis,
1991, section 3.3).

Capacity at the SLO (Jain's usable capacity): loads are tested from the least upwards, each at the
same level, up to the first that is not proven."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from orchestrator import metrics, model, units
from orchestrator.analysis import overload
from orchestrator.analysis.conclusions import Decision, TierValues
from orchestrator.analysis.decisions import (
    candidates,
    contests,
    offers,
    reasons,
    remarks,
)
from orchestrator.analysis.decisions.levels import ONE_SIDED
from orchestrator.analysis.decisions.moot import moot
from orchestrator.analysis.decisions.objective_tests import ObjectiveTest
from orchestrator.analysis.decisions.values import Values
from orchestrator.analysis.doubts import kinds
from orchestrator.analysis.telemetry.causes.node_cause import NOT_THE_TIER
from orchestrator.design.slo import format_objective

# Of the highest throughput: what is above is as much. A rule on rates alone, because one on the
# bend of the curve (Kneedle: Satopää and others 2011) needs many points, and its answer depends on
# how far one measures.
PLATEAU = 0.95


@dataclass(frozen=True)
class UsableLoad:
    """The capacity of a tier at the SLO. `place`: of the highest load proven within the SLO's
    latencies, None if there is none; `stopped`: why no higher one is proven, or empty; `missed`:
    the clause that the next load is proven to miss, or empty."""

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
        return tuple(clause for clause in self.slo if _is_latency(clause))

    @cached_property
    def rates(self) -> tuple[model.Objective, ...]:
        """The clauses that say how much load is needed."""
        return tuple(clause for clause in self.slo if not _is_latency(clause))

    @cached_property
    def level(self) -> float:
        """The level of each test. Clauses on rates take half of it, if there are any."""
        families = 1
        if self.rates:
            families = 2
        # Loads are tested in an order fixed beforehand, up to the first that fails: so the chance
        # of any false claim is that of one (Goeman and Solari 2010), and only tiers share it.
        return ONE_SIDED / len(self.campaign.plan.tiers) / families

    @cached_property
    def usable(self) -> Mapping[str, UsableLoad]:
        """The load that each tier can carry."""
        tiers = self.campaign.plan.tiers
        return {profile.name: _usable(self, profile.name) for profile in tiers}

    def taken(self, values: TierValues) -> TierValues:
        """The tier's values with its peak, its knee and the load at which it meets the SLO."""
        rates = self.means(values.tier, "throughput_per_s")
        usable = self.usable[values.tier]
        at_slo: float | None = None
        at_slo_per_s: float | None = None
        if usable.place is not None:
            at_slo = self.numbers[usable.place]
            at_slo_per_s = rates[usable.place]
        load_at_knee: float | None = None
        place = knee(rates)
        if place is not None:
            load_at_knee = self.numbers[place]
        return replace(
            values,
            peak_per_s=max(rates.values(), default=None),
            knee=load_at_knee,
            at_slo=at_slo,
            at_slo_per_s=at_slo_per_s,
            stopped=usable.stopped,
        )


def _is_latency(clause: model.Objective) -> bool:
    """A clause that is met below its limit; shares of failures are too."""
    return metrics.METRICS[clause.metric].direction == "lower"


def knee(rates: Mapping[int, float]) -> int | None:
    """The place of the knee among loads with these throughputs, in rising order of load; None
    where throughput still rose with the last."""
    if not rates:
        return None
    plateau = PLATEAU * max(rates.values())
    # In rising order of load: the first with as much is the least.
    as_much = [place for place, rate in rates.items() if rate >= plateau]
    first = as_much[0]
    # Without a higher load nobody knows whether throughput would have risen on.
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
        where = loads.words[place]
        if not runs:
            continue
        # While a queue grows, latency depends on how long one measures, at higher loads too.
        if any(overload.overloaded(run.record) for run in runs):
            return replace(usable, stopped=f"overloaded at {where}")
        tests = objective_tests(loads, tier, place, loads.latencies)
        # Too few transactions for the figure say nothing of the tier: the next load is tested.
        if any(test.value is None for test in tests):
            lack = f"at {where} not every run has the figures"
            usable = replace(usable, stopped=lack)
            continue
        unproven = [test for test in tests if test.p_value > loads.level]
        if unproven:
            return replace(
                usable,
                stopped=f"at {where} it {_unmet(unproven)}",
                missed=_first_missed(unproven),
            )
        usable = UsableLoad(place, "")
    return usable


def _unmet(unproven: Sequence[ObjectiveTest]) -> str:
    """The first clause that is proven to be missed, or else the first that is not proven."""
    for test in unproven:
        if test.missed:
            return f"misses {test}"
    return f"is not proven to meet {unproven[0]}"


def _first_missed(tests: Sequence[ObjectiveTest]) -> str:
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
    contest = contests.make_contest(
        loads.name, tiers, (), plan.margin_pct, (), slo=tuple(objectives)
    )
    return contest.proof.objectives[tier]


# ------------------------------------------------------------------ with an SLO


def decide(loads: Loads, contest: contests.Contest) -> Decision:
    """The cheapest tier that is enough for all loads of a sweep that has an SLO, or none with what
    each is proven to take. Latencies say how much load a tier takes; a clause on a rate says how
    much is needed. Without such a clause a tier is enough only if it is proven at every load of the
    sweep; else the answer depends on the load, and is told load by load."""
    slo = tuple(format_objective(clause) for clause in loads.slo)
    if contest.obstacle or not contest.candidates:
        obstacle = contest.obstacle or reasons.NO_FIGURES
        return Decision(loads.name, None, obstacle, slo=slo)
    enough = [tier for tier in contest.candidates if _enough(loads, tier, contest)]
    how_far = _how_far(loads, contest)
    if not enough:
        return Decision(
            loads.name,
            None,
            f"{_none(loads, contest)}{how_far}",
            slo=slo,
            missed=_missed(loads, contest),
        )
    tier = offers.preferred(enough, contest)
    proven = f"{reasons.which(tier, contest)} proven to meet {units.listed(slo)}"
    text = f"{tier.name} is the {proven}{_where(loads)}{how_far}"
    decision = Decision(
        loads.name,
        tier.name,
        reason=". ".join([text, *_beside(loads, tier, contest)]),
        criterion="capacity at the SLO",
        slo=slo,
        with_vms=tier.with_vms,
        without_prices=remarks.without_prices(tier, contest),
        moot=moot(tier, contest, loads.slo),
    )
    if tier.price is None or contest.no_prices:
        return decision
    return replace(decision, monthly_cost=tier.monthly_cost, currency=tier.currency)


def _enough(
    loads: Loads, candidate: candidates.Candidate, contest: contests.Contest
) -> bool:
    """Whether it is proven at every load; or, where the SLO says what rate is needed, whether it is
    proven to reach that at the highest load that it takes."""
    tier = candidate.name
    if _doubted(loads, tier, contest):
        return False
    last = len(loads.loads) - 1
    place = _highest_load(loads, tier)
    if place is None or not loads.rates:
        return place == last
    tests = objective_tests(loads, tier, place, loads.rates)
    # The load was chosen among all by what was measured.
    level = loads.level / len(loads.loads)
    return all(test.p_value <= level for test in tests)


def _highest_load(loads: Loads, tier: str) -> int | None:
    """The place of the highest load that it takes: without clauses on latencies, of the last."""
    if loads.latencies:
        return loads.usable[tier].place
    return len(loads.loads) - 1


def _missed(loads: Loads, contest: contests.Contest) -> dict[str, str]:
    """Tier → the clause that it is proven to miss."""
    missed: dict[str, str] = {}
    for tier in contest.candidates:
        # What was missed while something else was the limit proves nothing of the tier.
        if tier.cause in NOT_THE_TIER:
            continue
        clause = _missed_by(loads, tier.name)
        if clause:
            missed[tier.name] = clause
    return missed


def _missed_by(loads: Loads, tier: str) -> str:
    """A latency at a load of the sweep. Where the SLO says which rate is needed, a rate at the
    highest load that it takes, if the next is proven too much; or a latency at the least load."""
    place = _highest_load(loads, tier)
    too_much = ""
    if loads.latencies:
        too_much = loads.usable[tier].missed
    if not loads.rates or place is None:
        return too_much
    # A higher load may still meet the latencies, and with it the rate.
    if loads.latencies and not too_much:
        return ""
    return _first_missed(objective_tests(loads, tier, place, loads.rates))


def _doubted(loads: Loads, tier: str, contest: contests.Contest) -> str:
    """Why the load that a tier is proven to take is not shown all the same; or an empty text."""
    place = loads.usable[tier].place
    if place is None:
        return ""
    numbers = {run.record.run.number for run in loads.runs(tier)[place]}
    doubts = contest.doubts.get(tier, ())
    doubt = kinds.forbidding(doubt for doubt in doubts if doubt.run in numbers)
    if doubt is None:
        return ""
    return f"{doubt.text} ({doubt.kind})"


# ------------------------------------------------------------------ in words


def _how_far(loads: Loads, contest: contests.Contest) -> str:
    """Up to which load each tier is proven, and for which tiers a doubt lets nothing be shown."""
    text = ""
    if loads.latencies:
        taken = [_taken(loads, tier.name) for tier in contest.candidates]
        text = f": {units.listed(taken)}"
    for tier in contest.candidates:
        doubted = _doubted(loads, tier.name, contest)
        if doubted:
            text += f". Of {tier.name} nothing is shown: {doubted}"
    return text


def _taken(loads: Loads, tier: str) -> str:
    usable = loads.usable[tier]
    how_far = "at none"
    if usable.place is not None:
        how_far = f"up to {loads.words[usable.place]}"
    if usable.stopped:
        return f"{tier} {how_far} ({usable.stopped})"
    return f"{tier} {how_far}"


def _none(loads: Loads, contest: contests.Contest) -> str:
    """A sentence: no tier is enough, and in which figure."""
    if not loads.latencies:
        clauses = units.listed([format_objective(clause) for clause in loads.slo])
        return f"no tier is proven to meet {clauses}{_where(loads)}"
    if loads.rates:
        none = "no tier is proven to meet the whole SLO at one load"
        return f"{none}; its latencies are met"
    if any(loads.usable[tier.name].place is not None for tier in contest.candidates):
        return "which tier is enough depends on the load"
    return "no tier is proven to meet the SLO at any load of the sweep"


def _where(loads: Loads) -> str:
    """At which loads the SLO is met; empty if an arrival rate says which load is needed."""
    highest = loads.words[-1]
    if not loads.latencies:
        return f" at {highest}"
    if loads.rates:
        return ""
    return f" at every load, up to {highest}"


def _beside(
    loads: Loads, tier: candidates.Candidate, contest: contests.Contest
) -> list[str]:
    """What a reader of the answer must know besides."""
    texts: list[str] = []
    if not tier.profile.tier.disk.is_real:
        texts.append(remarks.NOT_ITS_DISK)
    if any(metrics.METRICS[clause.metric].percent for clause in loads.slo):
        mean = "Percentiles are means of windows"
        texts.append(f"{mean}; whether single windows keep them is not proven")
    limits = remarks.limited_by(contest)
    if limits:
        texts.append(limits)
    return texts
