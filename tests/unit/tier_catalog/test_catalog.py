"""Catalog files are read strictly: every mistake is named with its path. Listings: which rows
a filter keeps, and what a row says. Method: small texts, and the real files.
"""

from __future__ import annotations

import pytest

from orchestrator import tier_catalog
from orchestrator.errors import UsageError
from tests.catalog import CATALOG, GIB, MB, MIB, TIB

_ROW = """
  some:
    title: Some disk
    source: a
    latency: null
    emulated_latency: {read: 1ms, write: 1ms}
    io_unit: 256KiB
    sizes: {X1: {size: 1GiB, iops: 100, throughput: 10MB/s}}
"""
_GOOD = (
    "provider: here\nsources: {a: {text: a document, as_of: 2024-01-01}}\ntypes:" + _ROW
)


def reading_mistakes(**texts: str) -> list[str]:
    with pytest.raises(UsageError) as refusal:
        tier_catalog.read(texts)
    return [f"{mistake.where}: {mistake.what}" for mistake in refusal.value.mistakes]


def test_a_small_catalog_is_read() -> None:
    catalog = tier_catalog.read({"x.yaml": _GOOD})
    assert catalog.names == ("here/X1", "here/some")
    assert str(catalog.types["here/some"].source) == "a document, 2024-01-01"


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("iops: 100", "iops: 100, ipos: 5", "x: types.some.sizes.X1.ipos: unknown key"),
        ("    io_unit: 256KiB\n", "", "x: types.some.io_unit: this key is missing"),
        ("iops: 100", "iops: 0", "x: types.some.sizes.X1.iops:"),
        ("10MB/s", "10", "x: types.some.sizes.X1.throughput: expected a rate"),
        (
            "source: a",
            "source: b",
            "x: types.some.source: unknown source; `sources` has a",
        ),
        ("    source: a\n", "", "x: types.some.source: this key is missing"),
        (", as_of: 2024-01-01", "", "x: sources.a.as_of: this key is missing"),
        ("    sizes:", "    shapes:", "x: types.some.shapes: unknown key"),
        (
            "emulated_latency: {read: 1ms, write: 1ms}",
            "emulated_latency: null",
            "x: types.some:",
        ),
        (
            "title: Some disk",
            "title: A\n    title: B",
            "x:6:5: the key 'title' stands twice",
        ),
        ("provider: here", "provider: here\nprices: 3", "x: prices: unknown key"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_its_path(
    old: str, new: str, what: str
) -> None:
    assert old in _GOOD
    refusals = reading_mistakes(x=_GOOD.replace(old, new, 1))
    assert any(mistake.startswith(what) for mistake in refusals), refusals


def test_all_mistakes_of_all_files_at_once() -> None:
    refusals = reading_mistakes(
        x=_GOOD.replace("iops: 100", "iops: none, size: 2").replace("256KiB", "paper"),
        y="- not a mapping",
        z=_GOOD.replace("256KiB", "tape"),
    )
    assert [mistake.split(":")[0] for mistake in refusals] == ["x", "y", "z"]
    assert "size' stands twice" in refusals[0]


def test_a_name_belongs_to_one_row() -> None:
    refusals = reading_mistakes(x=_GOOD, y=_GOOD.replace("  some:", "  other:"))
    assert refusals == [
        "y: types.other.sizes.X1: this name is already taken at x: types.some.sizes.X1"
    ]


@pytest.mark.parametrize(
    ("burst", "what"),
    [
        ("{model: credit, iops: 200}", "credit burst needs `duration`"),
        ("{model: on-demand, iops: 200, duration: 30min}", "on-demand burst has none"),
        ("{model: credit, duration: 30min}", "give `iops` or `throughput`"),
    ],
)
def test_a_burst_must_be_whole(burst: str, what: str) -> None:
    (mistake,) = reading_mistakes(
        x=_GOOD.replace("10MB/s}", f"10MB/s, burst: {burst}}}")
    )
    assert what in mistake


@pytest.mark.parametrize("more", ["{above: 0, price: 1}", "{above: 5, price: 1}"])
def test_price_steps_must_rise(more: str) -> None:
    price = f"{{currency: USD, region: r, source: a, per_iops: [{{above: 5, price: 2}}, {more}]}}"
    (mistake,) = reading_mistakes(
        x=_GOOD.replace("10MB/s}", f"10MB/s, prices: [{price}]}}")
    )
    assert "must rise" in mistake


NVME = ["azure/L8s_v3-nvme", "azure/L16s_v3-nvme", "azure/L80s_v3-nvme"]


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        (
            {"provider": "azure", "min_iops": 20000},
            ["azure/P80", "azure/premium-v2", "azure/ultra", *NVME],
        ),
        (
            {"provider": "azure", "max_latency_s": 0.001},
            ["azure/premium-v2", "azure/ultra"],
        ),
        ({"provider": "aws", "burst": True}, ["aws/gp2", "aws/st1", "aws/sc1"]),
        ({"provider": "aws", "min_bytes_per_s": 2000 * MIB}, ["aws/gp3", "aws/io2"]),
        ({"text": "hyperdisk ext"}, ["gcp/hyperdisk-extreme"]),
    ],
)
def test_filters(filters: dict[str, object], names: list[str]) -> None:
    assert [row.name for row in tier_catalog.tiers(CATALOG, **filters)] == names  # type: ignore[arg-type]


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="'oracle'") as refused:
        tier_catalog.tiers(CATALOG, provider="oracle")
    assert "aws, azure, gcp" in refused.value.advice


def test_a_listed_row_says_what_one_may_buy() -> None:
    (ultra,) = tier_catalog.tiers(CATALOG, text="azure/ultra")
    assert ultra.size_bytes == (4 * GIB, 64 * TIB)
    assert ultra.iops == (100, 400000) and ultra.bytes_per_s == (MB, 10_000 * MB)
    (p10,) = tier_catalog.tiers(CATALOG, text="azure/P10")
    assert (p10.size_bytes, p10.iops, p10.burst) == (
        (128 * GIB,) * 2,
        (500, 500),
        "credit",
    )
    (balanced,) = tier_catalog.tiers(CATALOG, text="pd-balanced")
    assert balanced.iops == (3000, 80000)  # the largest VM in the catalog
    (ssd,) = tier_catalog.tiers(CATALOG, text="pd-ssd")
    assert ssd.bytes_per_s[1] == 1200 * MIB, "of the largest machine too"


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
