"""Shows that it is real: the disk decides where data exceed memory, and does not where they fit.

Two campaigns at smoke scale on the 1,100 IOPS and the 10,000 IOPS tier, judged by the program
itself from real runs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.system import store
from tests.integration.conftest import HERE, measured, tierbench

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

PREMIUM_IOPS = 1100


def compare(results: Path, workload: str, repeats: int) -> tuple[Results, Verdict, str]:
    code, text = tierbench(
        *["compare", "--profiles", "premium ultra", "--workloads", workload],
        *["--scale", "smoke", "--nodes", "1", "--repeats", str(repeats)],
        *["--results", str(results), "--accept-inconclusive"],
    )
    assert code == 0, text
    campaign = store.load(results / "latest")
    return campaign, judge(campaign), text


def cell(verdict: Verdict, profile: str, metric: str) -> float:
    (found,) = [
        one.mean
        for one in verdict.cells
        if (one.profile, one.metric, one.scope) == (profile, metric, "all")
    ]
    return found


@pytest.mark.slow
@measured
def test_data_beyond_memory_feel_the_disk(tmp_path: Path) -> None:
    campaign, verdict, text = compare(tmp_path, "point-select", repeats=2)
    facts = campaign.runs[0].record.facts["database"]
    assert facts["data_bytes"] > 2 * facts["cache_bytes"]
    slow = cell(verdict, "premium", "throughput_per_s")
    fast = cell(verdict, "ultra", "throughput_per_s")
    assert fast >= 2 * slow, text
    iops = cell(verdict, "premium", "disk_iops")
    assert iops == pytest.approx(PREMIUM_IOPS, rel=0.10), text
    (delta,) = [
        one
        for one in verdict.deltas
        if (one.metric, one.scope) == ("throughput_per_s", "all")
    ]
    assert delta.verdict == "better", delta.reason
    limits = {one.profile: one.verdict for one in verdict.bottlenecks}
    assert limits["premium"] == "iops_cap", limits
    (decision,) = verdict.decisions
    assert decision.tier == "ultra", decision.reason


@pytest.mark.slow
@measured
def test_data_in_memory_do_not(tmp_path: Path) -> None:
    workload = str(HERE / "workloads" / "in-memory.yaml")
    _, verdict, text = compare(tmp_path, workload, repeats=3)
    (delta,) = [
        one
        for one in verdict.deltas
        if (one.metric, one.scope) == ("throughput_per_s", "all")
    ]
    assert delta.verdict == "same", f"{delta.reason}\n{text}"
    served = cell(verdict, "premium", "throughput_per_s")
    assert served * 10 > 4 * PREMIUM_IOPS, "the disk alone could have served this"
