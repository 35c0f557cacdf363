"""Which disks need not be looked at beside cheaper ones: limit by limit, bursts and latencies."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.extensions.predict import rows
from orchestrator.extensions.predict.rows import Row
from orchestrator.tier import Burst, Price
from tests.tiers import a_tier, changed


def row(
    cost: float, name: str = "aws/gp3", machine: str | None = None, **more: Any
) -> Row:
    """500 IOPS, 60 MB/s, a write of 1 ms."""
    tier = changed(
        a_tier(name, name, "emulated", 500, 60_000_000, 0.001, 0.001), **more
    )
    return Row(name, tier, Price(cost, "USD", "r", "2026-11", "s"), machine)


BURST = Burst(1000, 90_000_000, 60.0, start_pct=50.0)


@pytest.mark.parametrize(
    ("cheaper", "dearer", "is_kept"),
    [
        ({}, {}, False),
        ({}, {"iops": 499}, False),
        ({}, {"iops": 501}, True),
        ({}, {"bytes_per_s": 60_000_001}, True),
        ({}, {"iops": None}, True),
        ({"iops": None}, {"iops": 99_999}, False),
        # Bursts, where only the machines differ.
        ({}, {"burst": BURST}, True),
        ({"burst": BURST}, {}, False),
        ({"burst": BURST}, {"burst": BURST}, False),
        ({"burst": BURST}, {"burst": Burst(1001, 90_000_000, 60.0, 50.0)}, True),
        ({"burst": BURST}, {"burst": Burst(1000, 90_000_001, 60.0, 50.0)}, True),
        ({"burst": BURST}, {"burst": Burst(1000, 90_000_000, 60.1, 50.0)}, True),
        ({"burst": BURST}, {"burst": Burst(1000, 90_000_000, 60.0, 50.1)}, True),
        ({"burst": BURST}, {"burst": Burst(999, 89_999_999, 59.9, 49.9)}, False),
        # A burst without a peak of bytes has the base rate of them.
        ({"burst": Burst(1000, None, 60.0, 50.0)}, {"burst": BURST}, True),
        ({"burst": BURST}, {"burst": Burst(1000, None, 60.0, 50.0)}, False),
        ({"burst": Burst(None, 90_000_000, 60.0, 50.0)}, {"burst": BURST}, True),
        ({"burst": BURST}, {"burst": Burst(None, 90_000_000, 60.0, 50.0)}, False),
    ],
)
def test_a_dearer_machine_is_useful_where_it_lets_more_through(
    cheaper: dict[str, Any], dearer: dict[str, Any], is_kept: bool
) -> None:
    first = row(10.0, machine="small", **cheaper)
    second = row(20.0, machine="large", **dearer)
    kept = rows.on_useful_machines([second, first])
    assert kept == [first, second] if is_kept else kept == [first]


@pytest.mark.parametrize(
    ("dearer", "is_kept"),
    [
        (row(20.0), False),
        (row(20.0, write_latency_s=0.0009), True),
        (row(20.0, write_latency_s=0.0011), False),
        (row(20.0, iops=501), True),
        # Of another provider, on another machine, or of an unknown latency.
        (row(20.0, name="azure/P30"), True),
        (row(20.0, machine="large"), True),
        (row(20.0, read_latency_s=None, iops=999), False),
    ],
)
def test_what_a_cheaper_disk_equals_in_all_is_not_looked_at(
    dearer: Row, is_kept: bool
) -> None:
    first = row(10.0)
    kept = rows.undominated([dearer, first])
    assert kept == [first, dearer] if is_kept else kept == [first]


def test_the_price_holds_the_machine() -> None:
    disk = row(10.0)
    assert disk.monthly == 10.0
    dear = Row(disk.name, disk.tier, disk.price, "large", machine_monthly=15.0)
    assert dear.monthly == 25.0
    assert [kept.monthly for kept in rows.on_useful_machines([dear, disk])] == [10.0]


def test_a_disk_whose_latency_nobody_says_is_left_out() -> None:
    unknown = row(5.0, read_latency_s=None, write_latency_s=None)
    slow = row(10.0)
    assert not unknown.has_latencies
    assert rows.undominated([slow, unknown]) == [slow]
