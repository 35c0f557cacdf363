"""Price lists: a file of prices that holds instead of the catalog's own, row by row. Pure.

A list says once what currency, region, day and source its prices are of; a row may say otherwise.
Its rows have the components of the catalog's `prices` (docs/CATALOG.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from orchestrator.errors import Mistake
from orchestrator.keys.strict_yaml import collecting, parse, raise_all, validate
from orchestrator.tier_catalog.reading import Catalog, provider_of
from orchestrator.tier_catalog.rows import DiskType, PriceRow, Row, Source, Text

_CITED = "this list"


class PriceList(Row):
    """A file of prices, by the names of the catalog's rows."""

    currency: Text
    region: Text
    as_of: Text
    source: Text
    prices: Mapping[str, Mapping[str, Any]]


def with_prices(catalog: Catalog, lists: Mapping[str, str]) -> Catalog:
    """The catalog with the prices of `lists` (file name → YAML); a later file holds over an
    earlier one. UsageError with every mistake."""
    mistakes: list[Mistake] = []
    found: dict[str, PriceRow] = {}
    for where, text in lists.items():
        with collecting(mistakes):
            found |= _read(where, text, catalog)
    raise_all(mistakes)
    types = {name: _priced(name, kind, found) for name, kind in catalog.types.items()}
    return replace(catalog, types=types) if found else catalog


def _read(where: str, text: str, catalog: Catalog) -> dict[str, PriceRow]:
    given = validate(PriceList, f"{where}: ", parse(where, text))
    source = {_CITED: Source(text=given.source, as_of=given.as_of)}
    common = {"currency": given.currency, "region": given.region, "source": _CITED}
    mistakes: list[Mistake] = []
    rows: dict[str, PriceRow] = {}
    for name, components in given.prices.items():
        place = f"{where}: prices.{name}"
        with collecting(mistakes):
            catalog.find(name, place)
            rows[name] = validate(PriceRow, place, {**common, **components}, source)
    raise_all(mistakes)
    return rows


def _priced(full: str, kind: DiskType, found: Mapping[str, PriceRow]) -> DiskType:
    """The type with what was found of it and of its sizes."""
    sizes = {
        name: size.model_copy(update={"prices": (found[row],)}) if row in found else size
        for name, size in (kind.sizes or {}).items()
        if (row := f"{provider_of(full)}/{name}")
    }
    prices = (found[full],) if full in found else kind.prices
    return kind.model_copy(update={"prices": prices, "sizes": sizes or None})


def format_list(
    prices: Mapping[str, Mapping[str, Any]], currency: str, region: str, as_of: str, source: str
) -> str:
    """The text of a list, which `with_prices` reads."""
    rows = [f"  {name}: {{{_flow(components)}}}" for name, components in prices.items()]
    head = {"currency": currency, "region": region, "as_of": as_of, "source": source}
    lines = [f"{key}: {value}" for key, value in head.items()]
    return "\n".join(["# Written by `tierbench prices update`.", *lines, "prices:", *rows, ""])


def _flow(components: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}: {_value(value)}" for key, value in components.items())


def _value(value: Any) -> str:
    if isinstance(value, Iterable) and not isinstance(value, str):
        return f"[{', '.join(f'{{{_flow(step)}}}' for step in value)}]"
    return "null" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)
