"""Monthly prices agree with the vendors' own examples; an unknown component leaves no price."""

from __future__ import annotations

import pytest

from orchestrator.tier_catalog import prices
from orchestrator.tier_catalog.rows import PriceRow, Source
from tests.catalog import CATALOG, at, chosen

SOVEREIGN = "European Sovereign Cloud"


REGIONS = {"azure": "eastus", "aws": "us-east-1", "gcp": "us-central1"}


def test_prices_of_a_provider_can_be_compared() -> None:
    """All disks but local ones have a price of one region, with a day within a year of another."""
    for name, kind in CATALOG.types.items():
        provider, _, own = name.partition("/")
        for rows in [size.prices for size in (kind.sizes or {}).values()] or [kind.prices]:
            if "local" in own:
                continue
            first = rows[0]
            assert (first.currency, first.region) == ("USD", REGIONS[provider]), name
            assert (first.as_of or first.source.as_of).startswith("2026"), name


@pytest.mark.parametrize(
    ("wanted", "monthly", "currency"),
    [
        ("azure/P10", 19.71, "USD"),
        ("azure/P15", 38.01, "USD"),
        # 245.19 for 2,048 GiB, 198.56 for 4,000 IOPS and 6.99 for 20 MB/s.
        (at("azure/ultra", "2TiB", iops=4000, throughput="20MB/s"), 450.74, "USD"),
        # The free 3,000 IOPS and 125 MB/s cost nothing.
        (at("azure/premium-v2", "250GiB"), 20.07, "USD"),
        (at("azure/premium-v2", "250GiB", iops=10000, throughput="250MB/s"), 60.86, "USD"),
        (at("aws/gp2", "100GiB"), 10.00, "USD"),
        # Of several regions the first is meant, unless the profile names another.
        (at("aws/gp3", "100GiB"), 8.00, "USD"),
        (at("aws/gp3", "100GiB", iops=4000, throughput="225MiB/s"), 17.00, "USD"),
        (at("aws/io1", "100GiB", iops=5000), 337.50, "USD"),
        (at("aws/io2", "100GiB", iops=32000), 2092.50, "USD"),
        # 32,000 × 0.065 + 32,000 × 0.0455 + 36,000 × 0.03185 + 100 × 0.125.
        (at("aws/io2", "100GiB", iops=100000), 4695.10, "USD"),
        (at("gcp/pd-ssd", "100GiB"), 17.00, "USD"),
        (at("gcp/hyperdisk-extreme", "128GiB", iops=20000), 656.00, "USD"),
        # 100 × 0.08 + 1,000 × 0.005 + 100 × 0.04.
        (at("gcp/hyperdisk-balanced", "100GiB", iops=4000, throughput="240MiB/s"), 17.00, "USD"),
        ("azure/P80", 3604.11, "USD"),
        ({"type": "azure/S4", "operations_per_month": 10_000_000}, 2.04, "USD"),
        # A component of unknown price that is not needed does no harm.
        (at("aws/gp3", "100GiB", region=SOVEREIGN), 9.39, "EUR"),
    ],
)
def test_monthly_price(wanted: object, monthly: float, currency: str) -> None:
    price = chosen(wanted).tier.price
    assert price and (price.monthly, price.currency) == (monthly, currency)
    assert price.region and price.as_of and price.source


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"type": "azure/P40", "region": "mars"}, "No price for mars in the catalog"),
        ("azure/S4", "not every component is known"),  # the operations are not given
        ({"type": "azure/E4", "operations_per_month": 1000}, "unknown/10k operations"),
        (at("aws/gp3", "10GiB", region="mars"), "No price for mars"),
        (at("aws/gp3", "1TiB", throughput="200MiB/s", region=SOVEREIGN), "unknown/MiB/s above 125"),
    ],
)
def test_no_price_if_a_component_is_unknown(wanted: object, why: str) -> None:
    tier = chosen(wanted).tier
    assert tier.price is None and why in tier.origin.notes


def test_steps_are_priced_by_what_lies_inside_them() -> None:
    (io2,) = CATALOG.types["aws/io2"].prices
    assert prices.monthly(io2, gib=0, iops=32_000) == pytest.approx(2080)
    assert prices.monthly(io2, gib=0, iops=32_001) == pytest.approx(2080.0455)
    assert prices.monthly(io2, gib=0, iops=64_001) == pytest.approx(2080 + 1456 + 0.03185)
    assert prices.monthly(io2, gib=0) is None


def test_price_in_words() -> None:
    steps = [{"above": 3000, "price": 0.005}]
    row = PriceRow.model_validate(
        {"currency": "USD", "region": "r", "source": "s", "per_gib": 0.08, "per_iops": steps},
        context={"s": Source(text="somewhere", as_of="2024")},
    )
    assert prices.describe(row) == "0.08/GiB + 0.005/IOPS above 3,000 USD"
