"""What each tier of a contest costs and gives, and what one step up or down in price changes. Pure.

Costs are of the disks of all nodes, a month at list price. Virtual machines are not in them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from orchestrator.analysis.conclusions import (
    Change,
    Decision,
    NeighbourTier,
    ObjectiveResult,
    Offer,
    PromiseWord,
)
from orchestrator.analysis.decisions.candidates import NOPM, Aspect, Candidate
from orchestrator.analysis.decisions.contests import (
    ONE_SIDED,
    SHOWN,
    Comparison,
    Contest,
    Promise,
    others,
)
from orchestrator.analysis.statistics import looks, stats
from orchestrator.analysis.telemetry.bottlenecks import NOT_THE_TIER
from orchestrator.metrics import METRICS
from orchestrator.planning import costs
from orchestrator.planning.slo import format_objective
from orchestrator.units import counted, format_change, format_quantity, format_seconds, listed

NOT_ITS_DISK = (
    "An SLO asks for absolute figures, and these are of this machine: its disk is not the "
    "provider's own"
)
MOST_LOST_PCT = 100.0  # a longer latency than that is told in the table only
UNITS = 1_000  # of throughput, which a cost is told of


def offers(contest: Contest) -> tuple[Offer, ...]:
    """One per tier with figures, from cheap to dear (or by declared limits)."""
    return tuple(_offer(tier, contest) for tier in contest.candidates)


def _offer(tier: Candidate, contest: Contest) -> Offer:
    cost = tier.monthly_cost
    rate = next((aspect for aspect in tier.values if not aspect.is_latency), None)
    per_unit, dear, cheap = None, None, None
    if cost is not None and rate is not None:
        per_unit = UNITS * cost / _mean(tier, rate)
        mean = stats.geometric_mean(tier.values[rate], looks.confidence(SHOWN, contest.share))
        if mean.low is not None and mean.high is not None:
            dear, cheap = (UNITS * cost / bound for bound in (mean.low, mean.high))
    price = tier.price
    return Offer(
        tier=tier.name,
        standing=contest.proof.standings[tier.name],
        monthly_cost=cost,
        cost_per_unit=per_unit,
        unit=f"{UNITS:,} NOPM" if rate is NOPM else f"{UNITS:,} transactions/s",
        currency=price.currency if price else "",
        on_front=None if contest.no_prices else _on_front(tier, contest),
        price_region=price.region if price else "",
        price_as_of=price.as_of if price else "",
        price_source=price.source if price else "",
        worst=tuple(
            _change(_worst(tier, aspect, contest))
            for aspect in contest.aspects
            if contest.proof.comparisons[tier.name]
        ),
        slo=tuple(_result(one, contest) for one in contest.proof.promises[tier.name]),
        least_margin_pct=_least_margin(tier, contest, of_tail=False),
        least_p99_margin_pct=_least_margin(tier, contest, of_tail=True),
        cost_per_unit_low=cheap,
        cost_per_unit_high=dear,
    )


def _least_margin(tier: Candidate, contest: Contest, *, of_tail: bool) -> float | None:
    """The least margin, in %, at which it would be proven enough in p99 or in the other criteria:
    of its comparisons the worst bound, at the level of the decision's claims. Rounded up."""
    if contest.slo or contest.barred(tier):
        return None
    losses = [0.0]
    confidence = 1 - 2 * contest.proof.level * contest.share
    for one in contest.proof.comparisons[tier.name]:
        if one.aspect.is_tail is of_tail:
            low, high = one.ratio.at(confidence).interval_pct or (-math.inf, math.inf)
            losses.append(high if one.aspect.is_latency else -low)
    known = len(losses) > 1 and math.isfinite(max(losses))
    return math.ceil(100 * max(losses)) / 100 if known else None


def least_margins(made: Sequence[Offer]) -> str:
    """`premium is enough if 7.2 % may be lost (p99: 31 %) and ultra if 2.1 % (p99: 12 %)`."""
    parts: list[str] = []
    for offer in made:
        if offer.least_margin_pct is not None and offer.least_margin_pct <= MOST_LOST_PCT:
            tail = offer.least_p99_margin_pct
            beside = "" if tail is None else f" (p99: {format_quantity(tail, '%')})"
            words = ("", "") if parts else (" is enough", " may be lost")
            margin = format_quantity(offer.least_margin_pct, "%")
            parts.append(f"{offer.tier}{words[0]} if {margin}{words[1]}{beside}")
    return listed(parts) if parts else ""


def _mean(tier: Candidate, aspect: Aspect) -> float:
    values = tier.values[aspect]
    return sum(values) / len(values)


def _on_front(tier: Candidate, contest: Contest) -> bool | None:
    """As `Offer` says it."""
    cost = tier.monthly_cost or 0.0
    as_cheap = [one for one in others(tier, contest) if (one.monthly_cost or 0.0) <= cost]
    if any(_beats(one, tier, contest) for one in as_cheap):
        return False
    behind = (_proven(one, tier, contest, worse=True) for one in as_cheap)
    return True if all(behind) else None


def _beats(other: Candidate, tier: Candidate, contest: Contest) -> bool:
    """Whether `other`, which is as cheap, is proven within the margin of `tier` in every criterion
    and worse in none, and is cheaper or proven better in one."""
    made = [one for one in contest.proof.comparisons[other.name] if one.other is tier]
    if not made or contest.flattered(other) or tier.limit in NOT_THE_TIER:
        return False
    if _proven(other, tier, contest, worse=True):
        return False
    cheaper = (other.monthly_cost or 0.0) < (tier.monthly_cost or 0.0)
    within = all(one.p_value <= ONE_SIDED for one in made)
    return within and (cheaper or _proven(other, tier, contest, worse=False))


def _proven(other: Candidate, tier: Candidate, contest: Contest, worse: bool) -> bool:
    """Whether `other` is proven worse than `tier`, or better, in any criterion; the level is
    divided by all criteria of all pairs of tiers, as any of them would do."""
    made = [one for one in contest.proof.comparisons[other.name] if one.other is tier]
    family = len(made) * len(contest.candidates) * (len(contest.candidates) - 1)
    return any(
        (one.ratio.ratio > 1) == (one.aspect.is_latency == worse)
        and looks.at_look([one.ratio.p_value / 2], contest.share)[0] <= ONE_SIDED / family
        for one in made
        if one.ratio.p_value is not None
    )


def _worst(tier: Candidate, aspect: Aspect, contest: Contest) -> Comparison:
    made = [one for one in contest.proof.comparisons[tier.name] if one.aspect is aspect]
    return max(made, key=lambda one: one.p_value)


def _change(comparison: Comparison) -> Change:
    low, high = comparison.ratio.interval_pct or (None, None)
    return Change(
        comparison.aspect.metric,
        comparison.aspect.scope,
        comparison.aspect.title,
        comparison.other.name,
        comparison.ratio.change_pct,
        low,
        high,
    )


def _result(promise: Promise, contest: Contest) -> ObjectiveResult:
    met = promise.p_value <= contest.proof.level
    word: PromiseWord = "missed" if promise.missed else "met" if met else "open"
    return ObjectiveResult(
        objective=format_objective(promise.objective),
        word=word,
        measured=promise.measured,
        value=promise.value,
        ci_low=promise.low,
        ci_high=promise.high,
    )


# ------------------------------------------------------------------ one step up or down


def step(tier: Candidate, by: int, contest: Contest) -> NeighbourTier | None:
    """To the next dearer tier (`by` 1) or the next cheaper one (−1); None at the end."""
    place = contest.candidates.index(tier) + by
    if not 0 <= place < len(contest.candidates):
        return None
    other = contest.candidates[place]
    made = contest.proof.comparisons[other.name]
    costs = other.monthly_cost, tier.monthly_cost
    known = not contest.no_prices and costs[0] is not None and costs[1] is not None
    change = (costs[0] or 0.0) - (costs[1] or 0.0) if known else None
    return NeighbourTier(
        other.name, change, tuple(_change(one) for one in made if one.other is tier)
    )


# ------------------------------------------------------------------ one sentence


def best(contest: Contest, aspects: Sequence[Aspect]) -> str:
    """`within 5 % of the best throughput and within 20 % of the best p99 latency`."""
    titles: dict[float, list[str]] = {}
    for aspect in aspects:
        titles.setdefault(contest.margin_of(aspect), []).append(aspect.title)
    return " and ".join(
        f"within {format_quantity(margin_pct, '%')} of the best {listed(each)}"
        for margin_pct, each in titles.items()
    )


def request(tier: Candidate, made: Decision, contest: Contest) -> str:
    """What to buy and why, to be pasted into a purchase request."""
    disks = counted(costs.bought_disks(tier.profile), "disk")
    text = f"{made.workload}: {disks} of {tier.profile.tier.title}"
    if made.monthly_cost is not None and tier.price:
        price = tier.price
        text += (
            f" for {made.monthly_cost:,.2f} {made.currency} a month at list price ({price.region}, "
            f"as of {price.as_of}; VM {'included' if tier.with_vms else 'not included'})"
        )
    as_cheap = [one for one in contest.candidates if one.monthly_cost == tier.monthly_cost]
    which = "one" if contest.no_prices or len(as_cheap) > 1 else "the cheapest"
    mean = any(METRICS[one.metric].percent for one in contest.slo)
    kept = f"{listed(made.slo)}{' in the mean of windows' if mean else ''}"
    aim = f"to meet {kept}" if made.slo else best(contest, contest.aspects)
    if contest.overload.always and len(contest.candidates) == 1 and not made.slo:
        aim = (
            f"to serve the rate asked for, under which {listed(contest.overload.always)} fell back"
        )
    names = listed([candidate.name for candidate in contest.candidates])
    where = (
        ""
        if tier.profile.tier.disk.is_as_bought
        else " (on emulated or otherwise limited disks, not on these)"
    )
    text += f": {which} of {names} that is measured{where} and proven {aim}"
    if made.without_prices:
        text += f"; {made.without_prices}"
    if made.cheaper_open:
        text += f"; not excluded: {listed(made.cheaper_open)}"
    for name, neighbour in (("dearer", made.dearer), ("cheaper", made.cheaper)):
        if neighbour is not None and neighbour.changes:
            text += f"; {_told(name, neighbour, made.currency)}"
    text += f"; {basis(contest)}"
    if contest.limited_by:
        text += f"; what limits this: {', '.join(contest.limited_by)}"
    return f"{text}."


def basis(contest: Contest) -> str:
    """What every figure of an answer rests on: level, repetitions by number, windows."""
    level = format_quantity(100 * looks.confidence(stats.CONFIDENCE, contest.share), "%")
    tiers: dict[str, list[str]] = {}
    for one in contest.candidates:
        numbers = one.repetitions or tuple(range(1, 1 + max(map(len, one.values.values()))))
        in_a_row = len(numbers) > 2 and numbers == tuple(range(numbers[0], numbers[-1] + 1))
        named = f"{numbers[0]} to {numbers[-1]}" if in_a_row else listed(list(map(str, numbers)))
        which = f" (repetitions {named})" if len(numbers) > 1 else ""
        tiers.setdefault(f"n = {len(numbers)}{which}", []).append(one.name)
    runs = [f"{n} of {listed(names)}" if len(tiers) > 1 else n for n, names in tiers.items()]
    windows = f", windows of {format_seconds(contest.window_s)}" if contest.window_s else ""
    return f"each bound in brackets holds at {level}; {', '.join(runs)}{windows}"


def _told(word: str, neighbour: NeighbourTier, currency: str | None) -> str:
    changes = listed([f"{one.title} {_with_bounds(one)}" for one in neighbour.changes])
    if neighbour.cost_change is None:
        return f"with {neighbour.tier}: {changes}"
    if not neighbour.cost_change:
        return f"{neighbour.tier} costs the same, with {changes}"
    amount = f"{abs(neighbour.cost_change):,.2f} {currency}"
    return f"{neighbour.tier} is {amount} {word}, with {changes}"


def _with_bounds(change: Change) -> str:
    text = format_change(change.change_pct)
    if change.ci_low_pct is None or change.ci_high_pct is None:
        return text
    return f"{text} ({format_change(change.ci_low_pct)} to {format_change(change.ci_high_pct)})"
