"""Listings of the catalog: which rows a filter keeps, and what a row says."""

from __future__ import annotations

import pytest

from orchestrator import tier_catalog
from orchestrator.errors import UsageError
from tests.catalog import CATALOG, GIB, MB, MIB, TIB

NVME = ["azure/L8s_v3-nvme", "azure/L16s_v3-nvme", "azure/L80s_v3-nvme"]


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        (
            {"provider": "azure", "min_iops": 20000},
            ["azure/P80", "azure/premium-v2", "azure/ultra", *NVME],
        ),
        ({"provider": "azure", "max_latency_s": 0.001}, ["azure/premium-v2", "azure/ultra"]),
        ({"provider": "aws", "burst": True}, ["aws/gp2", "aws/st1", "aws/sc1"]),
        ({"provider": "aws", "min_bytes_per_s": 2000 * MIB}, ["aws/gp3", "aws/io2"]),
        ({"text": "hyperdisk ext"}, ["gcp/hyperdisk-extreme"]),
    ],
)
def test_filters(filters: dict[str, object], names: list[str]) -> None:
    assert [row.name for row in tier_catalog.tiers(CATALOG, **filters)] == names  # type: ignore[arg-type]


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="aws, azure, gcp"):
        tier_catalog.tiers(CATALOG, provider="oracle")


def test_a_listed_row_says_what_one_may_buy() -> None:
    (ultra,) = tier_catalog.tiers(CATALOG, text="azure/ultra")
    assert ultra.size_bytes == (4 * GIB, 64 * TIB)
    assert ultra.iops == (100, 400000) and ultra.bytes_per_s == (MB, 10_000 * MB)
    (p10,) = tier_catalog.tiers(CATALOG, text="azure/P10")
    assert (p10.size_bytes, p10.iops, p10.burst) == ((128 * GIB,) * 2, (500, 500), "credit")
    (balanced,) = tier_catalog.tiers(CATALOG, text="pd-balanced")
    assert balanced.iops == (3000, 80000)  # the largest VM in the catalog


def test_vm_sizes_are_listed() -> None:
    (d8,) = tier_catalog.vms(CATALOG, text="D8s_v5")
    assert (d8.limits.iops, d8.limits.bytes_per_s) == (12800, 290 * MB)
    assert d8.limits.burst and d8.limits.burst.iops == 20000
    gcp = tier_catalog.vms(CATALOG, provider="gcp", min_iops=100_000)
    names = {("gcp/n2-standard-64", "pd-ssd"), ("gcp/n2-standard-80", "pd-ssd")}
    assert {(row.name, row.disk_type) for row in gcp} == names


def test_a_vm_that_limits_each_disk_is_listed_with_all_that_it_takes() -> None:
    (row,) = tier_catalog.vms(CATALOG, text="Standard_A2")
    assert row.size.max_disks == 4 and row.limits.iops == 4 * 500
