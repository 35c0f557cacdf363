"""Recorded answers of Azure's Retail Prices API, item by item.

Ultra Disk of westeurope in USD as shown in the blog article "Handling dynamic retail prices of
Azure services in Azure Cost Estimator" (2024-01-06); Premium SSD v2 of ukwest and P6 of uksouth in
GBP as kept in a pricing tool's fixture (2023-12). Fields that are not read are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def recorded(
    product: str, meter: str, unit: str, price: float, since: str, above: float = 0.0
) -> Mapping[str, Any]:
    return {
        "productName": product,
        "meterName": meter,
        "unitOfMeasure": unit,
        "retailPrice": price,
        "tierMinimumUnits": above,
        "effectiveStartDate": f"{since}T00:00:00Z",
        "type": "Consumption",
    }


V2, ULTRA = "Azure Premium SSD v2", "Ultra Disks"
RATE = "Premium LRS Provisioned Throughput (MBps)"
ULTRA_ANSWER = [
    recorded(ULTRA, "Ultra LRS Provisioned IOPS", "1/Hour", 8.8e-05, "2019-10-30"),
    recorded(
        ULTRA, "Ultra LRS Provisioned Capacity", "1 GiB/Hour", 0.000213, "2019-10-30"
    ),
    recorded(
        ULTRA,
        "Ultra LRS Reservation per vCPU Provisioned",
        "1/Hour",
        0.0078,
        "2019-10-30",
    ),
    recorded(
        "Virtual Machines DSv3 Series Windows", "D2s v3", "1 Hour", 0.212, "2017-06-17"
    ),
    recorded(
        ULTRA,
        "Ultra LRS Provisioned Throughput (MBps)",
        "1/Hour",
        0.000572,
        "2021-05-01",
    ),
]
V2_ANSWER = [
    recorded(V2, RATE, "1/Hour", 0.0, "2023-12-01"),
    recorded(V2, RATE, "1/Hour", 0.000052, "2023-12-01", above=125.0),
    recorded(V2, "Premium LRS Provisioned IOPS", "1/Hour", 0.0, "2023-12-01"),
    recorded(
        V2,
        "Premium LRS Provisioned IOPS",
        "1/Hour",
        0.000006,
        "2023-12-01",
        above=3000.0,
    ),
    recorded(
        V2, "Premium LRS Provisioned Capacity", "1 GiB/Hour", 0.000105, "2023-08-01"
    ),
]
# One size as the service names its meters: rows that a reader of these prices keeps in its tests
# (2026), said there to be real ones; unit and type as in Microsoft's description of the service.
# The dates are not kept there.
D2S_ANSWER = [
    recorded("Virtual Machines Dsv5 Series", "D2s v5", "1 Hour", 0.096, "2021-09-01"),
    recorded(
        "Virtual Machines Dsv5 Series Windows", "D2s v5", "1 Hour", 0.213, "2021-09-01"
    ),
    recorded(
        "Virtual Machines Dsv5 Series Windows",
        "D2s v5 Spot",
        "1 Hour",
        0.0384,
        "2021-09-01",
    ),
    recorded(
        "Virtual Machines Dsv5 Series Windows",
        "D2s v5 Low Priority",
        "1 Hour",
        0.09,
        "2021-09-01",
    ),
]
P6_ANSWER = [
    recorded(
        "Premium SSD Managed Disks", "P6 LRS Disk", "1/Month", 9.783261, "2018-05-01"
    )
]
