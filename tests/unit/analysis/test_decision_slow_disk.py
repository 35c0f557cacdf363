"""Which tier to buy where a disk was slow: what that costs counts, whatever the disk's latency."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.analysis.conclusions import Bottleneck, Decision
from orchestrator.analysis.decisions import decision
from orchestrator.analysis.figures import slowed
from orchestrator.metrics import measured
from orchestrator.model import Record
from orchestrator.tier.slow_disk import SlowDisk
from tests.campaigns import build_campaign, with_tail

TIERS = ("premium", "ultra")
SLOW = (SlowDisk("node-3", "share", 10.0, 20.0),)
STEADY = (0.998, 1.0, 1.002)


def decided(times_as_slow: float, has_tail: bool) -> Decision:
    """Of two tiers that are alike but while a disk is slow: then premium is so much slower."""

    def as_figured(record: Record) -> Record:
        meanwhile_s = 0.05
        if record.run.profile == "premium":
            meanwhile_s *= times_as_slow
        noise = STEADY[record.run.repetition % len(STEADY)]
        figures = (
            measured("throughput_per_s", 600.0 * noise),
            measured("transactions", 500_000.0),
            measured("latency_avg_s", 0.04 / noise),
            measured("latency_p99_s", 0.09 / noise),
            measured("latency_avg_s", meanwhile_s * noise, slowed.MEANWHILE),
            measured("latency_p99_s", 0.4 * noise, slowed.MEANWHILE),
        )
        load = replace(record.workload, slow=SLOW)
        return replace(record, workload=load, measurements=figures)

    campaign = build_campaign(
        profiles=list(TIERS),
        workloads=["insert"],
        repetitions=5,
        frames=False,
        change=as_figured,
    )
    loads = [replace(load, slow=SLOW) for load in campaign.plan.workloads]
    campaign = replace(campaign, plan=replace(campaign.plan, workloads=tuple(loads)))
    if has_tail:
        campaign = with_tail(campaign)
    limits = [
        Bottleneck(name, "insert", "node-1", "iops_cap", "", {}) for name in TIERS
    ]
    return decision.decide_all(campaign, limits)[0][0]


@pytest.mark.parametrize("has_tail", [True, False], ids=["drawn", "constant latency"])
def test_a_tier_that_is_slower_while_a_disk_is_slow_is_not_enough(
    has_tail: bool,
) -> None:
    found = decided(5.0, has_tail)
    assert found.tier == "ultra", found.reason
    assert "average latency while a disk is slow" in found.reason


@pytest.mark.parametrize("has_tail", [True, False], ids=["drawn", "constant latency"])
def test_of_those_alike_the_cheaper_is_enough(has_tail: bool) -> None:
    assert decided(1.0, has_tail).tier == "premium"
