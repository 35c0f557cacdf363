"""What a disk costs a month at list price: the sum of its components, or None where one is unknown.

monthly = per disk + GiB × price + steps above the free IOPS + steps above the free throughput
        + operations / 10,000 × price; of a virtual machine 730 h × price

A price list is a file of prices that holds instead of the catalog's own, row by row. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from orchestrator import errors, tier
from orchestrator.keys import strict_yaml
from orchestrator.tier_catalog.catalog import Catalog, provider_of
from orchestrator.tier_catalog.rows import UNIT_BYTES, DiskType, PriceRow, Step, Text

HOURS_PER_MONTH = 730  # of which providers make a month: 8,760 / 12
UNPLACED = ("", "not stated")  # regions that name none
_CITED = "this list"


def monthly(
    row: PriceRow,
    gib: float | None = None,
    iops: float | None = None,
    bytes_per_s: float | None = None,
    operations: float | None = None,
) -> float | None:
    """One disk for one month in `row.currency`. `operations`: I/O operations in the month. None
    where a component that is billed here has no known price, or its quantity is not given."""
    unit_bytes = 1
    if row.unit:
        unit_bytes = UNIT_BYTES[row.unit]
    throughput = None
    if bytes_per_s is not None:
        throughput = bytes_per_s / unit_bytes
    tens_of_thousands = None
    if operations is not None:
        tens_of_thousands = operations / 10_000
    quantities = (1, HOURS_PER_MONTH, gib, iops, throughput, tens_of_thousands)
    priced = zip(_components(row), quantities, strict=True)
    parts = [_stepped(steps, quantity) for (_, steps), quantity in priced]
    known = [part for part in parts if part is not None]
    if len(known) == len(parts):
        return sum(known)
    return None


def _components(row: PriceRow) -> Iterator[tuple[str, Sequence[Step]]]:
    """What is paid for, and the steps of its price: one if all cost the same, none if nothing."""

    def flat(price: float | None) -> Sequence[Step]:
        if price == 0:
            return ()
        return (Step(price=price),)

    yield "disk", flat(row.per_disk)
    yield "hour", flat(row.per_hour)
    yield "GiB", flat(row.per_gib)
    yield "IOPS", row.per_iops
    yield row.unit or "", row.per_throughput
    yield "10k operations", flat(row.per_10k_operations)


def conflicts(
    rows: Sequence[PriceRow], own: bool, region: str | None, operations: float | None
) -> Iterator[tuple[str, str]]:
    """Parameters of the price that would change nothing. `own`: the profile gives its own price."""
    if own and (region or operations is not None):
        yield (
            "price",
            "holds instead of the catalog's: leave out what chooses among those",
        )
    elif operations is not None and not any(
        row.per_10k_operations != 0 for row in rows
    ):
        yield (
            "operations_per_month",
            "of this row none are billed, as far as the catalog knows",
        )


def pick(rows: Sequence[PriceRow], region: str | None) -> PriceRow | None:
    """That of the region; without one the first, which is of the catalog's usual region."""
    return next((row for row in rows if region in (None, row.region)), None)


def unlike(stated: Sequence[tier.Price]) -> str:
    """Explains why a comparison of prices may be off; an empty text if it is not: all are of one
    region, each with its date, or all without a date but from one and the same source."""
    lists = {
        (p.currency, p.region, "" if read_on(p.as_of) else p.source) for p in stated
    }
    placed = all(price.region not in UNPLACED for price in stated)
    if len(stated) < 2 or (len(lists) == 1 and placed):
        return ""
    named = dict.fromkeys(f"{p.currency}, {p.region}, {p.as_of}" for p in stated)
    return f"Prices are not of one list ({'; '.join(named)})"


def read_on(as_of: str) -> date | None:
    """The first day that a date such as `2026-09-20`, `2026-09` or `2026` may mean; else None."""
    match = re.search(r"\b((?:19|20)\d\d)(?:-(\d\d))?(?:-(\d\d))?\b", as_of)
    if match is None:
        return None
    try:
        return date(*(int(part or 1) for part in match.groups()))
    except ValueError:
        return None


def stated(row: PriceRow, amount: float) -> tier.Price:
    """The amount with where and when its components were read."""
    return tier.Price(
        round(amount, 2), row.currency, row.region, row.date, row.source.text
    )


def describe(row: PriceRow) -> str:
    """The components in a line: `0.08/GiB + 0.005/IOPS above 3,000 USD`."""
    parts = [_named(step, per) for per, steps in _components(row) for step in steps]
    return f"{' + '.join(parts)} {row.currency}"


def _stepped(steps: Sequence[Step], quantity: float | None) -> float | None:
    """Each step prices what lies between its `above` and the next one's."""
    if not steps:
        return 0.0
    if quantity is None:
        return None
    tops = [step.above for step in steps[1:]] + [float("inf")]
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
    if step.price is None:
        price = "unknown"
    else:
        price = f"{step.price:g}"
    if step.above:
        above = f" above {step.above:,.0f}"
    else:
        above = ""
    return f"{price}/{per}{above}"


class PriceList(strict_yaml.Strict):
    """A file of prices, by the names of the catalog's rows."""

    currency: Text
    region: Text
    as_of: Text
    source: Text
    prices: Mapping[str, Mapping[str, Any]]


def with_prices(catalog: Catalog, lists: Mapping[str, str]) -> Catalog:
    """The catalog with the prices of `lists` (file name → YAML); a later file holds over an
    earlier one. UsageError with every mistake."""
    mistakes: list[errors.Mistake] = []
    of_rows: dict[str, PriceRow] = {}
    for where, text in lists.items():
        with strict_yaml.collecting(mistakes):
            of_rows |= _read(where, text, catalog)
    strict_yaml.raise_all(mistakes)
    types = {name: _priced(name, kind, of_rows) for name, kind in catalog.types.items()}
    vms = {
        name: vm.model_copy(update={"prices": (of_rows[name],)})
        if name in of_rows
        else vm
        for name, vm in catalog.vms.items()
    }
    if of_rows:
        return replace(catalog, types=types, vms=vms)
    return catalog


def _read(where: str, text: str, catalog: Catalog) -> dict[str, PriceRow]:
    given = strict_yaml.validate(
        PriceList, f"{where}: ", strict_yaml.parse(where, text)
    )
    source = {_CITED: {"text": given.source, "as_of": given.as_of}}
    common = {"currency": given.currency, "region": given.region, "source": _CITED}
    mistakes: list[errors.Mistake] = []
    rows: dict[str, PriceRow] = {}
    for name, components in given.prices.items():
        place = f"{where}: prices.{name}"
        with strict_yaml.collecting(mistakes):
            if name not in catalog.vms:
                catalog.find(name, place)
            if (name in catalog.vms) != ("per_hour" in components):
                what = "`per_hour` is the price of a virtual machine, and the only one it has"
                raise strict_yaml.refused([errors.Mistake(place, what)])
            rows[name] = strict_yaml.validate(
                PriceRow, place, {**common, **components}, source
            )
    strict_yaml.raise_all(mistakes)
    return rows


def _priced(full: str, kind: DiskType, of_rows: Mapping[str, PriceRow]) -> DiskType:
    sizes = {
        name: size.model_copy(update={"prices": (of_rows[row],)})
        if row in of_rows
        else size
        for name, size in (kind.sizes or {}).items()
        if (row := f"{provider_of(full)}/{name}")
    }
    prices = kind.prices
    if full in of_rows:
        prices = (of_rows[full],)
    return kind.model_copy(update={"prices": prices, "sizes": sizes or None})


def format_list(
    prices: Mapping[str, Mapping[str, Any]],
    currency: str,
    region: str,
    as_of: str,
    source: str,
) -> str:
    """The text of a list, which `with_prices` reads."""
    head = {"currency": currency, "region": region, "as_of": as_of, "source": source}
    rows = {name: dict(components) for name, components in prices.items()}
    content = strict_yaml.written({**head, "prices": rows})
    return f"# Written by `tierbench prices update`.\n{content}"
