"""Limits that follow from size or IOPS by formula, at the vendors' worked points and at edges."""

from __future__ import annotations

import pytest

from orchestrator.tier_catalog import limits
from tests.catalog import MIB, at, chosen


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
        (5333, 15999, 250, None, None),
        (5334, 16000, 250, None, None),
        (16384, 16000, 250, None, None),
    ],
)
def test_gp2(
    gib: int, iops: int, mib_per_s: float, burst_mib_per_s: float | None, burst_s: int | None
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
    ("iops", "mib_per_s"), [(100, 25), (2000, 500), (32000, 500), (48000, 750), (64000, 1000)]
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
def test_throughput_that_follows_from_iops(wanted: object, mib_per_s: int) -> None:
    assert chosen(wanted).tier.limits.bytes_per_s == mib_per_s * MIB
