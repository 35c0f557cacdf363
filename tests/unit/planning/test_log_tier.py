"""A tier for the disks of the nodes' WAL: how it is written, what it costs, what results keep.

Each test holds a profile as a person writes it against the plan that is made of it.
"""

from __future__ import annotations

import json

import pytest
from pydantic import TypeAdapter

from orchestrator.design import costs, used_profiles
from orchestrator.errors import UsageError
from orchestrator.model import Profile
from orchestrator.planning import project_files
from orchestrator.planning.profiles import read_profile
from orchestrator.tier import Tier, as_written
from tests import ROOT
from tests.plans import CLUSTER, profile_text

DISKS = "{data: '/mnt/d{node}', wal: '/mnt/w{node}'}"


def profile(
    wal: str, disks: str = DISKS, row: str = "azure/P30", cluster: str = CLUSTER
) -> Profile:
    tier = f"{{type: {row}, enforcement: mounted, disks: {disks}, wal: {wal}}}"
    return read_profile(
        "x",
        profile_text(tier),
        {"small": cluster},
        "smoke",
        project_files.catalog(ROOT),
    )


def mistakes(wal: str, disks: str = DISKS) -> dict[str, str]:
    with pytest.raises(UsageError) as refused:
        profile(wal, disks)
    return {
        m.where.removeprefix("profiles/x.yaml: "): m.what
        for m in refused.value.mistakes
    }


@pytest.mark.parametrize("written", ["azure/P10", "{type: azure/P10}"])
def test_a_log_on_a_row_of_the_catalog(written: str) -> None:
    tier = profile(written).tier
    assert tier.wal is not None
    assert (tier.limits.iops, tier.wal.limits.iops) == (5000, 500)
    assert (tier.wal.limits.bytes_per_s, tier.wal.origin.catalog_type) == (
        100_000_000,
        "azure/premium",
    )
    assert tier.wal.disk.is_real


def test_a_log_with_limits_of_its_own() -> None:
    wal = profile("{iops: 900, throughput: 50MB/s, write_latency: 1ms}").tier.wal
    assert wal is not None
    assert (wal.limits.iops, wal.limits.bytes_per_s, wal.latency.write_s) == (
        900,
        50_000_000,
        0.001,
    )


@pytest.mark.parametrize(
    ("wal", "disks", "place", "words"),
    [
        ("azure/P10", "'/mnt/d{node}'", "tier.disks.node-{node}.wal", "is missing"),
        ("azure/P9999", DISKS, "tier.wal.type", "unknown"),
        ("{iopses: 9}", DISKS, "tier.wal.iopses", "unknown key"),
        ("{iops: 9, path: /a}", DISKS, "tier.wal.path", "for both disks"),
        ("{iops: 9, size: 9GiB}", DISKS, "tier.wal.size", "does not use it"),
        ("{iops: 9, wal: azure/P10}", DISKS, "tier.wal.wal", "for both disks"),
        (
            "azure/P10",
            "{node-1: {data: /a, wal: /b}, node-2: {data: /b, wal: /c}}",
            "tier.disks.node-1.wal",
            "holds data too",
        ),
    ],
)
def test_a_log_tier_that_cannot_be(
    wal: str, disks: str, place: str, words: str
) -> None:
    found = mistakes(wal, disks)
    assert words in found.get(place, ""), found


def test_only_real_disks_have_a_log_tier() -> None:
    with pytest.raises(UsageError) as refused:
        text = profile_text("{iops: 9, throughput: 1MB/s, wal: {iops: 9}}")
        read_profile("x", text, {"small": CLUSTER}, "smoke")
    assert "`enforcement: mounted`" in refused.value.mistakes[0].what


def test_each_disk_costs_the_price_of_its_own_tier() -> None:
    fitted = used_profiles.on_nodes(profile("azure/P10"), 3)
    data, wal = fitted.tier.price, fitted.tier.wal and fitted.tier.wal.price
    assert data and wal and wal.monthly < data.monthly
    assert costs.disks_monthly(fitted) == pytest.approx(
        3 * data.monthly + 3 * wal.monthly
    )
    assert costs.bought_disks(fitted) == 6


def test_without_a_price_of_the_log_tiers_are_not_compared_by_price() -> None:
    fitted = used_profiles.on_nodes(profile("{iops: 900}"), 3)
    assert costs.disks_monthly(fitted) is None
    assert "x's WAL" in costs.compare_prices([fitted])[1]


def test_results_keep_the_log_tier_and_others_have_no_such_key() -> None:
    tier = profile("azure/P10").tier
    written = json.loads(json.dumps(as_written(tier)))
    assert written["wal"]["iops"] == 500 and "wal" not in written["wal"]
    assert TypeAdapter(Tier).validate_python(written) == tier


def test_the_vm_s_cap_is_of_both_disks_together() -> None:
    """A D8s_v5 lets 290 MB/s through: enough for a P30 of 200 and a log of 50, not of 100."""
    cluster = (ROOT / "profiles/clusters/azure-d8s-v5.yaml").read_text()
    for log, told in (
        ("{iops: 9, throughput: 50MB/s}", ()),
        ("azure/P10", ("throughput",)),
    ):
        tier = profile(log, cluster=cluster).tier
        assert tuple(cap.split(":")[0] for cap in tier.origin.vm_caps) == told
