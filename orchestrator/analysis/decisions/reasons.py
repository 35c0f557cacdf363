"""A decision in words: why a tier is named for a workload, or none. Pure.

The rules are in `contests`, `offers` and `decision`; nothing is decided here.
"""

import math
from collections.abc import Sequence

from orchestrator.analysis.conclusions import Offer
from orchestrator.analysis.decisions import offers
from orchestrator.analysis.decisions.candidates import Candidate, Criterion
from orchestrator.analysis.decisions.contests import SHOWN, Comparison, Contest, in_common
from orchestrator.analysis.statistics import looks, stats
from orchestrator.analysis.telemetry.causes import HARNESS_CAUSES
from orchestrator.metrics import METRICS
from orchestrator.planning.slo import format_objective
from orchestrator.units import counted, format_quantity, format_seconds, gathered, listed

NOT_ITS_DISK = (
    "An SLO asks for absolute figures, and these are of this machine: its disk is not the "
    "provider's own"
)
MOST_LOST_PCT = 100.0  # a longer latency than that is told in the table only
SERVED = "served rate"  # the criterion, where a tier is overloaded
_LEAST = ("declares the lowest limits of them", "of those with a price costs least")
_NOT_THE_DISK = frozenset({"cpu_bound", "single_core", "network_bound", "load_bound", "in_cache"})


def which(candidate: Candidate, contest: Contest) -> str:
    """What the tier named is: the cheapest, or the least, where prices are not known."""
    if not contest.no_prices:
        return "cheapest tier"
    lowest = "known price" if offers.by_price(candidate, contest) else "declared limits"
    return f"tier with the lowest {lowest}"


def without_prices(candidate: Candidate, contest: Contest) -> str:
    """How it was chosen where not all prices could be compared, and why; else empty."""
    by = "the prices that are known" if offers.by_price(candidate, contest) else "declared limits"
    return f"chosen by {by}: {contest.no_prices}" if contest.no_prices else ""


def _are(tiers: Sequence[Candidate]) -> str:
    return f"{'are' if len(tiers) > 1 else 'is'} {listed([tier.name for tier in tiers])}"


def _as_long_as(candidate: Candidate, contest: Contest) -> str:
    """How far prices may be off before another tier would be named."""
    enough = offers.also_enough(candidate, contest)
    if not enough or not candidate.price or not candidate.monthly_cost:
        return ""
    next_ = min(enough, key=lambda tier: tier.monthly_cost or 0.0)
    cost = f"{candidate.monthly_cost:,.2f} {candidate.price.currency} a month"
    return f": this holds unless {next_.name} costs less than the {cost} of {candidate.name}"


def why(candidate: Candidate, contest: Contest) -> tuple[str, str]:
    """The criterion that decided, and the reason."""
    losers = offers.passed_over(candidate, contest, "not enough")
    proofs = [_proof(loser, candidate, contest) for loser in losers]
    worse = "; ".join(text for _, text in proofs)
    best = within_margins(contest, contest.criteria)
    text = f"{candidate.name} is the {which(candidate, contest)} proven {best}"
    alike = offers.also_enough(candidate, contest)
    equal = [c for c in alike if not contest.no_prices and c.monthly_cost == candidate.monthly_cost]
    if equal:
        text = f"{candidate.name} is proven {best}, as {_are(equal)} at the same price"
    elif contest.no_prices and not offers.passed_over(candidate, contest, "open"):
        text = f"{candidate.name} is {best}"
        if alike:
            text += f", as {_are(alike)}, and {_LEAST[offers.by_price(candidate, contest)]}"
    criterion = proofs[-1][0] if proofs else ""
    if contest.overload.always and not proofs:
        criterion = SERVED
        if len(contest.candidates) == 1:
            text = f"{candidate.name} is the only tier that serves the rate asked for"
    return criterion, f"{text}: {worse}" if worse else text


def why_slo(candidate: Candidate, contest: Contest) -> tuple[str, str]:
    losers = offers.passed_over(candidate, contest, "not enough")
    missed = [_missed(loser, contest) for loser in losers]
    kept = listed([str(test) for test in contest.proof.objectives[candidate.name]])
    text = f"{candidate.name} is the {which(candidate, contest)} proven to meet {kept}"
    criterion = missed[-1][0] if missed else ""
    return criterion, "; ".join([text, *(miss for _, miss in missed)])


def _proof(loser: Candidate, winner: Candidate | None, contest: Contest) -> tuple[str, str]:
    """In what a tier is proven not to be enough, and how: a comparison outside the margin, with the
    winner if there is one; or that too many of its transactions fail."""
    proofs = [c for c in contest.proof.comparisons[loser.name] if c.outside]
    if not proofs:
        return _missed(loser, contest)
    proof = next((proof for proof in proofs if proof.other is winner), proofs[0])
    return proof.criterion.title, str(proof)


def _missed(loser: Candidate, contest: Contest) -> tuple[str, str]:
    """The same of the first objective that it misses."""
    tests = (*contest.proof.objectives[loser.name], contest.proof.failing[loser.name])
    missed = next(test for test in tests if test.missed)
    return format_objective(missed.objective), f"{loser.name} misses {missed}"


def remarks(candidate: Candidate, contest: Contest) -> list[str]:
    remarks = []
    open_ = offers.passed_over(candidate, contest, "open")
    cheaper = [tier.name for tier in offers.cheaper_than(candidate, open_, contest)]
    for order, names in (
        ("which declares less" if contest.no_prices else "which is cheaper", cheaper),
        ("which costs the same", [tier.name for tier in open_ if tier.name not in cheaper]),
    ):
        if names:
            remarks.append(f"Whether {listed(names)}, {order}, is enough is open")
    remarks += _of_windows(candidate, contest)
    if contest.slo and not candidate.profile.tier.disk.is_real:
        remarks.append(NOT_ITS_DISK)
    if contest.at_ceiling and not contest.slo:
        remarks.append("Think time holds throughput at its ceiling on every tier: latency ranks")
    if contest.overload.asked and len(contest.candidates) > 1 and not contest.slo:
        remarks.append("All tiers are asked for the same rate, so latency ranks")
    remarks += contest.overload.remarks()
    if all(other.cause in _NOT_THE_DISK for other in contest.candidates):
        remarks += _no_disk_remark(contest)
    if candidate.cause in HARNESS_CAUSES:
        larger = "on a larger one dearer tiers may do more"
        remarks.append(f"With {candidate.name} this machine was the limit: {larger}")
    if chosen := without_prices(candidate, contest):
        remarks.append(f"C{chosen[1:]}")
    if contest.unlike_prices:
        remarks.append(f"{contest.unlike_prices}{_as_long_as(candidate, contest)}")
    if contest.left_out and not contest.slo:
        titles = listed([criterion.title for criterion in contest.left_out])
        remarks.append(f"Not compared, as not every run has it: {titles}")
    if contest.constant_latency and not contest.slo:
        constant = f"the emulated latency of {listed(contest.constant_latency)} is constant"
        remarks.append(f"p99 latency is not compared: {constant}")
    if contest.absent:
        remarks.append(f"Not considered, having no figures: {listed(contest.absent)}")
    if contest.limited_by:
        remarks.append(f"What limits this answer: {', '.join(contest.limited_by)}")
    return remarks


def _of_windows(candidate: Candidate, contest: Contest) -> list[str]:
    """What is proven of the percentiles of an SLO: those of the mean, or of single windows too."""
    confidence = looks.confidence(stats.CONFIDENCE, contest.share)
    said = []
    for objective in contest.slo:
        if METRICS[objective.metric].percent is None:
            continue
        values = (candidate.measured or {}).get(objective, ())
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
    every = [c for name in refused for c in contest.proof.comparisons[name]]
    worse = [comparison.criterion for comparison in every if comparison.outside]
    if not all(criterion.is_latency for criterion in worse):
        return []
    if worse:
        return ["On no tier does the disk limit throughput, but latency depends on it"]
    if contest.left_out or "open" in contest.proof.standings.values():
        return ["On no tier does the disk limit throughput"]
    return ["The disk is not the limit on any tier"]


def why_open(candidate: Candidate, contest: Contest) -> str:
    """Says what is proven of a tier, what is not, and by how much it misses."""
    if barred := contest.barred(candidate):
        return f"whether {candidate.name} is enough cannot be told: {barred}"
    if contest.slo:
        return _open_slo(candidate, contest)
    level = contest.proof.level
    unsure = [c for c in contest.proof.comparisons[candidate.name] if c.p_value > level]
    unproven = list(dict.fromkeys(comparison.criterion for comparison in unsure))
    proven = [criterion for criterion in contest.criteria if criterion not in unproven]
    of_first = [c for c in unsure if c.criterion is unproven[0]]
    worst = max(of_first, key=lambda comparison: comparison.p_value)
    if proven:
        titles = listed([criterion.title for criterion in unproven])
        text = f"{candidate.name} is {within_margins(contest, proven)}"
        text += f"; whether also of the best {titles}"
    else:
        text = f"whether {candidate.name} is {within_margins(contest, unproven)}"
    likely = ", as one of its comparisons may be by chance" if worst.outside else ""
    return f"{text} is not proven: {worst}{likely}; {_more(worst, contest)}"


def _more(unsure: Comparison, contest: Contest) -> str:
    """About how many repetitions would prove it or the contrary, at the noise seen so far."""
    own, of_other = in_common(unsure.candidate, unsure.other, unsure.criterion)
    sign = 1 if unsure.criterion.is_latency else -1
    bound = 1 + sign * contest.margin_of(unsure.criterion) / 100
    room = abs(math.log(unsure.ratio.ratio / bound))
    confidence = looks.confidence(SHOWN, contest.share)
    wanted = stats.repetitions_to_reach(of_other, own, room, confidence)
    if wanted is not None:
        return f"it needs about {counted(max(1, wanted - len(own)), 'more repetition')}"
    if len(own) < 2:
        return "more repetitions are needed"
    return f"more than {stats.MAX_REPETITIONS} repetitions would be needed at this noise"


def _open_slo(candidate: Candidate, contest: Contest) -> str:
    tests = contest.proof.objectives[candidate.name]
    unsure = [str(test) for test in tests if test.p_value > contest.proof.level]
    losers = offers.passed_over(candidate, contest, "not enough")
    before = "".join(f"{_missed(loser, contest)[1]}; " for loser in losers)
    needed = "more repetitions are needed"
    if candidate.cause in HARNESS_CAUSES:
        needed = "this machine was the limit, so what the disk could do was not measured"
    return f"{before}whether {candidate.name} meets {listed(unsure)} is not proven; {needed}"


def none_enough(contest: Contest) -> str:
    if contest.slo:
        missed = (_missed(loser, contest)[1] for loser in contest.candidates)
        return f"no tier meets the SLO: {'; '.join(missed)}"
    proofs = "; ".join(_proof(loser, None, contest)[1] for loser in contest.candidates)
    failing = any(test.missed for test in contest.proof.failing.values())
    best = within_margins(contest, contest.criteria)
    why = "" if failing else f" {best}, each being worse than another"
    return f"no tier is{why or ' enough'}: {proofs}"


# ------------------------------------------------------------------ beside the reason


def least_margins(every: Sequence[Offer]) -> str:
    """`premium is enough if 7.2 % may be lost (p99: 31 %) and ultra if 2.1 % (p99: 12 %)`."""
    parts: list[str] = []
    for offer in every:
        if offer.least_margin_pct is not None and offer.least_margin_pct <= MOST_LOST_PCT:
            tail = offer.least_p99_margin_pct
            beside = "" if tail is None else f" (p99: {format_quantity(tail, '%')})"
            words = ("", "") if parts else (" is enough", " may be lost")
            margin = format_quantity(offer.least_margin_pct, "%")
            parts.append(f"{offer.tier}{words[0]} if {margin}{words[1]}{beside}")
    return listed(parts)


def within_margins(contest: Contest, criteria: Sequence[Criterion]) -> str:
    """`within 5 % of the best throughput and within 20 % of the best p99 latency`."""
    titles = gathered((contest.margin_of(criterion), criterion.title) for criterion in criteria)
    return " and ".join(
        f"within {format_quantity(margin_pct, '%')} of the best {listed(each)}"
        for margin_pct, each in titles.items()
    )


def basis(contest: Contest) -> str:
    """What every figure of an answer rests on: level, repetitions by number, windows."""
    level = format_quantity(100 * looks.confidence(stats.CONFIDENCE, contest.share), "%")
    tiers: dict[str, list[str]] = {}
    for tier in contest.candidates:
        numbers = tier.repetitions or tuple(range(1, 1 + max(map(len, tier.values.values()))))
        in_a_row = len(numbers) > 2 and numbers == tuple(range(numbers[0], numbers[-1] + 1))
        named = f"{numbers[0]} to {numbers[-1]}" if in_a_row else listed(list(map(str, numbers)))
        which = f" (repetitions {named})" if len(numbers) > 1 else ""
        tiers.setdefault(f"n = {len(numbers)}{which}", []).append(tier.name)
    runs = [f"{n} of {listed(names)}" if len(tiers) > 1 else n for n, names in tiers.items()]
    windows = f", windows of {format_seconds(contest.window_s)}" if contest.window_s else ""
    return f"each bound in brackets holds at {level}; {', '.join(runs)}{windows}"
