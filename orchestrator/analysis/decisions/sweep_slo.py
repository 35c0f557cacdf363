"""The decision on a sweep that has an SLO: whether one tier is enough for all its loads. Pure.

Latencies say how much load a tier takes; a clause on a rate says how much is needed. Without such a
clause a tier is enough only if it is proven at every load of the sweep; else the answer depends on
the load, and is told load by load.
"""

from __future__ import annotations

from orchestrator.analysis.conclusions import Decision
from orchestrator.analysis.decisions import offers, reach, reasons
from orchestrator.analysis.decisions.candidates import Candidate
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.analysis.loads import load_sweeps
from orchestrator.analysis.loads.load_sweeps import Loads
from orchestrator.metrics import METRICS
from orchestrator.planning.load_points import load_in_words
from orchestrator.planning.slo import format_objective
from orchestrator.units import listed


def decide(loads: Loads, contest: Contest) -> Decision:
    """The cheapest tier that is enough, or none with what each is proven to take."""
    slo = tuple(format_objective(one) for one in loads.slo)
    if contest.obstacle:
        return Decision(loads.name, None, contest.obstacle, None, None, slo=slo)
    if not contest.candidates:
        return Decision(loads.name, None, "no tier has figures", None, None, slo=slo)
    doubted = {tier.name: _doubted(loads, tier.name, contest) for tier in contest.candidates}
    enough = [t for t in contest.candidates if not doubted[t.name] and _enough(loads, t.name)]
    taken = listed([_taken(loads, tier) for tier in contest.candidates]) if loads.latencies else ""
    how_far = f": {taken}" if taken else ""
    how_far += "".join(
        f". Of {tier} nothing is shown: {why}" for tier, why in doubted.items() if why
    )
    if not enough:
        return Decision(loads.name, None, f"{_none(loads, contest)}{how_far}", None, None, slo=slo)
    tier = reasons.preferred(enough, contest)
    priced = tier.price is not None and not contest.no_prices
    remark = "" if tier.profile.tier.disk.is_as_bought else f". {offers.NOT_ITS_DISK}"
    if any(METRICS[one.metric].percent for one in loads.slo):
        remark += (
            ". Percentiles are means of windows; whether single windows keep them is not proven"
        )
    if contest.limited_by:
        remark += f". What limits this answer: {', '.join(contest.limited_by)}"
    which = reasons.which(tier, contest)
    return Decision(
        loads.name,
        tier.name,
        f"{tier.name} is the {which} proven to meet {listed(slo)}{_where(loads)}{how_far}{remark}",
        tier.monthly_cost if priced else None,
        tier.price.currency if priced and tier.price else None,
        criterion="capacity at the SLO",
        slo=slo,
        with_vms=tier.with_vms,
        without_prices=reasons.without_prices(tier, contest),
    )


def _doubted(loads: Loads, tier: str, contest: Contest) -> str:
    """Why the load that a tier is proven to take is not shown all the same; or an empty text."""
    place, _ = loads.usable[tier]
    if place is None:
        return ""
    runs = {run.record.run.number for run in loads.runs(tier, place)}
    doubt = reach.forbidding(one for one in contest.doubts.get(tier, ()) if one.run in runs)
    return f"{doubt.text} ({doubt.kind})" if doubt else ""


def _enough(loads: Loads, tier: str) -> bool:
    place, _ = loads.usable[tier]
    needed = [one for one in loads.slo if one not in loads.latencies]
    if not loads.latencies:
        place = len(loads.values) - 1
    if place is None:
        return False
    if not needed:
        return place == len(loads.values) - 1
    kept = load_sweeps.promises(loads, tier, place, needed)
    level = loads.level / len(loads.values)  # the load was chosen by what was measured
    return all(one.p_value <= level for one in kept)


def _none(loads: Loads, contest: Contest) -> str:
    if not loads.latencies:
        return f"no tier is proven to meet {_words(loads)}{_where(loads)}"
    if loads.latencies != loads.slo:
        return "no tier is proven to meet the whole SLO at one load; its latencies are met"
    if any(loads.usable[tier.name][0] is not None for tier in contest.candidates):
        return "which tier is enough depends on the load"
    return "no tier is proven to meet the SLO at any load of the sweep"


def _where(loads: Loads) -> str:
    last = load_in_words(loads.axis, loads.values[-1])
    if not loads.latencies:
        return f" at {last}"
    return f" at every load, up to {last}" if loads.latencies == loads.slo else ""


def _words(loads: Loads) -> str:
    return listed([format_objective(one) for one in loads.slo])


def _taken(loads: Loads, tier: Candidate) -> str:
    place, stopped = loads.usable[tier.name]
    why = f" ({stopped})" if stopped else ""
    if place is None:
        return f"{tier.name} at none{why}"
    return f"{tier.name} up to {load_in_words(loads.axis, loads.values[place])}{why}"
