"""What a disk costs a month at list price: the sum of its components, or None where one is unknown.

monthly = per disk + GiB × price + steps above the free IOPS + steps above the free throughput
        + operations / 10,000 × price; of a virtual machine 730 h × price

Pure.
"""

import math
import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from orchestrator import tier
from orchestrator.tier_catalog.price_rows import UNIT_BYTES, PriceRow, Step

# Hours of which providers make a month: 8,760 hours of a year / 12.
HOURS_PER_MONTH = 730
_OPERATIONS = 10_000  # operations that have one price
UNPLACED = ("", "not stated")  # regions that name none


def monthly(
    row: PriceRow,
    gib: float | None = None,
    iops: float | None = None,
    bytes_per_s: float | None = None,
    operations: float | None = None,
) -> float | None:
    """One disk for one month in `row.currency`. `operations`: I/O operations in the month.

    None where a component that is billed here has no known price, or its quantity is not
    given.
    """
    unit_bytes = 1
    if row.unit:
        unit_bytes = UNIT_BYTES[row.unit]
    # Quantities are in the order of `_components`, each of which has its own here.
    quantities = (
        1,
        HOURS_PER_MONTH,
        gib,
        iops,
        _in_units(bytes_per_s, unit_bytes),
        _in_units(operations, _OPERATIONS),
    )
    total = 0.0
    for component, quantity in zip(_components(row), quantities, strict=True):
        amount = _stepped(component.steps, quantity)
        # A sum without a part of it would make a disk look cheap: no price is better.
        if amount is None:
            return None
        total += amount
    return total


def _in_units(amount: float | None, unit: int) -> float | None:
    if amount is None:
        return None
    return amount / unit


class _Component(NamedTuple):
    """What is paid for, per so much.

    `steps` of its price: one if all cost the same, none if nothing.
    """

    per: str
    steps: Sequence[Step]


def _components(row: PriceRow) -> tuple[_Component, ...]:
    return (
        _Component("disk", _flat(row.per_disk)),
        _Component("hour", _flat(row.per_hour)),
        _Component("GiB", _flat(row.per_gib)),
        _Component("IOPS", row.per_iops),
        _Component(row.unit or "", row.per_throughput),
        _Component("10k operations", _flat(row.per_10k_operations)),
    )


def _flat(price: float | None) -> Sequence[Step]:
    # A price of 0 is not billed. An unknown price stays a step, so that no sum leaves it out.
    if price == 0:
        return ()
    return (Step(price=price),)


def conflicts(
    rows: Sequence[PriceRow],
    is_given: bool,
    region: str | None,
    operations: float | None,
) -> Iterator[tuple[str, str]]:
    """Parameters of the price that would change nothing. `is_given`: the profile has a price."""
    # Both choose among prices of the catalog, of which none counts then.
    if is_given and (region or operations is not None):
        what = (
            "replaces the prices of the catalog: leave out keys that choose among those"
        )
        yield "price", what
        return
    if operations is None:
        return
    if all(row.per_10k_operations == 0 for row in rows):
        what = "has no effect: the catalog knows of no bill for operations on this row"
        yield "operations_per_month", what


def pick(rows: Sequence[PriceRow], region: str | None) -> PriceRow | None:
    """The row of the region; without a region the first, which is of the catalog's usual one."""
    for row in rows:
        if region in (None, row.region):
            return row
    return None


def unlike(stated: Sequence[tier.Price]) -> str:
    """Explains why a comparison of prices may be off; an empty text if it is not."""
    if len(stated) < 2:
        return ""
    lists: set[_ListOfPrices] = set()
    names: dict[str, None] = {}
    for price in stated:
        source = price.source
        # Dated prices of one region may be of several lists; undated ones must be of the same.
        if read_on(price.as_of):
            source = ""
        lists.add(_ListOfPrices(price.currency, price.region, source))
        names[f"{price.currency}, {price.region}, {price.as_of}"] = None
    # Two prices without a region may be of two: they are compared with a caution.
    placed = all(price.region not in UNPLACED for price in stated)
    if len(lists) == 1 and placed:
        return ""
    return f"Prices are not of one list ({'; '.join(names)})"


class _ListOfPrices(NamedTuple):
    """What prices have in common that may be compared. `source`: of those without a date."""

    currency: str
    region: str
    source: str


def read_on(as_of: str) -> date | None:
    """The first day that a date such as `2026-09-20`, `2026-09` or `2026` may mean; else None."""
    match = re.search(r"\b((?:19|20)\d\d)(?:-(\d\d))?(?:-(\d\d))?\b", as_of)
    if match is None:
        return None
    year, month, day = match.groups()
    try:
        return date(int(year), int(month or 1), int(day or 1))
    # The digits may be of no day, as in 2026-02-31.
    except ValueError:
        return None


def stated(row: PriceRow, amount: float) -> tier.Price:
    """The amount with where and when its components were read."""
    return tier.Price(
        monthly=round(amount, 2),
        currency=row.currency,
        region=row.region,
        as_of=row.date,
        source=row.source.text,
        verified=row.source.verified,
    )


def describe(row: PriceRow) -> str:
    """The components in a line: `0.08/GiB + 0.005/IOPS above 3,000 USD`."""
    parts: list[str] = []
    for component in _components(row):
        for step in component.steps:
            parts.append(_named(step, component.per))
    return f"{' + '.join(parts)} {row.currency}"


def _stepped(steps: Sequence[Step], quantity: float | None) -> float | None:
    """Each step prices what lies between its `above` and the next one's."""
    if not steps:
        return 0.0
    # It is billed, and nobody said how much of it: the cost is unknown, and not zero.
    if quantity is None:
        return None
    tops = [step.above for step in steps[1:]]
    tops.append(math.inf)
    total = 0.0
    for step, top in zip(steps, tops, strict=True):
        # The price is made like a tax. Each part of the quantity has the price of its own step.
        inside = min(quantity, top) - step.above
        # Steps rise, so all later ones begin above the quantity too.
        if inside <= 0:
            break
        if step.price is None:
            return None
        total += inside * step.price
    return total


def _named(step: Step, per: str) -> str:
    price = "unknown"
    if step.price is not None:
        price = f"{step.price:g}"
    above = ""
    if step.above:
        above = f" above {step.above:,.0f}"
    return f"{price}/{per}{above}"
