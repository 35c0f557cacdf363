"""Disks that one could buy in the place of another: what fits, and the least that is needed."""

from __future__ import annotations

import pytest

from orchestrator.errors import UsageError
from orchestrator.tier import Limits
from orchestrator.tier_catalog.candidates import Purchase, purchases
from tests.catalog import CATALOG

GIB, MB = 2**30, 10**6
UNIT = 2**18
NEED = {UNIT: (4233.0, 150.2 * MB), None: (4233.0, 150.2 * MB)}


def named(size_gib: int, **more: str) -> dict[str, Purchase]:
    return {each.name: each for each in purchases(CATALOG, size_gib * GIB, NEED, **more)}


def test_what_is_too_small_for_the_data_is_left_out() -> None:
    names = named(600)
    assert "azure/P30" in names and "azure/P20" not in names
    assert "aws/gp2, 600GiB" in names


def test_a_provisioned_type_comes_free_and_with_the_least_that_is_needed() -> None:
    names = named(256)
    free = names["azure/premium-v2, 256GiB"].chosen.limits
    assert (free.iops, free.bytes_per_s) == (3000, 125 * MB)
    least = names["azure/premium-v2, 256GiB, 4,300 IOPS, 151MB/s"].chosen.limits
    assert (least.iops, least.bytes_per_s) == (4300, 151 * MB)
    assert NEED[UNIT][0] > 4300 - 100
    assert not any("aws/io1" in name and "IOPS" not in name for name in names)  # none is free


def test_throughput_is_bought_with_the_iops_that_it_takes() -> None:
    need: dict[int | None, tuple[float, float]] = {UNIT: (100.0, 1600.0 * MB)}
    found = [p for p in purchases(CATALOG, 64 * GIB, need) if p.name.startswith("azure/premium-v2")]
    assert [p.chosen.limits.iops for p in found] == [3000, 6400]
    assert found[1].chosen.limits.bytes_per_s == 1600 * MB


def test_what_is_sold_at_most_is_offered_where_more_is_needed() -> None:
    need: dict[int | None, tuple[float, float]] = {UNIT: (500_000.0, 0.0)}
    offers = {p.name: p for p in purchases(CATALOG, 4 * GIB, need)}
    assert "azure/premium-v2, 4GiB, 3,000 IOPS, 125MB/s" not in offers
    assert offers["azure/ultra, 4GiB, 4,000 IOPS, 1MB/s"].chosen.limits.iops == 4000  # 1,000 a GiB


def test_they_stand_from_cheap_to_dear_and_those_without_price_last() -> None:
    costs = [each.monthly for each in named(256).values()]
    assert costs == sorted(costs) and costs[0] > 0 and costs[-1] == float("inf")


def test_of_a_machine_only_disks_of_its_provider_and_its_own_limits() -> None:
    names = named(256, vm="aws/m5.large")
    assert {each.provider for each in names.values()} == {"aws"}
    assert names["aws/gp3, 256GiB"].vm == CATALOG.vms["aws/m5.large"].uncached.limits(1)  # type: ignore[union-attr]
    on_gcp = named(256, vm="gcp/n2-standard-8")
    assert on_gcp["gcp/pd-standard, 256GiB"].vm != Limits()
    assert "not known" in on_gcp["gcp/hyperdisk-balanced, 256GiB"].lacks


def test_a_region_without_prices_is_refused() -> None:
    with pytest.raises(UsageError, match="no price of atlantis"):
        named(256, region="atlantis")
    priced = [p for p in named(256, region="eastus").values() if p.chosen.tier.price]
    assert {p.provider for p in priced} == {"azure"}


def test_limits_that_are_not_known_are_said() -> None:
    assert named(256)["aws/i4i.large-nvme"].lacks == "limits not known"
    assert not named(256)["azure/P30"].lacks
