"""What each tier of a contest costs and gives, and what one step up or down in price changes. Pure.

Costs are of the disks of all nodes, a month at list price. Virtual machines are not in them.
"""

from __future__ import annotations

from orchestrator.analysis.conclusions import (
    Change,
    Decision,
    ObjectiveResult,
    Offer,
    PromiseWord,
    Step,
)
from orchestrator.analysis.decisions.candidates import NOPM, Aspect, Candidate
from orchestrator.analysis.decisions.contests import Comparison, Contest, Promise
from orchestrator.planning.slo import format_objective
from orchestrator.units import format_change, format_quantity, listed

NOT_ITS_DISK = (
    "An SLO asks for absolute figures, and these are of this machine: its disk is not the "
    "provider's own"
)
UNITS = 1_000  # of throughput, which a cost is told of


def offers(contest: Contest) -> tuple[Offer, ...]:
    """One per tier with figures, from cheap to dear (or by declared limits)."""
    return tuple(_offer(tier, contest) for tier in contest.candidates)


def _offer(tier: Candidate, contest: Contest) -> Offer:
    cost = tier.monthly_cost
    rate = next((aspect for aspect in tier.values if not aspect.is_latency), None)
    per_unit = None if cost is None or rate is None else UNITS * cost / _mean(tier, rate)
    price = tier.price
    return Offer(
        tier=tier.name,
        standing=contest.proof.standings[tier.name],
        monthly_cost=cost,
        cost_per_unit=per_unit,
        unit=f"{UNITS:,} NOPM" if rate is NOPM else f"{UNITS:,} transactions/s",
        currency=price.currency if price else "",
        on_front=None
        if contest.no_prices
        else not any(_beats(other, tier, contest) for other in contest.candidates),
        price_region=price.region if price else "",
        price_as_of=price.as_of if price else "",
        price_source=price.source if price else "",
        worst=tuple(
            _change(_worst(tier, aspect, contest))
            for aspect in contest.aspects
            if contest.proof.comparisons[tier.name]
        ),
        slo=tuple(_result(one, contest) for one in contest.proof.promises[tier.name]),
    )


def _mean(tier: Candidate, aspect: Aspect) -> float:
    values = tier.values[aspect]
    return sum(values) / len(values)


def _beats(other: Candidate, tier: Candidate, contest: Contest) -> bool:
    """Whether `other` is as cheap and as good in every criterion and better in one, by means."""
    pairs = [(other.monthly_cost or 0.0, tier.monthly_cost or 0.0)]
    for aspect in (*contest.aspects, *contest.left_out):
        if aspect in tier.values and aspect in other.values:
            sign = 1 if aspect.is_latency else -1
            pairs.append((sign * _mean(other, aspect), sign * _mean(tier, aspect)))
    return all(one <= two for one, two in pairs) and any(one < two for one, two in pairs)


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


def step(tier: Candidate, by: int, contest: Contest) -> Step | None:
    """To the next dearer tier (`by` 1) or the next cheaper one (−1); None at the end."""
    place = contest.candidates.index(tier) + by
    if not 0 <= place < len(contest.candidates):
        return None
    other = contest.candidates[place]
    made = contest.proof.comparisons[other.name]
    costs = other.monthly_cost, tier.monthly_cost
    known = not contest.no_prices and costs[0] is not None and costs[1] is not None
    change = (costs[0] or 0.0) - (costs[1] or 0.0) if known else None
    return Step(other.name, change, tuple(_change(one) for one in made if one.other is tier))


# ------------------------------------------------------------------ one sentence


def request(tier: Candidate, made: Decision, contest: Contest) -> str:
    """What to buy and why, to be pasted into a purchase request."""
    nodes = tier.profile.cluster.nodes
    disks = f"{nodes} disks" if nodes > 1 else "1 disk"
    text = f"{made.workload}: {disks} of {tier.profile.tier.title}"
    if made.monthly_cost is not None and tier.price:
        price = tier.price
        text += (
            f" for {made.monthly_cost:,.2f} {made.currency} a month at list price ({price.region}, "
            f"as of {price.as_of}; VM {'included' if tier.with_vms else 'not included'})"
        )
    which = "cheapest" if not contest.no_prices else "least"
    margin = format_quantity(contest.margin_pct, "%")
    titles = listed([aspect.title for aspect in contest.aspects])
    aim = f"to meet {listed(made.slo)}" if made.slo else f"within {margin} of the best {titles}"
    if contest.overload.always and len(contest.candidates) == 1 and not made.slo:
        aim = (
            f"to serve the rate asked for, under which {listed(contest.overload.always)} fell back"
        )
    names = listed([candidate.name for candidate in contest.candidates])
    where = (
        ""
        if tier.profile.tier.is_as_bought
        else " (on emulated or otherwise limited disks, not on these)"
    )
    text += f": the {which} of {names} that is measured{where} and proven {aim}"
    if made.cheaper_open:
        text += f"; not excluded: {listed(made.cheaper_open)}"
    for name, neighbour in (("dearer", made.dearer), ("cheaper", made.cheaper)):
        if neighbour is not None and neighbour.changes:
            text += f"; {_told(name, neighbour, made.currency)}"
    if contest.limited_by:
        text += f"; what limits this: {', '.join(contest.limited_by)}"
    return f"{text}."


def _told(word: str, neighbour: Step, currency: str | None) -> str:
    changes = listed([f"{one.title} {format_change(one.change_pct)}" for one in neighbour.changes])
    if neighbour.cost_change is None:
        return f"with {neighbour.tier}: {changes}"
    if not neighbour.cost_change:
        return f"{neighbour.tier} costs the same, with {changes}"
    amount = f"{abs(neighbour.cost_change):,.2f} {currency}"
    return f"{neighbour.tier} is {amount} {word}, with {changes}"
