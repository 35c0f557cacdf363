"""AWS's Price List of EC2: the file of a region → components of the catalog's prices.

Pure; documented by AWS Billing ("Getting price list files manually", "Reading the service price
list file"): no account is needed, and a CSV has five rows of metadata and then one of columns."""

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from orchestrator.keys.strict_yaml import shipped
from orchestrator.tier_catalog.catalog import Catalog

URL = "https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonEC2/current"
REGION = "us-east-1"
SOURCE = f"AWS Price List of AmazonEC2 ({URL})"
_METERS = shipped(__package__, "meters.yaml")["aws"]
_LINUX = _METERS["linux"]
# ends of usage types before `:`, after the region
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
    """Prices by catalog row, where all parts are there. ValueError without the columns read."""
    machines = catalog.vms_of("aws")
    prices = _prices(lines, currency, machines)
    of_rows: dict[str, dict[str, Any]] = {
        f"aws/{name}": {"per_hour": prices[name]} for name in machines if name in prices
    }
    for name, usage in _METERS["types"].items():
        parts: dict[str, Any] = {"per_gib": prices.get(f"VolumeUsage.{usage}")}
        rule = catalog.types[f"aws/{name}"].provisioned
        if rule:
            if name != "io2":
                free = {usage: rule.iops.included or 0}
            else:
                free = _METERS["io2_steps"]
            parts["per_iops"] = _steps(prices, "VolumeP-IOPS", free)
            included = rule.throughput.included
            if included:
                steps = _steps(prices, "VolumeP-Throughput", {usage: included})
                parts |= {"per_throughput": steps, "unit": "MiB/s"}
        if None not in parts.values():
            of_rows[f"aws/{name}"] = parts
    return of_rows


def _steps(
    prices: Mapping[str, float], what: str, starts: Mapping[str, float]
) -> list[dict[str, float]] | None:
    """Of usage type → from so many units on; None if one has no price."""
    keys = {f"{what}.{usage}": start for usage, start in starts.items()}
    if not keys.keys() <= prices.keys():
        return None
    return [{"above": start, "price": prices[key]} for key, start in keys.items()]


def _prices(
    lines: Iterable[str], currency: str, machines: Collection[str]
) -> dict[str, float]:
    """`VolumeUsage.gp2` or `m5.large`, usage types without region and kind → price of a unit, in
    the catalog's units. One that is given two prices is left out."""
    prices: dict[str, set[float]] = {}
    for row in _rows(lines, machines):
        own = row["TermType"] == "OnDemand" and row["Location Type"] == "AWS Region"
        unit = _METERS["units"].get(row["Unit"])
        price = float(row["PricePerUnit"] or 0)
        meant = (
            row["Product Family"] in _METERS["families"]
            or _LINUX.items() <= row.items()
        )
        if own and meant and row["Currency"] == currency and unit and price:
            usage = row["usageType"].rpartition(":")[2]
            prices.setdefault(usage, set()).add(round(price / unit, 10))
    return {
        usage: of_usage.pop()
        for usage, of_usage in prices.items()
        if len(of_usage) == 1
    }


def _rows(lines: Iterable[str], machines: Collection[str]) -> Iterator[dict[str, str]]:
    """Those of disks and of these machines, by column: a few of hundreds of megabytes."""
    rows = csv.reader(lines)
    columns = next((row for row in rows if row and row[0] == "SKU"), [])
    absent = sorted(_COLUMNS - {*columns})
    if absent:
        raise ValueError(f"no column {', '.join(absent)}")
    usage = columns.index("usageType")
    for row in rows:
        if len(row) != len(columns):
            continue
        kind, _, what = row[usage].rpartition(":")
        if kind.endswith(_OF_DISKS) or (
            kind.endswith(_OF_MACHINES) and what in machines
        ):
            yield dict(zip(columns, row, strict=True))
