"""Files of prices that hold instead of the catalog's own, row by row: read, and written. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orchestrator import errors
from orchestrator.keys import refusals, strict_records, yaml_text
from orchestrator.tier_catalog.catalog import Catalog, provider_of
from orchestrator.tier_catalog.price_rows import PriceRow, Text
from orchestrator.tier_catalog.rows import DiskType

_CITED = "this list"


class PriceList(strict_records.Strict):
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
        with refusals.collecting(mistakes):
            price_by_row |= _read(where, text, catalog)
    refusals.raise_all(mistakes)
    if not price_by_row:
        return catalog
    types = {
        name: _priced(name, kind, price_by_row) for name, kind in catalog.types.items()
    }
    # The list's price is the only one of its row: `pick` would else take another region's.
    vms = dict(catalog.vms)
    for name in vms:
        if name in price_by_row:
            vms[name] = vms[name].model_copy(update={"prices": (price_by_row[name],)})
    return replace(catalog, types=types, vms=vms)


def _read(where: str, text: str, catalog: Catalog) -> dict[str, PriceRow]:
    content = yaml_text.parse(where, text)
    price_list = strict_records.validate(PriceList, errors.KeyPlace(where), content)
    source = {
        "text": price_list.source,
        "as_of": price_list.as_of,
        "verified": price_list.verified,
    }
    # A row of prices cites its source by name, and a list has one for all its rows.
    sources = {_CITED: source}
    common = {
        "currency": price_list.currency,
        "region": price_list.region,
        "source": _CITED,
    }
    mistakes: list[errors.Mistake] = []
    rows: dict[str, PriceRow] = {}
    for name, components in price_list.prices.items():
        place = errors.KeyPlace(where, ("prices", name))
        with refusals.collecting(mistakes):
            # A name that no row has would change nothing, and nobody would see it.
            _check_row(name, components, catalog, place)
            priced = {**common, **components}
            rows[name] = strict_records.validate(PriceRow, place, priced, sources)
    refusals.raise_all(mistakes)
    return rows


def _check_row(
    name: str, components: Mapping[str, Any], catalog: Catalog, place: errors.KeyPlace
) -> None:
    """UsageError if the catalog has no such row, or it is paid for otherwise."""
    is_machine = name in catalog.vms
    if not is_machine:
        catalog.find(name, place)
    # A disk priced by the hour would be counted as a machine, and cost 730 times as much.
    if is_machine != ("per_hour" in components):
        what = "`per_hour` is the price of a virtual machine, and the only one it has"
        raise refusals.refused([errors.Mistake.at(place, what)])


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
        # Read at the provider's own service, so no copy lies between.
        "verified": True,
        "prices": rows,
    }
    written = yaml_text.written(content)
    return f"# Written by `tierbench prices update`.\n{written}"
