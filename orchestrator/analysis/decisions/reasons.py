"""Why a tier is named for a workload, or none: a decision in words. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from orchestrator.analysis.decisions import offers
from orchestrator.analysis.decisions.candidates import Candidate
from orchestrator.analysis.decisions.contests import (
    SHOWN,
    Comparison,
    Contest,
    Promise,
    in_common,
    others,
)
from orchestrator.analysis.statistics import looks, stats
from orchestrator.analysis.telemetry.bottlenecks import HARNESS_LIMITS
from orchestrator.metrics import METRICS
from orchestrator.planning.slo import format_objective
from orchestrator.units import counted, format_quantity, listed

SERVED = "served rate"  # the criterion, where a tier is overloaded
_LEAST = ("declares the lowest limits of them", "of those with a price costs least")
_NOT_THE_DISK = frozenset({"cpu_bound", "load_bound"})


def preferred(enough: Sequence[Candidate], contest: Contest) -> Candidate:
    """The first; where declared limits order the tiers, the cheapest of those whose prices can be
    held against its own."""
    alike = [one for one in enough if contest.no_prices and _same_list(one, enough[0])]
    return min(alike, key=lambda one: one.monthly_cost or 0.0, default=enough[0])


def _same_list(one: Candidate, other: Candidate) -> bool:
    """Whether both have prices of one currency, and machines of one kind."""
    if one.price is None or other.price is None:
        return False
    same_vm = one.profile.cluster.vm == other.profile.cluster.vm
    return same_vm and one.price.currency == other.price.currency


def _by_price(tier: Candidate, contest: Contest) -> bool:
    """Whether a known price, and not declared limits, puts it before another."""
    before = contest.candidates[: contest.candidates.index(tier)]
    return any(preferred((one, tier), contest) is tier for one in before)


def which(tier: Candidate, contest: Contest) -> str:
    """What the tier named is: the cheapest, or the least, where prices are not known."""
    if not contest.no_prices:
        return "cheapest tier"
    return (
        f"tier with the lowest {'known price' if _by_price(tier, contest) else 'declared limits'}"
    )


def without_prices(tier: Candidate, contest: Contest) -> str:
    """How it was chosen where not all prices could be compared, and why; else empty."""
    by = "the prices that are known" if _by_price(tier, contest) else "declared limits"
    return f"chosen by {by}: {contest.no_prices}" if contest.no_prices else ""


def passed_over(tier: Candidate, contest: Contest, standing: str) -> list[Candidate]:
    before = contest.candidates[: contest.candidates.index(tier)]
    return [other for other in before if contest.proof.standings[other.name] == standing]


def cheaper_than(tier: Candidate, of: Sequence[Candidate], contest: Contest) -> Sequence[Candidate]:
    """Those that cost less; where prices are not known, all."""
    cost = tier.monthly_cost
    if contest.no_prices or cost is None:
        return of
    return [one for one in of if (one.monthly_cost or 0.0) < cost]


def _also_enough(tier: Candidate, contest: Contest) -> list[Candidate]:
    return [c for c in others(tier, contest) if contest.proof.standings[c.name] == "enough"]


def _are(tiers: Sequence[Candidate]) -> str:
    return f"{'are' if len(tiers) > 1 else 'is'} {listed([one.name for one in tiers])}"


def _as_long_as(tier: Candidate, contest: Contest) -> str:
    """How far prices may be off before another tier would be named."""
    enough = _also_enough(tier, contest)
    if not enough or not tier.price or not tier.monthly_cost:
        return ""
    next_ = min(enough, key=lambda one: one.monthly_cost or 0.0)
    cost = f"{tier.monthly_cost:,.2f} {tier.price.currency} a month"
    return f": this holds unless {next_.name} costs less than the {cost} of {tier.name}"


def why(tier: Candidate, contest: Contest) -> tuple[str, str]:
    """The criterion that decided, and the reason."""
    losers = passed_over(tier, contest, "not enough")
    proofs = [_proof(loser, tier, contest) for loser in losers]
    worse = "; ".join(map(_told, losers, proofs))
    best = offers.best(contest, contest.aspects)
    text = f"{tier.name} is the {which(tier, contest)} proven {best}"
    alike = _also_enough(tier, contest)
    equal = [c for c in alike if not contest.no_prices and c.monthly_cost == tier.monthly_cost]
    if equal:
        text = f"{tier.name} is proven {best}, as {_are(equal)} at the same price"
    elif contest.no_prices and not passed_over(tier, contest, "open"):
        lowest = f", as {_are(alike)}, and {_LEAST[_by_price(tier, contest)]}" if alike else ""
        text = f"{tier.name} is {best}{lowest}"
    criterion = _criterion(proofs[-1]) if proofs else ""
    if contest.overload.always and not proofs:
        criterion = SERVED
        if len(contest.candidates) == 1:
            text = f"{tier.name} is the only tier that serves the rate asked for"
    return criterion, f"{text}: {worse}" if worse else text


def why_slo(tier: Candidate, contest: Contest) -> tuple[str, str]:
    losers = passed_over(tier, contest, "not enough")
    missed = [(loser, _missed(loser, contest)) for loser in losers]
    worse = "; ".join(f"{loser.name} misses {promise}" for loser, promise in missed)
    kept = listed([str(promise) for promise in contest.proof.promises[tier.name]])
    text = f"{tier.name} is the {which(tier, contest)} proven to meet {kept}"
    criterion = _criterion(missed[-1][1]) if missed else ""
    return criterion, f"{text}; {worse}" if worse else text


def _proof(loser: Candidate, winner: Candidate | None, contest: Contest) -> Comparison | Promise:
    """A comparison that proves a tier to be outside the margin, with the winner if there is one;
    or that too many of its transactions fail."""
    proofs = [one for one in contest.proof.comparisons[loser.name] if one.outside]
    if not proofs:
        return contest.proof.failing[loser.name]
    return next((proof for proof in proofs if proof.other is winner), proofs[0])


def _told(loser: Candidate, proof: Comparison | Promise) -> str:
    return str(proof) if isinstance(proof, Comparison) else f"{loser.name} misses {proof}"


def _criterion(proof: Comparison | Promise) -> str:
    if isinstance(proof, Comparison):
        return proof.aspect.title
    return format_objective(proof.objective)


def _missed(loser: Candidate, contest: Contest) -> Promise:
    promises = (*contest.proof.promises[loser.name], contest.proof.failing[loser.name])
    return next(one for one in promises if one.missed)


def remarks(tier: Candidate, contest: Contest) -> list[str]:
    remarks = []
    open_ = passed_over(tier, contest, "open")
    cheaper = {one.name for one in cheaper_than(tier, open_, contest)}
    for order, of in (
        ("which declares less" if contest.no_prices else "which is cheaper", cheaper),
        ("which costs the same", {one.name for one in open_} - cheaper),
    ):
        if of:
            names = listed([other.name for other in open_ if other.name in of])
            remarks.append(f"Whether {names}, {order}, is enough is open")
    remarks += _of_windows(tier, contest)
    if contest.slo and not tier.profile.tier.disk.is_as_bought:
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
    if made := without_prices(tier, contest):
        remarks.append(f"C{made[1:]}")
    if contest.unlike_prices:
        remarks.append(f"{contest.unlike_prices}{_as_long_as(tier, contest)}")
    if contest.left_out and not contest.slo:
        titles = listed([aspect.title for aspect in contest.left_out])
        remarks.append(f"Not compared, as not every run has it: {titles}")
    if contest.constant_latency and not contest.slo:
        names = listed(contest.constant_latency)
        remarks.append(f"p99 latency is not compared: the emulated latency of {names} is constant")
    if contest.absent:
        remarks.append(f"Not considered, having no figures: {listed(contest.absent)}")
    if contest.limited_by:
        remarks.append(f"What limits this answer: {', '.join(contest.limited_by)}")
    return remarks


def _of_windows(tier: Candidate, contest: Contest) -> list[str]:
    """What is proven of the percentiles of an SLO: those of the mean, or of single windows too."""
    confidence = looks.confidence(stats.CONFIDENCE, contest.share)
    said = []
    for objective in contest.slo:
        if METRICS[objective.metric].percent is None:
            continue
        values = (tier.measured or {}).get(objective, ())
        kept = stats.share_below(values, objective.limit, confidence) >= 0.9
        windows = "whether single windows keep it is not proven"
        if kept:
            level = format_quantity(100 * confidence, "%")
            windows = f"9 of 10 single windows keep it or more, with {level} confidence"
        said.append(f"Of {format_objective(objective)} it is the mean that is below; {windows}")
    return said


def _no_disk_remark(contest: Contest) -> list[str]:
    """If CPU or think time was the limit on every tier: as much as the comparisons allow."""
    refused = [n for n, standing in contest.proof.standings.items() if standing == "not enough"]
    every = [one for name in refused for one in contest.proof.comparisons[name]]
    worse = [comparison.aspect for comparison in every if comparison.outside]
    if not all(aspect.is_latency for aspect in worse):
        return []
    if worse:
        return ["On no tier does the disk limit throughput, but latency depends on it"]
    if contest.left_out or "open" in contest.proof.standings.values():
        return ["On no tier does the disk limit throughput"]
    return ["The disk is not the limit on any tier"]


def why_open(tier: Candidate, contest: Contest) -> str:
    """Says what is proven of a tier, what is not, and by how much it misses."""
    if barred := contest.barred(tier):
        return f"whether {tier.name} is enough cannot be told: {barred}"
    if contest.slo:
        return _open_slo(tier, contest)
    level = contest.proof.level
    unsure = [one for one in contest.proof.comparisons[tier.name] if one.p_value > level]
    unproven = list(dict.fromkeys(comparison.aspect for comparison in unsure))
    proven = [aspect for aspect in contest.aspects if aspect not in unproven]
    worst = max((one for one in unsure if one.aspect is unproven[0]), key=lambda one: one.p_value)
    if proven:
        titles = listed([aspect.title for aspect in unproven])
        text = f"{tier.name} is {offers.best(contest, proven)}; whether also of the best {titles}"
    else:
        text = f"whether {tier.name} is {offers.best(contest, unproven)}"
    likely = ", as one of its comparisons may be by chance" if worst.outside else ""
    return f"{text} is not proven: {worst}{likely}; {_more(worst, contest)}"


def _more(unsure: Comparison, contest: Contest) -> str:
    """About how many repetitions would prove it or the contrary, at the noise seen so far."""
    ours, theirs = in_common(unsure.one, unsure.other, unsure.aspect)
    sign = 1 if unsure.aspect.is_latency else -1
    bound = 1 + sign * contest.margin_of(unsure.aspect) / 100
    room = abs(math.log(unsure.ratio.ratio / bound))
    confidence = looks.confidence(SHOWN, contest.share)
    wanted = stats.repetitions_to_reach(theirs, ours, room, confidence)
    if wanted is None:
        known = len(ours) > 1
        most = f"more than {stats.MAX_REPETITIONS} repetitions would be needed at this noise"
        return most if known else "more repetitions are needed"
    count = max(1, wanted - len(ours))
    return f"it needs about {counted(count, 'more repetition')}"


def _open_slo(tier: Candidate, contest: Contest) -> str:
    promises = contest.proof.promises[tier.name]
    unsure = [str(one) for one in promises if one.p_value > contest.proof.level]
    missed = passed_over(tier, contest, "not enough")
    before = "".join(f"{one.name} misses {_missed(one, contest)}; " for one in missed)
    needed = "more repetitions are needed"
    if tier.limit in HARNESS_LIMITS:
        needed = "this machine was the limit, so what the disk could do was not measured"
    return f"{before}whether {tier.name} meets {listed(unsure)} is not proven; {needed}"


def none_enough(contest: Contest) -> str:
    if contest.slo:
        missed = (f"{one.name} misses {_missed(one, contest)}" for one in contest.candidates)
        return f"no tier meets the SLO: {'; '.join(missed)}"
    proofs = "; ".join(_told(one, _proof(one, None, contest)) for one in contest.candidates)
    failing = any(one.missed for one in contest.proof.failing.values())
    best = offers.best(contest, contest.aspects)
    why = "" if failing else f" {best}, each being worse than another"
    return f"no tier is{why or ' enough'}: {proofs}"
