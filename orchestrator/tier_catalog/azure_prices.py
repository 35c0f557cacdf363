"""Azure's Retail Prices API: what to ask, and its answer → components of the catalog's prices.

Pure; documented by Microsoft as "Azure Retail Prices REST API": no account is needed, an answer has
`Items` and, where there is more, `NextPageLink`. A meter is taken only by its exact name and unit:
`P15 LRS Disk Mount`, for one, is the fee for sharing a disk, `D8s v5 Spot` that of a machine which
may be taken away. Hourly meters count 730 h a month."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from orchestrator.keys.strict_yaml import shipped
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


def questions(region: str, currency: str, catalog: Catalog) -> Iterator[dict[str, str]]:
    """The parameters of one request for each kind of disk, and for each virtual machine."""
    disks = (*_OF_SIZES.values(), *(product for product, _ in _PROVISIONED.values()))
    wanted = [
        f"serviceName eq 'Storage' and productName eq '{product}'" for product in disks
    ]
    wanted += [
        f"serviceName eq 'Virtual Machines' and armSkuName eq '{name}'"
        for name in catalog.vms_of("azure")
    ]
    for what in wanted:
        where = f"{what} and armRegionName eq '{region}' and priceType eq 'Consumption'"
        yield {"currencyCode": f"'{currency}'", "$filter": where}


def components(items: Iterable[Item], catalog: Catalog) -> dict[str, Components]:
    """Prices by catalog row. A row whose meters are not all there is left out."""
    meters = _meters(items)
    of_rows: dict[str, Components] = {}
    for full, product in _OF_SIZES.items():
        for size in catalog.types[full].sizes or {}:
            disk = meters.get((product, f"{size} LRS Disk", "1/Month"))
            if disk:
                name = f"{provider_of(full)}/{size}"
                of_rows[name] = {"per_disk": disk[0.0]}
                if (
                    full in _METERS["bills_operations"]
                ):  # null where their price is not told
                    price = meters.get((product, f"{size} LRS Disk Operations", "10K"))
                    of_rows[name]["per_10k_operations"] = price[0.0] if price else None
    for full, (product, sku) in _PROVISIONED.items():
        kinds = _METERS["of_provisioned"].items()
        parts = {
            name: meters.get((product, f"{sku} {of}", unit))
            for name, (of, unit) in kinds
        }
        if all(parts.values()):
            of_rows[full] = _provisioned(parts)
    for size in catalog.vms_of("azure"):
        meter = size.removeprefix("Standard_").replace("_", " ")
        of_linux = [
            steps
            for (product, name, unit), steps in meters.items()
            if (name, unit) == (meter, "1 Hour")
            and product.startswith("Virtual Machines ")
            and not product.endswith(" Windows")
        ]
        if len(of_linux) == 1:
            of_rows[f"azure/{size}"] = {"per_hour": of_linux[0][0.0]}
    return of_rows


Steps = dict[float, float]  # from that many units on → price of a unit


def _meters(items: Iterable[Item]) -> dict[tuple[str, str, str], Steps]:
    """The newest price of each step of each meter that is paid as used."""
    used = [item for item in items if item.get("type") == "Consumption"]
    meters: dict[tuple[str, str, str], Steps] = {}
    for item in sorted(
        used, key=lambda item: str(item["effectiveStartDate"]), reverse=True
    ):
        product, meter, unit = (
            item[key] for key in ("productName", "meterName", "unitOfMeasure")
        )
        steps = meters.setdefault((str(product), str(meter), str(unit)), {})
        steps.setdefault(
            float(item.get("tierMinimumUnits") or 0.0), float(item["retailPrice"])
        )
    return {meter: dict(sorted(steps.items())) for meter, steps in meters.items()}


def _provisioned(parts: Mapping[str, Steps | None]) -> Components:
    priced: Components = {}
    for name, steps in parts.items():
        hourly = (steps or {}).items()
        monthly = {above: round(price * HOURS_PER_MONTH, 10) for above, price in hourly}
        if name == "per_gib":
            priced[name] = monthly[0.0]
        else:
            priced[name] = [
                {"above": a, "price": p} for a, p in monthly.items() if a or p
            ]
    return {**priced, "unit": "MB/s"}
