"""A store that others run, whose throughput stands still: what is said of it, and when nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.causes import bottlenecks, node_cause
from orchestrator.analysis.telemetry.use.node_values import of_figures
from tests.bench.simulated_system import SLOW, simulated
from tests.campaign_tables import held, sampled_in
from tests.campaigns import build_tier

STOOD = {
    "way_bytes_per_s": 7.5e9,
    "time_at_way_pct": 92.0,
    "cpu_pct": 24.0,
    "host_cpu_pct": 31.0,
}
TIER = build_tier("premium")
SLOW_LINK = replace(SLOW, link_bytes_per_s=1e5, sessions=32)


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        (STOOD, "service_cap"),
        ({**STOOD, "time_at_way_pct": 74.0}, "unattributed"),
        ({**STOOD, "host_cpu_pct": 71.0}, "unattributed"),
        ({**STOOD, "client_cpu_pct": 71.0}, "unattributed"),
        ({**STOOD, "busiest_core_pct": 70.0}, "unattributed"),
        (
            {**STOOD, "node_cores": 0.97},
            "unattributed",
        ),  # maybe one thread, moved from core to core
        ({**STOOD, "node_cores": 5.2}, "service_cap"),
        ({**STOOD, "cpu_pct": 90.0}, "cpu_bound"),
        ({**STOOD, "network_of_rate_pct": 95.0}, "network_bound"),
        (
            {name: STOOD[name] for name in STOOD if name != "host_cpu_pct"},
            "unattributed",
        ),
    ],
)
def test_a_store_that_stands_still_beside_a_free_client(
    figures: Mapping[str, float], verdict: str
) -> None:
    """Nothing of the store itself is sampled, and it has no disk here."""
    cause = node_cause.judge(of_figures(figures), TIER, "node-1")
    assert cause.name == verdict, cause.text
    if verdict == "service_cap":
        assert (
            "stayed at 7,500 MB/s for 92 %" in cause.text
            and "is inferred" in cause.text
        )


def of_a_store(run: RunData) -> RunData:
    """The run, read anew as one whose profile names a store."""
    profile = run.record.profile
    cluster = replace(profile.cluster, existing={"url": "s3a://bucket"})
    record = replace(run.record, profile=replace(profile, cluster=cluster))
    return replace(run, record=record, sampled=held(sampled_in(run)))


def test_seconds_are_held_to_their_median_on_stores_alone() -> None:
    """Over a link of 100,000 bytes/s, which is full all the time; nobody says how fast it is."""
    _, run = simulated(SLOW_LINK)
    at_link = bottlenecks.bottleneck([of_a_store(run)], None)
    assert at_link is not None
    assert at_link.evidence["way_bytes_per_s"] == pytest.approx(1e5, rel=0.05)
    assert at_link.evidence["time_at_way_pct"] > 90
    plain = bottlenecks.bottleneck([run], None)
    assert plain is not None and "time_at_way_pct" not in plain.evidence
