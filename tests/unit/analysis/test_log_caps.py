"""The disk of a node's WAL against the caps of its own tier, from sampled counters."""

from __future__ import annotations

import pandas as pd
import pytest

from orchestrator.analysis.telemetry.counters.counter_series import Key, Steps
from orchestrator.analysis.telemetry.use import disk_cap_use
from orchestrator.analysis.telemetry.use.node_values import CapUse
from orchestrator.metrics import SAMPLE_COLUMNS
from orchestrator.model import Node
from tests.campaign_tables import rates_of
from tests.tiers import a_tier

LOG = a_tier("x's WAL", "WAL", "mounted", 100, 1_000_000)
COUNTERS = ("disk_reads_total", "disk_writes_total", "disk_read_bytes_total")


def sampled(wal_writes: float, wal_bytes: float) -> dict[Key, Steps]:
    """Eleven seconds, in which the disk of the data is far busier than that of the WAL."""
    of_data = {**dict.fromkeys(COUNTERS, 5_000.0), "disk_written_bytes_total": 9e7}
    of_wal = {
        **dict.fromkeys(COUNTERS, 0.0),
        "disk_writes_total": wal_writes,
        "disk_written_bytes_total": wal_bytes,
    }
    each = {**of_data, **{f"wal_{name}": value for name, value in of_wal.items()}}
    rows = [
        (float(second), "n1", name, "", second * per_s, "measure")
        for second in range(11)
        for name, per_s in each.items()
    ]
    return rates_of(pd.DataFrame(rows, columns=list(SAMPLE_COLUMNS)))


def test_the_wal_s_disk_is_held_against_its_own_tier() -> None:
    node = Node("n1", "database", device="sda", wal_device="sdb")
    table = sampled(wal_writes=97.0, wal_bytes=200_000.0)
    found = disk_cap_use.wal_against_caps(LOG, table, node, (0.0, 10.0))
    assert found.wal_iops_of_cap_pct == pytest.approx(97.0)
    assert found.wal_bandwidth_of_cap_pct == pytest.approx(20.0)
    assert found.iops_of_cap_pct is None


def test_without_a_tier_of_its_own_it_has_no_caps() -> None:
    node = Node("n1", "database", device="sda", wal_device="sdb")
    table = sampled(1.0, 1.0)
    found = disk_cap_use.wal_against_caps(None, table, node, (0.0, 10.0))
    assert found == CapUse()
