"""Which tier to buy for each workload: the cheapest that is proven to be enough. Pure.

Enough is what is proven to be within the margin of the best in throughput and in average and p99
latency; or, where the workload has an SLO, what is proven to meet it. What is open is never enough:
then `tier` is None, or a dearer tier that is proven, and the reason says what is open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator.analysis import comparability, results
from orchestrator.analysis.conclusions import Bottleneck, Decision
from orchestrator.analysis.decisions import offers, sweep_slo
from orchestrator.analysis.decisions.contests import (
    LATENCIES,
    NEW_ORDER,
    NOPM,
    SHOWN,
    THROUGHPUT,
    Aspect,
    Candidate,
    Comparison,
    Contest,
    Promise,
    chances,
    make_contest,
    others,
)
from orchestrator.analysis.loads import load_sweeps, overload
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.statistics import looks, stats
from orchestrator.analysis.telemetry import resources
from orchestrator.analysis.telemetry.bottlenecks import CEILING_PCT, HARNESS_LIMITS
from orchestrator.model import Objective, Workload
from orchestrator.planning import load_points
from orchestrator.planning.slo import format_objective
from orchestrator.units import format_quantity, listed

SERVED = "served rate"  # the criterion, where a tier is overloaded
_NOT_THE_DISK = frozenset({"cpu_bound", "load_bound"})


def decisions(campaign: Results, limits: Sequence[Bottleneck]) -> tuple[Decision, ...]:
    """One per workload of the plan; the loads of a sweep have one together."""
    limit_of = {(limit.profile, limit.workload): limit.verdict for limit in limits}
    swept = load_sweeps.of_plan(campaign)
    contests = [load_sweeps.contest(loads, limit_of) for loads in swept.values()]
    alone = [w for w in campaign.plan.workloads if load_points.of_sweep(w) is None]
    contests += [_of_workload(campaign, w, limit_of) for w in alone]
    # One family of comparisons, because they are read together.
    chance = stats.highest_significant([p for contest in contests for p in chances(contest)])
    return tuple(
        sweep_slo.decide(loads, contest)
        if (loads := swept.get(contest.workload)) and loads.slo
        else decide(replace(contest, chance=chance))
        for contest in contests
    )


def _of_workload(
    campaign: Results, workload: Workload, limit_of: Mapping[tuple[str, str], str]
) -> Contest:
    profiles = campaign.plan.tiers
    runs = {p.name: results.finished(campaign, p.name, workload.name) for p in profiles}
    every = [run for of_profile in runs.values() for run in of_profile]
    counted = any(results.value_of(run.record, "nopm") for run in every)
    throughput, latencies = (NOPM, NEW_ORDER) if counted else (THROUGHPUT, LATENCIES)
    at_ceiling = bool(every) and all(_at_ceiling(run) for run in every)
    causes = {name: limit_of.get((name, workload.name), "") for name in runs}
    held_back = {name for name, cause in causes.items() if cause in HARNESS_LIMITS}
    load = overload.of_workload(runs).without_proof_of(held_back)
    aspects = latencies if at_ceiling or load.asked else (throughput, *latencies)
    candidates = []
    for profile in (one for one in profiles if one.name not in load.tiers):
        own = runs[profile.name]
        wanted = {aspect: (aspect.metric, aspect.scope) for aspect in (throughput, *latencies)}
        values = {aspect: v for aspect, key in wanted.items() if (v := results.whole(own, key))}
        measured = {one: v for one in workload.slo if (v := results.whole(own, _key(one)))}
        if throughput in values:
            numbers = tuple(run.record.run.repetition for run in own)
            candidates.append(Candidate(profile, values, causes[profile.name], measured, numbers))
    tiers = [name for name in runs if name not in load.tiers]
    return replace(
        make_contest(workload.name, candidates, tiers, campaign.plan.margin_pct, aspects),
        at_ceiling=at_ceiling,
        overload=load,
        slo=workload.slo,
        share=looks.share(campaign.plan, workload.name),
        obstacle=comparability.obstacle(every),
    )


def _key(objective: Objective) -> tuple[str, str]:
    return objective.metric, objective.scope


def _at_ceiling(run: RunData) -> bool:
    """Whether think time held the rate at its ceiling."""
    return (resources.of_ceiling_pct(run.record) or 0.0) >= CEILING_PCT


# ------------------------------------------------------------------ the rule


def decide(contest: Contest) -> Decision:
    """The cheapest tier that is proven to be enough."""
    made = _made(contest)
    return replace(
        made,
        is_open=is_open(contest),
        confidence_pct=round(100 * looks.confidence(SHOWN, contest.share), 4),
    )


def _made(contest: Contest) -> Decision:
    if reason := _no_contest(contest):
        return _undecided(contest, reason)
    by_standing: dict[str, list[Candidate]] = {}
    for tier in contest.candidates:
        by_standing.setdefault(_standing(tier, contest), []).append(tier)
    if enough := by_standing.get("enough"):
        return _decided(enough[0], contest)
    open_ = by_standing.get("open")
    reason = _open(open_[0], contest) if open_ else _none_enough(contest)
    return replace(_undecided(contest, reason), offers=offers.offers(contest))


def is_open(contest: Contest) -> bool:
    """Whether more repetitions may bring an answer or a cheaper one."""
    if _no_contest(contest):
        return bool(_single(contest)) and not contest.obstacle
    for tier in contest.candidates:
        standing = _standing(tier, contest)
        # One that misses the SLO and is open all the same was held back by this machine.
        if standing == "open" and not any(p.missed for p in contest.proof.promises[tier.name]):
            return True
        if standing == "enough":
            return False
    return False


def _standing(tier: Candidate, contest: Contest) -> str:
    return contest.proof.standings[tier.name]


def _no_contest(contest: Contest) -> str:
    """Why nothing can be decided, before any figure is looked at; or an empty text."""
    if contest.obstacle:
        return contest.obstacle
    names = [candidate.name for candidate in contest.candidates]
    if reason := contest.overload.obstacle(names):
        return reason
    if not names:
        return "no tier has figures"
    if len(names) < 2 and not contest.slo and not contest.overload.always:
        return f"only {names[0]} has figures"
    if single := _single(contest):
        return f"one repetition of {listed(single)} gives no interval: at least 2 are needed"
    if all(tier.limit in HARNESS_LIMITS for tier in contest.candidates) and not contest.slo:
        return (
            "the machine or its load generator was the limit on every tier, so what the disks "
            "could do was not measured"
        )
    if not contest.aspects and not contest.slo:
        return "no figure is there of every run, so there is nothing to compare"
    return ""


def _single(contest: Contest) -> list[str]:
    return [c.name for c in contest.candidates if min(map(len, c.values.values())) < 2]


# ------------------------------------------------------------------ words


def _undecided(contest: Contest, reason: str) -> Decision:
    slo = tuple(format_objective(one) for one in contest.slo)
    return Decision(contest.workload, None, reason, None, None, slo=slo)


def _decided(tier: Candidate, contest: Contest) -> Decision:
    remarks = "".join(f". {remark}" for remark in _remarks(tier, contest))
    criterion, why = _why_slo(tier, contest) if contest.slo else _why(tier, contest)
    cost, currency = None, None
    if tier.price and not contest.no_prices:
        cost, currency = tier.monthly_cost, tier.price.currency
    made = Decision(
        contest.workload,
        tier.name,
        why + remarks,
        cost,
        currency,
        criterion=criterion,
        slo=tuple(format_objective(one) for one in contest.slo),
        offers=offers.offers(contest),
        dearer=offers.step(tier, +1, contest),
        cheaper=offers.step(tier, -1, contest),
        with_vms=tier.with_vms,
    )
    return replace(made, request=offers.request(tier, made, contest))


def _which(contest: Contest) -> str:
    """What the tier named is: the cheapest, or the least, where prices are not known."""
    return "cheapest tier" if not contest.no_prices else "tier with the lowest declared limits"


def _passed_over(tier: Candidate, contest: Contest, standing: str) -> list[Candidate]:
    before = contest.candidates[: contest.candidates.index(tier)]
    return [other for other in before if _standing(other, contest) == standing]


def _why(tier: Candidate, contest: Contest) -> tuple[str, str]:
    """The criterion that decided, and the reason."""
    proofs = [_proof(loser, tier, contest) for loser in _passed_over(tier, contest, "not enough")]
    worse = "; ".join(str(proof) for proof in proofs)
    best = _best(contest, contest.aspects)
    if not contest.no_prices or _passed_over(tier, contest, "open"):
        text = f"{tier.name} is the {_which(contest)} proven {best}"
    else:
        alike = [c.name for c in others(tier, contest) if _standing(c, contest) == "enough"]
        text = f"{tier.name} is {best}"
        if alike:
            text += f", as is {listed(alike)}, and declares the lowest limits of them"
    criterion = proofs[-1].aspect.title if proofs else ""
    if contest.overload.always and not proofs:
        criterion = SERVED
        if len(contest.candidates) == 1:
            text = f"{tier.name} is the only tier that serves the rate asked for"
    return criterion, f"{text}: {worse}" if worse else text


def _why_slo(tier: Candidate, contest: Contest) -> tuple[str, str]:
    losers = _passed_over(tier, contest, "not enough")
    missed = [(loser, _missed(loser, contest)) for loser in losers]
    worse = "; ".join(f"{loser.name} misses {promise}" for loser, promise in missed)
    kept = listed([str(promise) for promise in contest.proof.promises[tier.name]])
    text = f"{tier.name} is the {_which(contest)} proven to meet {kept}"
    criterion = format_objective(missed[-1][1].objective) if missed else ""
    return criterion, f"{text}; {worse}" if worse else text


def _best(contest: Contest, aspects: Sequence[Aspect]) -> str:
    margin = format_quantity(contest.margin_pct, "%")
    return f"within {margin} of the best {listed([aspect.title for aspect in aspects])}"


def _proof(loser: Candidate, winner: Candidate | None, contest: Contest) -> Comparison:
    """A comparison that proves a tier to be outside the margin, with the winner if there is one."""
    proofs = [one for one in contest.proof.comparisons[loser.name] if one.outside]
    return next((proof for proof in proofs if proof.other is winner), proofs[0])


def _missed(loser: Candidate, contest: Contest) -> Promise:
    return next(one for one in contest.proof.promises[loser.name] if one.missed)


def _remarks(tier: Candidate, contest: Contest) -> list[str]:
    remarks = []
    if open_ := _passed_over(tier, contest, "open"):
        order = "which is cheaper" if not contest.no_prices else "which declares less"
        names = listed([other.name for other in open_])
        remarks.append(f"Whether {names}, {order}, is enough is open")
    if contest.slo and not tier.profile.tier.is_as_bought:
        remarks.append(offers.NOT_ITS_DISK)
    if contest.at_ceiling and not contest.slo:
        remarks.append("Think time holds throughput at its ceiling on every tier: latency ranks")
    if contest.overload.asked and len(contest.candidates) > 1 and not contest.slo:
        remarks.append("All tiers are asked for the same rate, so latency ranks")
    remarks += contest.overload.remarks()
    if all(other.limit in _NOT_THE_DISK for other in contest.candidates):
        remarks += _no_disk_remark(contest)
    if tier.limit in HARNESS_LIMITS:
        remarks.append(
            f"With {tier.name} this machine was the limit: on a larger one dearer tiers may do more"
        )
    if contest.no_prices:
        remarks.append(f"{contest.no_prices}, so this is by performance alone")
    if contest.left_out and not contest.slo:
        titles = listed([aspect.title for aspect in contest.left_out])
        remarks.append(f"Not compared, as not every run has it: {titles}")
    if contest.absent:
        remarks.append(f"Not considered, having no figures: {listed(contest.absent)}")
    return remarks


def _no_disk_remark(contest: Contest) -> list[str]:
    """If CPU or think time was the limit on every tier: as much as the comparisons allow."""
    every = [one for made in contest.proof.comparisons.values() for one in made]
    worse = [comparison.aspect for comparison in every if comparison.outside]
    if not all(aspect.is_latency for aspect in worse):
        return []
    if worse:
        return ["On no tier does the disk limit throughput, but latency depends on it"]
    if contest.left_out or "open" in contest.proof.standings.values():
        return ["On no tier does the disk limit throughput"]
    return ["The disk is not the limit on any tier"]


def _open(tier: Candidate, contest: Contest) -> str:
    """Says what is proven of a tier, what is not, and by how much it misses."""
    if contest.slo:
        return _open_slo(tier, contest)
    level = contest.proof.level
    unsure = [one for one in contest.proof.comparisons[tier.name] if one.p_value > level]
    unproven = list(dict.fromkeys(comparison.aspect for comparison in unsure))
    proven = [aspect for aspect in contest.aspects if aspect not in unproven]
    worst = max((one for one in unsure if one.aspect is unproven[0]), key=lambda one: one.p_value)
    if proven:
        titles = listed([aspect.title for aspect in unproven])
        text = f"{tier.name} is {_best(contest, proven)}; whether also of the best {titles}"
    else:
        text = f"whether {tier.name} is {_best(contest, unproven)}"
    return f"{text} is not proven: {worst}; more repetitions are needed"


def _open_slo(tier: Candidate, contest: Contest) -> str:
    promises = contest.proof.promises[tier.name]
    unsure = [str(one) for one in promises if one.p_value > contest.proof.level]
    missed = _passed_over(tier, contest, "not enough")
    before = "".join(f"{one.name} misses {_missed(one, contest)}; " for one in missed)
    needed = "more repetitions are needed"
    if tier.limit in HARNESS_LIMITS:
        needed = "this machine was the limit, so what the disk could do was not measured"
    return f"{before}whether {tier.name} meets {listed(unsure)} is not proven; {needed}"


def _none_enough(contest: Contest) -> str:
    if contest.slo:
        missed = (f"{one.name} misses {_missed(one, contest)}" for one in contest.candidates)
        return f"no tier meets the SLO: {'; '.join(missed)}"
    proofs = "; ".join(str(_proof(loser, None, contest)) for loser in contest.candidates)
    return f"no tier is {_best(contest, contest.aspects)}, each being worse than another: {proofs}"
