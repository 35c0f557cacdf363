"""AWS's Price List of EC2: the file of a region → components of the catalog's prices. Pure.

AWS Billing documents the file ("Getting price list files manually", "Reading the service price
list file"). Nobody needs an account for it. It is a CSV with five rows about the list itself, then
a row with the names of the columns, then a row for each price.
"""

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from orchestrator.keys.shipped_yaml import shipped
from orchestrator.tier_catalog.catalog import Catalog
from orchestrator.tier_catalog.rules import Provisioned

URL = "https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonEC2/current"
REGION = "us-east-1"
SOURCE = f"AWS Price List of AmazonEC2 ({URL})"
_METERS = shipped(__package__, "meters.yaml")["aws"]
_LINUX = _METERS["linux"]
# Ends of usage types before `:`, after the region.
_OF_DISKS = "EBS"
_OF_MACHINES = "BoxUsage"
_COLUMNS = {
    "TermType",
    "Location Type",
    "Currency",
    "Unit",
    "PricePerUnit",
    "usageType",
    *_LINUX,
}


def components(
    lines: Iterable[str], currency: str, catalog: Catalog
) -> dict[str, dict[str, Any]]:
    """Catalog row → the parts of its price. Rows of which a part has no price are left out.

    `lines`: of the file. ValueError if the file lacks a column that is read here.
    """
    machines = catalog.vms_of("aws")
    prices = _prices(lines, currency, machines)
    rows_by_type: dict[str, dict[str, Any]] = {}
    for name in machines:
        if name in prices:
            rows_by_type[f"aws/{name}"] = {"per_hour": prices[name]}
    for name, usage in _METERS["types"].items():
        rule = catalog.types[f"aws/{name}"].provisioned
        parts: dict[str, Any] = {"per_gib": prices.get(f"VolumeUsage.{usage}")}
        if rule:
            parts |= _provisioned(name, usage, rule, prices)
        # A row without one of its parts keeps the catalog's price, and does not get half of one.
        if None not in parts.values():
            rows_by_type[f"aws/{name}"] = parts
    return rows_by_type


def _provisioned(
    name: str, usage: str, rule: Provisioned, prices: Mapping[str, float]
) -> dict[str, Any]:
    """What IOPS and throughput above the included ones cost; None where a price is missing."""
    # What the disk includes is free: the price begins only above it.
    starts = {usage: rule.iops.included or 0}
    # The price of an IOPS of io2 falls in steps, each of which is a usage type of its own.
    if name == "io2":
        starts = _METERS["io2_steps"]
    parts: dict[str, Any] = {"per_iops": _steps(prices, "VolumeP-IOPS", starts)}
    included = rule.throughput.included
    if included:
        above = {usage: included}
        parts["per_throughput"] = _steps(prices, "VolumeP-Throughput", above)
        parts["unit"] = "MiB/s"
    return parts


def _steps(
    prices: Mapping[str, float], what: str, starts: Mapping[str, float]
) -> list[dict[str, float]] | None:
    """The price of a unit, from each number of units on; None if a step has no price.

    `what`: what is bought, as AWS calls it (`VolumeP-IOPS`). `starts`: usage type → the number of
    units from which on its price holds.
    """
    steps: list[dict[str, float]] = []
    for usage, start in starts.items():
        price = prices.get(f"{what}.{usage}")
        if price is None:
            return None
        steps.append({"above": start, "price": price})
    return steps


def _prices(
    lines: Iterable[str], currency: str, machines: Collection[str]
) -> dict[str, float]:
    """Usage type without region and kind (`VolumeUsage.gp2`, `m5.large`) → price of a unit.

    In the catalog's units. A usage type that is given two prices is left out.
    """
    seen: dict[str, set[float]] = {}
    for row in _rows(lines, machines):
        unit = _METERS["units"].get(row["Unit"])
        price = float(row["PricePerUnit"] or 0)
        # A unit that is not known, or no price, is of something that the catalog does not have.
        if not unit or not price:
            continue
        if _is_list_price(row, currency):
            usage = row["usageType"].rpartition(":")[2]
            seen.setdefault(usage, set()).add(round(price / unit, 10))
    prices: dict[str, float] = {}
    for usage, usage_prices in seen.items():
        # Nobody says which of two prices is meant.
        if len(usage_prices) == 1:
            prices[usage] = usage_prices.pop()
    return prices


def _is_list_price(row: Mapping[str, str], currency: str) -> bool:
    """Whether it is the price of a disk, or of a machine with Linux alone, paid as it is used."""
    # A region's file also has reservations, and Local Zones with prices of their own.
    if row["TermType"] != "OnDemand" or row["Location Type"] != "AWS Region":
        return False
    if row["Currency"] != currency:
        return False
    is_disk = row["Product Family"] in _METERS["families"]
    return bool(is_disk or _LINUX.items() <= row.items())


def _columns(rows: Iterable[list[str]]) -> list[str]:
    """The names in the row of columns. ValueError if there are too few."""
    columns: list[str] = []
    for row in rows:
        # Rows about the list itself come before.
        if row and row[0] == "SKU":
            columns = row
            break
    absent = sorted(_COLUMNS - {*columns})
    if absent:
        raise ValueError(f"no column {', '.join(absent)}")
    return columns


def _rows(lines: Iterable[str], machines: Collection[str]) -> Iterator[dict[str, str]]:
    """The rows of disks and of these machines, by column: a few of hundreds of megabytes."""
    rows = csv.reader(lines)
    columns = _columns(rows)
    usage = columns.index("usageType")
    for row in rows:
        if len(row) != len(columns):
            continue
        # Usages are such as `USE1-EBS:VolumeUsage.gp3` and `BoxUsage:m5.large`. All other rows are
        # passed by at once, as the list has hundreds of megabytes.
        kind, _, what = row[usage].rpartition(":")
        is_machine = kind.endswith(_OF_MACHINES) and what in machines
        if is_machine or kind.endswith(_OF_DISKS):
            yield dict(zip(columns, row, strict=True))
