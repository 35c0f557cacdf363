"""Which tier to buy for a workload over several loads that has an SLO, and why. Pure."""

from dataclasses import replace

from orchestrator import metrics
from orchestrator.analysis.conclusions import Decision, ReasonParts, in_one_text
from orchestrator.analysis.decisions import (
    candidates,
    contests,
    offers,
    reasons,
    remarks,
)
from orchestrator.analysis.decisions.load_sweeps import (
    Loads,
    first_missed,
    objective_tests,
)
from orchestrator.analysis.decisions.moot import moot
from orchestrator.analysis.doubts import by_effect
from orchestrator.analysis.telemetry.causes.node_cause import NOT_THE_TIER
from orchestrator.design.slo import format_objective
from orchestrator.texts import prose


def decide(loads: Loads, contest: contests.Contest) -> Decision:
    """The cheapest tier that is enough for all loads of a sweep that has an SLO, or none with what
    each is proven to take. Latencies say how much load a tier takes; a clause on a rate says how
    much is needed. Without such a clause a tier is enough only if it is proven at every load of the
    sweep; else the answer depends on the load, and is told load by load."""
    # An obstacle comes before any test: what may not be compared proves nothing of any tier.
    if contest.circumstances.obstacle or not contest.candidates:
        obstacle = contest.circumstances.obstacle or reasons.NO_FIGURES
        parts = ReasonParts(claims=(obstacle,))
        return _decision(loads, None, parts, (obstacle,))
    enough = [tier for tier in contest.candidates if _enough(loads, tier, contest)]
    if not enough:
        return _naming_none(loads, contest)
    return _naming(offers.preferred(enough, contest), loads, contest)


def _naming_none(loads: Loads, contest: contests.Contest) -> Decision:
    parts = ReasonParts(claims=_none(loads, contest), proofs=_how_far(loads, contest))
    sentences = (parts.in_words(None), *_all_doubted(loads, contest))
    decision = _decision(loads, None, parts, sentences)
    return replace(decision, missed=_missed(loads, contest))


def _naming(
    tier: candidates.Candidate, loads: Loads, contest: contests.Contest
) -> Decision:
    slo = prose.listed(_clauses(loads))
    proven = f"{reasons.which(tier, contest)} proven to meet {slo}"
    parts = ReasonParts(
        tier_is=f"the {proven}{_where(loads)}", proofs=_how_far(loads, contest)
    )
    sentences = (
        parts.in_words(tier.name),
        *_all_doubted(loads, contest),
        *_beside(loads, tier, contest),
    )
    decision = replace(
        _decision(loads, tier.name, parts, sentences),
        criterion="capacity at the SLO",
        with_vms=tier.with_vms,
        without_prices=remarks.without_prices(tier, contest),
        moot=moot(tier, contest, loads.slo),
    )
    if tier.price is None or contest.no_prices:
        return decision
    return replace(decision, monthly_cost=tier.monthly_cost, currency=tier.currency)


def _decision(
    loads: Loads, tier: str | None, parts: ReasonParts, sentences: tuple[str, ...]
) -> Decision:
    """What all decisions on a sweep say."""
    return Decision(
        loads.name,
        tier,
        in_one_text(sentences),
        reason_parts=parts,
        sentences=sentences,
        slo=_clauses(loads),
    )


def _clauses(loads: Loads) -> tuple[str, ...]:
    return tuple(format_objective(clause) for clause in loads.slo)


def _enough(
    loads: Loads, candidate: candidates.Candidate, contest: contests.Contest
) -> bool:
    """Whether a tier is proven to be enough.

    If the SLO has no clause on the rate, the tier must be proven at every load. Otherwise the tier
    must be proven to reach the rate at the highest load that it takes.
    """
    tier = candidate.name
    if _doubted(loads, tier, contest):
        return False
    place = _highest_load(loads, tier)
    if place is None:
        return False
    # Without a clause on the rate nobody says how much load is needed, so it is all of it.
    if not loads.rates:
        return place == len(loads.loads) - 1
    tests = objective_tests(loads, tier, place, loads.rates)
    # The load was chosen among all by what was measured.
    level = loads.level / len(loads.loads)
    return all(test.p_value <= level for test in tests)


def _highest_load(loads: Loads, tier: str) -> int | None:
    """The place of the highest load that it is proven to take; None if it is none.

    Without clauses on latencies it is the last load of the sweep.
    """
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
    return first_missed(objective_tests(loads, tier, place, loads.rates))


def _doubted(loads: Loads, tier: str, contest: contests.Contest) -> str:
    """Why the load that a tier is proven to take is not shown all the same; or an empty text."""
    place = loads.usable[tier].place
    if place is None:
        return ""
    # A doubt about runs at another load says nothing of this one.
    numbers = {run.record.run.number for run in loads.runs(tier)[place]}
    doubts = contest.circumstances.doubts.get(tier, ())
    doubt = by_effect.forbidding(doubt for doubt in doubts if doubt.run in numbers)
    if doubt is None:
        return ""
    return f"{doubt.text} ({doubt.kind})"


# ------------------------------------------------------------------ in words


def _how_far(loads: Loads, contest: contests.Contest) -> tuple[str, ...]:
    """Up to which load each tier is proven; empty if no latency says how much load a tier takes."""
    if not loads.latencies:
        return ()
    taken = [_taken(loads, tier.name) for tier in contest.candidates]
    return (prose.listed(taken),)


def _all_doubted(loads: Loads, contest: contests.Contest) -> list[str]:
    """A sentence for each tier of which a doubt lets nothing be shown."""
    sentences: list[str] = []
    for tier in contest.candidates:
        doubted = _doubted(loads, tier.name, contest)
        if doubted:
            sentences.append(f"Of {tier.name} nothing is shown: {doubted}")
    return sentences


def _taken(loads: Loads, tier: str) -> str:
    usable = loads.usable[tier]
    how_far = "at none"
    if usable.place is not None:
        how_far = f"up to {loads.words[usable.place]}"
    if usable.stopped:
        return f"{tier} {how_far} ({usable.stopped})"
    return f"{tier} {how_far}"


def _none(loads: Loads, contest: contests.Contest) -> tuple[str, ...]:
    """The claims of a decision that names no tier: in which figure none is enough."""
    if not loads.latencies:
        slo = prose.listed(_clauses(loads))
        return (f"no tier is proven to meet {slo}{_where(loads)}",)
    if loads.rates:
        none = "no tier is proven to meet the whole SLO at one load"
        return none, "its latencies are met"
    if any(loads.usable[tier.name].place is not None for tier in contest.candidates):
        return ("which tier is enough depends on the load",)
    return ("no tier is proven to meet the SLO at any load of the sweep",)


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
