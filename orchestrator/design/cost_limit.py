"""The most that a campaign may cost (`--max-cost`). Pure."""

import re
from collections.abc import Sequence

from orchestrator.design.costs import RentedItem, rented, total
from orchestrator.errors import UsageError
from orchestrator.model import Plan
from orchestrator.texts import prose

MAX_COST = "--max-cost"
_LIMIT = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]{3})")


def affordable_s(plan: Plan, limit: str | None, elapsed_s: float = 0.0) -> float | None:
    """How long the plan's things may still be rented for `limit`, as `check` passed it, after they
    were for `elapsed_s`; None: no end."""
    hourly = _hourly(rented(plan))
    # No time costs too much where nothing that is rented has a price.
    if not limit or not hourly:
        return None
    most, _ = limit_in(limit)
    return max(0.0, most / hourly * 3600 - elapsed_s)


def _hourly(things: Sequence[RentedItem]) -> float:
    """What all of them cost in an hour, as far as prices are known."""
    hourly = 0.0
    for item in things:
        # `check` has refused items without a price if there is a limit, before anything was rented.
        if item.amount and item.hours:
            hourly += item.amount / item.hours
    return hourly


def check(plan: Plan, limit: str | None, elapsed_s: float = 0.0) -> None:
    """UsageError as of `limit_in`, if the plan would cost more than is left of the limit after
    `elapsed_s`, or if that cannot be told: without a price, or with one in another currency."""
    if not limit:
        return
    most, currency = limit_in(limit)
    things = rented(plan)
    unpriced = [item.title for item in things if item.price is None]
    if unpriced:
        raise _cost_unknown(limit, prose.listed(unpriced))
    # Parts before this one cost what their time cost, whatever was estimated.
    spent = _hourly(things) * elapsed_s / 3600
    amount = spent + _total_in(currency, things)
    if amount > most:
        raise _too_expensive(amount, spent, most, currency)


def _total_in(currency: str, things: Sequence[RentedItem]) -> float:
    """UsageError if some of it has a price in another currency."""
    sums = total(things)
    # A limit has its currency in capitals; a profile may write it otherwise.
    others = [name for name in sums if name.upper() != currency]
    if others:
        raise UsageError(
            f"--max-cost is in {currency}, and there are prices in {prose.listed(others)}",
            advice="tierbench converts no currencies: give the limit, or the prices, in the "
            "same",
        )
    return sum(sums.values())


def _cost_unknown(limit: str, unpriced: str) -> UsageError:
    return UsageError(
        f"what the campaign costs cannot be held under {limit}, because no "
        f"price is known for {unpriced}",
        advice=(
            "give `price` or a region in the profile's tier. For machines give `vm_price` "
            "in its cluster (docs/OPTIONS.md)"
        ),
    )


def _too_expensive(
    amount: float, spent: float, most: float, currency: str
) -> UsageError:
    what = f"the campaign would cost {amount:,.2f} {currency}, more than {most:,.2f}"
    if spent:
        return UsageError(
            f"{what}; {spent:,.2f} {currency} of it are spent",
            advice="go on with more: --max-cost holds for all parts of a campaign",
        )
    return UsageError(
        what,
        advice=(
            "take fewer repetitions, tiers or nodes, or a smaller scale. "
            "--dry-run shows what makes the cost"
        ),
    )


def limit_in(limit: str) -> tuple[float, str]:
    """`5 USD` → amount and currency. UsageError for another text."""
    match = _LIMIT.fullmatch(limit.strip())
    if match is None:
        raise UsageError(
            f"--max-cost {limit!r} is not an amount with a currency",
            advice='write it as in --max-cost "5 USD"',
        )
    return float(match[1]), match[2].upper()
