"""The catalogue agrees with the vendors' worked points, refuses what they refuse, and prices right.

Goal: a figure entered wrongly, a rule misread or a unit confused fails here. Method: the real files
of profiles/catalog against literal values from the cited documents; small texts for mistakes.
"""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator import tier_catalog
from orchestrator.errors import UsageError
from orchestrator.model import Burst, Tier
from orchestrator.tier_catalog import limits, prices
from orchestrator.tier_catalog.reading import Catalog
from orchestrator.tier_catalog.rows import PriceRow, Source
from tests import ROOT

FOLDER = ROOT / "profiles/catalog"
GIB, MIB, TIB = 2**30, 2**20, 2**40
MB = 10**6


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return tier_catalog.read({file.name: file.read_text() for file in FOLDER.glob("*.yaml")})


def chosen(catalog: Catalog, wanted: object) -> tier_catalog.Chosen:
    return tier_catalog.choose(catalog, wanted, "a-profile")


def mistakes(catalog: Catalog, wanted: object) -> dict[str, str]:
    with pytest.raises(UsageError) as refusal:
        chosen(catalog, wanted)
    return {mistake.where: mistake.what for mistake in refusal.value.mistakes}


def at(type_: str, size: str, **more: object) -> dict[str, object]:
    return {"type": type_, "size": size, **more}


# ------------------------------------------------------------------ the files


def test_every_row_names_its_source_and_date(catalog: Catalog) -> None:
    tiers = [(row.name, row.source, row.as_of) for row in tier_catalog.tiers(catalog)]
    vms = [(row.name, row.source, row.as_of) for row in tier_catalog.vms(catalog)]
    for name, source, as_of in tiers + vms:
        assert len(source) > 10 and as_of, name


def test_every_price_says_where_and_when_it_was_read(catalog: Catalog) -> None:
    priced = [row for row in tier_catalog.tiers(catalog) if row.price]
    assert priced
    for row in priced:
        assert row.currency in {"USD", "GBP"} and row.region and row.price_as_of, row.name


def test_the_catalogue_holds_what_it_promises(catalog: Catalog) -> None:
    premium = "P1 P2 P3 P4 P6 P10 P15 P20 P30 P40 P50 P60 P70 P80"
    standard = "E1 E2 E3 E4 E6 E10 E15 E20 E30 E40 E50 E60 E70 E80"
    hdd = "S4 S6 S10 S15 S20 S30 S40 S50 S60 S70 S80"
    promised = {f"azure/{name}" for name in f"{premium} {standard} {hdd} premium-v2 ultra".split()}
    promised |= {f"aws/{name}" for name in ["gp2", "gp3", "io1", "io2", "st1", "sc1"]}
    promised |= {f"gcp/{name}" for name in ["pd-standard", "pd-balanced", "pd-ssd", "local-ssd"]}
    promised |= {"gcp/hyperdisk-balanced", "gcp/hyperdisk-extreme", "azure/L8s_v3-nvme"}
    assert promised <= set(catalog.names)


@pytest.mark.parametrize(
    ("name", "size_gib", "iops", "mb_per_s"),
    [
        ("azure/P1", 4, 120, 25),
        ("azure/P15", 256, 1100, 125),
        ("azure/P20", 512, 2300, 150),
        ("azure/P40", 2048, 7500, 250),
        ("azure/P60", 8192, 16000, 500),
        ("azure/P80", 32767, 20000, 900),
        ("azure/E4", 32, 500, 60),
        ("azure/E70", 16384, 4000, 600),
        ("azure/S10", 128, 500, 60),
        ("azure/S60", 8192, 1300, 300),
    ],
)
def test_fixed_sizes(catalog: Catalog, name: str, size_gib: int, iops: int, mb_per_s: int) -> None:
    one = chosen(catalog, name)
    assert one.size_bytes == size_gib * GIB
    assert (one.tier.iops, one.tier.bytes_per_s) == (iops, mb_per_s * MB)


def test_a_row_becomes_a_tier_with_its_facts(catalog: Catalog) -> None:
    tier = tier_catalog.choose(catalog, "azure/P15", "premium").tier
    assert (tier.name, tier.title, tier.enforcement) == (
        "premium",
        "Azure Premium SSD P15",
        "emulated",
    )
    assert tier.burst == Burst(3500, 170 * MB, 1800.0, 0.0)
    assert (tier.read_latency_s, tier.write_latency_s) == (0.002, 0.002)
    assert tier.io_unit_bytes == 256 * 1024
    assert tier.as_of == "2023-03-16" and "Premium SSD sizes" in tier.source
    assert "single-digit milliseconds" in tier.notes and "assumption" in tier.notes


def test_capacity_is_rounded_up_to_the_next_offered_size(catalog: Catalog) -> None:
    assert chosen(catalog, at("azure/standard-ssd", "200GiB")).tier.title.endswith("E15")
    assert chosen(catalog, at("azure/premium", "256GiB")).tier.title.endswith("P15")
    assert chosen(catalog, at("azure/premium", "257GiB")).tier.title.endswith("P20")
    assert "that large" in mistakes(catalog, at("azure/premium", "32TiB"))["tier.size"]


# ------------------------------------------------------------------ burst


@pytest.mark.parametrize(
    ("name", "ios", "megabytes"),
    [
        ("azure/P4", 6_084_000, 261_000),
        ("azure/P6", 5_868_000, 216_000),
        ("azure/P10", 5_400_000, 126_000),
        ("azure/P15", 4_320_000, 81_000),
        ("azure/P20", 2_160_000, 36_000),
    ],
)
def test_credit_buckets_of_premium_ssd(
    catalog: Catalog, name: str, ios: int, megabytes: int
) -> None:
    tier = chosen(catalog, name).tier
    assert tier.burst and tier.iops and tier.bytes_per_s
    assert tier.burst.iops and tier.burst.bytes_per_s
    of_ios = (tier.iops, tier.burst.iops, tier.burst.duration_s)
    of_bytes = (tier.bytes_per_s, tier.burst.bytes_per_s, tier.burst.duration_s)
    assert limits.bucket(*of_ios) == ios
    assert limits.bucket(*of_bytes) == megabytes * MB


@pytest.mark.parametrize(
    ("start", "pct"), [("full", 100.0), ("empty", 0.0), (35, 35.0), ("35 %", 35.0), (None, 0.0)]
)
def test_a_bucket_starts_as_asked_and_empty_by_default(
    catalog: Catalog, start: object, pct: float
) -> None:
    burst = chosen(catalog, {"type": "azure/P10", "burst": start}).tier.burst
    assert burst and burst.start_pct == pct


@pytest.mark.parametrize("off", ["off", False])  # YAML reads a bare `off` as false
def test_burst_can_be_switched_off(catalog: Catalog, off: object) -> None:
    assert chosen(catalog, {"type": "azure/P10", "burst": off}).tier.burst is None


def test_on_demand_burst_is_opt_in_and_has_no_price(catalog: Catalog) -> None:
    plain = chosen(catalog, "azure/P30").tier
    assert (plain.iops, plain.bytes_per_s, plain.burst) == (5000, 200 * MB, None)
    assert plain.price and plain.price.monthly == 135.17
    bursting = chosen(catalog, {"type": "azure/P30", "burst": "on-demand"}).tier
    assert (bursting.iops, bursting.bytes_per_s, bursting.burst) == (30000, 1000 * MB, None)
    assert bursting.price is None and "on-demand burst" in bursting.notes


def test_performance_plus(catalog: Catalog) -> None:
    plus = chosen(catalog, {"type": "azure/P40", "performance_plus": True}).tier
    assert (plus.iops, plus.bytes_per_s, plus.price) == (16000, 600 * MB, None)
    refused = mistakes(catalog, {"type": "azure/P10", "performance_plus": True})
    assert "tier.performance_plus" in refused


@pytest.mark.parametrize(
    ("wanted", "what"),
    [
        ({"type": "azure/P30", "burst": "full"}, "no burst credit"),
        ({"type": "azure/P10", "burst": "on-demand"}, "no on-demand burst"),
        ({"type": "azure/E40", "burst": "full"}, "no burst credit"),
        (at("aws/gp2", "2000GiB", burst="full"), "no burst credit"),
        ({"type": "azure/P10", "burst": "half"}, "percentage"),
        ({"type": "azure/P10", "burst": 101}, "percentage"),
    ],
)
def test_burst_that_a_row_does_not_have_is_refused(
    catalog: Catalog, wanted: object, what: str
) -> None:
    assert what in mistakes(catalog, wanted)["tier.burst"]


# ------------------------------------------------------------------ limits by formula


@pytest.mark.parametrize(
    ("gib", "iops", "burst_s"),
    [
        (33, 100, 1862),
        (100, 300, 2000),
        (334, 1002, 2703),
        (750, 2250, 7200),
    ],
)
def test_gp2_worked_points(catalog: Catalog, gib: int, iops: int, burst_s: int) -> None:
    tier = chosen(catalog, at("aws/gp2", f"{gib}GiB")).tier
    assert tier.iops == iops
    assert tier.burst and tier.burst.iops == 3000
    assert tier.burst.duration_s == pytest.approx(burst_s, abs=0.5)


@pytest.mark.parametrize(
    ("gib", "iops", "mib_per_s", "burst_mib_per_s"),
    [
        (33, 100, 128, None),
        (34, 102, 128, None),
        (170, 510, 128, None),
        (171, 513, 128.25, 250),
        (333, 999, 249.75, 250),
        (334, 1002, 250, None),
        (5333, 15999, 250, None),
        (5334, 16000, 250, None),
        (16384, 16000, 250, None),
    ],
)
def test_gp2_at_its_edges(
    catalog: Catalog, gib: int, iops: int, mib_per_s: float, burst_mib_per_s: float | None
) -> None:
    tier = chosen(catalog, at("aws/gp2", f"{gib}GiB")).tier
    assert (tier.iops, tier.bytes_per_s) == (iops, mib_per_s * MIB)
    burst_rate = tier.burst.bytes_per_s if tier.burst else None
    assert burst_rate == (burst_mib_per_s and burst_mib_per_s * MIB)
    assert (tier.burst is None) == (iops >= 3000)


@pytest.mark.parametrize(
    ("name", "gib", "base", "burst", "duration_s"),
    [
        ("aws/st1", 125, 40 * 125 / 1024, 250 * 125 / 1024, 4993.2),
        ("aws/st1", 1024, 40, 250, 4993.2),
        ("aws/st1", 2048, 80, 500, 4993.2),
        ("aws/st1", 12800, 500, None, None),
        ("aws/sc1", 1024, 12, 80, 15420.2),
        ("aws/sc1", 3200, 37.5, 250, 15420.2),
        ("aws/sc1", 16384, 192, 250, 289262.3),
    ],
)
def test_throughput_volumes(
    catalog: Catalog,
    name: str,
    gib: int,
    base: float,
    burst: float | None,
    duration_s: float | None,
) -> None:
    tier = chosen(catalog, at(name, f"{gib}GiB")).tier
    assert tier.bytes_per_s == pytest.approx(base * MIB)
    assert tier.iops == max(1, round(base))  # a random I/O costs a full MiB
    assert (tier.burst is None) == (burst is None)
    if tier.burst and burst:
        assert tier.burst.bytes_per_s == pytest.approx(burst * MIB)
        assert tier.burst.duration_s == pytest.approx(duration_s, abs=0.1)


@pytest.mark.parametrize(
    ("name", "gib", "iops", "write_iops", "mib_per_s"),
    [
        ("gcp/pd-standard", 500, 375, 750, 60),
        ("gcp/pd-balanced", 100, 3600, None, 168),
        ("gcp/pd-ssd", 500, 21000, None, 480),
        ("gcp/pd-ssd", 1, 6030, None, 240.48),
    ],
)
def test_persistent_disks_by_size(
    catalog: Catalog, name: str, gib: int, iops: int, write_iops: int | None, mib_per_s: float
) -> None:
    one = chosen(catalog, at(name, f"{gib}GiB")).limits
    assert (one.iops, one.write_iops) == (iops, write_iops)
    assert one.bytes_per_s == pytest.approx(mib_per_s * MIB, abs=1)


@pytest.mark.parametrize(
    ("iops", "mib_per_s"),
    [(100, 25), (2000, 500), (32000, 500), (48000, 750), (64000, 1000)],
)
def test_io1_throughput_follows_its_iops(iops: int, mib_per_s: int) -> None:
    assert limits.io1_bytes_per_s(iops) == mib_per_s * MIB


@pytest.mark.parametrize(
    ("wanted", "mib_per_s"),
    [
        (at("aws/io1", "1280GiB", iops=64000), 1000),
        (at("aws/io2", "16GiB", iops=1000), 256),
        (at("aws/io2", "16GiB", iops=16000), 4000),
        (at("gcp/hyperdisk-extreme", "64GiB", iops=10000), 2500),
        (at("gcp/hyperdisk-extreme", "1TiB", iops=100000), 5000),
    ],
)
def test_throughput_that_follows_from_iops(
    catalog: Catalog, wanted: object, mib_per_s: int
) -> None:
    assert chosen(catalog, wanted).tier.bytes_per_s == mib_per_s * MIB


# ------------------------------------------------------------------ rules


@pytest.mark.parametrize(
    "wanted",
    [
        at("azure/premium-v2", "6GiB", iops=3000),
        at("azure/premium-v2", "8GiB", iops=4000),
        at("azure/premium-v2", "160GiB", iops=80000, throughput="2000MB/s"),
        at("azure/premium-v2", "10GiB", throughput="750MB/s"),
        at("azure/premium-v2", "10GiB", iops=4000, throughput="1000MB/s"),
        at("azure/ultra", "4GiB", iops=4000, throughput="1000MB/s"),
        at("azure/ultra", "512GiB", iops=400000, throughput="10000MB/s"),
        at("azure/ultra", "4GiB", iops=100, throughput="1MB/s"),
        at("aws/gp3", "1GiB"),
        at("aws/gp3", "160GiB", iops=80000, throughput="2000MiB/s"),
        at("aws/gp3", "8GiB", iops=4000, throughput="1000MiB/s"),
        at("aws/io1", "100GiB", iops=5000),
        at("aws/io2", "256GiB", iops=256000),
        at("gcp/hyperdisk-balanced", "4GiB", iops=160000, throughput="2400MiB/s"),
        at("gcp/hyperdisk-extreme", "64GiB", iops=76800),
    ],
)
def test_accepted_at_the_boundary(catalog: Catalog, wanted: dict[str, Any]) -> None:
    tier = chosen(catalog, wanted).tier
    assert tier.iops == wanted.get("iops", 3000)
    assert tier.bytes_per_s


@pytest.mark.parametrize(
    ("wanted", "key", "what"),
    [
        (at("azure/premium-v2", "6GiB", iops=3001), "iops", "500 IOPS per GiB, so 3,000"),
        (at("azure/premium-v2", "8GiB", iops=4001), "iops", "500 IOPS per GiB, so 4,000"),
        (at("azure/premium-v2", "1TiB", iops=80001), "iops", "at most 80,000 IOPS"),
        (at("azure/premium-v2", "1TiB", iops=2999), "iops", "below the 3,000"),
        (
            at("azure/premium-v2", "1TiB", throughput="751MB/s"),
            "throughput",
            "0.25 MB/s per IOPS, so 750 MB/s",
        ),
        (
            at("azure/premium-v2", "1TiB", iops=9000, throughput="2001MB/s"),
            "throughput",
            "at most 2,000 MB/s",
        ),
        (at("azure/premium-v2", "1TiB", throughput="124MB/s"), "throughput", "below the 125"),
        (
            at("azure/ultra", "32GiB", iops=32001, throughput="1MB/s"),
            "iops",
            "1,000 IOPS per GiB, so 32,000",
        ),
        (at("azure/ultra", "3GiB", iops=100, throughput="1MB/s"), "size", "4 GiB to 64 TiB"),
        (at("azure/ultra", "4GiB", iops=99, throughput="1MB/s"), "iops", "below the 100"),
        (at("azure/ultra", "4GiB", iops=400, throughput="101MB/s"), "throughput", "100 MB/s"),
        (at("aws/gp3", "5GiB", iops=3001), "iops", "at most 3,000 IOPS"),
        (at("aws/gp3", "65TiB"), "size", "1 GiB to 64 TiB"),
        (at("aws/gp2", "17TiB"), "size", "1 GiB to 16 TiB"),
        (at("aws/io1", "100GiB", iops=5001), "iops", "50 IOPS per GiB, so 5,000"),
        (at("aws/io2", "4GiB", iops=4001), "iops", "1,000 IOPS per GiB, so 4,000"),
        (at("aws/st1", "124GiB"), "size", "125 GiB to 16 TiB"),
        (at("gcp/hyperdisk-extreme", "1TiB", iops=2047), "iops", "below the 2,048"),
        (at("gcp/hyperdisk-extreme", "64GiB", iops=76801), "iops", "so 76,800"),
    ],
)
def test_refused_beyond_the_boundary_with_rule_and_source(
    catalog: Catalog, wanted: object, key: str, what: str
) -> None:
    found = mistakes(catalog, wanted)
    assert list(found) == [f"tier.{key}"]
    assert what in found[f"tier.{key}"]
    assert str(chosen_source(catalog, wanted)) in found[f"tier.{key}"]


def chosen_source(catalog: Catalog, wanted: object) -> Source:
    assert isinstance(wanted, dict)
    return catalog.types[wanted["type"]].source


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        ("azure/P16", ["tier"]),
        ({"type": "azure/P16"}, ["tier.type"]),
        ("azure/ultra", ["tier.size", "tier.iops", "tier.throughput"]),
        ("azure/premium", ["tier.size"]),
        ("aws/gp2", ["tier.size"]),
        (at("azure/P15", "300GiB", iops=5), ["tier.size", "tier.iops"]),
        (at("aws/gp2", "10GiB", iops=5, throughput="1MB/s"), ["tier.iops", "tier.throughput"]),
        (at("aws/io2", "10GiB", iops=500, throughput="1MB/s"), ["tier.throughput"]),
        (at("aws/gp3", "10GiB", iop=3000, throughput="fast"), ["tier.throughput", "tier.iop"]),
        (at("aws/gp3", "-5GiB", iops=-1), ["tier.size", "tier.iops"]),
        ({"type": "aws/gp3", "size": 250}, ["tier.size"]),
        ("aws/i4i.large-nvme", ["tier.enforcement"]),
        ({"type": "aws/i4i.large-nvme", "enforcement": "mounted"}, ["tier.path"]),
    ],
)
def test_every_mistake_of_a_tier_at_once(catalog: Catalog, wanted: object, keys: list[str]) -> None:
    assert list(mistakes(catalog, wanted)) == keys


def test_an_unknown_name_is_answered_with_near_ones(catalog: Catalog) -> None:
    assert "azure/premium-v2" in mistakes(catalog, "azure/premiumv2")["tier"]
    with pytest.raises(UsageError) as refusal:
        catalog.vm("azure/Standard_D8_v5")
    assert "azure/Standard_D8s_v5" in refusal.value.mistakes[0].what


def test_local_nvme_is_mounted_never_emulated(catalog: Catalog) -> None:
    wanted = {"type": "aws/i4i.large-nvme", "enforcement": "mounted", "path": "/mnt/nvme"}
    tier = chosen(catalog, wanted).tier
    assert (tier.enforcement, tier.path, tier.read_latency_s) == ("mounted", "/mnt/nvme", None)
    assert "Reads 50,000 and writes 27,500" in tier.notes


def test_a_profile_may_state_its_own_latency(catalog: Catalog) -> None:
    own = {"type": "azure/P10", "read_latency": "1ms", "write_latency": "3ms"}
    tier = chosen(catalog, own).tier
    assert (tier.read_latency_s, tier.write_latency_s) == (0.001, 0.003)
    assert "assumption" not in tier.notes


def test_only_a_name_or_a_type_is_a_row() -> None:
    assert tier_catalog.names_a_row("azure/P15")
    assert tier_catalog.names_a_row({"type": "azure/P15"})
    assert not tier_catalog.names_a_row({"iops": 500, "throughput": "60MB/s"})


# ------------------------------------------------------------------ prices


@pytest.mark.parametrize(
    ("wanted", "monthly", "currency"),
    [
        ("azure/P10", 19.71, "USD"),
        # 245.19 for 2,048 GiB, 198.56 for 4,000 IOPS and 6.99 for 20 MB/s.
        (at("azure/ultra", "2TiB", iops=4000, throughput="20MB/s"), 450.74, "USD"),
        # The free 3,000 IOPS and 125 MB/s cost nothing.
        (at("azure/premium-v2", "250GiB"), 19.16, "GBP"),
        (at("azure/premium-v2", "250GiB", iops=10000, throughput="250MB/s"), 54.57, "GBP"),
        (at("aws/gp2", "100GiB"), 10.00, "USD"),
        (at("aws/gp3", "100GiB"), 8.00, "USD"),
        (at("aws/gp3", "100GiB", iops=4000, throughput="225MiB/s"), 17.00, "USD"),
        (at("aws/io1", "100GiB", iops=5000), 337.50, "USD"),
        (at("aws/io2", "100GiB", iops=32000), 2092.50, "USD"),
        # 32,000 × 0.065 + 32,000 × 0.046 + 36,000 × 0.032 + 100 × 0.125.
        (at("aws/io2", "100GiB", iops=100000), 4716.50, "USD"),
        (at("gcp/pd-ssd", "100GiB"), 17.00, "USD"),
        (at("gcp/hyperdisk-extreme", "128GiB", iops=20000), 656.00, "USD"),
        ({"type": "azure/S4", "operations_per_month": 10_000_000}, 2.04, "USD"),
        (at("aws/gp3", "100GiB", region="us-west-2"), 8.00, "USD"),
    ],
)
def test_monthly_price(catalog: Catalog, wanted: object, monthly: float, currency: str) -> None:
    price = chosen(catalog, wanted).tier.price
    assert price and (price.monthly, price.currency) == (monthly, currency)
    assert price.region and price.as_of and price.source


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ("azure/P15", "No price in the catalog"),
        ("azure/S4", "not every component is known"),  # the operations are not given
        ({"type": "azure/E4", "operations_per_month": 1000}, "unknown/10k operations"),
        (at("gcp/hyperdisk-balanced", "10GiB"), "No price in the catalog"),
        (at("aws/gp3", "10GiB", region="mars"), "No price for mars"),
        (
            at("aws/gp3", "1TiB", throughput="200MiB/s", region="European Sovereign Cloud"),
            "unknown/MiB/s above 125",
        ),
    ],
)
def test_no_price_where_a_component_is_unknown(catalog: Catalog, wanted: object, why: str) -> None:
    tier = chosen(catalog, wanted).tier
    assert tier.price is None and why in tier.notes


def test_an_unknown_price_that_is_not_needed_does_no_harm(catalog: Catalog) -> None:
    wanted = at("aws/gp3", "100GiB", region="European Sovereign Cloud")
    price = chosen(catalog, wanted).tier.price
    assert price and (price.monthly, price.currency) == (9.39, "EUR")


def test_steps_are_priced_by_what_lies_inside_them(catalog: Catalog) -> None:
    (io2,) = catalog.types["aws/io2"].prices
    assert prices.monthly(io2, gib=0, iops=32_000) == pytest.approx(2080)
    assert prices.monthly(io2, gib=0, iops=32_001) == pytest.approx(2080.046)
    assert prices.monthly(io2, gib=0, iops=64_001) == pytest.approx(2080 + 1472 + 0.032)
    assert prices.monthly(io2, gib=0) is None


def test_price_in_words() -> None:
    row = PriceRow.model_validate(
        {
            "currency": "USD",
            "region": "r",
            "source": "s",
            "per_gib": 0.08,
            "per_iops": [{"above": 3000, "price": 0.005}],
        },
        context={"s": Source(text="somewhere", as_of="2024")},
    )
    assert prices.describe(row) == "0.08/GiB + 0.005/IOPS above 3,000 USD"


# ------------------------------------------------------------------ with a VM


def on(catalog: Catalog, wanted: object, vm: str, disks: int = 1) -> tier_catalog.Effective:
    return tier_catalog.effective(chosen(catalog, wanted), disks, catalog.vm(vm), vm)


def test_the_disk_binds_where_the_vm_takes_nothing_away(catalog: Catalog) -> None:
    wanted = at("azure/premium-v2", "250GiB", iops=10000, throughput="250MB/s")
    found = on(catalog, wanted, "azure/Standard_D8s_v5")
    assert (found.iops.value, found.iops.binds) == (10000, "disk")
    assert (found.bytes_per_s.value, found.bytes_per_s.binds) == (250 * MB, "disk")
    assert list(found.warnings()) == []


def test_iops_and_throughput_are_bound_apart(catalog: Catalog) -> None:
    """P40: 7,500 IOPS and 250 MB/s. D4s_v5: 6,400 and 145. D8s_v3: 12,800 and 192."""
    small = on(catalog, "azure/P40", "azure/Standard_D4s_v5")
    assert (small.iops.value, small.iops.binds) == (6400, "vm")
    assert (small.bytes_per_s.value, small.bytes_per_s.binds) == (145 * MB, "vm")
    larger = on(catalog, "azure/P40", "azure/Standard_D8s_v3")
    assert (larger.iops.value, larger.iops.binds) == (7500, "disk")
    assert (larger.bytes_per_s.value, larger.bytes_per_s.binds) == (192 * MB, "vm")
    assert list(larger.warnings()) == [
        "throughput: azure/Standard_D8s_v3 lets through 192 MB/s "
        "of the 250 MB/s that the disks could give"
    ]


def test_disks_add_up_until_the_vm_binds(catalog: Catalog) -> None:
    fifteen = on(catalog, "azure/P20", "azure/Standard_DS14_v2", disks=15)
    assert (fifteen.iops.value, fifteen.iops.binds) == (34500, "disk")
    assert (fifteen.bytes_per_s.value, fifteen.bytes_per_s.binds) == (768 * MB, "vm")
    with pytest.raises(UsageError, match="one mistake"):
        on(catalog, "azure/P20", "azure/Standard_DS14_v2", disks=65)


def test_a_cap_per_disk(catalog: Catalog) -> None:
    pool = on(catalog, "azure/S10", "azure/Basic_A2", disks=4)
    assert (pool.iops.value, pool.iops.binds) == (1200, "vm")
    assert (pool.bytes_per_s.value, pool.bytes_per_s.binds) == (240 * MB, "disk")
    assert on(catalog, "azure/S10", "azure/Standard_A2", disks=4).iops.value == 2000


def test_burst_of_disk_and_vm(catalog: Catalog) -> None:
    """The VM's own bucket lets a fast disk through for half an hour: (20,000 − 12,800) × 1,800."""
    ultra = at("azure/ultra", "250GiB", iops=20000, throughput="200MB/s")
    found = on(catalog, ultra, "azure/Standard_D8s_v5")
    assert (found.iops.value, found.iops.binds) == (12800, "vm")
    assert (found.burst_iops.value, found.burst_iops.binds) == (20000, "disk")
    assert found.burst_iops.duration_s == pytest.approx(1800)
    slower = on(catalog, {**ultra, "iops": 16400}, "azure/Standard_D8s_v5")
    assert slower.burst_iops.duration_s == pytest.approx(3600)
    assert found.burst_bytes_per_s.value == 200 * MB
    assert found.burst_bytes_per_s.duration_s is None


def test_the_vm_cuts_a_disks_burst(catalog: Catalog) -> None:
    """Four P20 burst to 14,000 IOPS and 680 MB/s; D8s_v5 has 290 MB/s, and 1,200 in bursts."""
    found = on(catalog, "azure/P20", "azure/Standard_D8s_v5", disks=4)
    assert found.burst_iops.value == 14000
    assert found.burst_iops.duration_s == pytest.approx(1800)
    assert (found.bytes_per_s.value, found.bytes_per_s.binds) == (290 * MB, "vm")
    assert found.burst_bytes_per_s.value == 680 * MB
    cut = on(catalog, "azure/P20", "azure/Standard_DS11_v2", disks=4)
    assert (cut.burst_iops.value, cut.burst_iops.binds) == (6400, "vm")
    assert (cut.burst_bytes_per_s.value, cut.burst_bytes_per_s.binds) == (96 * MB, "vm")


def test_persistent_disks_share_their_limits_per_vm(catalog: Catalog) -> None:
    """Two of 500 GiB are one of 1,000 GiB: the baseline counts once."""
    two = on(catalog, at("gcp/pd-balanced", "500GiB"), "gcp/n2-standard-8", disks=2)
    assert (two.iops.disks, two.iops.value, two.iops.binds) == (9000, 9000, "disk")
    ssd = on(catalog, at("gcp/pd-ssd", "500GiB"), "gcp/n2-standard-8")
    assert (ssd.iops.value, ssd.iops.binds) == (15000, "vm")
    hdd = on(catalog, at("gcp/pd-standard", "8TiB"), "gcp/n2-standard-8")
    assert (hdd.iops.value, hdd.iops.binds) == (5000, "vm")
    assert (hdd.bytes_per_s.value, hdd.bytes_per_s.binds) == (400 * MIB, "vm")


def test_a_type_the_vm_has_no_figures_for_is_not_capped(catalog: Catalog) -> None:
    found = on(catalog, at("gcp/hyperdisk-balanced", "100GiB"), "gcp/n2-standard-8")
    assert (found.iops.value, found.iops.vm, found.iops.binds) == (3000, None, "disk")


def test_own_numbers_are_bound_like_a_row(catalog: Catalog) -> None:
    tier = Tier("own", "own", "emulated", 50000, 100 * MB, notes="by hand")
    vm = "azure/Standard_DS14_v2"
    found = tier_catalog.effective(tier_catalog.own(tier), 1, catalog.vm(vm), vm)
    assert tier_catalog.bound(tier, found) == tier.__class__(
        "own", "own", "emulated", 50000, 100 * MB, notes="by hand"
    )
    small = tier_catalog.effective(
        tier_catalog.own(tier), 1, catalog.vm("aws/m5.24xlarge"), "aws/m5.24xlarge"
    )
    assert list(small.warnings()) == []


def test_a_real_disk_of_unknown_limits_is_not_declared_to_have_the_vms(catalog: Catalog) -> None:
    tier = Tier("real", "real", "mounted", None, 500 * MB, path="/mnt")
    vm = "azure/Standard_D8s_v5"
    found = tier_catalog.effective(tier_catalog.own(tier), 1, catalog.vm(vm), vm)
    bound = tier_catalog.bound(tier, found)
    assert (bound.iops, bound.bytes_per_s) == (None, 290 * MB)
    assert bound.burst is not None and bound.burst.iops is None


def test_a_bound_tier_has_the_effective_limits(catalog: Catalog) -> None:
    wanted = at("azure/ultra", "250GiB", iops=20000, throughput="200MB/s")
    one = chosen(catalog, wanted)
    vm = "azure/Standard_D8s_v5"
    tier = tier_catalog.bound(one.tier, tier_catalog.effective(one, 1, catalog.vm(vm), vm))
    assert (tier.iops, tier.bytes_per_s) == (12800, 200 * MB)
    assert tier.burst == Burst(20000, None, 1800.0, 0.0)
    assert tier.vm_caps == (
        "IOPS: azure/Standard_D8s_v5 lets through 12,800 of the 20,000 that the disks could give",
    )


# ------------------------------------------------------------------ listing


def names(rows: tuple[tier_catalog.TierRow, ...]) -> list[str]:
    return [row.name for row in rows]


def test_filters(catalog: Catalog) -> None:
    fast = tier_catalog.tiers(catalog, provider="azure", min_iops=20000)
    assert names(fast) == [
        "azure/P80",
        "azure/premium-v2",
        "azure/ultra",
        "azure/L8s_v3-nvme",
        "azure/L16s_v3-nvme",
        "azure/L80s_v3-nvme",
    ]
    quick = tier_catalog.tiers(catalog, provider="azure", max_latency_s=0.001)
    assert names(quick) == ["azure/premium-v2", "azure/ultra"]
    bursting = tier_catalog.tiers(catalog, provider="aws", burst=True)
    assert names(bursting) == ["aws/gp2", "aws/st1", "aws/sc1"]
    wide = tier_catalog.tiers(catalog, provider="aws", min_bytes_per_s=2000 * MIB)
    assert names(wide) == ["aws/gp3", "aws/io2"]
    assert names(tier_catalog.tiers(catalog, text="hyperdisk ext")) == ["gcp/hyperdisk-extreme"]
    with pytest.raises(UsageError, match="aws, azure, gcp"):
        tier_catalog.tiers(catalog, provider="oracle")


def test_a_listed_row_says_what_one_may_buy(catalog: Catalog) -> None:
    (ultra,) = tier_catalog.tiers(catalog, text="azure/ultra")
    assert ultra.form == "provisioned" and ultra.monthly is None
    assert ultra.size_bytes == (4 * GIB, 64 * TIB)
    assert ultra.iops == (100, 400000) and ultra.bytes_per_s == (MB, 10_000 * MB)
    (p10,) = tier_catalog.tiers(catalog, text="azure/P10")
    assert (p10.form, p10.monthly, p10.burst, p10.burst_s) == ("fixed", 19.71, "credit", 1800)
    (balanced,) = tier_catalog.tiers(catalog, text="pd-balanced")
    assert balanced.iops == (3000, 80000)  # the largest VM in the catalogue


def test_vm_sizes_are_listed(catalog: Catalog) -> None:
    (d8,) = tier_catalog.vms(catalog, text="D8s_v5")
    assert (d8.iops, d8.bytes_per_s, d8.burst_iops, d8.burst_s) == (12800, 290 * MB, 20000, 1800)
    gcp = tier_catalog.vms(catalog, provider="gcp", min_iops=100_000)
    assert {(row.name, row.disk_type) for row in gcp} == {
        ("gcp/n2-standard-64", "pd-ssd"),
        ("gcp/n2-standard-80", "pd-ssd"),
    }


# ------------------------------------------------------------------ reading

_ROW = """
  some:
    title: Some disk
    media: ssd
    source: a
    latency: null
    emulated_latency: {read: 1ms, write: 1ms}
    io_unit: 256KiB
    sizes: {X1: {size: 1GiB, iops: 100, throughput: 10MB/s}}
"""
_GOOD = "provider: here\nsources: {a: {text: a document, as_of: 2024-01-01}}\ntypes:" + _ROW


def reading_mistakes(**texts: str) -> list[str]:
    with pytest.raises(UsageError) as refusal:
        tier_catalog.read(texts)
    return [f"{mistake.where}: {mistake.what}" for mistake in refusal.value.mistakes]


def test_a_small_catalogue_is_read() -> None:
    catalog = tier_catalog.read({"x.yaml": _GOOD})
    assert catalog.names == ("here/X1", "here/some")
    assert str(catalog.types["here/some"].source) == "a document, 2024-01-01"


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("iops: 100", "iops: 100, ipos: 5", "x: types.some.sizes.X1.ipos: unknown key"),
        ("    media: ssd\n", "", "x: types.some.media: this key is missing"),
        ("iops: 100", "iops: 0", "x: types.some.sizes.X1.iops:"),
        ("10MB/s", "10", "x: types.some.sizes.X1.throughput: expected a rate"),
        ("source: a", "source: b", "x: types.some.source: unknown source; `sources` has a"),
        ("    source: a\n", "", "x: types.some.source: this key is missing"),
        (", as_of: 2024-01-01", "", "x: sources.a.as_of: this key is missing"),
        ("    sizes:", "    shapes:", "x: types.some.shapes: unknown key"),
        ("emulated_latency: {read: 1ms, write: 1ms}", "emulated_latency: null", "x: types.some:"),
        ("title: Some disk", "title: A\n    title: B", "x:6:5: the key 'title' stands twice"),
        ("provider: here", "provider: here\nprices: 3", "x: prices: unknown key"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_its_path(old: str, new: str, what: str) -> None:
    assert old in _GOOD
    found = reading_mistakes(x=_GOOD.replace(old, new, 1))
    assert any(one.startswith(what) for one in found), found


def test_all_mistakes_of_all_files_at_once() -> None:
    found = reading_mistakes(
        x=_GOOD.replace("iops: 100", "iops: none, size: 2").replace("media: ssd", "media: paper"),
        y="- not a mapping",
        z=_GOOD.replace("media: ssd", "media: tape"),
    )
    assert [one.split(":")[0] for one in found] == ["x", "y", "z"]
    assert "size' stands twice" in found[0]


def test_a_name_belongs_to_one_row() -> None:
    found = reading_mistakes(x=_GOOD, y=_GOOD.replace("  some:", "  other:"))
    assert found == [
        "y: types.other.sizes.X1: this name is already taken at x: types.some.sizes.X1"
    ]


@pytest.mark.parametrize(
    ("burst", "what"),
    [
        ("{model: credit, iops: 200}", "credit burst needs `duration`"),
        ("{model: on-demand, iops: 200, duration: 30min}", "on-demand burst has none"),
        ("{model: credit, duration: 30min}", "needs `iops` or `throughput`"),
    ],
)
def test_a_burst_must_be_whole(burst: str, what: str) -> None:
    (found,) = reading_mistakes(x=_GOOD.replace("10MB/s}", f"10MB/s, burst: {burst}}}"))
    assert what in found


@pytest.mark.parametrize("more", ["{above: 0, price: 1}", "{above: 5, price: 1}"])
def test_price_steps_must_rise(more: str) -> None:
    price = f"{{currency: USD, region: r, source: a, per_iops: [{{above: 5, price: 2}}, {more}]}}"
    (found,) = reading_mistakes(x=_GOOD.replace("10MB/s}", f"10MB/s, prices: [{price}]}}"))
    assert "must rise" in found
