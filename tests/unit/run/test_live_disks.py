"""The disk that was at a cap most of the last minute, while a run goes on."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.analysis.telemetry.counters import counter_names
from orchestrator.counter_sources import DISK_DEVICE
from orchestrator.model import Node, Sample
from orchestrator.run.progress.live_disks import LAST_S, METRICS, RecentDisks
from orchestrator.tier import Burst
from tests.tiers import a_tier, changed

TIER = a_tier("x", "X", "mounted", 100, None)


def followed(
    seconds: float, busy: range, busy_reads: float = 100.0, **more: Any
) -> RecentDisks:
    """Two nodes. Of so many seconds those of `busy` have reads, and the others none."""
    recent = RecentDisks(changed(TIER, **more))
    nodes = ("node-1", "node-2")
    recent.watch(
        [Node(name, "database", sources={DISK_DEVICE: "sdb"}) for name in nodes]
    )
    reads = 0.0
    for second in range(int(seconds) + 1):
        if second in busy:
            reads += busy_reads
        for metric in METRICS:
            value = 0.0
            if metric == counter_names.READS:
                value = reads
            for name in nodes:
                recent.add(Sample(float(second), name, metric, "", value))
    return recent


@pytest.mark.parametrize(
    ("seconds", "busy", "share_pct"),
    [
        (LAST_S, range(1, 2), 100 / 60),
        # It began a minute and a second ago.
        (LAST_S + 1, range(1, 2), 0.0),
        (LAST_S, range(1, 61), 100.0),
        (10, range(6, 11), 50.0),
    ],
)
def test_the_last_minute_counts(seconds: float, busy: range, share_pct: float) -> None:
    worst = followed(seconds, busy).worst()
    assert worst is not None
    # Of disks alike the first is named.
    assert (worst.node, worst.cap) == ("node-1", "iops")
    assert worst.seconds_pct == pytest.approx(share_pct)


@pytest.mark.parametrize(("reads", "share_pct"), [(95.0, 100.0), (94.9, 0.0)])
def test_a_second_is_at_a_cap_from_95_pct_of_it_on(
    reads: float, share_pct: float
) -> None:
    worst = followed(10, range(1, 11), reads).worst()
    assert worst is not None
    assert worst.seconds_pct == share_pct


def test_an_emulated_disk_that_begins_without_credit_has_its_base_as_cap() -> None:
    burst = Burst(200, None, 60.0, start_pct=0.0)
    worst = followed(10, range(1, 11), like="emulated", burst=burst).worst()
    assert worst is not None
    assert worst.seconds_pct == 100.0


def test_what_hangs_on_credit_or_is_a_sum_of_disks_is_not_told() -> None:
    burst = Burst(200, None, 60.0, start_pct=50.0)
    like: dict[str, Any] = {"like": "emulated", "burst": burst}
    assert followed(10, range(1, 11), **like).worst() is None
    recent = RecentDisks(TIER)
    recent.watch(
        [
            Node("node-1", "database", sources={DISK_DEVICE: "sdb sdc"}),
            Node("client-1", "client", sources={DISK_DEVICE: "sda"}),
        ]
    )
    for second in range(10):
        for metric in METRICS:
            value = 100.0 * second
            recent.add(Sample(float(second), "node-1", metric, "", value))
    assert recent.worst() is None
