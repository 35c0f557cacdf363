"""Which tier to buy for each workload: the cheapest that is proven to be enough. Pure.

Enough is what is proven to be within the margin of the best in throughput and latency; or, where
the workload has an SLO, what is proven to meet it. What is open is never enough: then `tier` is
None, or a dearer tier that is proven, and the reason says what is open.

Of several workloads of one cluster, `cluster_decision` names one tier for all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.analysis.conclusions import (
    Bottleneck,
    ClusterDecision,
    Decision,
    in_one_text,
)
from orchestrator.analysis.decisions import (
    load_sweeps,
    measured_contests,
    no_tier_named,
    offers,
    reasons,
    remarks,
    sweep_decision,
)
from orchestrator.analysis.decisions.candidates import Candidate
from orchestrator.analysis.decisions.cluster_decision import decide_cluster
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.analysis.decisions.levels import SHOWN
from orchestrator.analysis.decisions.moot import moot
from orchestrator.analysis.decisions.no_contest import no_contest, of_one_repetition
from orchestrator.analysis.doubts import kinds
from orchestrator.analysis.results import Results
from orchestrator.analysis.statistics import looks
from orchestrator.analysis.telemetry.causes import bottlenecks
from orchestrator.design import varied_workloads
from orchestrator.design.slo import format_objective
from orchestrator.model import Doubt, Workload


def decisions_so_far(
    campaign: Results,
) -> tuple[tuple[Decision, ...], ClusterDecision | None]:
    """The decisions as `decide_all` makes them, but by the runs that have finished so far."""
    return decide_all(campaign, bottlenecks.bottlenecks(campaign), kinds.find(campaign))


def decide_all(
    campaign: Results, of_cells: Sequence[Bottleneck], doubts: Sequence[Doubt] = ()
) -> tuple[tuple[Decision, ...], ClusterDecision | None]:
    """One for each workload of the plan, or for each sweep, and that for all workloads together:
    None with a sweep or a factor. None is made of runs that lack a stage. `doubts`: of the campaign
    and of its runs."""
    asked = _what_is_asked(campaign)
    if asked.has_factor and len(campaign.plan.tiers) < 2:
        # What the factor does is all that was asked if there is one tier.
        return (), None
    by_cell = {(cell.profile, cell.workload): cell for cell in of_cells}
    contests = [
        measured_contests.of_loads(campaign, name, loads, by_cell, doubts)
        for name, loads in asked.loads.items()
    ]
    decisions = tuple(_decide_contest(contest, asked) for contest in contests)
    # A sweep is answered by load and a factor by value: one tier for all would answer neither.
    if asked.sweeps or asked.has_factor:
        return decisions, None
    return decisions, decide_cluster(contests, campaign.plan.judging.weights)


@dataclass(frozen=True)
class _AskedDecisions:
    """What a plan asks decisions of. `loads`: by the name of the workload, one or those of its
    sweep; `sweeps`: by the same name; `has_factor`: whether a factor is varied."""

    loads: dict[str, list[Workload]]
    sweeps: dict[str, load_sweeps.Loads]
    has_factor: bool


def _what_is_asked(campaign: Results) -> _AskedDecisions:
    sweeps = load_sweeps.Loads.of_plan(campaign, "load")
    loads: dict[str, list[Workload]] = {}
    for name, sweep in sweeps.items():
        loads[name] = [load for _, load in sweep.loads]
    has_factor = False
    for workload in campaign.plan.workloads:
        if varied_workloads.asked_value(workload, "load"):
            continue
        if varied_workloads.asked_value(workload, "factor"):
            has_factor = True
        if not varied_workloads.stage_left_out(workload):
            loads[workload.name] = [workload]
    return _AskedDecisions(loads, sweeps, has_factor)


def _decide_contest(contest: Contest, asked: _AskedDecisions) -> Decision:
    sweep = asked.sweeps.get(contest.workload)
    # A sweep without an SLO is compared at its ends, as other contests are.
    if sweep is not None and sweep.slo:
        return sweep_decision.decide(sweep, contest)
    return decide(contest)


# ------------------------------------------------------------------ the rule


def decide(contest: Contest) -> Decision:
    """The cheapest tier that is proven to be enough."""
    decision = _without_terms(contest)
    confidence = looks.confidence(SHOWN, contest.rules.share)
    basis = ""
    # No figure was looked at if there are no offers, so there is nothing that it rests on.
    if decision.offers:
        basis = remarks.basis(contest)
    return replace(
        decision,
        slo=tuple(format_objective(clause) for clause in contest.rules.slo),
        with_vms=any(candidate.with_vms for candidate in contest.candidates),
        is_open=is_open(contest),
        # The product is rounded: 1 − 2 × 0.05 is not quite 0.9 in floating point.
        confidence_pct=round(100 * confidence, 4),
        basis=basis,
    )


def _without_terms(contest: Contest) -> Decision:
    """The answer, without what it rests on."""
    obstacle = no_contest(contest)
    if obstacle is not None:
        reason = obstacle.in_words(None)
        return Decision(
            contest.workload,
            None,
            reason,
            reason_parts=obstacle,
            sentences=(reason,),
        )
    enough = contest.standing("enough")
    if enough:
        return _named(offers.preferred(enough, contest), contest)
    return _none_named(contest)


def _none_named(contest: Contest) -> Decision:
    """What is open of the tier that would be preferred most; or that each is not enough."""
    parts = no_tier_named.why_none(contest)
    settled_by = no_tier_named.NOTHING
    # The first would be bought if it were enough, so its doubt is the one to settle.
    for candidate in contest.standing("open")[:1]:
        settled_by = no_tier_named.settled_by(candidate, contest)
    offered = offers.offers(contest)
    texts = [parts.in_words(None, settled_by.text), remarks.least_margins(offered)]
    sentences = tuple(text for text in texts if text)
    return Decision(
        contest.workload,
        None,
        in_one_text(sentences),
        reason_parts=parts,
        sentences=sentences,
        offers=offered,
        settled_by=settled_by.text,
        repetitions_settle=settled_by.by_repetitions,
    )


def is_open(contest: Contest) -> bool:
    """Whether more repetitions may bring an answer or a cheaper one."""
    if no_contest(contest):
        return bool(of_one_repetition(contest)) and not contest.circumstances.obstacle
    for candidate in contest.candidates:
        standing = contest.proof.standings[candidate.name]
        # Candidates go from cheap to dear: what is open behind this one would not be bought.
        if standing == "enough":
            return False
        if standing == "open" and _may_be_decided(candidate, contest):
            return True
    return False


def _may_be_decided(candidate: Candidate, contest: Contest) -> bool:
    """Whether more runs like the present ones can show that a tier is enough, or not enough."""
    tests = contest.proof.objectives[candidate.name]
    # A tier that misses the SLO and is open all the same was held back by this machine. A figure
    # that a run lacks will be lacking in more such runs.
    if any(test.missed or test.is_lacking for test in tests):
        return False
    return not contest.barred(candidate)


# ------------------------------------------------------------------ the answer


def _named(candidate: Candidate, contest: Contest) -> Decision:
    offered = offers.offers(contest)
    cheaper = offered[: contest.candidates.index(candidate)]
    reason = reasons.why(candidate, contest)
    margins = remarks.least_margins(cheaper)
    why = reason.parts.in_words(candidate.name)
    texts = [why, margins, *remarks.remarks(candidate, contest)]
    sentences = tuple(text for text in texts if text)
    still_open = _cheaper_and_open(candidate, contest)
    settled_by = no_tier_named.NOTHING
    for tier in still_open[:1]:
        settled_by = no_tier_named.settled_by(tier, contest)
    names = [tier.name for tier in still_open]
    # The cost would be that of the machines alone if its disks have no price.
    monthly_cost: float | None = None
    if candidate.price:
        monthly_cost = candidate.monthly_cost
    return Decision(
        workload=contest.workload,
        tier=candidate.name,
        reason=in_one_text(sentences),
        monthly_cost=monthly_cost,
        currency=candidate.currency,
        reason_parts=reason.parts,
        sentences=sentences,
        criterion=reason.criterion,
        decided_by=reason.decided_by,
        offers=offered,
        dearer=offers.neighbour(candidate, +1, contest),
        cheaper=offers.neighbour(candidate, -1, contest),
        without_prices=remarks.without_prices(candidate, contest),
        moot=moot(candidate, contest, contest.rules.slo),
        cheaper_open=(*names, *offers.absent_and_cheaper(candidate, contest)),
        best_open=tuple(offers.absent_and_dearer(candidate, contest)),
        settled_by=settled_by.text,
        repetitions_settle=settled_by.by_repetitions,
    )


def _cheaper_and_open(candidate: Candidate, contest: Contest) -> Sequence[Candidate]:
    """The tiers that cost less and are neither proven enough nor proven not to be."""
    passed_over = offers.passed_over(candidate, contest, "open")
    return offers.cheaper_than(candidate, passed_over, contest)
