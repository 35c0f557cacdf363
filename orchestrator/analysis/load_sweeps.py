"""A workload over several loads: its knee and its capacity at the SLO, per tier. Pure.

The knee is the least load whose mean throughput is within 5 % of the highest: beyond it, more load
buys waiting and hardly any throughput (Jain, The Art of Computer Systems Performance Analysis,
1991, section 3.3). It is known only where a higher load was measured too. A rule on rates alone,
because one on the bend of the curve (Kneedle: Satopää and others 2011) needs many points, and its
answer depends on how far one measures.

Capacity at the SLO (Jain's usable capacity): loads are tested from the least upwards, each at the
same level, up to the first that is not proven. In a fixed order the chance of any false claim is
still that level (Maurer, Hothorn and Lehmacher 1995); it is divided by the number of tiers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from orchestrator.analysis import comparability, contests, overload, results
from orchestrator.analysis.conclusions import Sweep, TierSweep
from orchestrator.analysis.contests import Aspect, Candidate, Contest, Promise
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
        return contests.ONE_SIDED / self.tiers / families

    @property
    def tiers(self) -> int:
        return len(self.campaign.plan.profiles)

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
            tiers=tuple(_of_tier(loads, profile.name) for profile in campaign.plan.profiles),
        )
        for loads in of_plan(campaign).values()
    )


def _of_tier(loads: Loads, tier: str) -> TierSweep:
    rates = loads.measured(tier)
    proven, stopped = usable(loads, tier)
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


def usable(loads: Loads, tier: str) -> tuple[int | None, str]:
    """The place of the highest load proven to meet the SLO's latencies, and why not a higher one.

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
        kept = [promise(runs, one, loads.tiers) for one in loads.latencies]
        if any(one.value is None for one in kept):
            stopped = f"at {where} not every run has the figures"
            continue
        if unproven := [one for one in kept if one.p_value > loads.level]:
            word = "misses" if any(one.missed for one in unproven) else "is not proven to meet"
            return proven, f"at {where} it {word} {unproven[0]}"
        proven, stopped = place, ""
    return proven, stopped


def promise(runs: Sequence[RunData], objective: Objective, family: int) -> Promise:
    """One clause of the SLO at one load."""
    key = (objective.metric, objective.scope)
    found = [results.sound(run.record.measurements).get(key) for run in runs]
    values = tuple(one.value for one in found if one is not None and one.value > 0)
    whole = values if len(values) == len(runs) else ()
    return contests.promised(whole, objective, family)


# ------------------------------------------------------------------ one decision for all loads


def contest(loads: Loads, limit_of: Mapping[tuple[str, str], str]) -> Contest:
    """Tiers compared in what a sweep adds: the highest throughput of each repetition, and latency
    at the least load, where no queue is in it. Chosen before anything is measured, so that the
    number of loads gives chance no more occasions."""
    last = loads.points[-1][1].name
    profiles = loads.campaign.plan.profiles
    counted = any(
        results.value_of(run.record, "nopm") is not None
        for profile in profiles
        for run in loads.runs(profile.name, 0)
    )
    candidates = [
        Candidate(profile, values, limit_of.get((profile.name, last), ""))
        for profile in profiles
        if (values := dict(_values(loads, profile, counted)))
    ]
    names = [profile.name for profile in profiles]
    aspects = tuple(dict.fromkeys(aspect for one in candidates for aspect in one.values))
    made = contests.make_contest(
        loads.name, candidates, names, loads.campaign.plan.margin_pct, aspects
    )
    return _with_obstacle(made, loads)


def _with_obstacle(made: Contest, loads: Loads) -> Contest:
    every = (
        [r for p in loads.campaign.plan.profiles for r in loads.runs(p.name, place)]
        for place in range(len(loads.points))
    )
    return replace(made, obstacle=next(filter(None, map(comparability.obstacle, every)), ""))


def _values(
    loads: Loads, profile: Profile, counted: bool
) -> Iterator[tuple[Aspect, tuple[float, ...]]]:
    peaks = _peaks(loads, profile.name, "nopm" if counted else "throughput_per_s")
    if not peaks:
        return
    yield Aspect("nopm" if counted else "throughput_per_s", "peak throughput"), peaks
    runs = loads.runs(profile.name, 0)
    if any(overload.overloaded(run.record) for run in runs):
        return
    scope = "new_order" if counted else "all"
    where = load_points.load_in_words(loads.axis, loads.values[0])
    for metric, word in (("latency_avg_s", "average"), ("latency_p99_s", "p99")):
        title = f"{word} {'New-Order ' if counted else ''}latency at {where}"
        found = [results.sound(run.record.measurements).get((metric, scope)) for run in runs]
        values = tuple(one.value for one in found if one is not None and one.value > 0)
        if values and len(values) == len(runs):
            yield Aspect(metric, title, scope), values


def _peaks(loads: Loads, tier: str, metric: str) -> tuple[float, ...]:
    """The highest rate of each repetition that all loads were measured in."""
    by_repetition: dict[int, list[float]] = {}
    for place in range(len(loads.points)):
        for run in loads.runs(tier, place):
            rate = results.value_of(run.record, metric)
            if rate:
                by_repetition.setdefault(run.record.run.repetition, []).append(rate)
    whole = (rates for rates in by_repetition.values() if len(rates) == len(loads.points))
    return tuple(max(rates) for rates in whole)
