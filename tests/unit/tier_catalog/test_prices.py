"""Monthly prices agree with the vendors' own examples; an unknown component leaves no price.
Prices from a list hold instead of the catalog's; Azure's recorded answers become such a list.

P15 with its fee for sharing is as in docs/CATALOG.md, a year of P30 as told of koreacentral; their
days are made up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator import tier_catalog
from orchestrator.cli.prepare import prices as command
from orchestrator.design import purchase_prices
from orchestrator.errors import UsageError
from orchestrator.planning import project_files
from orchestrator.tier import Price
from orchestrator.tier_catalog import azure_prices, price_lists, prices
from orchestrator.tier_catalog.price_rows import PriceRow, Source
from orchestrator.tier_catalog.prices import HOURS_PER_MONTH
from tests import ROOT
from tests.azure_answers import D2S_ANSWER, P6_ANSWER, ULTRA_ANSWER, V2_ANSWER, recorded
from tests.catalog import CATALOG, at, chosen, price_of

SOVEREIGN = "European Sovereign Cloud"


REGIONS = {"azure": "eastus", "aws": "us-east-1", "gcp": "us-central1"}


def test_prices_of_a_provider_can_be_compared() -> None:
    """All disks but local ones have a price of one region, with a day within a year of another."""
    for name, kind in CATALOG.types.items():
        provider, _, own = name.partition("/")
        for rows in [size.prices for size in (kind.sizes or {}).values()] or [
            kind.prices
        ]:
            if "local" in own:
                continue
            first = rows[0]
            assert (first.currency, first.region) == ("USD", REGIONS[provider]), name
            assert (first.as_of or first.source.as_of).startswith("2026"), name
    for name, vm in CATALOG.vms.items():
        (row,) = vm.prices
        assert (row.currency, row.region) == ("USD", REGIONS[name.partition("/")[0]]), (
            name
        )
        assert row.date.startswith("2026-"), name


@pytest.mark.parametrize(
    ("name", "monthly"),
    [
        ("azure/Standard_D8s_v5", 0.384 * 730),
        ("aws/r5b.2xlarge", 0.596 * 730),
        ("gcp/n2-standard-8", 0.388472 * 730),
    ],
)
def test_machines_of_the_shipped_clusters_have_a_price(
    name: str, monthly: float
) -> None:
    (row,) = CATALOG.vm(name).prices
    assert prices.monthly(row) == pytest.approx(monthly)


def test_disks_and_machines_are_compared_as_shipped() -> None:
    """Their prices are of one region and dated, of unlike days: nothing to warn of."""
    (small,), _ = project_files.read(ROOT, ["premium"], [], "laptop")
    assert small.cluster.vm_price and small.tier.price
    assert small.cluster.vm_price.as_of != small.tier.price.as_of
    (row,) = CATALOG.vm("azure/Standard_D16s_v5").prices
    vm_price = prices.stated(row, prices.monthly(row) or 0.0)
    cluster = replace(small.cluster, vm="azure/Standard_D16s_v5", vm_price=vm_price)
    assert purchase_prices.compare_prices((small, replace(small, cluster=cluster))) == (
        True,
        "",
        "",
    )


def test_a_machine_has_no_price_in_another_region_than_its_disks(
    tmp_path: Path,
) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(LIST)
    (profile,), _ = project_files.read(ROOT, ["premium"], [], "laptop", price_list=file)
    assert profile.tier.price and profile.tier.price.region == "westeurope"
    assert profile.cluster.vm_price is None


@pytest.mark.parametrize(
    ("wanted", "monthly", "currency"),
    [
        ("azure/P10", 19.71, "USD"),
        ("azure/P15", 38.01, "USD"),
        # 245.19 for 2,048 GiB, 198.56 for 4,000 IOPS and 6.99 for 20 MB/s.
        (at("azure/ultra", "2TiB", iops=4000, throughput="20MB/s"), 450.74, "USD"),
        # The free 3,000 IOPS and 125 MB/s cost nothing.
        (at("azure/premium-v2", "250GiB"), 20.07, "USD"),
        (
            at("azure/premium-v2", "250GiB", iops=10000, throughput="250MB/s"),
            60.86,
            "USD",
        ),
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
        (
            at("gcp/hyperdisk-balanced", "100GiB", iops=4000, throughput="240MiB/s"),
            17.00,
            "USD",
        ),
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
        (
            at("aws/gp3", "1TiB", throughput="200MiB/s", region=SOVEREIGN),
            "unknown/MiB/s above 125",
        ),
    ],
)
def test_no_price_if_a_component_is_unknown(wanted: object, why: str) -> None:
    tier = chosen(wanted).tier
    assert tier.price is None and why in tier.origin.notes


def test_steps_are_priced_by_what_lies_inside_them() -> None:
    (io2,) = CATALOG.types["aws/io2"].prices
    assert prices.monthly(io2, gib=0, iops=32_000) == pytest.approx(2080)
    assert prices.monthly(io2, gib=0, iops=32_001) == pytest.approx(2080.0455)
    assert prices.monthly(io2, gib=0, iops=64_001) == pytest.approx(
        2080 + 1456 + 0.03185
    )
    assert prices.monthly(io2, gib=0) is None


@pytest.mark.parametrize(("prices_of", "is_warned"), [(1, False), (2, True)])
def test_two_prices_of_unlike_regions_are_warned_of(
    prices_of: int, is_warned: bool
) -> None:
    stated = []
    for region in ("eastus", "westus")[:prices_of]:
        stated.append(Price(38.0, "USD", region, "2026-11-01", "a list"))
    warning = prices.unlike(stated)
    assert ("not of one list" in warning) is is_warned


def test_operations_have_an_effect_where_one_row_bills_them() -> None:
    (*_, free) = CATALOG.types["aws/gp3"].prices
    sizes = CATALOG.types["azure/standard-hdd"].sizes or {}
    (billed, *_) = sizes["S4"].prices
    assert (
        list(
            prices.conflicts(
                [free, billed], is_given=False, region=None, operations=5.0
            )
        )
        == []
    )
    ((key, _),) = prices.conflicts(
        [free, free], is_given=False, region=None, operations=5.0
    )
    assert key == "operations_per_month"


def test_price_in_words() -> None:
    steps = [{"above": 3000, "price": 0.005}]
    row = PriceRow.model_validate(
        {
            "currency": "USD",
            "region": "r",
            "source": "s",
            "per_gib": 0.08,
            "per_iops": steps,
        },
        context={"s": Source(text="somewhere", as_of="2024")},
    )
    assert prices.describe(row) == "0.08/GiB + 0.005/IOPS above 3,000 USD"


LIST = """
currency: EUR
region: westeurope
as_of: 2026-11-01
source: our contract
prices:
  azure/P15: {per_disk: 30}
  azure/premium-v2: {per_gib: 0.07, per_iops: [{above: 3000, price: 0.004}]}
"""


def test_a_list_holds_over_the_catalog_and_only_where_it_says() -> None:
    rows = tier_catalog.with_prices(CATALOG, {"mine.yaml": LIST})
    found = price_of(rows, "azure/P15")
    assert (found.monthly, found.currency, found.region) == (30.0, "EUR", "westeurope")
    assert (found.as_of, found.source) == ("2026-11-01", "our contract")
    v2 = price_of(rows, at("azure/premium-v2", "250GiB", iops=4000))
    assert v2.monthly == pytest.approx(250 * 0.07 + 1000 * 0.004)
    assert price_of(rows, "azure/P10") == price_of(CATALOG, "azure/P10")


def test_a_later_list_holds_over_an_earlier() -> None:
    later = LIST.replace("per_disk: 30", "per_disk: 20")
    rows = tier_catalog.with_prices(CATALOG, {"a.yaml": LIST, "b.yaml": later})
    assert price_of(rows, "azure/P15").monthly == 20.0


@pytest.mark.parametrize(
    ("change", "where", "what"),
    [
        (("azure/P15", "azure/P16"), "mine.yaml: prices.azure/P16", "unknown tier"),
        (
            ("per_disk: 30", "per_disc: 30"),
            "mine.yaml: prices.azure/P15.per_disc",
            "unknown",
        ),
        (
            ("per_disk: 30", "per_disk: cheap"),
            "mine.yaml: prices.azure/P15.per_disk",
            "number",
        ),
        (("region: westeurope\n", ""), "mine.yaml: region", "missing"),
    ],
)
def test_mistakes_have_their_place(
    change: tuple[str, str], where: str, what: str
) -> None:
    with pytest.raises(UsageError) as refused:
        tier_catalog.with_prices(CATALOG, {"mine.yaml": LIST.replace(*change)})
    (mistake,) = refused.value.mistakes
    assert mistake.where == where
    assert what in mistake.what


def test_a_profile_s_own_price_holds() -> None:
    price = {
        "monthly": 12.5,
        "currency": "USD",
        "region": "eastus",
        "as_of": "2026-11-01",
        "source": "our contract",
    }
    found = price_of(CATALOG, {"type": "azure/P15", "price": price})
    assert (found.monthly, found.source) == (12.5, "our contract")


# ------------------------------------------------------------------ Azure's answers


def test_recorded_answers_become_components() -> None:
    found = azure_prices.components([*V2_ANSWER, *ULTRA_ANSWER, *P6_ANSWER], CATALOG)
    month = pytest.approx
    assert set(found) == {"azure/P6", "azure/premium-v2", "azure/ultra"}
    assert found["azure/P6"] == {"per_disk": 9.783261}
    v2, ultra = found["azure/premium-v2"], found["azure/ultra"]
    assert v2["per_gib"] == month(0.000105 * HOURS_PER_MONTH)
    assert v2["per_iops"] == [{"above": 3000.0, "price": month(0.00438)}]
    assert v2["per_throughput"] == [{"above": 125.0, "price": month(0.03796)}]
    assert ultra["per_iops"] == [{"above": 0.0, "price": month(0.06424)}]
    assert (v2["unit"], ultra["unit"]) == ("MB/s", "MB/s")


def test_only_exact_meters_paid_as_used_count() -> None:
    """The fee for sharing a disk and one-year reservations have names and prices of their own."""
    product, day = "Premium SSD Managed Disks", "2020-01-01"
    shared = recorded(product, "P15 LRS Disk Mount", "1/Month", 1.825, day)
    disk = recorded(product, "P15 LRS Disk", "1/Month", 38.012142, day)
    reserved = {
        **recorded(product, "P30 LRS Disk", "1/Month", 1541.0, day),
        "type": "Reservation",
    }
    found = azure_prices.components([shared, disk, reserved], CATALOG)
    assert found == {"azure/P15": {"per_disk": 38.012142}}


def test_a_virtual_machine_costs_what_its_linux_does_undisturbed() -> None:
    """Windows, Spot and Low Priority have meters of the same size."""
    found = azure_prices.components(D2S_ANSWER, CATALOG)
    assert found == {"azure/Standard_D2s_v5": {"per_hour": 0.096}}
    text = azure_prices_list(found)
    (row,) = (
        price_lists.with_prices(CATALOG, {"list": text})
        .vm("azure/Standard_D2s_v5")
        .prices
    )
    assert prices.monthly(row) == pytest.approx(70.08)
    asked = [one["$filter"] for one in azure_prices.questions("eastus", "USD", CATALOG)]
    assert sum("armSkuName eq 'Standard_D2s_v5'" in one for one in asked) == 1


def azure_prices_list(components: Mapping[str, Mapping[str, Any]]) -> str:
    return price_lists.format_list(
        components, "USD", "eastus", "2026-11-01", azure_prices.SOURCE
    )


@pytest.mark.parametrize(
    "components",
    [{"azure/Standard_D2s_v5": {"per_disk": 70.0}}, {"azure/P15": {"per_hour": 0.1}}],
)
def test_hours_are_of_machines_alone(
    components: Mapping[str, Mapping[str, Any]],
) -> None:
    with pytest.raises(UsageError) as refused:
        price_lists.with_prices(CATALOG, {"list": azure_prices_list(components)})
    assert "`per_hour` is the price of a virtual machine" in str(refused.value.mistakes)


def test_the_machines_of_a_profile_have_the_price_of_its_list(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(azure_prices_list({"azure/Standard_D8s_v5": {"per_hour": 0.5}}))
    (profile,), _ = project_files.read(ROOT, ["premium"], [], "laptop", price_list=file)
    assert profile.cluster.vm_price is not None
    assert (profile.cluster.vm_price.monthly, profile.cluster.vm_price.currency) == (
        365.0,
        "USD",
    )


def test_of_two_dates_the_newer_holds_and_a_meter_missing_leaves_no_price() -> None:
    older = {
        **P6_ANSWER[0],
        "effectiveStartDate": "2017-01-01T00:00:00Z",
        "retailPrice": 1.0,
    }
    assert (
        azure_prices.components([*P6_ANSWER, older], CATALOG)["azure/P6"]["per_disk"]
        > 9
    )
    assert azure_prices.components(V2_ANSWER[1:3], CATALOG) == {}


def test_what_is_written_is_read_again() -> None:
    found = azure_prices.components([*V2_ANSWER, *ULTRA_ANSWER, *P6_ANSWER], CATALOG)
    text = price_lists.format_list(
        found, "GBP", "ukwest", "2023-12-01", azure_prices.SOURCE
    )
    rows = tier_catalog.with_prices(CATALOG, {"azure.yaml": text})
    v2 = price_of(
        rows, at("azure/premium-v2", "250GiB", iops=10000, throughput="250MB/s")
    )
    assert (v2.monthly, v2.currency, v2.as_of) == (54.57, "GBP", "2023-12-01")
    assert v2.verified is True


def test_all_pages_are_asked_for() -> None:
    # The service names the port, although https has it by itself.
    second = "https://prices.azure.com:443/api/retail/prices?$skip=100"
    asked: list[str] = []

    def answer(url: str, question: object = None) -> Any:
        asked.append(url)
        more = second if len(asked) == 1 else None
        return {"Items": V2_ANSWER[:3] if more else V2_ANSWER[3:], "NextPageLink": more}

    (question, *_) = azure_prices.questions("ukwest", "GBP", CATALOG)
    assert list(command.pages(question, azure_prices.URL, answer)) == V2_ANSWER
    assert asked == [azure_prices.URL, second]


@pytest.mark.parametrize(
    "further",
    [
        "https://prices.azure.com:8443/api/retail/prices?$skip=100",
        "https://prices.azure.com@10.0.0.1/api/retail/prices?$skip=100",
        "http://prices.azure.com/api/retail/prices?$skip=100",
        "http://prices.azure.com:443/api/retail/prices?$skip=100",
        "https://prices.azure.com/api/other?$skip=100",
        "https://prices.azure.com:port/api/retail/prices",
    ],
)
def test_a_page_at_another_address_is_not_asked_for(further: str) -> None:
    asked: list[str] = []

    def answer(url: str, _question: object = None) -> Any:
        asked.append(url)
        return {"Items": [], "NextPageLink": further}

    with pytest.raises(OSError, match="at another address"):
        list(command.pages({}, azure_prices.URL, answer))
    assert asked == [azure_prices.URL]


@pytest.mark.parametrize("answer", [{}, [], {"Items": None}])
def test_another_answer_is_not_taken(answer: object) -> None:
    with pytest.raises((KeyError, TypeError)):
        list(command.pages({}, azure_prices.URL, lambda *_: answer))


def test_questions_name_region_currency_and_each_kind() -> None:
    questions = list(azure_prices.questions("eastus", "USD", CATALOG))
    assert all("armRegionName eq 'eastus'" in one["$filter"] for one in questions)
    assert {one["currencyCode"] for one in questions} == {"'USD'"}
    assert sum("'Ultra Disks'" in one["$filter"] for one in questions) == 1


def test_pages_without_an_end_are_told() -> None:
    endless = {"Items": [], "NextPageLink": azure_prices.URL}
    with pytest.raises(OSError, match="more than 50 pages"):
        list(command.pages({}, azure_prices.URL, lambda *_: endless))
