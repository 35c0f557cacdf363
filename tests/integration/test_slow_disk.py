"""One slow disk: fio alone on a disk that is slowed, and a campaign with it to its report.

Goal: a disk at a tenth of its limits gives a tenth of its I/Os and all of them again afterwards; a
stalled one answers nothing for its time; and the figures of a run are of the times that were kept,
also where the program was killed while a disk was slow, and went on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis.doubts import kinds
from orchestrator.keys.slow_disks import slow_disk_in
from orchestrator.parts import Disks
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import World
from orchestrator.system import store
from orchestrator.tiers.common.gate import fio_jobs
from orchestrator.tiers.emulated import EmulatedTier
from tests.integration.conftest import Program, leftovers, measured, tierbench
from tests.integration.emulated_disks import SMALL, served
from tests.tiers import changed

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.usefixtures("nothing_left"),
]

DEPTH = 8
LATENCY_S = 0.005
RANDOM_READS = (
    *("fio", "--name=reads", "--directory=/tier", "--size=32m", "--ioengine=libaio"),
    *("--direct=1", "--rw=randread", "--bs=4k", f"--iodepth={DEPTH}"),
    *("--time_based", "--runtime=4", "--output-format=json"),
)
IOPS = 400
P15_IOPS = 1100
TENTH_IOPS = 110


def iops_and_longest_s(fio: fio_jobs.FioContainer) -> tuple[float, float]:
    """Of random reads for four seconds: how many a second, and the longest of them."""
    done = fio.container.exec(RANDOM_READS, timeout_s=60)
    assert done.exit_code == 0, done
    (job,) = json.loads(done.out)["jobs"]
    reads: dict[str, Any] = job["read"]
    return reads["total_ios"] / (reads["runtime"] / 1e3), reads["lat_ns"]["max"] * 1e-9


@measured
def test_fio_on_a_slow_disk_alone(world: World) -> None:
    tier = changed(SMALL, iops=IOPS, read_latency_s=LATENCY_S)
    mechanism = EmulatedTier()
    with served(tier, world) as disks, fio_on_the_only(disks, world) as fio:
        iops_and_longest_s(fio)  # makes its file
        before, _ = iops_and_longest_s(fio)
        of_node_1 = slow_disk_in("node-1=10%,60s")
        mechanism.slow(tier, disks, of_node_1, world)
        tenth, _ = iops_and_longest_s(fio)
        mechanism.restore(tier, disks, of_node_1, world)
        after, _ = iops_and_longest_s(fio)
        mechanism.slow(tier, disks, slow_disk_in("node-1=10x,60s"), world)
        ten_times, _ = iops_and_longest_s(fio)
        mechanism.restore(tier, disks, of_node_1, world)
        mechanism.slow(tier, disks, slow_disk_in("node-1=stall,2s"), world)
        _, longest_s = iops_and_longest_s(fio)
        mechanism.restore(tier, disks, of_node_1, world)
        mechanism.require_enforced(tier, disks, world)
    assert before == pytest.approx(IOPS, rel=0.05)
    assert tenth == pytest.approx(IOPS / 10, rel=0.1)
    assert after == pytest.approx(IOPS, rel=0.05)
    # Each of the reads in flight takes ten times as long, which is longer than IOPS hold it back.
    assert ten_times == pytest.approx(DEPTH / (10 * LATENCY_S), rel=0.1)
    assert 1.0 < longest_s < 2.5


def fio_on_the_only(disks: Disks, world: World) -> Any:
    (volume,) = disks.volumes
    return fio_jobs.fio_on(volume, world)


def kill_while_slow(program: Program, engine: DockerPlatform) -> None:
    """SIGKILL while the disk of node-3 has a tenth of its IOPS.

    The program is stopped while its disk is looked at: so it cannot end the slow time meanwhile,
    however busy the machine is.
    """
    program.until("the disk of node-3")
    (server,) = (name for name in running() if name.endswith("-disk-node-3"))
    pid = program.process.pid
    while True:
        os.kill(pid, signal.SIGSTOP)
        limits = engine.container(server).exec(("device", "limits"), timeout_s=60)
        if json.loads(limits.out)["iops"] == TENTH_IOPS:
            break
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.1)
        assert program.process.poll() is None, program.text
    os.kill(pid, signal.SIGKILL)
    program.end()
    assert leftovers(), "a killed program cannot have cleaned up"


def running() -> list[str]:
    listed = subprocess.run(
        ("docker", "ps", "--filter", "label=tierbench", "--format", "{{.Names}}"),
        capture_output=True,
        text=True,
        check=True,
    )
    return listed.stdout.split()


def test_a_slow_disk_to_a_report_though_the_program_is_killed_meanwhile(
    tmp_path: Path, engine: DockerPlatform
) -> None:
    """As docs/WORKLOADS.md says it, in the smallest size."""
    kept = ("--results", str(tmp_path))
    program = Program.start(
        *("run", "--profile", "premium", "--workload", "insert", "--scale", "smoke"),
        *("--nodes", "3", "--db", "postgresql", "--slow", "node-3=10%,8s@4s"),
        *("--slow", "node-3=stall,3s@12s"),
        *("--set", "insert.table_size=100_000", "--set", "insert.threads=2"),
        *("--set", "insert.measure=22s", "--set", "insert.warmup=2s"),
        *("--retry-failed", "0", *kept),
    )
    kill_while_slow(program, engine)
    # Whoever works on this program may change it while its tests run.
    _, text = tierbench(
        "resume", "latest", *kept, "--accept-inconclusive", "--despite", "code"
    )
    folder = tmp_path / "latest"
    assert list(folder.glob("interrupted/01-*-1/raw")), text
    campaign = store.load(folder)
    (run,) = campaign.runs
    record = run.record
    assert record.outcome == "done", text
    raw = folder / "runs" / record.run.slug / "raw/slow.json"
    (tenth, stall) = json.loads(raw.read_text())["parts"]
    window = record.phase("measure")
    assert window and tenth["slow_s"] >= window.start_s + 4
    assert stall["back_s"] >= window.start_s + 15
    assert tenth["enforced"]["iops"] == TENTH_IOPS
    assert tenth["restored"]["iops"] == P15_IOPS
    assert stall["enforced"]["stall_s"] == 3 and stall["restored"]["stall_s"] == 0
    # Limits and stall held I/Os back: the disk's own account of each second says so, too.
    seconds = run.telemetry.by_second
    of_slow = seconds[seconds["node"].astype(str) == "node-3"]
    assert of_slow["held_back_pct"].max() > 20
    figures = {(m.metric, m.scope): m.value for m in record.measurements}
    for scope in ("before_slow", "slow_disk", "after_slow"):
        assert figures["throughput_per_s", scope] > 0
    # On a busy machine throughput may stay below that of before for other reasons.
    recovers = figures.get(("recovery_s", "all"))
    found = {doubt.kind for doubt in kinds.find(campaign)}
    assert ("not recovered" in found) == (recovers is None)
    report = (folder / "report.md").read_text()
    for words in ("before slow", "slow disk", "after slow"):
        assert words in report
    code, text = tierbench("verify", str(folder))
    assert code == 0, text
