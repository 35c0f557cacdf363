"""A disk for any program, on a real device: put up, used at its path, changed, swept, taken down.

Goal: the commands as a person gives them; what they print; that nothing is left. One small disk,
so that a second of fio holds hundreds of requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.cli import main
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.extensions.standing_disks import standing
from orchestrator.model import Volume
from orchestrator.powers import World
from orchestrator.tiers.common.gate import fio_jobs, measured_checks
from tests.integration.conftest import measured

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

NAME = "test-standing"
JOB = {"SIZE": "32m", "RAMP": "200ms", "RUNTIME": "800ms", "IODEPTH": "32"}
CELL = {"RW": "randread", "BS": "4k", "READ_PCT": "100", "NUMJOBS": "1"}


def disk(*words: str) -> int:
    """`tierbench disk …`; returns its exit code."""
    return main.exit_code(["disk", *words], CampaignApp())


@pytest.fixture
def at(tmp_path: Path, world: World) -> Iterator[Path]:
    """Where the disk is mounted. It is taken down whatever happened, also in a killed test."""

    def down() -> None:
        if NAME in {one.disk.name for one in standing.standing_disks(world)}:
            assert disk("down", NAME, "--yes") == 0

    down()
    yield tmp_path / "p10"
    down()
    assert str(tmp_path) not in Path("/proc/mounts").read_text()


def read_iops(at: Path, world: World) -> float:
    """As a program in another container finds them, which was given the path."""
    with fio_jobs.fio_on(Volume(str(at), "", restored=False), world) as fio:
        fio.run("prepare", JOB)
        (job,) = fio.run("depth", {**JOB, **CELL})
    return fio_jobs.bytes_per_s(job) / measured_checks.IOPS_BLOCK_BYTES


@measured
def test_any_program_gets_a_disk_of_a_tier(
    at: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    up = ("up", "azure/P10", "--at", str(at), "--name", NAME, "--size", "400MiB")
    assert disk(*up) == 0
    assert at.is_mount()
    assert read_iops(at, world) == pytest.approx(500, rel=0.05)
    (at / "tierbench.fio").rename(at / "kept")
    assert disk("set", NAME, "iops=2000") == 0
    assert read_iops(at, world) == pytest.approx(2000, rel=0.05)
    assert disk(*up) == 64, "it is up already"
    capsys.readouterr()
    world.platform.sweep()
    world.platform.container(f"tierbench-standing-{NAME}").stop(
        0
    )  # as a killed engine leaves it
    assert disk("list") == 0
    assert "not running" in capsys.readouterr().out
    assert disk(*up) == 0, "it comes up again, with its data"
    assert (at / "kept").stat().st_size == 32 * 2**20
    with (at / "kept").open():
        assert disk("down", NAME, "--yes") == 2
    said = " ".join("".join(capsys.readouterr()).split())
    assert "target is busy; used by" in said and at.is_mount()
    assert disk("down", NAME, "--yes") == 0
    assert not at.exists()


@pytest.mark.slow
def test_disks_whose_data_and_places_share_a_folder_are_taken_down_in_any_order(
    at: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program that serves one has the folder of its data, in which the other is mounted."""
    first, second = NAME, f"{NAME}-2"
    for name, place in ((first, at), (second, tmp_path / "second")):
        more = ("--data", str(tmp_path / f"{name}.img"), "--size", "300MiB")
        assert disk("up", "azure/P10", "--at", str(place), "--name", name, *more) == 0
    try:
        assert disk("down", first, "--yes") == 0, capsys.readouterr()
        assert (tmp_path / f"{first}.img").exists() and not at.exists()
    finally:
        assert disk("down", second, "--yes") == 0
