"""AWS's list of a region becomes prices of the catalog's disks and machines."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator import tier_catalog
from orchestrator.tier_catalog import aws_prices, price_lists, prices
from tests import aws_answers
from tests.catalog import CATALOG, at, price_of


def of_aws(*rows: dict[str, str], currency: str = "USD") -> dict[str, Any]:
    lines = aws_answers.price_list(*rows).splitlines(keepends=True)
    return aws_prices.components(lines, currency, CATALOG)


def test_disks_of_an_aws_region_are_read_from_its_list() -> None:
    found = of_aws(*aws_answers.NOT_OF_A_REGION, *aws_answers.TOKYO)
    assert found == {
        "aws/gp2": {"per_gib": 0.12},
        "aws/gp3": {
            "per_gib": 0.096,
            "per_iops": [{"above": 3000, "price": 0.006}],
            "per_throughput": [
                {"above": 125, "price": 0.048}
            ],  # a GiB/s is 1,024 MiB/s
            "unit": "MiB/s",
        },
        "aws/io1": {"per_gib": 0.142, "per_iops": [{"above": 0, "price": 0.074}]},
        "aws/io2": {
            "per_gib": 0.142,
            "per_iops": [
                {"above": 0, "price": 0.074},
                {"above": 32_000, "price": 0.0518},
                {"above": 64_000, "price": 0.03626},
            ],
        },
        "aws/st1": {"per_gib": 0.054},
        "aws/sc1": {"per_gib": 0.018},
    }
    text = price_lists.format_list(
        found, "USD", "ap-northeast-1", "2026-10-07", "a list"
    )
    rows = tier_catalog.with_prices(CATALOG, {"aws.yaml": text})
    wanted = at("aws/gp3", "100GiB", iops=4000, throughput="225MiB/s")
    assert price_of(rows, wanted).monthly == 9.60 + 6.00 + 4.80


GP2 = "2KRSTFABXH77P2FQ"


@pytest.mark.parametrize(
    "change",
    [
        {"Location Type": "AWS Local Zone"},
        {"TermType": "Reserved"},
        {"Currency": "CNY"},
        {"PricePerUnit": ""},
        {"Unit": "GB-Hour"},
        {"Product Family": "Storage Snapshot"},
    ],
)
def test_a_row_that_is_not_a_disks_monthly_price_counts_for_nothing(
    change: dict[str, str],
) -> None:
    (gp2,) = [row for row in aws_answers.TOKYO if row["SKU"] == GP2]
    assert of_aws(gp2) == {"aws/gp2": {"per_gib": 0.12}}
    assert of_aws({**gp2, **change}) == {}


def test_machines_of_an_aws_region_are_read_from_its_list() -> None:
    """Those of the catalog: a price of another system, tenancy or term is no machine's as used."""
    found = of_aws(*aws_answers.MACHINES)
    assert found == {
        "aws/m5.2xlarge": {"per_hour": 0.384},
        "aws/t3.large": {"per_hour": 0.0832},
    }
    text = price_lists.format_list(found, "USD", "us-east-1", "2026-10-07", "a list")
    (row,) = (
        tier_catalog.with_prices(CATALOG, {"aws.yaml": text}).vm("aws/t3.large").prices
    )
    assert prices.monthly(row) == pytest.approx(60.736)


@pytest.mark.parametrize(
    "change",
    [
        {"Product Family": "Compute Instance (bare metal)"},
        {"Operating System": "Windows"},
        {"Tenancy": "Dedicated"},
        {"Pre Installed S/W": "SQL Std"},
        {"CapacityStatus": "UnusedCapacityReservation"},
        {"TermType": "Reserved"},
        {"Location Type": "AWS Wavelength Zone"},
        {"Unit": "Quantity"},
        {"PricePerUnit": "0.0000000000"},
        {"usageType": "HostBoxUsage:m5"},
        {"usageType": "USE1-DedicatedUsage:m5.2xlarge"},
    ],
)
def test_a_row_that_is_not_a_linux_machine_as_used_counts_for_nothing(
    change: dict[str, str],
) -> None:
    m5 = aws_answers.MACHINES[0]
    assert of_aws(m5) == {"aws/m5.2xlarge": {"per_hour": 0.384}}
    assert of_aws({**m5, **change}) == {}


def test_a_machine_with_two_prices_has_none() -> None:
    m5 = aws_answers.MACHINES[0]
    assert of_aws(m5, {**m5, "PricePerUnit": "0.4"}) == {}


def test_a_part_that_is_missing_or_has_two_prices_leaves_the_disk_out() -> None:
    without = [
        row
        for row in aws_answers.TOKYO
        if not row["usageType"].endswith("Throughput.gp3")
    ]
    assert "aws/gp3" not in of_aws(*without)
    (gp2,) = [row for row in aws_answers.TOKYO if row["SKU"] == GP2]
    free = {**gp2, "PricePerUnit": "0.0000000000"}  # of an allowance, not of the disk
    assert of_aws(free, gp2) == {"aws/gp2": {"per_gib": 0.12}}
    assert of_aws({**gp2, "PricePerUnit": "0.13"}, gp2) == {}


@pytest.mark.parametrize("text", ["", "<html>no</html>\n", "SKU,Unit\nA,GB-Mo\n"])
def test_a_file_without_the_columns_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="column"):
        aws_prices.components(text.splitlines(keepends=True), "USD", CATALOG)
