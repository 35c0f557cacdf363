"""A profile's `tier` becomes a tier with its facts and burst, or all its mistakes are named.

Goal: a figure entered wrongly or a unit confused fails here. Method, as in all tests beside this
one: the real files of profiles/catalog against literal values from the cited documents.
"""

from __future__ import annotations

import pytest

from orchestrator import tier_catalog
from orchestrator.errors import UsageError
from orchestrator.tier import Burst, burst_credit
from tests.catalog import CATALOG, GIB, MB, MIB, at, chosen, mistakes


def test_every_row_names_its_source_and_date() -> None:
    types = [(name, kind.source) for name, kind in CATALOG.types.items()]
    vms = [(name, vm.source) for name, vm in CATALOG.vms.items()]
    for name, source in types + vms:
        assert len(source.text) > 10 and source.as_of, name


def test_the_catalog_holds_what_it_promises() -> None:
    premium = "P1 P2 P3 P4 P6 P10 P15 P20 P30 P40 P50 P60 P70 P80"
    standard = "E1 E2 E3 E4 E6 E10 E15 E20 E30 E40 E50 E60 E70 E80"
    hdd = "S4 S6 S10 S15 S20 S30 S40 S50 S60 S70 S80"
    azure = f"{premium} {standard} {hdd} premium-v2 ultra L8s_v3-nvme"
    aws = "gp2 gp3 io1 io2 st1 sc1"
    gcp = (
        "pd-standard pd-balanced pd-ssd local-ssd hyperdisk-balanced hyperdisk-extreme"
    )
    names = {"azure": azure, "aws": aws, "gcp": gcp}
    promised = {
        f"{provider}/{name}"
        for provider, text in names.items()
        for name in text.split()
    }
    assert promised <= set(CATALOG.names)


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
def test_fixed_sizes(name: str, size_gib: int, iops: int, mb_per_s: int) -> None:
    choice = chosen(name)
    assert choice.size_bytes == size_gib * GIB
    assert (choice.tier.limits.iops, choice.tier.limits.bytes_per_s) == (
        iops,
        mb_per_s * MB,
    )


@pytest.mark.parametrize(
    ("name", "iops", "bytes_per_s"),
    [
        ("aws/gp3", 3000, 125 * MIB),
        ("azure/premium-v2", 3000, 125 * MB),
        ("gcp/hyperdisk-balanced", 3000, 140 * MIB),
    ],
)
def test_what_is_included_is_bought_where_nothing_is_asked_for(
    name: str, iops: int, bytes_per_s: int
) -> None:
    plain = chosen(at(name, "1024GiB")).tier.limits
    assert (plain.iops, plain.bytes_per_s) == (iops, bytes_per_s)
    more = chosen(at(name, "1024GiB", iops=8000)).tier.limits
    assert (more.iops, more.bytes_per_s) == (8000, bytes_per_s)


def test_a_row_becomes_a_tier_with_its_facts() -> None:
    tier = tier_catalog.choose(CATALOG, "azure/P15", "premium").tier
    assert (tier.name, tier.title) == ("premium", "Azure Premium SSD P15")
    assert tier.disk.enforcement == "emulated"
    assert tier.limits.burst == Burst(3500, 170 * MB, 1800.0, 0.0)
    latency = tier.latency
    assert (latency.read_s, latency.write_s) == pytest.approx((0.0024, 0.0013))
    assert tier.limits.io_unit_bytes == 256 * 1024
    assert (
        tier.origin.as_of == "2023-03-16" and "Premium SSD sizes" in tier.origin.source
    )
    assert (
        "single-digit milliseconds" in tier.origin.notes
        and "as measured by T. Kubica" in tier.origin.notes
    )


def test_capacity_is_rounded_up_to_the_next_offered_size() -> None:
    assert chosen(at("azure/standard-ssd", "200GiB")).tier.title.endswith("E15")
    assert chosen(at("azure/premium", "256GiB")).tier.title.endswith("P15")
    assert chosen(at("azure/premium", "257GiB")).tier.title.endswith("P20")
    assert "that large" in mistakes(at("azure/premium", "32TiB"))["tier.size"]


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        ("azure/P16", ["tier"]),
        ({"type": "azure/P16"}, ["tier.type"]),
        ("azure/ultra", ["tier.size", "tier.iops", "tier.throughput"]),
        ("azure/premium", ["tier.size"]),
        ("aws/gp2", ["tier.size"]),
        (at("azure/P15", "300GiB", iops=5), ["tier.size", "tier.iops"]),
        (
            at("aws/gp2", "10GiB", iops=5, throughput="1MB/s"),
            ["tier.iops", "tier.throughput"],
        ),
        (at("aws/io2", "10GiB", iops=500, throughput="1MB/s"), ["tier.throughput"]),
        (
            at("aws/gp3", "10GiB", iop=3000, throughput="fast"),
            ["tier.throughput", "tier.iop"],
        ),
        (at("aws/gp3", "-5GiB", iops=-1), ["tier.iops", "tier.size"]),
        ({"type": "aws/gp3", "size": 250}, ["tier.size"]),
        ("aws/i4i.large-nvme", ["tier.enforcement"]),
        ({"type": "aws/i4i.large-nvme", "enforcement": "mounted"}, ["tier.disks"]),
        ({"type": "azure/P10", "performance_plus": True}, ["tier.performance_plus"]),
    ],
)
def test_every_mistake_of_a_tier_at_once(wanted: object, keys: list[str]) -> None:
    assert list(mistakes(wanted)) == keys


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    assert "azure/premium-v2" in mistakes("azure/premiumv2")["tier"]
    with pytest.raises(UsageError) as refusal:
        CATALOG.vm("azure/Standard_D8_v5")
    assert "azure/Standard_D8s_v5" in refusal.value.mistakes[0].what


def test_local_nvme_is_mounted_never_emulated() -> None:
    wanted = {
        "type": "aws/i4i.large-nvme",
        "enforcement": "mounted",
        "path": "/mnt/nvme",
    }
    tier = chosen(wanted).tier
    assert (tier.disk.enforcement, tier.disk.path, tier.latency.read_s) == (
        "mounted",
        "/mnt/nvme",
        None,
    )
    assert "Reads 50,000 and writes 27,500" in tier.origin.notes


def test_a_profile_may_state_its_own_latency() -> None:
    own = {"type": "azure/P10", "read_latency": "1ms", "write_latency": "3ms"}
    tier = chosen(own).tier
    assert (tier.latency.read_s, tier.latency.write_s) == (0.001, 0.003)
    assert "assumption" not in tier.origin.notes


def test_only_a_name_or_a_type_is_a_row() -> None:
    assert tier_catalog.names_a_row("azure/P15")
    assert tier_catalog.names_a_row({"type": "azure/P15"})
    assert not tier_catalog.names_a_row({"iops": 500, "throughput": "60MB/s"})


def test_performance_plus() -> None:
    plus = chosen({"type": "azure/P40", "performance_plus": True}).tier
    assert (plus.limits.iops, plus.limits.bytes_per_s, plus.price) == (
        16000,
        600 * MB,
        None,
    )


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
def test_credit_buckets_of_premium_ssd(name: str, ios: int, megabytes: int) -> None:
    tier = chosen(name).tier
    base, burst = (tier.limits.iops, tier.limits.bytes_per_s), tier.limits.burst
    assert burst
    buckets = zip(
        base, (burst.iops, burst.bytes_per_s), (ios, megabytes * MB), strict=True
    )
    for base_rate, burst_rate, credit in buckets:
        assert base_rate and burst_rate
        assert (
            burst_credit.full_bucket(base_rate, burst_rate, burst.duration_s) == credit
        )


@pytest.mark.parametrize(
    ("start", "pct"),
    [("full", 100.0), ("empty", 0.0), (35, 35.0), ("35 %", 35.0), (None, 0.0)],
)
def test_a_bucket_starts_as_asked_and_empty_by_default(
    start: object, pct: float
) -> None:
    burst = chosen({"type": "azure/P10", "burst": start}).tier.limits.burst
    assert burst and burst.start_pct == pct


@pytest.mark.parametrize("off", ["off", False])  # YAML reads a bare `off` as false
def test_burst_can_be_switched_off(off: object) -> None:
    assert chosen({"type": "azure/P10", "burst": off}).tier.limits.burst is None


def test_on_demand_burst_is_opt_in_and_has_no_price() -> None:
    plain = chosen("azure/P30").tier
    assert (plain.limits.iops, plain.limits.bytes_per_s, plain.limits.burst) == (
        5000,
        200 * MB,
        None,
    )
    assert plain.price and plain.price.monthly == 135.17
    bursting = chosen({"type": "azure/P30", "burst": "on-demand"}).tier
    assert (
        bursting.limits.iops,
        bursting.limits.bytes_per_s,
        bursting.limits.burst,
    ) == (
        30000,
        1000 * MB,
        None,
    )
    assert bursting.price is None and "on-demand burst" in bursting.origin.notes


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
def test_burst_that_a_row_does_not_have_is_refused(wanted: object, what: str) -> None:
    assert what in mistakes(wanted)["tier.burst"]
