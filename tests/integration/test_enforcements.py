"""A database measured on each way to make a tier true that is not the emulated disk.

Goal: profile to verdict on `cgroup` and on `mounted`. The emulated disk has every other test.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.system import store
from tests.integration.conftest import HERE, measured, tierbench

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

PROFILE = "question: does it hold?\ntitle: {title}\ntier: {tier}\ncluster: azure-d8s-v5\n"
CAP_IOPS = 1_000


def run_on(results: Path, title: str, tier: str, workload: str) -> tuple[Results, Verdict]:
    """One run on a profile of that tier, and what is said of it."""
    profile = results / f"{title}.yaml"
    profile.write_text(PROFILE.format(title=title, tier=tier))
    code, text = tierbench(
        *["run", "--profile", str(profile), "--workload", workload, "--scale", "smoke"],
        *["--nodes", "1", "--db", "postgresql", "--results", str(results / "results")],
    )
    assert code == 0, text
    campaign = store.load(results / "results" / "latest")
    return campaign, judge(campaign)


def figure(verdict: Verdict, metric: str) -> float:
    (cell,) = [one for one in verdict.cells if (one.metric, one.scope) == (metric, "all")]
    return cell.mean


@pytest.fixture
def file_system(tmp_path: Path) -> Iterator[Path]:
    """A disk that is none of ours: ext4 on a loop device, mounted as a person would."""
    image, place = tmp_path / "disk.img", tmp_path / "mnt"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(4 * 2**30)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@measured
def test_reads_beyond_memory_sit_at_the_control_groups_cap(tmp_path: Path) -> None:
    tier = f"{{enforcement: cgroup, iops: {CAP_IOPS}, throughput: 100MB/s}}"
    campaign, verdict = run_on(tmp_path, "held", tier, "point-select")
    assert figure(verdict, "disk_iops") == pytest.approx(CAP_IOPS, rel=0.10)
    (run,) = campaign.runs
    assert run.record.gate is not None and run.record.gate.passed
    assert "cgroup tier" in {doubt.kind for doubt in verdict.doubts}


def test_a_database_on_a_mounted_disk(file_system: Path, tmp_path: Path) -> None:
    tier = f"{{enforcement: mounted, path: {file_system}}}"
    inserts = str(HERE / "workloads" / "short-insert.yaml")
    campaign, verdict = run_on(tmp_path, "real", tier, inserts)
    assert figure(verdict, "throughput_per_s") > 0
    (run,) = campaign.runs
    facts = run.record.facts["tier"]
    assert facts["file_system"] == "ext4" and str(facts["device"]).startswith("loop")
    assert figure(verdict, "disk_iops") > 0
    assert {child.name for child in file_system.iterdir()} == {"lost+found"}
