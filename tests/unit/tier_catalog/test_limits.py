"""Limits that follow from size or IOPS by formula, at the vendors' worked points and at edges; and
what a vendor lets one buy: accepted at each boundary, refused beyond it with rule and source.
"""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.tier_catalog import limits, rules
from tests.catalog import CATALOG, MIB, at, chosen, mistakes


@pytest.mark.parametrize(
    ("gib", "iops", "mib_per_s", "burst_mib_per_s", "burst_s"),
    [
        (33, 100, 128, None, 1862),
        (34, 102, 128, None, None),
        (100, 300, 128, None, 2000),
        (170, 510, 128, None, None),
        (171, 513, 128.25, 250, None),
        (333, 999, 249.75, 250, None),
        (334, 1002, 250, None, 2703),
        (750, 2250, 250, None, 7200),
        (999, 2997, 250, None, None),
        (1000, 3000, 250, None, None),
        (5333, 15999, 250, None, None),
        (5334, 16000, 250, None, None),
        (16384, 16000, 250, None, None),
    ],
)
def test_gp2(
    gib: int,
    iops: int,
    mib_per_s: float,
    burst_mib_per_s: float | None,
    burst_s: int | None,
) -> None:
    """The vendor gives a duration of burst for four sizes."""
    tier = chosen(at("aws/gp2", f"{gib}GiB")).tier
    assert (tier.limits.iops, tier.limits.bytes_per_s) == (iops, mib_per_s * MIB)
    burst_rate = tier.limits.burst.bytes_per_s if tier.limits.burst else None
    assert burst_rate == (burst_mib_per_s and burst_mib_per_s * MIB)
    assert (tier.limits.burst is None) == (iops >= 3000)
    if burst_s is not None:
        assert tier.limits.burst and tier.limits.burst.iops == 3000
        assert tier.limits.burst.duration_s == pytest.approx(burst_s, abs=0.5)


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
    name: str, gib: int, base: float, burst: float | None, duration_s: float | None
) -> None:
    tier = chosen(at(name, f"{gib}GiB")).tier
    assert tier.limits.bytes_per_s == pytest.approx(base * MIB)
    assert tier.limits.iops == max(1, round(base))  # a random I/O costs a full MiB
    assert (tier.limits.burst is None) == (burst is None)
    if tier.limits.burst and burst:
        assert tier.limits.burst.bytes_per_s == pytest.approx(burst * MIB)
        assert tier.limits.burst.duration_s == pytest.approx(duration_s, abs=0.1)


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
    name: str, gib: int, iops: int, write_iops: int | None, mib_per_s: float
) -> None:
    declared = chosen(at(name, f"{gib}GiB")).limits
    assert (declared.iops, declared.write_iops) == (iops, write_iops)
    assert declared.bytes_per_s == pytest.approx(mib_per_s * MIB, abs=1)


@pytest.mark.parametrize(
    ("iops", "mib_per_s"),
    [(100, 25), (2000, 500), (32000, 500), (48000, 750), (64000, 1000)],
)
def test_io1_throughput_follows_its_iops(iops: int, mib_per_s: int) -> None:
    assert limits.io1_bytes_per_s(iops) == mib_per_s * MIB


@pytest.mark.parametrize(
    ("wanted", "mib_per_s"),
    [
        (at("aws/io1", "1280GiB", iops=1000), 250),
        (at("aws/io1", "1280GiB", iops=64000), 1000),
        (at("aws/io2", "16GiB", iops=1000), 256),
        (at("aws/io2", "16GiB", iops=16000), 4000),
        (at("gcp/hyperdisk-extreme", "64GiB", iops=10000), 2500),
        (at("gcp/hyperdisk-extreme", "1TiB", iops=100000), 5000),
    ],
)
def test_throughput_that_follows_from_iops(wanted: object, mib_per_s: int) -> None:
    assert chosen(wanted).tier.limits.bytes_per_s == mib_per_s * MIB


V2, ULTRA = "azure/premium-v2", "azure/ultra"
BALANCED, EXTREME = "gcp/hyperdisk-balanced", "gcp/hyperdisk-extreme"


@pytest.mark.parametrize(
    "wanted",
    [
        at(V2, "6GiB", iops=3000),
        at(V2, "8GiB", iops=4000),
        at(V2, "160GiB", iops=80000, throughput="2000MB/s"),
        at(V2, "10GiB", throughput="750MB/s"),
        at(V2, "10GiB", iops=4000, throughput="1000MB/s"),
        at(ULTRA, "4GiB", iops=4000, throughput="1000MB/s"),
        at(ULTRA, "512GiB", iops=400000, throughput="10000MB/s"),
        at(ULTRA, "4GiB", iops=100, throughput="1MB/s"),
        at(ULTRA, "1TiB", iops=1024, throughput="100MB/s"),
        at("aws/gp3", "1GiB"),
        at("aws/gp3", "160GiB", iops=80000, throughput="2000MiB/s"),
        at("aws/gp3", "8GiB", iops=4000, throughput="1000MiB/s"),
        at("aws/io1", "100GiB", iops=5000),
        at("aws/io2", "256GiB", iops=256000),
        at(BALANCED, "4GiB", iops=160000, throughput="2400MiB/s"),
        at(EXTREME, "64GiB", iops=76800),
    ],
)
def test_accepted_at_the_boundary(wanted: dict[str, Any]) -> None:
    tier = chosen(wanted).tier
    assert tier.limits.iops == wanted.get("iops", 3000)
    assert tier.limits.bytes_per_s


@pytest.mark.parametrize(
    ("wanted", "key", "what"),
    [
        (at(V2, "6GiB", iops=3001), "iops", "500 IOPS per GiB, so 3,000"),
        (at(V2, "8GiB", iops=4001), "iops", "500 IOPS per GiB, so 4,000"),
        (at(V2, "1TiB", iops=80001), "iops", "at most 80,000 IOPS"),
        (at(V2, "1TiB", iops=2999), "iops", "below the 3,000"),
        (
            at(V2, "1TiB", throughput="751MB/s"),
            "throughput",
            "0.25 MB/s per IOPS, so 750 MB/s",
        ),
        (
            at(V2, "1TiB", iops=9000, throughput="2001MB/s"),
            "throughput",
            "at most 2,000 MB/s",
        ),
        (at(V2, "1TiB", throughput="124MB/s"), "throughput", "below the 125"),
        (
            at(ULTRA, "32GiB", iops=32001, throughput="1MB/s"),
            "iops",
            "1,000 IOPS per GiB, so 32,000",
        ),
        (at(ULTRA, "3GiB", iops=100, throughput="1MB/s"), "size", "4 GiB to 64 TiB"),
        (at(ULTRA, "4GiB", iops=99, throughput="1MB/s"), "iops", "below the 100"),
        (at(ULTRA, "4GiB", iops=400, throughput="101MB/s"), "throughput", "100 MB/s"),
        (at("aws/gp3", "5GiB", iops=3001), "iops", "at most 3,000 IOPS"),
        (at("aws/gp3", "65TiB"), "size", "1 GiB to 64 TiB"),
        (at("aws/gp2", "17TiB"), "size", "1 GiB to 16 TiB"),
        (at("aws/io1", "100GiB", iops=5001), "iops", "50 IOPS per GiB, so 5,000"),
        (at("aws/io2", "4GiB", iops=4001), "iops", "1,000 IOPS per GiB, so 4,000"),
        (at("aws/st1", "124GiB"), "size", "125 GiB to 16 TiB"),
        (at(EXTREME, "1TiB", iops=2047), "iops", "below the 2,048"),
        (at(EXTREME, "64GiB", iops=76801), "iops", "so 76,800"),
    ],
)
def test_refused_beyond_the_boundary_with_rule_and_source(
    wanted: dict[str, Any], key: str, what: str
) -> None:
    ((where, text),) = mistakes(wanted).items()
    assert where == f"tier.{key}"
    assert what in text and str(CATALOG.types[wanted["type"]].source) in text


def test_a_disk_that_the_service_refuses_is_refused_with_its_answer() -> None:
    """Microsoft's page has 100 IOPS for any size; the service has one for each GiB."""
    text = mistakes(at(ULTRA, "1TiB", iops=500, throughput="100MB/s"))["tier.iops"]
    assert "below the 1,024 IOPS minimum" in text and ", 1 a GiB" in text
    assert "azuredisk-csi-driver, issue 1442" in text


@pytest.mark.parametrize(("gib", "iops"), [(99, 3_594), (100, 3_600), (200, 3_600)])
def test_a_line_ends_at_its_maximum(gib: int, iops: int) -> None:
    """3,000 and 6 for each GiB, up to 3,600."""
    rule = rules.LinearRule.model_validate(
        {
            "formula": "linear",
            "unit": "MiB/s",
            "iops": {"base": 3000, "per_gib": 6, "max": 3600},
            "throughput": None,
        }
    )
    assert limits.linear(rule, gib).iops == iops
