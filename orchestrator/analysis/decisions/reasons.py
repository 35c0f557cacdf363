"""A decision in words: why a tier is named for a workload, or none. Pure.

The rules are in `contests`, `offers` and `decision`; nothing is decided here."""

import math
from collections.abc import Iterator, Sequence
from functools import partial

from orchestrator.analysis.conclusions import Offer
from orchestrator.analysis.decisions import offers
from orchestrator.analysis.decisions.candidates import Candidate, Criterion
from orchestrator.analysis.decisions.contests import (
    SHOWN,
    Comparison,
    Contest,
    in_common,
)
from orchestrator.analysis.statistics import looks, stats
from orchestrator.analysis.telemetry.causes import HARNESS_CAUSES
from orchestrator.keys import messages
from orchestrator.metrics import METRICS
from orchestrator.planning.slo import format_objective
from orchestrator.units import (
    counted,
    format_quantity,
    format_seconds,
    gathered,
    listed,
)

MOST_LOST_PCT = 100.0  # a longer latency than that is told in the table only
SERVED = "served rate"  # the criterion, where a tier is overloaded
said = partial(messages.said, __package__, "decisions.yaml")
_LEAST = ("declares the lowest limits of them", "of those with a price costs least")
_NOT_THE_DISK = frozenset(
    {"cpu_bound", "single_core", "network_bound", "load_bound", "in_cache"}
)


def which(candidate: Candidate, contest: Contest) -> str:
    """What the tier named is: the cheapest, or the least, where prices are not known."""
    if not contest.no_prices:
        return "cheapest tier"
    lowest = "known price" if offers.by_price(candidate, contest) else "declared limits"
    return f"tier with the lowest {lowest}"


def without_prices(candidate: Candidate, contest: Contest) -> str:
    """How it was chosen where not all prices could be compared, and why; else empty."""
    by = (
        "the prices that are known"
        if offers.by_price(candidate, contest)
        else "declared limits"
    )
    return f"chosen by {by}: {contest.no_prices}" if contest.no_prices else ""


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
    others, cost = offers.also_enough(candidate, contest), candidate.monthly_cost
    equal = [c.name for c in others if not contest.no_prices and c.monthly_cost == cost]
    open_ = offers.passed_over(candidate, contest, "open")
    case = "named, as others" if contest.no_prices and not open_ else "named"
    criterion = proofs[-1][0] if proofs else ""
    if contest.overload.always and not proofs:
        criterion = SERVED
        case = "named alone" if len(contest.candidates) == 1 else case
    return criterion, said(
        "named, at one price" if equal else case,
        tier=candidate.name,
        which=which(candidate, contest),
        best=within_margins(contest, contest.criteria),
        equal=equal,
        alike=[tier.name for tier in others],
        least=_LEAST[offers.by_price(candidate, contest)],
        worse="; ".join(text for _, text in proofs),
    )


def why_slo(candidate: Candidate, contest: Contest) -> tuple[str, str]:
    losers = offers.passed_over(candidate, contest, "not enough")
    missed = [_missed(loser, contest) for loser in losers]
    kept = listed([str(test) for test in contest.proof.objectives[candidate.name]])
    text = f"{candidate.name} is the {which(candidate, contest)} proven to meet {kept}"
    criterion = missed[-1][0] if missed else ""
    return criterion, "; ".join([text, *(miss for _, miss in missed)])


def _proof(
    loser: Candidate, winner: Candidate | None, contest: Contest
) -> tuple[str, str]:
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
    """What a reader of the answer must know besides: texts by name, where there is any `of`."""
    open_ = offers.passed_over(candidate, contest, "open")
    cheaper = [tier.name for tier in offers.cheaper_than(candidate, open_, contest)]
    by_margin, load, chosen = (
        not contest.slo,
        contest.overload,
        without_prices(candidate, contest),
    )
    no_disk = _no_disk(contest)
    prices = contest.unlike_prices and contest.unlike_prices + _as_long_as(
        candidate, contest
    )
    titles = listed([criterion.title for criterion in contest.left_out])
    every: tuple[tuple[str, object], ...] = (
        (
            "open, declares less" if contest.no_prices else "open, cheaper",
            listed(cheaper),
        ),
        (
            "open, costs the same",
            listed([t.name for t in open_ if t.name not in cheaper]),
        ),
        *_windows(candidate, contest),
        ("not its disk", not by_margin and not candidate.profile.tier.disk.is_real),
        ("at ceiling", by_margin and contest.at_ceiling),
        ("same rate", by_margin and load.asked and len(contest.candidates) > 1),
        ("overloaded", load.always),
        ("overloaded at times", listed(load.unproven)),
        (no_disk, no_disk),
        ("machine", candidate.cause in HARNESS_CAUSES and candidate.name),
        ("as it is", f"{chosen[:1].upper()}{chosen[1:]}"),
        ("as it is", prices),
        ("left out", by_margin and titles),
        ("constant latency", by_margin and listed(contest.constant_latency)),
        ("absent", listed(contest.absent)),
        ("limited by", ", ".join(contest.limited_by)),
    )
    level = format_quantity(
        100 * looks.confidence(stats.CONFIDENCE, contest.share), "%"
    )
    return [said(name, of=of, level=level) for name, of in every if of]


def _windows(candidate: Candidate, contest: Contest) -> Iterator[tuple[str, str]]:
    """What is proven of the percentiles of an SLO: those of the mean, or of single windows too."""
    confidence = looks.confidence(stats.CONFIDENCE, contest.share)
    for objective in contest.slo:
        if METRICS[objective.metric].percent is not None:
            values = (candidate.measured or {}).get(objective, ())
            kept = stats.share_below(values, objective.limit, confidence) >= 0.9
            yield (
                "windows kept" if kept else "windows open",
                format_objective(objective),
            )


def _no_disk(contest: Contest) -> str:
    """Name of what is said if CPU or think time was the limit on every tier: as much as the
    comparisons allow; or an empty one."""
    if not all(tier.cause in _NOT_THE_DISK for tier in contest.candidates):
        return ""
    refused = contest.standing("not enough")
    every = [c for tier in refused for c in contest.proof.comparisons[tier.name]]
    worse = [comparison.criterion for comparison in every if comparison.outside]
    if worse:
        return "disk, but latency" if all(of.is_latency for of in worse) else ""
    unproven = contest.left_out or contest.standing("open")
    return "disk, as far as compared" if unproven else "disk"


def why_open(candidate: Candidate, contest: Contest) -> str:
    """Says what is proven of a tier, what is not, and by how much it misses."""
    if barred := contest.barred(candidate):
        return said("cannot be told", tier=candidate.name, why=barred)
    if contest.slo:
        return _open_slo(candidate, contest)
    level = contest.proof.level
    unsure = [c for c in contest.proof.comparisons[candidate.name] if c.p_value > level]
    unproven = list(dict.fromkeys(comparison.criterion for comparison in unsure))
    proven = [criterion for criterion in contest.criteria if criterion not in unproven]
    of_first = [c for c in unsure if c.criterion is unproven[0]]
    worst = max(of_first, key=lambda comparison: comparison.p_value)
    likely = ", as one of its comparisons may be by chance" if worst.outside else ""
    return said(
        "proven in part" if proven else "not proven",
        tier=candidate.name,
        proven=within_margins(contest, proven),
        unproven=within_margins(contest, unproven),
        titles=listed([criterion.title for criterion in unproven]),
        worst=f"{worst}{likely}",
        more=_more(worst, contest),
    )


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
    return (
        f"more than {stats.MAX_REPETITIONS} repetitions would be needed at this noise"
    )


def _open_slo(candidate: Candidate, contest: Contest) -> str:
    tests = contest.proof.objectives[candidate.name]
    unsure = [str(test) for test in tests if test.p_value > contest.proof.level]
    losers = offers.passed_over(candidate, contest, "not enough")
    return said(
        "open, with an SLO",
        tier=candidate.name,
        unsure=unsure,
        before="".join(f"{_missed(loser, contest)[1]}; " for loser in losers),
        machine=candidate.cause in HARNESS_CAUSES,
    )


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
        if (
            offer.least_margin_pct is not None
            and offer.least_margin_pct <= MOST_LOST_PCT
        ):
            tail = offer.least_p99_margin_pct
            beside = "" if tail is None else f" (p99: {format_quantity(tail, '%')})"
            words = ("", "") if parts else (" is enough", " may be lost")
            margin = format_quantity(offer.least_margin_pct, "%")
            parts.append(f"{offer.tier}{words[0]} if {margin}{words[1]}{beside}")
    return listed(parts)


def within_margins(contest: Contest, criteria: Sequence[Criterion]) -> str:
    """`within 5 % of the best throughput and within 20 % of the best p99 latency`."""
    titles = gathered(
        (contest.margin_of(criterion), criterion.title) for criterion in criteria
    )
    return " and ".join(
        f"within {format_quantity(margin_pct, '%')} of the best {listed(each)}"
        for margin_pct, each in titles.items()
    )


def basis(contest: Contest) -> str:
    """What every figure of an answer rests on: level, repetitions by number, windows."""
    level = format_quantity(
        100 * looks.confidence(stats.CONFIDENCE, contest.share), "%"
    )
    tiers: dict[str, list[str]] = {}
    for tier in contest.candidates:
        numbers = tier.repetitions or tuple(
            range(1, 1 + max(map(len, tier.values.values())))
        )
        in_a_row = len(numbers) > 2 and numbers == tuple(
            range(numbers[0], numbers[-1] + 1)
        )
        named = (
            f"{numbers[0]} to {numbers[-1]}"
            if in_a_row
            else listed(list(map(str, numbers)))
        )
        which = f" (repetitions {named})" if len(numbers) > 1 else ""
        tiers.setdefault(f"n = {len(numbers)}{which}", []).append(tier.name)
    runs = [
        f"{n} of {listed(names)}" if len(tiers) > 1 else n for n, names in tiers.items()
    ]
    windows = (
        f", windows of {format_seconds(contest.window_s)}" if contest.window_s else ""
    )
    return f"each bound in brackets holds at {level}; {', '.join(runs)}{windows}"
