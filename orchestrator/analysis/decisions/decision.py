"""Which tier to buy for each workload: the cheapest that is proven to be enough. Pure.

Enough is what is proven to be within the margin of the best in throughput and latency; or, where
the workload has an SLO, what is proven to meet it. What is open is never enough: then `tier` is
None, or a dearer tier that is proven, and the reason says what is open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator.analysis import comparability, overload, results
from orchestrator.analysis.conclusions import Bottleneck, ClusterDecision, Decision
from orchestrator.analysis.decisions import cluster, load_sweeps, offers, reasons
from orchestrator.analysis.decisions.candidates import (
    FAILED,
    LATENCIES,
    NEW_ORDER,
    NOPM,
    THROUGHPUT,
    Candidate,
    comparable,
    each_once,
)
from orchestrator.analysis.decisions.contests import SHOWN, Contest, make_contest
from orchestrator.analysis.doubts import kinds
from orchestrator.analysis.results import Results
from orchestrator.analysis.statistics import looks
from orchestrator.analysis.telemetry import resources
from orchestrator.analysis.telemetry.causes import CEILING_PCT, HARNESS_CAUSES, NOT_THE_TIER
from orchestrator.model import Doubt, Workload
from orchestrator.planning import load_points
from orchestrator.planning.slo import format_objective
from orchestrator.units import listed


def decisions(
    campaign: Results, bottlenecks: Sequence[Bottleneck], doubts: Sequence[Doubt] = ()
) -> tuple[Decision, ...]:
    """One per workload of the plan; the loads of a sweep have one together. `doubts`: all of the
    campaign and its runs."""
    return decide_all(campaign, bottlenecks, doubts)[0]


def decide_all(
    campaign: Results, bottlenecks: Sequence[Bottleneck], doubts: Sequence[Doubt]
) -> tuple[tuple[Decision, ...], ClusterDecision | None]:
    """`decisions`, and the one for all workloads together: None with a sweep, whose answers are by
    load."""
    causes = {(one.profile, one.workload): one.cause for one in bottlenecks}
    swept = load_sweeps.of_plan(campaign)
    contests = [load_sweeps.contest(loads, causes) for loads in swept.values()]
    alone = [w for w in campaign.plan.workloads if load_points.of_sweep(w) is None]
    contests += [_of_workload(campaign, w, causes) for w in alone]
    contests = [_doubted(contest, campaign, doubts) for contest in contests]
    made = tuple(
        load_sweeps.decide(loads, contest)
        if (loads := swept.get(contest.workload)) and loads.slo
        else decide(contest)
        for contest in contests
    )
    claims = [cluster.WorkloadClaims(contest, _no_contest(contest)) for contest in contests]
    return made, None if swept else cluster.decide(claims)


def _doubted(contest: Contest, campaign: Results, doubts: Sequence[Doubt]) -> Contest:
    """With the doubts that reach it."""
    plan = campaign.plan
    loads = [load for load in plan.workloads if load_points.subject(load) == contest.workload]
    found = kinds.of_tiers(plan, doubts, [load.name for load in loads])
    windows_s = {load.measure_s for load in loads}
    window_s = windows_s.pop() if len(windows_s) == 1 else 0.0
    return replace(contest, doubts=found, scale=campaign.small_scale, window_s=window_s)


def _of_workload(
    campaign: Results, workload: Workload, causes: Mapping[tuple[str, str], str]
) -> Contest:
    profiles = campaign.plan.tiers
    runs = {p.name: results.finished(campaign, p.name, workload.name) for p in profiles}
    every = [run for of_profile in runs.values() for run in of_profile]
    counted = any(results.value_of(run.record, "nopm") for run in every)
    throughput, latencies = (NOPM, NEW_ORDER) if counted else (THROUGHPUT, LATENCIES)
    shares_pct = [resources.of_ceiling_pct(run.record) or 0.0 for run in every]
    at_ceiling = min(shares_pct, default=0.0) >= CEILING_PCT  # think time holds the rate there
    held_back = {name for name in runs if causes.get((name, workload.name)) in NOT_THE_TIER}
    load = overload.of_workload(runs).without_proof_of(held_back)
    compared, constant = comparable(latencies, profiles)
    closed_loop = not any(resources.paced(run.record) for run in every)
    both = each_once(throughput, compared, closed_loop=closed_loop)
    criteria = compared if at_ceiling or load.asked else both
    candidates = []
    clauses = (*workload.slo, FAILED)
    for profile in (one for one in profiles if one.name not in load.tiers):
        own = runs[profile.name]
        values = {one: v for one in (throughput, *latencies) if (v := results.whole(own, one.key))}
        measured = {one: v for one in clauses if (v := results.objective_values(own, one))}
        if throughput in values:
            numbers = tuple(run.record.run.repetition for run in own)
            cause = causes.get((profile.name, workload.name), "")
            candidates.append(Candidate(profile, values, cause, measured, numbers))
    return make_contest(
        workload.name,
        candidates,
        [name for name in runs if name not in load.tiers],
        campaign.plan.margin_pct,
        criteria,
        at_ceiling=at_ceiling,
        constant_latency=constant,
        p99_margin_pct=campaign.plan.p99_margin_pct,
        overload=load,
        slo=workload.slo,
        share=looks.share(campaign.plan, workload.name),
        obstacle=comparability.obstacle(every),
    )


# ------------------------------------------------------------------ the rule


def decide(contest: Contest) -> Decision:
    """The cheapest tier that is proven to be enough."""
    made = _made(contest)
    return replace(
        made,
        is_open=is_open(contest),
        confidence_pct=round(100 * looks.confidence(SHOWN, contest.share), 4),
        basis=reasons.basis(contest) if made.offers else "",
    )


def _made(contest: Contest) -> Decision:
    if reason := _no_contest(contest):
        return _undecided(contest, reason)
    if enough := contest.standing("enough"):
        return _decided(offers.preferred(enough, contest), contest)
    open_ = contest.standing("open")
    reason = reasons.why_open(open_[0], contest) if open_ else reasons.none_enough(contest)
    made = offers.offers(contest)
    margins = reasons.least_margins(made)
    return replace(_undecided(contest, f"{reason}. {margins}" if margins else reason), offers=made)


def is_open(contest: Contest) -> bool:
    """Whether more repetitions may bring an answer or a cheaper one."""
    if _no_contest(contest):
        return bool(_single(contest)) and not contest.obstacle
    for candidate in contest.candidates:
        standing = contest.proof.standings[candidate.name]
        # One that misses the SLO and is open all the same was held back by this machine.
        held_back = any(p.missed for p in contest.proof.objectives[candidate.name])
        if standing == "open" and not held_back and not contest.barred(candidate):
            return True
        if standing == "enough":
            return False
    return False


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
    single = _single(contest)
    if single and (not contest.slo or len(single) == len(names)):
        return f"one repetition of {listed(single)} gives no interval: at least 2 are needed"
    if (
        all(candidate.cause in HARNESS_CAUSES for candidate in contest.candidates)
        and not contest.slo
    ):
        return (
            "the machine or its load generator was the limit on every tier, so what the disks "
            "could do was not measured"
        )
    if not contest.criteria and not contest.slo:
        return "no figure is there of every run, so there is nothing to compare"
    return ""


def _single(contest: Contest) -> list[str]:
    return [c.name for c in contest.candidates if min(map(len, c.values.values())) < 2]


# ------------------------------------------------------------------ the answer


def _undecided(contest: Contest, reason: str) -> Decision:
    slo = tuple(format_objective(one) for one in contest.slo)
    return Decision(contest.workload, None, reason, slo=slo)


def _decided(candidate: Candidate, contest: Contest) -> Decision:
    made = offers.offers(contest)
    cheaper = made[: contest.candidates.index(candidate)]
    said = (reasons.least_margins(cheaper), *reasons.remarks(candidate, contest))
    remarks = "".join(f". {remark}" for remark in said if remark)
    criterion, why = (
        reasons.why_slo(candidate, contest) if contest.slo else reasons.why(candidate, contest)
    )
    open_ = offers.cheaper_than(candidate, offers.passed_over(candidate, contest, "open"), contest)
    cost, currency = None, None
    if candidate.price:
        cost, currency = candidate.monthly_cost, candidate.price.currency
    named = Decision(
        contest.workload,
        candidate.name,
        why + remarks,
        cost,
        currency,
        criterion=criterion,
        slo=tuple(format_objective(one) for one in contest.slo),
        offers=made,
        dearer=offers.step(candidate, +1, contest),
        cheaper=offers.step(candidate, -1, contest),
        with_vms=candidate.with_vms,
        without_prices=reasons.without_prices(candidate, contest),
        cheaper_open=(*(one.name for one in open_), *contest.absent),
    )
    return replace(named, request=reasons.request(candidate, named, contest))
