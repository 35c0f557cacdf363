"""`--vary data=…` on real parts: how far the cheaper disk is enough, known by cache against data.

Nodes have 192 MiB. Of 80 MB no read reaches the disk, of 400 MB most do, and 1,100 IOPS carry some
110 transactions of ten reads a second. So 250 a second are met up to 80 MB.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.analysis.verdicts import judge
from orchestrator.system import store
from tests.integration.conftest import measured, tierbench

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]


@pytest.mark.slow
@measured
def test_the_growth_horizon_lies_where_data_leave_the_cache(tmp_path: Path) -> None:
    code, text = tierbench(
        *["compare", "--profiles", "premium ultra", "--workloads", "point-select"],
        *["--scale", "smoke", "--db", "postgresql", "--nodes", "1", "--repeats", "2"],
        *["--vary", "data=80MB,400MB", "--slo", "throughput > 250/s"],
        *["--results", str(tmp_path), "--accept-inconclusive"],
    )
    assert code == 0, text
    (factor,) = judge(store.load(tmp_path / "latest")).varied
    horizon = {line.partition(" ")[0]: line for line in factor.horizons}["premium"]
    assert horizon.startswith("premium is enough up to 80MB of data ("), text
    assert (
        "at 400MB of data it is not" in horizon and "reads leave the cache" in horizon
    ), horizon
    premium = next(tier for tier in factor.tiers if tier.tier == "premium")
    rates = {
        step.contender: step
        for step in premium.steps
        if step.metric == "throughput_per_s"
    }
    assert rates["point-select-at-400MB-of-data"].verdict == "worse", text
