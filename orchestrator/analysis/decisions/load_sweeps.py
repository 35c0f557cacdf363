"""A workload over several loads: its knee and its capacity at the SLO, per tier. Pure.

The knee is the least load whose mean throughput is within 5 % of the highest: beyond it, more load
buys waiting and hardly any throughput (Jain, The Art of Computer Systems Performance Analysis,
1991, section 3.3). It is known only where a higher load was measured too. A rule on rates alone,
because one on the bend of the curve (Kneedle: Satopää and others 2011) needs many points, and its
answer depends on how far one measures.

Capacity at the SLO (Jain's usable capacity): loads are tested from the least upwards, each at the
same level, up to the first that is not proven. In an order fixed beforehand the chance of any false
claim is still that level (Goeman and Solari 2010); it is divided by the number of tiers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from orchestrator import metrics, model, units
from orchestrator.analysis import overload
from orchestrator.analysis.conclusions import Decision, TierValues
from orchestrator.analysis.decisions import candidates, contests, offers, reasons
from orchestrator.analysis.decisions.values import Values
from orchestrator.analysis.doubts import kinds
from orchestrator.planning.slo import format_objective

PLATEAU = 0.95  # of the highest throughput: what is above is as much


@dataclass(frozen=True)
class Loads(Values):
    """A workload at the loads of a sweep, in rising order."""

    @cached_property
    def slo(self) -> tuple[model.Objective, ...]:
        return self.loads[0][1].slo

    @cached_property
    def latencies(self) -> tuple[model.Objective, ...]:
        """The clauses that a load may be too much for."""
        return tuple(
            c for c in self.slo if metrics.METRICS[c.metric].direction == "lower"
        )

    @cached_property
    def level(self) -> float:
        """Of each test: the clauses on rates take their half, if there are any."""
        families = 1 if self.latencies == self.slo else 2
        return contests.ONE_SIDED / len(self.campaign.plan.tiers) / families

    @cached_property
    def usable(self) -> Mapping[str, tuple[int | None, str]]:
        """Tier → place of the highest load proven within the SLO's latencies, and why no higher."""
        return {
            profile.name: _usable(self, profile.name)
            for profile in self.campaign.plan.tiers
        }

    def taken(self, values: TierValues) -> TierValues:
        """With the load that the tier takes."""
        rates = self.means(values.tier, "throughput_per_s")
        (proven, stopped), bend = self.usable[values.tier], knee(rates)
        return replace(
            values,
            peak_per_s=max(rates.values(), default=None),
            knee=None if bend is None else self.numbers[bend],
            at_slo=None if proven is None else self.numbers[proven],
            at_slo_per_s=None if proven is None else rates[proven],
            stopped=stopped,
        )


def knee(rates: Mapping[int, float]) -> int | None:
    """The place of the knee among loads with these throughputs, in rising order of load; None
    where throughput still rose with the last."""
    if not rates:
        return None
    first = next(
        place for place in rates if rates[place] >= PLATEAU * max(rates.values())
    )
    return None if first == max(rates) else first


def _usable(loads: Loads, tier: str) -> tuple[int | None, str]:
    """Load by load from the least, up to the first that is not proven. A load of which a run has no
    such figure (too few transactions for it) is no step of the proof: the next one is tested."""
    proven, stopped = None, ""
    for place, runs in enumerate(loads.runs(tier) if loads.latencies else ()):
        where = loads.words[place]
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
    loads: Loads, tier: str, place: int, objectives: Sequence[model.Objective]
) -> tuple[contests.ObjectiveTest, ...]:
    """Clauses of the SLO at one load, held against the runs of a tier there."""
    every = [
        candidates.Candidate.of_runs(
            profile, loads.runs(profile.name)[place], (), objectives
        )
        for profile in loads.campaign.plan.tiers
    ]
    margin_pct, slo = loads.campaign.plan.margin_pct, tuple(objectives)
    compared = contests.make_contest(loads.name, every, (), margin_pct, (), slo=slo)
    return compared.proof.objectives[tier]


# ------------------------------------------------------------------ with an SLO


def decide(loads: Loads, contest: contests.Contest) -> Decision:
    """The cheapest tier that is enough for all loads of a sweep that has an SLO, or none with what
    each is proven to take. Latencies say how much load a tier takes; a clause on a rate says how
    much is needed. Without such a clause a tier is enough only if it is proven at every load of the
    sweep; else the answer depends on the load, and is told load by load."""
    slo = tuple(map(format_objective, loads.slo))
    if contest.obstacle or not contest.candidates:
        return Decision(
            loads.name, None, contest.obstacle or reasons.said("no figures"), slo=slo
        )
    doubted = {
        tier.name: _doubted(loads, tier.name, contest) for tier in contest.candidates
    }
    enough = [
        t for t in contest.candidates if not doubted[t.name] and _enough(loads, t.name)
    ]
    taken = units.listed([_taken(loads, tier.name) for tier in contest.candidates])
    how_far = f": {taken}" if loads.latencies else ""
    how_far += "".join(
        f". Of {t} nothing is shown: {why}" for t, why in doubted.items() if why
    )
    if not enough:
        return Decision(loads.name, None, f"{_none(loads, contest)}{how_far}", slo=slo)
    tier = offers.preferred(enough, contest)
    priced = tier.price is not None and not contest.no_prices
    which, where = reasons.which(tier, contest), _where(loads)
    beside = {
        "not its disk": not tier.profile.tier.disk.is_real,
        "means of windows": any(
            metrics.METRICS[clause.metric].percent for clause in loads.slo
        ),
        "limited by": ", ".join(contest.limited_by),
    }
    remarks = (f". {reasons.said(name, of=of)}" for name, of in beside.items() if of)
    text = (
        f"{tier.name} is the {which} proven to meet {units.listed(slo)}{where}{how_far}"
    )
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
    runs = {run.record.run.number for run in loads.runs(tier)[place]}
    doubt = kinds.forbidding(d for d in contest.doubts.get(tier, ()) if d.run in runs)
    return f"{doubt.text} ({doubt.kind})" if doubt else ""


def _enough(loads: Loads, tier: str) -> bool:
    last = len(loads.loads) - 1
    place = loads.usable[tier][0] if loads.latencies else last
    needed = [clause for clause in loads.slo if clause not in loads.latencies]
    if place is None or not needed:
        return place == last
    kept = objective_tests(loads, tier, place, needed)
    level = loads.level / len(loads.loads)  # the load was chosen by what was measured
    return all(test.p_value <= level for test in kept)


def _none(loads: Loads, contest: contests.Contest) -> str:
    if not loads.latencies:
        clauses = units.listed([*map(format_objective, loads.slo)])
        return f"no tier is proven to meet {clauses}{_where(loads)}"
    if loads.latencies != loads.slo:
        return (
            "no tier is proven to meet the whole SLO at one load; its latencies are met"
        )
    if any(loads.usable[tier.name][0] is not None for tier in contest.candidates):
        return "which tier is enough depends on the load"
    return "no tier is proven to meet the SLO at any load of the sweep"


def _where(loads: Loads) -> str:
    if not loads.latencies:
        return f" at {loads.words[-1]}"
    return (
        f" at every load, up to {loads.words[-1]}"
        if loads.latencies == loads.slo
        else ""
    )


def _taken(loads: Loads, tier: str) -> str:
    place, stopped = loads.usable[tier]
    how_far = "at none" if place is None else f"up to {loads.words[place]}"
    return f"{tier} {how_far} ({stopped})" if stopped else f"{tier} {how_far}"
