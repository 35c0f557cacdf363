"""Azure's Retail Prices API: what to ask, and its answer → components of the catalog's prices.

Pure; documented by Microsoft as "Azure Retail Prices REST API": no account is needed, an
answer has `Items` and, where there is more, `NextPageLink`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from orchestrator.keys.shipped_yaml import shipped
from orchestrator.tier_catalog.catalog import Catalog, provider_of
from orchestrator.tier_catalog.prices import HOURS_PER_MONTH

URL = "https://prices.azure.com/api/retail/prices"
REGION = "eastus"
SOURCE = f"Azure Retail Prices API ({URL})"
_METERS = shipped(__package__, "meters.yaml")["azure"]
_OF_SIZES = _METERS["of_sizes"]
_PROVISIONED = _METERS["provisioned"]

Item = Mapping[str, Any]
Components = dict[str, Any]
# The number of units from which a price holds → price of a unit.
Steps = dict[float, float]


class Meter(NamedTuple):
    """What is counted, as Azure names it."""

    product: str
    name: str
    unit: str


Meters = Mapping[Meter, Steps]


def questions(region: str, currency: str, catalog: Catalog) -> Iterator[dict[str, str]]:
    """The parameters of one request for each kind of disk, and for each virtual machine."""
    for wanted in _wanted(catalog):
        # The service wants texts in quotes, the currency as well.
        place = f"armRegionName eq '{region}' and priceType eq 'Consumption'"
        yield {
            "currencyCode": f"'{currency}'",
            "$filter": f"{wanted} and {place}",
        }


def _wanted(catalog: Catalog) -> Iterator[str]:
    products = list(_OF_SIZES.values())
    products += [product for product, _ in _PROVISIONED.values()]
    for product in products:
        yield f"serviceName eq 'Storage' and productName eq '{product}'"
    for name in catalog.vms_of("azure"):
        yield f"serviceName eq 'Virtual Machines' and armSkuName eq '{name}'"


def components(items: Iterable[Item], catalog: Catalog) -> dict[str, Components]:
    """Prices by catalog row. A row whose meters are not all there is left out."""
    meters = _meters(items)
    steps_by_row = dict(_fixed_sizes(meters, catalog))
    for full_name, (product, sku) in _PROVISIONED.items():
        priced = _provisioned(meters, product, sku)
        if priced:
            steps_by_row[full_name] = priced
    for vm in catalog.vms_of("azure"):
        steps = _machine_price(meters, vm)
        if steps:
            steps_by_row[f"azure/{vm}"] = {"per_hour": steps[0.0]}
    return steps_by_row


def _fixed_sizes(meters: Meters, catalog: Catalog) -> Iterator[tuple[str, Components]]:
    """Row → its prices."""
    for full_name, product in _OF_SIZES.items():
        bills_operations = full_name in _METERS["bills_operations"]
        for size in catalog.types[full_name].sizes or {}:
            priced = _fixed_size(meters, product, size, bills_operations)
            if priced:
                yield f"{provider_of(full_name)}/{size}", priced


def _fixed_size(
    meters: Meters, product: str, size: str, bills_operations: bool
) -> Components:
    """Empty if the disk's own price is not told."""
    # The disk is found by its exact name and unit. `P15 LRS Disk Mount`, for one, is the fee for
    # sharing a disk.
    disk = meters.get(Meter(product, f"{size} LRS Disk", "1/Month"))
    if not disk:
        return {}
    priced: Components = {"per_disk": disk[0.0]}
    if bills_operations:
        meter = Meter(product, f"{size} LRS Disk Operations", "10K")
        operations = meters.get(meter)
        priced["per_10k_operations"] = None  # the price is not told
        if operations:
            priced["per_10k_operations"] = operations[0.0]
    return priced


def _provisioned(meters: Meters, product: str, sku: str) -> Components:
    """Empty if a meter is not told."""
    by_component: dict[str, Steps] = {}
    for component, (what, unit) in _METERS["of_provisioned"].items():
        steps = meters.get(Meter(product, f"{sku} {what}", unit))
        # A sum without one of its parts would be too low: the catalog's price stays.
        if not steps:
            return {}
        by_component[component] = steps
    priced: Components = {}
    for component, steps in by_component.items():
        # These meters count hours, and prices of the catalog are of a month.
        monthly = {start: _monthly(price) for start, price in steps.items()}
        if component == "per_gib":
            priced[component] = monthly[0.0]
        else:
            priced[component] = _priced_steps(monthly)
    priced["unit"] = "MB/s"
    return priced


def _monthly(hourly: float) -> float:
    return round(hourly * HOURS_PER_MONTH, 10)


def _priced_steps(steps: Steps) -> list[dict[str, float]]:
    """What is included at first, for nothing, is no step."""
    priced: list[dict[str, float]] = []
    for start, price in steps.items():
        if start or price:
            priced.append({"above": start, "price": price})
    return priced


def _machine_price(meters: Meters, vm: str) -> Steps | None:
    """The price of the machine with Linux; None unless there is exactly one."""
    # `Standard_D8s_v5` is sold as the meter `D8s v5`.
    meter_name = vm.removeprefix("Standard_").replace("_", " ")
    linux_prices: list[Steps] = []
    for meter, steps in meters.items():
        # `D8s v5 Spot` is a machine that may be taken away, and not the one that is meant.
        if meter.name != meter_name or meter.unit != "1 Hour":
            continue
        if not meter.product.startswith("Virtual Machines "):
            continue
        if not meter.product.endswith(" Windows"):
            linux_prices.append(steps)
    # Nobody says which of two prices is meant: none is better than the wrong one.
    if len(linux_prices) != 1:
        return None
    return linux_prices[0]


def _meters(items: Iterable[Item]) -> dict[Meter, Steps]:
    """The newest price of each step of each meter that is paid as used."""
    # The list also has reservations, which are paid for years, and development prices.
    used = [item for item in items if item.get("type") == "Consumption"]
    meters: dict[Meter, Steps] = {}
    # The newest first, as an answer may have earlier prices of a meter as well.
    for item in sorted(used, key=_effective_from, reverse=True):
        meter = Meter(
            str(item["productName"]), str(item["meterName"]), str(item["unitOfMeasure"])
        )
        start = float(item.get("tierMinimumUnits") or 0.0)
        meters.setdefault(meter, {}).setdefault(start, float(item["retailPrice"]))
    # `PriceRow` takes steps only as they rise.
    return {meter: dict(sorted(steps.items())) for meter, steps in meters.items()}


def _effective_from(item: Item) -> str:
    # All dates have one form and are of UTC, so their texts sort as their times do.
    return str(item["effectiveStartDate"])
