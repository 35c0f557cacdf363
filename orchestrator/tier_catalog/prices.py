"""What a disk costs a month at list price: the sum of its components, or None where one is unknown.

monthly = per disk + GiB × price + steps above the free IOPS + steps above the free throughput
        + operations / 10,000 × price; of a virtual machine 730 h × price

A price list is a file of prices that holds instead of the catalog's own, row by row. Pure.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, NamedTuple

from orchestrator import errors, tier
from orchestrator.keys import strict_yaml
from orchestrator.tier_catalog.catalog import Catalog, provider_of
from orchestrator.tier_catalog.rows import UNIT_BYTES, DiskType, PriceRow, Step, Text

HOURS_PER_MONTH = 730  # of which providers make a month: 8,760 / 12
_OPERATIONS = 10_000  # that have one price
UNPLACED = ("", "not stated")  # regions that name none
_CITED = "this list"


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
    if is_given and (region or operations is not None):
        what = "holds instead of the catalog's: leave out what chooses among those"
        yield "price", what
        return
    if operations is None:
        return
    if all(row.per_10k_operations == 0 for row in rows):
        what = "of this row none are billed, as far as the catalog knows"
        yield "operations_per_month", what


def pick(rows: Sequence[PriceRow], region: str | None) -> PriceRow | None:
    """The row of the region; without a region the first, which is of the catalog's usual one."""
    for row in rows:
        if region in (None, row.region):
            return row
    return None


def unlike(stated: Sequence[tier.Price]) -> str:
    """Explains why a comparison of prices may be off; an empty text if it is not.

    It is not if all are of one region, each with its date, or all without a date but from
    one and the same source.
    """
    if len(stated) < 2:
        return ""
    lists: set[_ListOfPrices] = set()
    names: dict[str, None] = {}
    for price in stated:
        source = price.source
        if read_on(price.as_of):
            source = ""
        lists.add(_ListOfPrices(price.currency, price.region, source))
        names[f"{price.currency}, {price.region}, {price.as_of}"] = None
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
    if quantity is None:
        return None
    tops = [step.above for step in steps[1:]]
    tops.append(math.inf)
    total = 0.0
    for step, top in zip(steps, tops, strict=True):
        inside = min(quantity, top) - step.above
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


class PriceList(strict_yaml.Strict):
    """A file of prices, by the names of the catalog's rows."""

    currency: Text
    region: Text
    as_of: Text
    source: Text
    verified: bool | None = None
    prices: Mapping[str, Mapping[str, Any]]


def with_prices(catalog: Catalog, lists: Mapping[str, str]) -> Catalog:
    """The catalog with the prices of `lists` (file name → YAML).

    A later file holds over an earlier one. UsageError with every mistake.
    """
    mistakes: list[errors.Mistake] = []
    price_by_row: dict[str, PriceRow] = {}
    for where, text in lists.items():
        with strict_yaml.collecting(mistakes):
            price_by_row |= _read(where, text, catalog)
    strict_yaml.raise_all(mistakes)
    if not price_by_row:
        return catalog
    types = {
        name: _priced(name, kind, price_by_row) for name, kind in catalog.types.items()
    }
    vms = dict(catalog.vms)
    for name in vms:
        if name in price_by_row:
            vms[name] = vms[name].model_copy(update={"prices": (price_by_row[name],)})
    return replace(catalog, types=types, vms=vms)


def _read(where: str, text: str, catalog: Catalog) -> dict[str, PriceRow]:
    content = strict_yaml.parse(where, text)
    price_list = strict_yaml.validate(PriceList, f"{where}: ", content)
    source = {
        "text": price_list.source,
        "as_of": price_list.as_of,
        "verified": price_list.verified,
    }
    sources = {_CITED: source}
    common = {
        "currency": price_list.currency,
        "region": price_list.region,
        "source": _CITED,
    }
    mistakes: list[errors.Mistake] = []
    rows: dict[str, PriceRow] = {}
    for name, components in price_list.prices.items():
        place = f"{where}: prices.{name}"
        with strict_yaml.collecting(mistakes):
            _check_row(name, components, catalog, place)
            priced = {**common, **components}
            rows[name] = strict_yaml.validate(PriceRow, place, priced, sources)
    strict_yaml.raise_all(mistakes)
    return rows


def _check_row(
    name: str, components: Mapping[str, Any], catalog: Catalog, place: str
) -> None:
    """UsageError if the catalog has no such row, or it is paid for otherwise."""
    is_machine = name in catalog.vms
    if not is_machine:
        catalog.find(name, place)
    if is_machine != ("per_hour" in components):
        what = "`per_hour` is the price of a virtual machine, and the only one it has"
        raise strict_yaml.refused([errors.Mistake(place, what)])


def _priced(
    full_name: str, kind: DiskType, of_rows: Mapping[str, PriceRow]
) -> DiskType:
    sizes = dict(kind.sizes or {})
    for name, size in sizes.items():
        row = f"{provider_of(full_name)}/{name}"
        if row in of_rows:
            sizes[name] = size.model_copy(update={"prices": (of_rows[row],)})
    prices = kind.prices
    if full_name in of_rows:
        prices = (of_rows[full_name],)
    return kind.model_copy(update={"prices": prices, "sizes": sizes or None})


def format_list(
    prices: Mapping[str, Mapping[str, Any]],
    currency: str,
    region: str,
    as_of: str,
    source: str,
) -> str:
    """The text of a list that a provider's own service gave, which `with_prices` reads."""
    rows = {name: dict(components) for name, components in prices.items()}
    content = {
        "currency": currency,
        "region": region,
        "as_of": as_of,
        "source": source,
        "verified": True,
        "prices": rows,
    }
    written = strict_yaml.written(content)
    return f"# Written by `tierbench prices update`.\n{written}"
