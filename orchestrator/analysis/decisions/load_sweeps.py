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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from orchestrator import metrics, units
from orchestrator.analysis import comparability, overload, results
from orchestrator.analysis.conclusions import Decision, Sweep, TierSweep
from orchestrator.analysis.decisions import contests, offers, reasons
from orchestrator.analysis.decisions.candidates import Candidate, Criterion, comparable
from orchestrator.analysis.doubts import kinds
from orchestrator.analysis.results import Results, RunData
from orchestrator.model import Objective, Profile, Workload
from orchestrator.planning import load_points
from orchestrator.planning.slo import format_objective

Causes = Mapping[tuple[str, str], str]  # of each cell, what limited it
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
        return tuple(c for c in self.slo if metrics.METRICS[c.metric].direction == "lower")

    @cached_property
    def level(self) -> float:
        """Of each test: the clauses on rates take their half, if there are any."""
        families = 1 if self.latencies == self.slo else 2
        return contests.ONE_SIDED / len(self.campaign.plan.tiers) / families

    @cached_property
    def usable(self) -> Mapping[str, tuple[int | None, str]]:
        """Tier → place of the highest load proven within the SLO's latencies, and why no higher."""
        return {profile.name: _usable(self, profile.name) for profile in self.campaign.plan.tiers}

    def runs(self, tier: str, place: int) -> tuple[RunData, ...]:
        return results.finished(self.campaign, tier, self.points[place][1].name)

    def measured(self, tier: str) -> dict[int, float]:
        """Place of each load with finished runs → its mean throughput."""
        rates = units.gathered(
            (place, rate)
            for place in range(len(self.points))
            for run in self.runs(tier, place)
            if (rate := results.value_of(run.record, "throughput_per_s")) is not None
        )
        return {place: fmean(known) for place, known in rates.items()}


def of_plan(campaign: Results) -> dict[str, Loads]:
    """Name of the workload swept → its loads."""
    points_of = units.gathered(
        ((point.of, point.axis), (point.value, workload))
        for workload in campaign.plan.workloads
        if (point := load_points.of_sweep(workload))
    )
    return {
        name: Loads(campaign, name, axis, tuple(sorted(points, key=lambda point: point[0])))
        for (name, axis), points in points_of.items()
    }


def sweeps(campaign: Results) -> tuple[Sweep, ...]:
    """What each sweep of the plan found."""
    return tuple(
        Sweep(
            workload=loads.name,
            axis=loads.axis,
            values=loads.values,
            workloads=tuple(workload.name for _, workload in loads.points),
            slo=tuple(map(format_objective, loads.latencies)),
            tiers=tuple(_of_tier(loads, profile.name) for profile in campaign.plan.tiers),
        )
        for loads in of_plan(campaign).values()
    )


def _of_tier(loads: Loads, tier: str) -> TierSweep:
    rates = loads.measured(tier)
    proven, stopped = loads.usable[tier]
    bend = knee(rates)
    return TierSweep(
        tier=tier,
        peak_per_s=max(rates.values(), default=None),
        knee=None if bend is None else loads.values[bend],
        at_slo=None if proven is None else loads.values[proven],
        at_slo_per_s=None if proven is None else rates[proven],
        stopped=stopped,
    )


def knee(rates: Mapping[int, float]) -> int | None:
    """The place of the knee among loads with these throughputs, in rising order of load; None
    where throughput still rose with the last."""
    if not rates:
        return None
    first = next(place for place in rates if rates[place] >= PLATEAU * max(rates.values()))
    return None if first == max(rates) else first


def _usable(loads: Loads, tier: str) -> tuple[int | None, str]:
    """Load by load from the least, up to the first that is not proven. A load of which a run has no
    such figure (too few transactions for it) is no step of the proof: the next one is tested."""
    proven, stopped = None, ""
    for place, value in enumerate(loads.values if loads.latencies else ()):
        runs = loads.runs(tier, place)
        where = load_points.load_in_words(loads.axis, value)
        if not runs:
            continue
        if any(overload.overloaded(run.record) for run in runs):
            return proven, f"overloaded at {where}"
        kept = objective_tests(loads, tier, place, loads.latencies)
        if any(test.value is None for test in kept):
            stopped = f"at {where} not every run has the figures"
            continue
        if unproven := [test for test in kept if test.p_value > loads.level]:
            worst = next((test for test in unproven if test.missed), unproven[0])
            word = "misses" if worst.missed else "is not proven to meet"
            return proven, f"at {where} it {word} {worst}"
        proven, stopped = place, ""
    return proven, stopped


def objective_tests(
    loads: Loads, tier: str, place: int, objectives: Sequence[Objective]
) -> tuple[contests.ObjectiveTest, ...]:
    """Clauses of the SLO at one load, held against the runs of a tier there."""
    workload = loads.points[place][1]
    candidates = []
    for profile in loads.campaign.plan.tiers:
        runs = loads.runs(profile.name, place)
        measured = {of: v for of in objectives if (v := results.objective_values(runs, of))}
        candidates.append(Candidate(profile, {}, "", measured))
    margin_pct, slo = loads.campaign.plan.margin_pct, tuple(objectives)
    compared = contests.make_contest(workload.name, candidates, (), margin_pct, (), slo=slo)
    return compared.proof.objectives[tier]


# ------------------------------------------------------------------ one decision for all loads


def contest(loads: Loads, causes: Causes) -> contests.Contest:
    """Tiers compared at the ends of a sweep: throughput at its highest load, where most is asked of
    them, and latency at its least, where the queue is shortest. Both are chosen before anything is
    measured: the best of several loads would be the luckiest, and more so for a flat curve."""
    campaign, first, last = loads.campaign, loads.points[0][1], loads.points[-1][1]
    profiles = campaign.plan.tiers
    places = range(len(loads.points))
    every = [[run for tier in profiles for run in loads.runs(tier.name, at)] for at in places]
    counted = any(results.value_of(run.record, "nopm") is not None for run in every[0])
    throughput, latencies = _criteria(loads, counted)
    latencies, constant = comparable(latencies, profiles)
    candidates = []
    behind = any(overload.overloaded(run.record) for run in every[0])
    for profile in profiles:
        runs_first, runs_last = _whole_repetitions(campaign, profile, first, last)
        values = {of: results.whole(runs_first, of.key) for of in latencies if not behind}
        values = {throughput: results.whole(runs_last, throughput.key)} | values
        if values[throughput]:
            cause = causes.get((profile.name, last.name), "")
            numbers = tuple(run.record.run.repetition for run in runs_first)
            known = {criterion: of_runs for criterion, of_runs in values.items() if of_runs}
            candidates.append(Candidate(profile, known, cause, repetitions=numbers))
    return contests.make_contest(
        loads.name,
        candidates,
        [profile.name for profile in profiles],
        campaign.plan.margin_pct,
        (throughput, *latencies),
        obstacle=next(filter(None, map(comparability.obstacle, every)), ""),
        constant_latency=constant,
        p99_margin_pct=campaign.plan.p99_margin_pct,
    )


def _criteria(loads: Loads, counted: bool) -> tuple[Criterion, tuple[Criterion, ...]]:
    """Throughput at the highest load, and latencies at the least."""
    least, most = (load_points.load_in_words(loads.axis, loads.values[end]) for end in (0, -1))
    whose, scope = ("New-Order latency", "new_order") if counted else ("latency", "all")
    throughput = Criterion("nopm" if counted else "throughput_per_s", f"throughput at {most}")
    return throughput, (
        Criterion("latency_avg_s", f"average {whose} at {least}", scope),
        Criterion("latency_p99_s", f"p99 {whose} at {least}", scope),
    )


def _whole_repetitions(
    campaign: Results, profile: Profile, *ends: Workload
) -> tuple[list[RunData], ...]:
    """The finished runs at each end of a sweep, of the repetitions that have all of them, in
    their order, which is that of runs' numbers."""
    cells = [results.finished(campaign, profile.name, workload.name) for workload in ends]
    numbers = [{run.record.run.repetition for run in runs} for runs in cells]
    common = set.intersection(*numbers)
    return tuple([run for run in runs if run.record.run.repetition in common] for runs in cells)


# ------------------------------------------------------------------ with an SLO


def decide(loads: Loads, contest: contests.Contest) -> Decision:
    """The cheapest tier that is enough for all loads of a sweep that has an SLO, or none with what
    each is proven to take. Latencies say how much load a tier takes; a clause on a rate says how
    much is needed. Without such a clause a tier is enough only if it is proven at every load of the
    sweep; else the answer depends on the load, and is told load by load."""
    slo = tuple(map(format_objective, loads.slo))
    if contest.obstacle or not contest.candidates:
        return Decision(loads.name, None, contest.obstacle or reasons.said("no figures"), slo=slo)
    doubted = {tier.name: _doubted(loads, tier.name, contest) for tier in contest.candidates}
    enough = [t for t in contest.candidates if not doubted[t.name] and _enough(loads, t.name)]
    taken = units.listed([_taken(loads, tier) for tier in contest.candidates])
    how_far = f": {taken}" if loads.latencies else ""
    how_far += "".join(f". Of {t} nothing is shown: {why}" for t, why in doubted.items() if why)
    if not enough:
        return Decision(loads.name, None, f"{_none(loads, contest)}{how_far}", slo=slo)
    tier = offers.preferred(enough, contest)
    priced = tier.price is not None and not contest.no_prices
    which, where = reasons.which(tier, contest), _where(loads)
    beside = {
        "not its disk": not tier.profile.tier.disk.is_real,
        "means of windows": any(metrics.METRICS[clause.metric].percent for clause in loads.slo),
        "limited by": ", ".join(contest.limited_by),
    }
    remarks = (f". {reasons.said(name, of=of)}" for name, of in beside.items() if of)
    text = f"{tier.name} is the {which} proven to meet {units.listed(slo)}{where}{how_far}"
    return Decision(
        loads.name,
        tier.name,
        "".join((text, *remarks)),
        tier.monthly_cost if priced else None,
        tier.currency if priced else None,
        criterion="capacity at the SLO",
        slo=slo,
        with_vms=tier.with_vms,
        without_prices=reasons.without_prices(tier, contest),
    )


def _doubted(loads: Loads, tier: str, contest: contests.Contest) -> str:
    """Why the load that a tier is proven to take is not shown all the same; or an empty text."""
    place, _ = loads.usable[tier]
    if place is None:
        return ""
    runs = {run.record.run.number for run in loads.runs(tier, place)}
    doubt = kinds.forbidding(d for d in contest.doubts.get(tier, ()) if d.run in runs)
    return f"{doubt.text} ({doubt.kind})" if doubt else ""


def _enough(loads: Loads, tier: str) -> bool:
    place, _ = loads.usable[tier]
    needed = [clause for clause in loads.slo if clause not in loads.latencies]
    last = len(loads.values) - 1
    if not loads.latencies:
        place = last
    if place is None or not needed:
        return place == last
    kept = objective_tests(loads, tier, place, needed)
    level = loads.level / len(loads.values)  # the load was chosen by what was measured
    return all(test.p_value <= level for test in kept)


def _none(loads: Loads, contest: contests.Contest) -> str:
    if not loads.latencies:
        clauses = units.listed([*map(format_objective, loads.slo)])
        return f"no tier is proven to meet {clauses}{_where(loads)}"
    if loads.latencies != loads.slo:
        return "no tier is proven to meet the whole SLO at one load; its latencies are met"
    if any(loads.usable[tier.name][0] is not None for tier in contest.candidates):
        return "which tier is enough depends on the load"
    return "no tier is proven to meet the SLO at any load of the sweep"


def _where(loads: Loads) -> str:
    last = load_points.load_in_words(loads.axis, loads.values[-1])
    if not loads.latencies:
        return f" at {last}"
    return f" at every load, up to {last}" if loads.latencies == loads.slo else ""


def _taken(loads: Loads, tier: Candidate) -> str:
    place, stopped = loads.usable[tier.name]
    why = f" ({stopped})" if stopped else ""
    if place is None:
        return f"{tier.name} at none{why}"
    return f"{tier.name} up to {load_points.load_in_words(loads.axis, loads.values[place])}{why}"
