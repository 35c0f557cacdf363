"""A workload over several loads: its knee and its capacity at the SLO, per tier. Pure.

The knee is the least load whose mean throughput is within 5 % of the highest: beyond it, more load
buys waiting and hardly any throughput (Jain, The Art of Computer Systems Performance Analysis,
1991, section 3.3). It is known only where a higher load was measured too. A rule on rates alone,
because one on the bend of the curve (Kneedle: Satopää and others 2011) needs many points, and its
answer depends on how far one measures.

Capacity at the SLO (Jain's usable capacity): loads are tested from the least upwards, each at the
same level, up to the first that is not proven. In an order fixed beforehand the chance of any false
claim is still that level (Goeman and Solari 2010); it is divided by the number of tiers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from orchestrator.analysis import comparability, results
from orchestrator.analysis.conclusions import Sweep, TierSweep
from orchestrator.analysis.decisions import contests
from orchestrator.analysis.decisions.candidates import Aspect, Candidate, comparable
from orchestrator.analysis.decisions.contests import Contest, Promise
from orchestrator.analysis.loads import overload
from orchestrator.analysis.results import Results, RunData
from orchestrator.metrics import METRICS
from orchestrator.model import Objective, Profile, Workload
from orchestrator.planning import load_points
from orchestrator.planning.slo import format_objective

PLATEAU = 0.95  # of the highest throughput: what is above is as much


@dataclass(frozen=True)
class Loads:
    """The workloads of one sweep in rising order of load, with their finished runs by tier."""

    campaign: Results
    name: str
    axis: str
    points: tuple[tuple[float, Workload], ...]

    @cached_property
    def values(self) -> tuple[float, ...]:
        return tuple(value for value, _ in self.points)

    @cached_property
    def slo(self) -> tuple[Objective, ...]:
        return self.points[0][1].slo

    @cached_property
    def latencies(self) -> tuple[Objective, ...]:
        """The clauses that a load may be too much for."""
        return tuple(one for one in self.slo if METRICS[one.metric].direction == "lower")

    @cached_property
    def level(self) -> float:
        """Of each test: the clauses on rates take their half, if there are any."""
        families = 1 if self.latencies == self.slo else 2
        return contests.ONE_SIDED / len(self.campaign.plan.tiers) / families

    @cached_property
    def usable(self) -> Mapping[str, tuple[int | None, str]]:
        """Tier → the place of the highest load at which it is proven to meet the SLO's latencies,
        and why not a higher one."""
        return {profile.name: _usable(self, profile.name) for profile in self.campaign.plan.tiers}

    def runs(self, tier: str, place: int) -> tuple[RunData, ...]:
        return results.finished(self.campaign, tier, self.points[place][1].name)

    def measured(self, tier: str) -> dict[int, float]:
        """Place of each load with finished runs → its mean throughput."""
        found: dict[int, float] = {}
        for place in range(len(self.points)):
            rates = [results.value_of(r.record, "throughput_per_s") for r in self.runs(tier, place)]
            if known := [rate for rate in rates if rate is not None]:
                found[place] = fmean(known)
        return found


def of_plan(campaign: Results) -> dict[str, Loads]:
    """Name of the workload swept → its loads."""
    found: dict[str, list[tuple[float, Workload]]] = {}
    axes: dict[str, str] = {}
    for workload in campaign.plan.workloads:
        if point := load_points.of_sweep(workload):
            found.setdefault(point.of, []).append((point.value, workload))
            axes[point.of] = point.axis
    return {
        name: Loads(campaign, name, axes[name], tuple(sorted(points, key=lambda one: one[0])))
        for name, points in found.items()
    }


def sweeps(campaign: Results) -> tuple[Sweep, ...]:
    """What each sweep of the plan found."""
    return tuple(
        Sweep(
            workload=loads.name,
            axis=loads.axis,
            values=loads.values,
            workloads=tuple(workload.name for _, workload in loads.points),
            slo=tuple(format_objective(one) for one in loads.latencies),
            tiers=tuple(_of_tier(loads, profile.name) for profile in campaign.plan.tiers),
        )
        for loads in of_plan(campaign).values()
    )


def _of_tier(loads: Loads, tier: str) -> TierSweep:
    rates = loads.measured(tier)
    proven, stopped = loads.usable[tier]
    return TierSweep(
        tier=tier,
        peak_per_s=max(rates.values(), default=None),
        knee=_value(loads, knee(rates)),
        at_slo=_value(loads, proven),
        at_slo_per_s=None if proven is None else rates[proven],
        stopped=stopped,
    )


def _value(loads: Loads, place: int | None) -> float | None:
    return None if place is None else loads.values[place]


def knee(rates: Mapping[int, float]) -> int | None:
    """The place of the knee among loads with these throughputs, in rising order of load; None
    where throughput still rose with the last."""
    if not rates:
        return None
    first = next(place for place in rates if rates[place] >= PLATEAU * max(rates.values()))
    return None if first == max(rates) else first


def _usable(loads: Loads, tier: str) -> tuple[int | None, str]:
    """Load by load from the least, up to the first that is not proven.

    A load of which a run has no such figure (too few transactions for it) is no step of the proof:
    the next one is tested.
    """
    proven, stopped = None, ""
    for place, value in enumerate(loads.values if loads.latencies else ()):
        runs = loads.runs(tier, place)
        where = load_points.load_in_words(loads.axis, value)
        if not runs:
            continue
        if any(overload.overloaded(run.record) for run in runs):
            return proven, f"overloaded at {where}"
        kept = promises(loads, tier, place, loads.latencies)
        if any(one.value is None for one in kept):
            stopped = f"at {where} not every run has the figures"
            continue
        if unproven := [one for one in kept if one.p_value > loads.level]:
            worst = next((one for one in unproven if one.missed), unproven[0])
            word = "misses" if worst.missed else "is not proven to meet"
            return proven, f"at {where} it {word} {worst}"
        proven, stopped = place, ""
    return proven, stopped


def promises(
    loads: Loads, tier: str, place: int, objectives: Sequence[Objective]
) -> tuple[Promise, ...]:
    """Clauses of the SLO at one load, held against the runs of a tier there."""
    workload = loads.points[place][1]
    candidates = [
        Candidate(profile, {}, "", _measured(loads.runs(profile.name, place), objectives))
        for profile in loads.campaign.plan.tiers
    ]
    margin_pct = loads.campaign.plan.margin_pct
    made = contests.make_contest(workload.name, candidates, (), margin_pct, ())
    return replace(made, slo=tuple(objectives)).proof.promises[tier]


def _measured(
    runs: Sequence[RunData], objectives: Sequence[Objective]
) -> dict[Objective, tuple[float, ...]]:
    found = {one: results.promised(runs, one) for one in objectives}
    return {one: values for one, values in found.items() if values}


# ------------------------------------------------------------------ one decision for all loads


def contest(loads: Loads, limit_of: Mapping[tuple[str, str], str]) -> Contest:
    """Tiers compared at the ends of a sweep: throughput at its highest load, where most is asked of
    them, and latency at its least, where the queue is shortest. Both are chosen before anything is
    measured: the best of several loads would be the luckiest, and more so for a flat curve."""
    campaign, first, last = loads.campaign, loads.points[0][1], loads.points[-1][1]
    profiles = campaign.plan.tiers
    every = [
        [run for profile in profiles for run in loads.runs(profile.name, place)]
        for place in range(len(loads.points))
    ]
    counted = any(results.value_of(run.record, "nopm") is not None for run in every[0])
    throughput, latencies = _aspects(loads, counted)
    latencies, constant = comparable(latencies, profiles)
    candidates = []
    behind = any(overload.overloaded(run.record) for run in every[0])
    for profile in profiles:
        runs_first, runs_last = _whole_repetitions(campaign, profile, first, last)
        values = {throughput: _values(runs_last, throughput)}
        if not behind:
            values |= {one: _values(runs_first, one) for one in latencies}
        known = {aspect: found for aspect, found in values.items() if found}
        if throughput in known:
            limit = limit_of.get((profile.name, last.name), "")
            numbers = tuple(run.record.run.repetition for run in runs_first)
            candidates.append(Candidate(profile, known, limit, repetitions=numbers))
    names = [profile.name for profile in profiles]
    aspects = (throughput, *latencies)
    made = contests.make_contest(loads.name, candidates, names, campaign.plan.margin_pct, aspects)
    obstacle = next(filter(None, map(comparability.obstacle, every)), "")
    p99_margin_pct = campaign.plan.p99_margin_pct
    return replace(
        made, obstacle=obstacle, constant_latency=constant, p99_margin_pct=p99_margin_pct
    )


def _aspects(loads: Loads, counted: bool) -> tuple[Aspect, tuple[Aspect, ...]]:
    """Throughput at the highest load, and latencies at the least."""
    least, most = (load_points.load_in_words(loads.axis, loads.values[end]) for end in (0, -1))
    whose, scope = ("New-Order latency", "new_order") if counted else ("latency", "all")
    throughput = Aspect("nopm" if counted else "throughput_per_s", f"throughput at {most}")
    return throughput, (
        Aspect("latency_avg_s", f"average {whose} at {least}", scope),
        Aspect("latency_p99_s", f"p99 {whose} at {least}", scope),
    )


def _whole_repetitions(
    campaign: Results, profile: Profile, *ends: Workload
) -> tuple[list[RunData], ...]:
    """The finished runs at each end of a sweep, of the repetitions that have all of them."""
    runs = [
        {
            run.record.run.repetition: run
            for run in results.finished(campaign, profile.name, one.name)
        }
        for one in ends
    ]
    common = [number for number in runs[0] if all(number in one for one in runs)]
    return tuple([one[number] for number in common] for one in runs)


def _values(runs: Sequence[RunData], aspect: Aspect) -> tuple[float, ...]:
    return results.whole(runs, (aspect.metric, aspect.scope))
