"""What a vendor lets one buy: accepted at each boundary, refused beyond it with rule and source."""

from __future__ import annotations

from typing import Any

import pytest

from tests.catalog import CATALOG, at, chosen, mistakes

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
        (at(V2, "1TiB", throughput="751MB/s"), "throughput", "0.25 MB/s per IOPS, so 750 MB/s"),
        (at(V2, "1TiB", iops=9000, throughput="2001MB/s"), "throughput", "at most 2,000 MB/s"),
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
