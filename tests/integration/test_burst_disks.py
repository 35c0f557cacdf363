"""A real disk that bursts, checked without its credit and with it; and the credit of an emulated
one when the window begins.

The real disk is one of ours, mounted as a person would: what it does is then known.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.parts import NodesData
from orchestrator.platforms import own_images
from orchestrator.powers import World
from orchestrator.run.window import disk_counts
from orchestrator.system import store
from orchestrator.tier import Burst, Gate, GateCheck
from orchestrator.tiers.common.emulated import window_disks
from orchestrator.tiers.common.gate import fio_jobs
from orchestrator.tiers.emulated import EmulatedTier
from tests.integration.conftest import HERE, measured, tierbench
from tests.tiers import a_tier

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

NAME = "burst-disk-of-a-test"
RIGHTS = [
    *(f"--cap-add={name}" for name in ("SYS_ADMIN", "MKNOD", "DAC_OVERRIDE")),
    *(f"--security-opt={name}=unconfined" for name in ("seccomp", "apparmor")),
    *(f"--device-cgroup-rule={rule} rwm" for rule in ("b 7:*", "c 10:229", "c 10:237")),
]
PROFILE = """
question: does it hold without its credit?
title: burst disk
tier: {{enforcement: mounted, path: {place}, iops: 500, throughput: 100MB/s,
  burst: {{iops: 2000, duration: 3s}}}}
cluster: azure-d8s-v5
"""
CELL = {
    "RW": "randread",
    "BS": "4k",
    "READ_PCT": "100",
    "NUMJOBS": "1",
    "IODEPTH": "32",
}


@pytest.fixture
def burst_disk(world: World, tmp_path: Path) -> Iterator[Path]:
    """A file system on a disk of 500 IOPS that does 2,000 for 3 s. Its container carries no label
    of ours: a campaign removes those that do."""
    place, images = tmp_path / "disk", tmp_path / "images"
    place.mkdir()
    images.mkdir()
    image = own_images.need(world.root, "disk", world.platform)
    disk = [*RIGHTS, "-v", f"{images}:/images", "-v", "/dev:/dev", image]
    file = ["--image", "/images/disk.img"]
    size = ["--bytes", str(4 * 2**30)]
    docker("run", "--rm", *disk, "create", *file, *size)
    limits = ["--iops", "500", "--iops-burst", "2000", "--iops-burst-length", "3"]
    limits += ["--bytes-per-s", "100000000"]
    docker("run", "--detach", "--name", NAME, *disk, "serve", *file, *limits)
    try:
        ready = ""
        for _ in range(100):
            if ready := docker("logs", NAME).strip():
                break
            time.sleep(0.1)
        subprocess.run(["mount", json.loads(ready)["device"], str(place)], check=True)
        try:
            yield place
        finally:
            subprocess.run(["umount", str(place)], check=True)
    finally:
        docker("stop", NAME)
        docker("rm", NAME)


def docker(*arguments: str) -> str:
    return subprocess.run(
        ["docker", *arguments], check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def of(gate: Gate) -> dict[str | None, GateCheck]:
    return {check.quantity: check for check in gate.checks}


@pytest.mark.slow
@measured
def test_a_burst_disk_is_drained_before_the_runs_and_not_after(
    burst_disk: Path, tmp_path: Path
) -> None:
    profile = tmp_path / "burst.yaml"
    profile.write_text(PROFILE.format(place=burst_disk))
    inserts = str(HERE / "workloads" / "short-insert.yaml")
    code, text = tierbench(
        *["run", "--profile", str(profile), "--workload", inserts, "--scale", "smoke"],
        *[
            "--nodes",
            "1",
            "--db",
            "postgresql",
            "--results",
            str(tmp_path / "results"),
            "--drain",
        ],
    )
    assert code == 0, text
    assert "for 3 s at most" in " ".join(text.split())
    campaign = store.load(tmp_path / "results" / "latest")
    first, last = campaign.gates
    (disk,) = first.device["disks"].values()
    assert [one["fell"] for one in disk["drained"]] == [True]
    for quantity in ("iops_read", "iops_write", "iops_mixed"):
        assert of(first)[quantity].measured == pytest.approx(500, rel=0.05)
    assert of(last)["iops_read"].verdict == "bursting"
    (run,) = campaign.runs
    assert run.record.gate == first
    (credit,) = run.record.facts["burst_credit"].values()
    assert set(credit) == {"iops"} and credit["iops"]["state"] in (
        "at base",
        "bursting",
    )


@pytest.mark.slow
@measured
def test_credit_is_what_the_profile_says_when_the_window_begins(world: World) -> None:
    tier = a_tier(
        "half",
        "Half",
        "emulated",
        500,
        100_000_000,
        burst=Burst(2_000, None, 30.0, 50.0),
    )
    with (
        EmulatedTier().attached(tier, NodesData([400 * 2**20]), world) as disks,
        fio_jobs.fio_on(disks.volumes[0], world) as fio,
    ):
        job = {"SIZE": "32m", "RAMP": "0", **CELL}
        fio.run("prepare", job)
        played = window_disks.of_run(tier, disks.volumes, world)
        with disk_counts.disks_counted(played, 2.0, world) as (telling, served):
            telling.window_begins(world.clock.now() + 2.0)
            fio.run("depth", {**job, "RUNTIME": "5s"})
    (disk,) = served.values()
    begin, end = disk["begin"], disk["end"]
    assert begin["iops_credit_pct"] == pytest.approx(50, abs=1)
    assert end["time_s"] - begin["time_s"] == pytest.approx(2, abs=0.5)
    used = end["read"]["ops"] - begin["read"]["ops"]
    earned = 500 * (end["time_s"] - begin["time_s"])
    spent_pct = 100 * (used - earned) / (1_500 * 30.0)
    assert begin["iops_credit_pct"] - end["iops_credit_pct"] == pytest.approx(
        spent_pct, abs=0.5
    )
    assert disk["read"]["apart_pct"] < 2
