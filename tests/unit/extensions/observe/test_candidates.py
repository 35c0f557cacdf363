"""Disks that one could buy in the place of another: what fits, and the least that is needed."""

from __future__ import annotations

import pytest

from orchestrator.errors import UsageError
from orchestrator.extensions.observe.candidates import Purchase, points, purchases, text
from orchestrator.tier import Limits
from tests.catalog import CATALOG

GIB, MB = 2**30, 10**6
NEED = (4233.0, 150.2 * MB)


def named(
    size_gib: int, region: str | None = None, vm: str | None = None
) -> dict[str, Purchase]:
    bought = purchases(CATALOG, size_gib * GIB, NEED, region, vm)
    return {each.name: each for each in bought}


def test_what_is_too_small_for_the_data_is_left_out() -> None:
    names = named(600)
    assert "azure/P30" in names and "azure/P20" not in names
    assert "aws/gp2:size=600GiB" in names and "aws/gp2:size=2400GiB" in names


def test_a_provisioned_type_comes_free_at_steps_and_with_the_least_that_is_needed() -> (
    None
):
    names = named(256)
    own = (p for p in names.values() if p.name.startswith("azure/premium-v2"))
    bought = [p.tier.limits for p in own if "count" not in p.keys]
    assert {(each.iops, each.bytes_per_s) for each in bought} == {
        *((3000, 125 * MB), (4300, 151 * MB), (12_000, 500 * MB), (48_000, 2000 * MB))
    }
    assert NEED[0] > 4300 - 100


def test_throughput_is_bought_with_the_iops_that_it_takes() -> None:
    rows = [
        p
        for p in points(CATALOG, 64 * GIB, (100.0, 1100.0 * MB))
        if p["type"] == "azure/premium-v2"
    ]
    assert {"iops": 4400, "throughput": "1100MB/s"}.items() <= rows[-1].items()


@pytest.mark.parametrize(("ios", "iops"), [(4000, 4000), (4001, 4100)])
def test_where_throughput_follows_as_many_iops_are_bought_as_its_ios_of_256_kib(
    ios: int, iops: int
) -> None:
    """IOPS are bought by the hundred."""
    bought = points(CATALOG, 64 * GIB, (100.0, ios * 256.0 * 2**10))
    rows = [row for row in bought if row["type"] == "aws/io2"]
    assert rows[-1]["iops"] == iops
    assert "throughput" not in rows[-1]


def test_iops_are_bought_with_the_size_that_they_take() -> None:
    rows = [
        p
        for p in points(CATALOG, 4 * GIB, (30_000.0, 0.0))
        if p["type"] == "azure/premium-v2"
    ]
    assert (rows[-1]["size"], rows[-1]["iops"]) == ("60GiB", 30_000)  # 500 a GiB


@pytest.mark.parametrize("size_gib", [1, 100, 4096, 30_000])
@pytest.mark.parametrize("needs", [(1.0, 1.0), NEED, (90_000.0, 2e9)])
def test_every_disk_that_is_looked_at_by_size_or_iops_is_sold(
    size_gib: int, needs: tuple[float, float]
) -> None:
    """A point beyond a provider's rules would be left out in silence: refused by `choose`."""
    names = {p.name for p in purchases(CATALOG, size_gib * GIB, needs, None, None)}
    looked_at = list(points(CATALOG, size_gib * GIB, needs))
    assert looked_at
    for keys in looked_at:
        kind = CATALOG.find(keys["type"]).kind
        if kind.provisioned and size_gib * GIB <= kind.provisioned.size.max_bytes:
            assert text(keys) in names, keys


def test_of_a_large_ultra_disk_the_least_iops_are_one_for_each_gib() -> None:
    rows = [p for p in points(CATALOG, 4096 * GIB) if p["type"] == "azure/ultra"]
    assert min(row["iops"] for row in rows) == 4096


def test_names_are_those_that_options_take() -> None:
    keys = {
        "type": "azure/premium-v2",
        "size": "64GiB",
        "iops": 4200,
        "region": "eastus",
    }
    assert text(keys) == "azure/premium-v2:size=64GiB,iops=4200"
    assert text({"type": "azure/P15"}) == "azure/P15"


def test_they_stand_from_cheap_to_dear_and_those_without_price_last() -> None:
    costs = [
        getattr(each.tier.price, "monthly", float("inf"))
        for each in named(256).values()
    ]
    assert costs == sorted(costs) and costs[0] > 0 and costs[-1] == float("inf")


def test_of_a_machine_only_disks_of_its_provider_and_its_own_limits() -> None:
    names = named(256, vm="aws/m5.large")
    assert {each.provider for each in names.values()} == {"aws"}
    uncached = CATALOG.vms["aws/m5.large"].uncached
    assert uncached and names["aws/gp2:size=256GiB"].vm == uncached.limits(1)
    on_gcp = named(256, vm="gcp/n2-standard-8")
    assert on_gcp["gcp/pd-standard:size=256GiB"].vm != Limits()
    assert any(
        "not known" in p.lacks
        for p in on_gcp.values()
        if "hyperdisk-balanced" in p.name
    )


def test_prices_are_of_the_region() -> None:
    with pytest.raises(UsageError, match="no price of a disk in atlantis") as refused:
        named(256, region="atlantis")
    assert "eastus" in refused.value.advice
    priced = [p for p in named(256, region="eastus").values() if p.tier.price]
    assert {p.provider for p in priced} == {"azure"}
    assert priced[0].keys["region"] == "eastus"


def test_several_small_disks_are_bought_as_one() -> None:
    """Their limits and prices together; the machine lets through what it does to all of them."""
    names = named(256, vm="azure/Standard_D8s_v5")
    single, four = named(64)["azure/P6"], names["azure/P6:count=4"]
    assert single.tier.limits.iops == 240 and four.tier.limits.iops == 960
    assert single.tier.price and four.tier.price
    assert four.tier.price.monthly == pytest.approx(4 * single.tier.price.monthly)
    assert four.vm == names["azure/P15"].vm and four.keys["count"] == 4


def test_nobody_buys_several_disks_each_of_which_is_more_than_16_times_the_data() -> (
    None
):
    """A P6 has 64 GiB, which is 16 times 4 GiB; a P10 has 128 GiB."""
    counts = {name.partition(":count=")[::2] for name in named(4)}
    assert [count for name, count in sorted(counts) if name == "azure/P6"] == [
        "",
        "2",
        "4",
    ]
    assert [count for name, count in counts if name == "azure/P10"] == [""]
