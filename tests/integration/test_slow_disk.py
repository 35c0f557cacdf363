"""One slow disk: fio alone on a disk that is slowed, and a campaign with it to its report.

Goal: a disk at a tenth of its limits gives a tenth of its I/Os and all of them again afterwards; a
stalled one answers nothing for its time; and the figures of a run are of the times that were kept.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis.doubts import kinds
from orchestrator.keys.slow_disks import slow_disk_in
from orchestrator.parts import Disks
from orchestrator.powers import World
from orchestrator.system import store
from orchestrator.tiers.common.gate import fio_jobs
from orchestrator.tiers.emulated import EmulatedTier
from tests.integration.conftest import measured, tierbench
from tests.integration.emulated_disks import SMALL, served
from tests.tiers import changed

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.usefixtures("nothing_left"),
]

RANDOM_READS = (
    *("fio", "--name=reads", "--directory=/tier", "--size=32m", "--ioengine=libaio"),
    *("--direct=1", "--rw=randread", "--bs=4k", "--iodepth=8", "--time_based"),
    *("--runtime=4", "--output-format=json"),
)
IOPS = 400


def iops_and_longest_s(fio: fio_jobs.FioContainer) -> tuple[float, float]:
    """Of random reads for four seconds: how many a second, and the longest of them."""
    done = fio.container.exec(RANDOM_READS, timeout_s=60)
    assert done.exit_code == 0, done
    (job,) = json.loads(done.out)["jobs"]
    reads: dict[str, Any] = job["read"]
    return reads["total_ios"] / (reads["runtime"] / 1e3), reads["lat_ns"]["max"] * 1e-9


@measured
def test_fio_on_a_slow_disk_alone(world: World) -> None:
    tier = changed(SMALL, iops=IOPS)
    mechanism = EmulatedTier()
    with served(tier, world) as disks, fio_on_the_only(disks, world) as fio:
        iops_and_longest_s(fio)  # makes its file
        before, _ = iops_and_longest_s(fio)
        mechanism.slow(tier, disks, slow_disk_in("node-1=10%,60s"), world)
        tenth, _ = iops_and_longest_s(fio)
        mechanism.restore(tier, disks, "node-1", world)
        after, _ = iops_and_longest_s(fio)
        mechanism.slow(tier, disks, slow_disk_in("node-1=stall,2s"), world)
        _, longest_s = iops_and_longest_s(fio)
        mechanism.restore(tier, disks, "node-1", world)
        mechanism.require_enforced(tier, disks, world)
    assert before == pytest.approx(IOPS, rel=0.05)
    assert tenth == pytest.approx(IOPS / 10, rel=0.1)
    assert after == pytest.approx(IOPS, rel=0.05)
    assert 1.0 < longest_s < 2.5


def fio_on_the_only(disks: Disks, world: World) -> Any:
    (volume,) = disks.volumes
    return fio_jobs.fio_on(volume, world)


def test_a_slow_disk_to_a_report(tmp_path: Path) -> None:
    """As docs/WORKLOADS.md says it, in the smallest size."""
    code, text = tierbench(
        *("run", "--profile", "premium", "--workload", "insert", "--scale", "smoke"),
        *("--nodes", "3", "--db", "postgresql", "--slow", "node-3=stall,3s@6s"),
        *("--set", "insert.table_size=100_000", "--set", "insert.threads=2"),
        *("--set", "insert.measure=22s", "--set", "insert.warmup=2s"),
        *("--results", str(tmp_path), "--retry-failed", "0"),
    )
    campaign = store.load(tmp_path / "latest")
    (run,) = campaign.runs
    record = run.record
    assert record.outcome == "done", text
    raw = tmp_path / "latest/runs" / record.run.slug / "raw/slow.json"
    (part,) = json.loads(raw.read_text())["parts"]
    window = record.phase("measure")
    assert window and part["slow_s"] == pytest.approx(window.start_s + 6, abs=0.5)
    assert part["back_s"] - part["slow_s"] == pytest.approx(3, abs=1)
    assert part["enforced"]["stall_s"] == 3 and part["restored"]["stall_s"] == 0
    # Limits and stall held I/Os back: the disk's own account of each second says so, too.
    seconds = run.telemetry.by_second
    of_slow = seconds[seconds["node"].astype(str) == "node-3"]
    assert of_slow["held_back_pct"].max() > 20
    figures = {(m.metric, m.scope): m.value for m in record.measurements}
    # A commit waits for one of two standbys, and the other is not slow.
    assert figures["throughput_per_s", "before_slow"] > 0
    assert figures["slow_share_pct", "all"] > 50
    # On a busy machine throughput may stay below that of before for other reasons.
    recovers = figures.get(("recovery_s", "all"))
    found = {doubt.kind for doubt in kinds.find(campaign)}
    assert ("not recovered" in found) == (recovers is None)
    report = (tmp_path / "latest" / "report.md").read_text()
    for words in ("before slow", "slow disk", "after slow"):
        assert words in report
    code, text = tierbench("verify", str(tmp_path / "latest"))
    assert code == 0, text
