"""Disk tiers on real devices: what is declared is what fio finds, in all three ways to enforce it.

Small limits, so that a second of fio holds hundreds of requests and needs little of the machine.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator import cli, images, store
from orchestrator.containers import devices
from orchestrator.doubts_of_runs import RUN_CHECKS
from orchestrator.errors import GateError, RunError, UsageError
from orchestrator.frames import RunData
from orchestrator.model import DeviceCap, Doubt, Gate, GateCheck, Tier, Volume
from orchestrator.protocols import ContainerSpec, Mount, World
from orchestrator.tiers import emulated, gate, mounted, served
from orchestrator.tiers.cgroup import CgroupTier
from orchestrator.tiers.emulated import EmulatedTier
from orchestrator.tiers.mounted import MountedTier
from tests.integration.conftest import HERE, Program

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

SMALL = Tier("small", "A small disk", "emulated", 800, 80_000_000, 0.002, 0.002)
SIZE = 400 * 2**20
BRIEF = gate.Effort("32m", "200ms", "600ms", verify_bytes=4 * 2**20)
JOB = {"SIZE": "32m", "RAMP": "200ms", "RUNTIME": "800ms", "IODEPTH": "32"}
CELL = {"RW": "randread", "BS": "4k", "READ_PCT": "100", "NUMJOBS": "1"}


def of(taken: Gate, start: str) -> GateCheck:
    (found,) = [check for check in taken.checks if check.limit.startswith(start)]
    return found


def read_iops(fio: gate.Fio) -> float:
    (job,) = fio.run("depth", {**JOB, **CELL})
    return gate.bytes_per_s(job) / gate.IOPS_BLOCK_BYTES


@contextmanager
def device(tier: Tier, world: World) -> Iterator[Volume]:
    """One emulated disk of the tier, empty."""
    with EmulatedTier().attached(tier, [SIZE], None, world) as (volume,):
        yield volume


def test_limits_change_on_a_running_device(world: World) -> None:
    with device(SMALL, world) as volume:
        assert volume.server is not None and volume.server.container
        name = volume.server.container
        assert served.running_disks(world) == (name,)
        with gate.fio_on(volume, world) as fio:
            fio.run("prepare", JOB)
            assert read_iops(fio) == pytest.approx(800, rel=0.03)
            enforced = emulated.change(name, {"iops": 2400}, world)
            assert (enforced["iops"], enforced["bytes_per_s"]) == (2400, 80_000_000)
            assert read_iops(fio) == pytest.approx(2400, rel=0.03)
        with pytest.raises(UsageError, match="iops_burst needs iops"):
            emulated.change(name, {"iops_burst": 100}, world)
        assert served.ask(name, ("limits",), world)["iops_burst"] == 0


def test_thorough_gate_finds_where_the_cap_is_reached(world: World) -> None:
    effort = replace(BRIEF, ladder=(1, 2), block_bytes=(65_536,))
    with device(SMALL, world) as volume:
        taken = gate.take(SMALL, volume, {}, world, effort=effort)
    assert taken.passed, taken
    assert of(taken, "IOPS, 4 KiB random read at queue depth 1").measured == pytest.approx(
        490, rel=0.1
    )
    knee = of(taken, "queue depth at which reads reach the cap")
    assert (knee.limit.endswith("(cap × latency: 1.6)"), knee.measured) == (True, 2.0)
    assert of(taken, "bandwidth, 64 KiB").declared == 800 * 65_536


def test_control_group_holds_the_rates_each_way(world: World) -> None:
    tier = replace(SMALL, enforcement="cgroup", read_latency_s=None, write_latency_s=None)
    mechanism = CgroupTier()
    mechanism.check(tier, world)
    taken = mechanism.gate(tier, world)
    assert taken.passed, taken
    for way in ("read", "write"):
        assert of(taken, f"IOPS, 4 KiB random {way}").measured == pytest.approx(800, rel=0.05)
    mixed = of(taken, "IOPS, 4 KiB random mixed")
    assert mixed.verdict == "not declared"
    assert mixed.measured > 1200, "if one total held, this blind spot would be gone"
    assert taken.device["approximate"] and taken.device["host_cpu_pct"] > 0
    assert any("buffered" in blind for blind in taken.device["blind_spots"])


def test_limits_that_the_kernel_does_not_hold_are_refused(world: World) -> None:
    cap = DeviceCap("/dev/loop0", 500, 500, 10_000_000, 10_000_000)
    tier = replace(SMALL, enforcement="cgroup", iops=500, bytes_per_s=10_000_000)
    with CgroupTier().attached(tier, [SIZE], None, world) as (volume,):
        (held,) = volume.caps
        assert replace(held, device=cap.device) == cap
        image = world.containers
        with gate.fio_on(volume, world) as fio:
            pid = _process(fio.container)
            devices.read_back(volume.caps, pid, fio.container)
            more = replace(held, read_iops=600)
            with pytest.raises(GateError, match=r"limits read_iops of .* to 500, asked was 600"):
                devices.read_back([more], pid, fio.container)
        assert image.state("tierbench-gate") == "gone"


def _process(container: str) -> int:
    argv = ["docker", "inspect", "-f", "{{.State.Pid}}", container]
    return int(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)


@contextmanager
def mounted_disk(world: World) -> Iterator[Path]:
    """An emulated disk that the engine keeps mounted, as a stand-in for a real one."""
    with device(SMALL, world) as volume:
        argv = ["docker", "volume", "inspect", "-f", "{{.Mountpoint}}", volume.name]
        place = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()
        keeper = ContainerSpec(
            name="tierbench-keeper",
            image=images.need(world.root, "disk", world.containers),
            entrypoint=("sleep",),
            command=("infinity",),
            role="client",
            init=True,
            stop_timeout_s=1,
            mounts=(Mount(volume.name, "/tier"),),
        )
        with world.containers.running(keeper):
            if not Path(place).is_dir():
                pytest.skip("the engine's volumes cannot be seen from here")
            yield Path(place)


def test_a_real_disk_is_found_measured_and_left_clean(world: World) -> None:
    with mounted_disk(world) as place:
        wrong = replace(
            SMALL, enforcement="mounted", path=str(place), iops=400, bytes_per_s=160_000_000
        )
        mechanism = MountedTier()
        mechanism.check(wrong, world)
        taken = mechanism.gate(wrong, world)
        assert (
            of(taken, "IOPS, 4 KiB random read").verdict == "faster than declared (cache or burst)"
        )
        assert of(taken, "bandwidth, 256 KiB sequential write").verdict == "slow"
        assert of(taken, "median latency at queue depth 1, write").verdict == "ok"
        facts = mechanism.facts()
        assert str(facts["device"]).startswith("loop") and facts["file_system"] == "xfs"
        with mechanism.attached(wrong, [2**20, 2**20], None, world) as volumes:
            assert [one.device for one in volumes] == [f"/dev/{facts['device']}"] * 2
            (Path(volumes[0].name) / "left").write_text("behind")
        assert list(place.iterdir()) == []
        (place / mounted.FOLDER).mkdir()
        with (
            pytest.raises(UsageError, match="not of our making"),
            mechanism.attached(wrong, [2**20], None, world),
        ):
            pass
        (place / mounted.FOLDER).rmdir()


def test_a_real_disk_that_vanishes_is_said_to_have(world: World) -> None:
    with mounted_disk(world) as place:
        tier = replace(SMALL, enforcement="mounted", path=str(place))
        with (
            pytest.raises(RunError, match=r"vanished from .* in mid-run"),
            MountedTier().attached(tier, [2**20], None, world),
        ):
            world.containers.stop("tierbench-keeper", 1)
            raise RunError("the database died")


def test_a_directory_of_the_root_disk_is_refused(world: World, tmp_path: Path) -> None:
    tier = Tier("real", "Real", "mounted", None, None, path=str(tmp_path))
    with pytest.raises(UsageError, match="is not a mount point"):
        MountedTier().check(tier, world)


def test_limits_are_changed_by_command_and_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(run: str, *limits: str) -> tuple[int, str]:
        """Without starting Python anew, which may take longer than the run."""
        command = ["tiers", "set", run, "--results", str(tmp_path), *limits]
        code = cli._guarded(lambda: cli.app(command, standalone_mode=False))
        return code, "".join(capsys.readouterr())

    workload = str(HERE / "workloads" / "tiny.yaml")
    program = Program.start(
        *["run", "--profile", "ultra", "--workload", workload, "--scale", "smoke"],
        *["--nodes", "1", "--results", str(tmp_path)],
    )
    program.until("measuring")
    code, text = change("latest", "iops=3000", "bytes_per_s=1e8")
    assert code == 0, text
    assert "iops = 3000" in text and "bytes_per_s = 100000000" in text
    code, text = change("99-other", "iops=3000")
    assert code == 64 and "99-other is not going on" in text
    code, text = change("latest", "iosp=3000")
    assert code == 64 and "no limit that can be changed" in text.replace("\n", " ")
    assert program.end() == 0, program.text
    code, text = change("latest", "iops=3000")
    assert code == 64 and "no campaign is running here" in text
    (run,) = store.load(tmp_path / "latest").runs
    (change_made,) = run.record.facts["limit_changes"]
    assert change_made["set"] == {"iops": 3000.0, "bytes_per_s": 1e8}
    assert "limits changed" in {doubt.kind for doubt in limits_doubts(run)}


def limits_doubts(run: RunData) -> list[Doubt]:
    return [doubt for check in RUN_CHECKS for doubt in check(run, {})]
