"""Which tier to buy for each workload: the cheapest that is proven to be enough. Pure.

Enough is what is proven to be within the margin of the best in throughput and latency; or, where
the workload has an SLO, what is proven to meet it. What is open is never enough: then `tier` is
None, or a dearer tier that is proven, and the reason says what is open.

A cluster that is to serve several workloads has disks of one tier. It is enough for all if it is
for each, so the worst p-value of its claims is that of the joint one (intersection-union test,
Berger 1982), whatever the number of workloads. The claims of all tiers hold together at one level,
as those of one workload do: a tier that is proven not to be enough for any workload makes none,
which by chance leaves out 5 % of those at the margin in each, so the level of the others is as much
lower."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator.analysis import comparability, conclusions, overload, results
from orchestrator.analysis.conclusions import (
    Bottleneck,
    ClusterDecision,
    Decision,
    Standing,
)
from orchestrator.analysis.decisions import candidates, load_sweeps, offers, reasons
from orchestrator.analysis.decisions.candidates import Candidate
from orchestrator.analysis.decisions.contests import (
    ONE_SIDED,
    SHOWN,
    Contest,
    make_contest,
)
from orchestrator.analysis.decisions.values import Causes, causes_of
from orchestrator.analysis.decisions.weights import weighed
from orchestrator.analysis.doubts import kinds
from orchestrator.analysis.results import Results
from orchestrator.analysis.statistics import looks, stats
from orchestrator.analysis.telemetry import bottlenecks
from orchestrator.analysis.telemetry.causes import (
    CEILING_PCT,
    HARNESS_CAUSES,
    NOT_THE_TIER,
)
from orchestrator.analysis.telemetry.loads import has_pace, of_ceiling_pct
from orchestrator.model import Doubt, Workload
from orchestrator.planning import factors, plan
from orchestrator.planning.slo import format_objective
from orchestrator.units import counted, listed


def decisions_so_far(
    campaign: Results,
) -> tuple[tuple[Decision, ...], ClusterDecision | None]:
    """As `decide_all`, by the runs that have finished."""
    return decide_all(campaign, bottlenecks.bottlenecks(campaign), kinds.find(campaign))


def decide_all(
    campaign: Results, of_cells: Sequence[Bottleneck], doubts: Sequence[Doubt] = ()
) -> tuple[tuple[Decision, ...], ClusterDecision | None]:
    """One for each workload of the plan, or for each sweep, and that for all workloads together:
    None with a sweep or a factor, which are answered by load and by value. None is made of runs
    that lack a stage. `doubts`: of the campaign and of its runs."""
    causes, swept = causes_of(of_cells), load_sweeps.Loads.of_plan(campaign, "load")
    alone = [w for w in campaign.plan.workloads if not factors.asks(w, "load")]
    varied = any(factors.asks(load, "factor") for load in alone)
    if varied and len(campaign.plan.tiers) < 2:
        return (), None  # one tier: what the factor does is all that was asked
    subjects = {
        name: [load for _, load in loads.loads] for name, loads in swept.items()
    }
    subjects |= {load.name: [load] for load in alone if not factors.lacks(load)}
    contests = [
        _contest(campaign, *subject, causes, doubts) for subject in subjects.items()
    ]
    of_workloads = tuple(
        load_sweeps.decide(loads, contest)
        if (loads := swept.get(contest.workload)) and loads.slo
        else decide(contest)
        for contest in contests
    )
    weights, by_value = campaign.plan.weights, bool(swept) or varied
    return of_workloads, None if by_value else decide_cluster(contests, weights)


def _contest(
    campaign: Results,
    name: str,
    loads: Sequence[Workload],
    causes: Causes,
    doubts: Sequence[Doubt],
) -> Contest:
    """Tiers compared on a workload; or at the ends of a sweep: throughput at its highest load,
    where most is asked of them, and latency at its least, where the queue is shortest. Both are
    chosen before anything is measured: the best of several loads would be the luckiest, and more so
    for a flat curve. Which load of it meets the SLO, `load_sweeps` tells."""
    swept, most = len(loads) > 1, loads[-1]
    profiles = [plan.as_used(profile, most) for profile in campaign.plan.tiers]
    of_loads = [
        [results.finished(campaign, p.name, of.name) for p in profiles] for of in loads
    ]
    first, *rest = ([run for runs in of_tiers for run in runs] for of_tiers in of_loads)
    throughput, usual = candidates.COMPARED[results.rate_of(first)]
    latencies = (
        (*usual, *candidates.REBUILD) if most.lost_after_s is not None else usual
    )
    load, slo, behind = overload.NO_RATE, most.slo, False
    if swept:
        throughput, latencies = candidates.at_ends(throughput, latencies, loads)
        slo, behind = (), any(overload.overloaded(run.record) for run in first)
    else:
        runs = {p.name: own for p, own in zip(profiles, of_loads[0], strict=True)}
        held_back = {tier for tier in runs if causes.get((tier, name)) in NOT_THE_TIER}
        load = overload.of_workload(runs).without_proof_of(held_back)
    compared, constant = candidates.comparable(latencies, profiles)
    shares_pct = [of_ceiling_pct(run.record) or 0.0 for run in first]
    at_ceiling = (
        min(shares_pct, default=0.0) >= CEILING_PCT
    )  # think time holds the rate there
    closed_loop = not any(has_pace(run.record.workload) for run in first)
    both = candidates.each_once(throughput, compared, closed_loop=closed_loop)
    clauses = () if swept else (*slo, candidates.FAILED)
    taking_part = []
    for place, profile in enumerate(profiles):
        ends = results.in_common(of_loads[0][place], of_loads[-1][place])
        cause = causes.get((profile.name, most.name), "")
        at_most = Candidate.of_runs(profile, ends[1], [throughput], clauses, cause)
        at_least = Candidate.of_runs(profile, ends[0], () if behind else latencies)
        if at_most.values and profile.name not in load.tiers:
            taking_part.append(
                replace(at_most, values={**at_most.values, **at_least.values})
            )
    windows_s = {of.measure_s for of in loads}
    return make_contest(
        name,
        taking_part,
        [profile.name for profile in profiles if profile.name not in load.tiers],
        campaign.plan.margin_pct,
        compared if at_ceiling or load.asked else both,
        at_ceiling=at_ceiling,
        constant_latency=constant,
        p99_margin_pct=campaign.plan.p99_margin_pct,
        overload=load,
        slo=slo,
        share=looks.share(campaign.plan, most.name),
        obstacle=next(filter(None, map(comparability.obstacle, (first, *rest))), ""),
        doubts=kinds.of_tiers(campaign.plan, doubts, [of.name for of in loads]),
        scale=campaign.small_scale,
        window_s=most.measure_s if len(windows_s) == 1 else 0.0,
    )


# ------------------------------------------------------------------ the rule


def decide(contest: Contest) -> Decision:
    """The cheapest tier that is proven to be enough."""
    if reason := _no_contest(contest):
        decision = Decision(contest.workload, None, reason)
    elif enough := contest.standing("enough"):
        decision = _decided(offers.preferred(enough, contest), contest)
    else:
        open_ = contest.standing("open")
        reason = (
            reasons.why_open(open_[0], contest)
            if open_
            else reasons.none_enough(contest)
        )
        every = offers.offers(contest)
        margins = reasons.least_margins(every)
        reason = f"{reason}. {margins}" if margins else reason
        decision = Decision(contest.workload, None, reason, offers=every)
    return replace(
        decision,
        slo=tuple(map(format_objective, contest.slo)),
        with_vms=any(candidate.with_vms for candidate in contest.candidates),
        is_open=is_open(contest),
        confidence_pct=round(100 * looks.confidence(SHOWN, contest.share), 4),
        basis=reasons.basis(contest) if decision.offers else "",
    )


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
        return reasons.said("no figures")
    if len(names) < 2 and not contest.slo and not contest.overload.always:
        return reasons.said("figures of one tier", of=names[0])
    single = _single(contest)
    if single and (not contest.slo or len(single) == len(names)):
        return reasons.said("one repetition", of=listed(single))
    if not contest.slo and all(
        tier.cause in HARNESS_CAUSES for tier in contest.candidates
    ):
        return reasons.said("machine on every tier")
    return "" if contest.criteria or contest.slo else reasons.said("nothing to compare")


def _single(contest: Contest) -> list[str]:
    return [c.name for c in contest.candidates if min(map(len, c.values.values())) < 2]


# ------------------------------------------------------------------ the answer


def _decided(candidate: Candidate, contest: Contest) -> Decision:
    every = offers.offers(contest)
    cheaper = every[: contest.candidates.index(candidate)]
    beside = (reasons.least_margins(cheaper), *reasons.remarks(candidate, contest))
    explain = reasons.why_slo if contest.slo else reasons.why
    criterion, why = explain(candidate, contest)
    open_ = offers.cheaper_than(
        candidate, offers.passed_over(candidate, contest, "open"), contest
    )
    return Decision(
        contest.workload,
        candidate.name,
        ". ".join(filter(None, (why, *beside))),
        candidate.monthly_cost if candidate.price else None,
        candidate.currency,
        criterion=criterion,
        offers=every,
        dearer=offers.step(candidate, +1, contest),
        cheaper=offers.step(candidate, -1, contest),
        without_prices=reasons.without_prices(candidate, contest),
        cheaper_open=(*(tier.name for tier in open_), *contest.absent),
    )


# ------------------------------------------------------------------ all workloads of a cluster


def decide_cluster(
    every: Sequence[Contest], weights: Mapping[str, float] | None = None
) -> ClusterDecision | None:
    """The cheapest tier that is proven enough for all; None with one workload, or one tier.
    `weights`: of workloads that are to be enough together (`weights.weighed`)."""
    contests, tiers = weighed(every, weights or {}), _in_order(every)
    if len(every) < 2 or len(tiers) < 2:
        return None
    standings = _standings(contests, tiers)
    tier = _cheapest(contests, tiers, standings)
    without = []
    for given_up in every:
        rest = weighed(
            [contest for contest in every if contest is not given_up], weights or {}
        )
        other = _cheapest(rest, tiers, _standings(rest, tiers))
        if other and (tier is None or tiers.index(other) < tiers.index(tier)):
            cost = other.monthly_cost, other.currency
            without.append(
                conclusions.WithoutWorkload(given_up.workload, other.name, *cost)
            )
    return ClusterDecision(
        tier=tier.name if tier else None,
        reason=". ".join(
            [_why_cluster(len(every), contests, tiers, tier), *map(str, without)]
        ),
        workloads=tuple(contest.workload for contest in every),
        standings=standings,
        monthly_cost=tier.monthly_cost if tier else None,
        currency=tier.currency if tier else None,
        with_vms=tier.with_vms if tier else False,
        without=tuple(without),
    )


def _in_order(contests: Sequence[Contest]) -> list[Candidate]:
    """All tiers with figures, from cheap to dear, as the workload with most of them has them."""
    most = max((contest.candidates for contest in contests), key=len, default=())
    first = {tier.name: tier for tier in most}
    rest = {tier.name: tier for contest in contests for tier in contest.candidates}
    return list((first | rest | first).values())


def _standing(tier: str, contest: Contest) -> Standing:
    if tier in contest.overload.always:
        return "not enough"
    return "open" if _no_contest(contest) else contest.proof.standings.get(tier, "open")


def _standings(
    contests: Sequence[Contest], tiers: Sequence[Candidate]
) -> dict[str, Standing]:
    p_values = {  # of the hypothesis that it is not enough for all
        tier.name: max(
            1.0 if _no_contest(contest) else contest.proof.claims.get(tier.name, 1.0)
            for contest in contests
        )
        for tier in tiers
    }
    refused = {
        n for n in p_values if any(_standing(n, c) == "not enough" for c in contests)
    }
    alpha = ONE_SIDED * max(0.0, 1 - len(contests) * ONE_SIDED)
    level = stats.level_of_claims(
        [p for n, p in p_values.items() if n not in refused], alpha
    )
    return {
        name: "not enough" if name in refused else "enough" if p <= level else "open"
        for name, p in p_values.items()
    }


def _cheapest(
    contests: Sequence[Contest],
    tiers: Sequence[Candidate],
    standings: Mapping[str, Standing],
) -> Candidate | None:
    enough = [tier for tier in tiers if standings[tier.name] == "enough"]
    return offers.preferred(enough, contests[0]) if enough else None


def _why_cluster(
    workloads: int,
    contests: Sequence[Contest],
    tiers: Sequence[Candidate],
    tier: Candidate | None,
) -> str:
    """Why that tier, or none, and not a cheaper one."""
    every = f"all {counted(workloads, 'workload')} together"
    every = contests[0].workload if len(contests) == 1 else every
    unanswered = [contest.workload for contest in contests if _no_contest(contest)]
    if tier is None and unanswered:
        return reasons.said("no answer for all", every=every, of=unanswered)
    passed_over = tiers[: tiers.index(tier)] if tier else tiers
    why = "; ".join(_why_not(other.name, contests) for other in passed_over)
    name, by_limits = tier and tier.name, contests[0].no_prices
    return reasons.said("for all", tier=name, by_limits=by_limits, every=every, why=why)


def _why_not(tier: str, contests: Sequence[Contest]) -> str:
    if refused := [c.workload for c in contests if _standing(tier, c) == "not enough"]:
        return f"{tier} is not enough for {listed(refused)}"
    if unsure := [c.workload for c in contests if _standing(tier, c) == "open"]:
        return f"whether {tier} is enough for {listed(unsure)} is open"
    return f"{tier} is proven enough for each, and not yet for all at one level"
