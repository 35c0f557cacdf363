"""Disk tiers on real devices: what is declared is what fio finds, in all three ways to enforce it.

Small limits, so that a second of fio holds hundreds of requests and needs little of the machine.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator import tier_catalog, units
from orchestrator.design.latency_quantiles import quantile_s
from orchestrator.errors import GateError, RunError, UsageError
from orchestrator.extensions.standing_disks import recording
from orchestrator.model import Volume
from orchestrator.parts import Disks, NodesData
from orchestrator.planning import project_files, recorded_disk
from orchestrator.platforms import own_images
from orchestrator.powers import ContainerSpec, Mount, World
from orchestrator.run.disks import busy_machines
from orchestrator.tier import (
    BOTH_DISKS,
    LOG_DISK,
    Burst,
    Gate,
    GateCheck,
    LatencyModel,
    Limits,
    MachineLimits,
    Tier,
)
from orchestrator.tiers.common.emulated import limit_changes, running_disks
from orchestrator.tiers.common.gate import (
    fio_jobs,
    measured_checks,
    shared_limit,
    truth_gate,
)
from orchestrator.tiers.common.real import node_places
from orchestrator.tiers.emulated import EmulatedTier
from orchestrator.tiers.mounted import MountedTier
from tests import ROOT
from tests.integration.conftest import measured
from tests.integration.emulated_disks import SIZE, SMALL, device
from tests.tiers import a_tier, changed

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

CATALOG = project_files.catalog(ROOT)
BRIEF = truth_gate.Effort("32m", "200ms", "600ms", verify_bytes=4 * 2**20)
JOB = {"SIZE": "32m", "RAMP": "200ms", "RUNTIME": "800ms", "IODEPTH": "32"}
CELL = {"RW": "randread", "BS": "4k", "READ_PCT": "100", "NUMJOBS": "1"}


def of(taken: Gate, start: str) -> GateCheck:
    (found,) = [check for check in taken.checks if check.limit.startswith(start)]
    return found


def read_iops(fio: fio_jobs.FioContainer) -> float:
    (job,) = fio.run("depth", {**JOB, **CELL})
    return fio_jobs.bytes_per_s(job) / measured_checks.IOPS_BLOCK_BYTES


@measured
def test_limits_change_on_a_running_device(world: World) -> None:
    with device(SMALL, world) as volume:
        assert volume.server is not None and volume.server.container
        name = volume.server.container
        (running,) = running_disks.find(world)
        assert (running.container, running.name) == (name, "node-1")
        with fio_jobs.fio_on(volume, world) as fio:
            fio.run("prepare", JOB)
            assert read_iops(fio) == pytest.approx(800, rel=0.03)
            enforced = limit_changes.change(name, {"iops": 2400}, world)
            assert (enforced["iops"], enforced["bytes_per_s"]) == (2400, 80_000_000)
            assert read_iops(fio) == pytest.approx(2400, rel=0.03)
        with pytest.raises(UsageError, match="iops_burst needs iops"):
            limit_changes.change(name, {"iops_burst": 100}, world)
        assert running_disks.ask(name, ("limits",), world)["iops_burst"] == 0


@pytest.mark.slow
@measured
def test_a_limit_that_disks_share_holds_for_two_at_once(world: World) -> None:
    tier = replace(SMALL, shared=Limits(600, 24_000_000))
    with EmulatedTier().attached(tier, NodesData([SIZE, SIZE]), world) as disks:
        for check in shared_limit.of_all_disks(tier, disks, world):
            assert check.verdict == "ok", check
        EmulatedTier().lift(tier, disks, world)
        EmulatedTier().enforce(tier, disks, world)


@pytest.mark.slow
@measured
def test_disks_of_data_and_log_stay_together_below_their_machine_s_limit(
    world: World,
) -> None:
    """Each by itself reaches its own limit, and their sum would exceed the machine's."""
    log = changed(SMALL, iops=700, bytes_per_s=70_000_000)
    machine = MachineLimits("azure/Standard_D4s_v5", Limits(1000, 100_000_000))
    tier = replace(SMALL, wal=log, machine=machine)
    gate = EmulatedTier().gate(tier, world, thorough=False)
    read_iops = {c.disk: c.measured for c in gate.checks if c.quantity == "iops_read"}
    assert read_iops[""] == pytest.approx(800, rel=0.05)
    assert read_iops[LOG_DISK] == pytest.approx(700, rel=0.05)
    both = [check for check in gate.checks if check.disk == BOTH_DISKS]
    assert [(check.declared, check.verdict) for check in both] == [
        (1000, "ok"),
        (100_000_000, "ok"),
    ]


@measured
def test_limits_are_lifted_and_in_force_again_with_their_credit(world: World) -> None:
    bursting = changed(SMALL, burst=Burst(1600, None, 4.0, 50.0))
    mechanism = EmulatedTier()
    with mechanism.attached(bursting, NodesData([SIZE]), world) as disks:
        (volume,) = disks.volumes
        assert volume.server is not None and volume.server.container
        name = volume.server.container
        with fio_jobs.fio_on(volume, world) as fio:
            fio.run("prepare", JOB)
            mechanism.lift(bursting, disks, world)
            assert limit_changes.any_lifted([name], world)
            assert read_iops(fio) > 3200
            mechanism.enforce(SMALL, disks, world)
            assert read_iops(fio) == pytest.approx(800, rel=0.03)
        mechanism.lift(bursting, disks, world)
        mechanism.enforce(bursting, disks, world)
        assert 0.5 <= running_disks.ask(name, ("stats",), world)["iops_credit"] < 0.8
        limit_changes.change(name, {"iops": 900, "iops_burst": 1600}, world)
        with pytest.raises(GateError, match="enforces iops=900, expected 800"):
            mechanism.require_enforced(bursting, disks, world)


def test_limits_of_a_disk_that_draws_latencies_are_lifted(world: World) -> None:
    mechanism = EmulatedTier()
    with mechanism.attached(TAILED, NodesData([SIZE]), world) as disks:
        mechanism.lift(TAILED, disks, world)
        with pytest.raises(GateError, match="enforces iops=0"):
            mechanism.require_enforced(TAILED, disks, world)
        mechanism.enforce(TAILED, disks, world)


def test_a_drained_disk_whose_burst_is_taken_away_goes_on(world: World) -> None:
    """Credit that was spent is no debt: the next request would wait until it is earned again."""
    burst = Burst(3500, None, 10.0, 100.0)  # 27,000 I/Os: 34 s of the base rate
    with device(changed(SMALL, burst=burst), world) as volume:
        assert volume.server is not None and volume.server.container
        name = volume.server.container
        limit_changes.change(name, {"burst_start": 0}, world)
        limit_changes.change(name, {"iops_burst": 0}, world)
        assert answers(volume, name, world)
        limit_changes.change(name, {"iops_burst": 3500, "burst_start": 0}, world)
        enforced = limit_changes.change(name, {"iops": 4000}, world)
        assert (enforced["iops"], enforced["iops_burst"]) == (4000, 0), (
            "nothing to burst to"
        )
        assert answers(volume, name, world)


def answers(volume: Volume, container: str, world: World) -> bool:
    """Whether single reads of the device end at once, and not after seconds."""
    argv = (
        "dd",
        f"if={volume.device}",
        "of=/dev/null",
        "iflag=direct",
        "bs=4096",
        "count=3",
    )
    return world.platform.container(container).exec(argv, timeout_s=5).exit_code == 0


def calm(take: Callable[[], Gate]) -> Gate:
    """A gate, taken again where other load may have spoilt it; skips where it keeps doing so."""
    for _ in range(3):
        taken = take()
        if taken.passed:
            return taken
    if busy := busy_machines.reasons(taken):
        pytest.skip(f"this machine is too busy for a gate: {' and '.join(busy)}")
    return taken


@pytest.mark.slow
@measured
def test_thorough_gate_finds_where_the_cap_is_reached(world: World) -> None:
    effort = replace(BRIEF, ladder=(1, 2), block_bytes=(65_536,))

    with device(SMALL, world) as volume:
        disks = Disks((volume,), {})
        taken = calm(
            lambda: truth_gate.take(
                SMALL, disks, world, quick=effort, thorough=False, drained=False
            )
        )
    assert taken.passed, taken
    # 1 / 2 ms, or less: how much less is this machine's doing
    assert of(taken, "IOPS, 4 KiB random read at queue depth 1").measured < 0.7 * 800
    knee = of(taken, "queue depth at which reads reach the cap")
    assert (knee.limit.endswith("(cap × latency: 1.6)"), knee.measured) == (True, 2.0)
    assert of(taken, "bandwidth, 64 KiB").declared == 800 * 65_536


FEW_BYTES = a_tier("few bytes", "", "emulated", 20_000, 6_000_000, 0.002, 0.002)
FAR_AWAY = a_tier("far away", "", "emulated", 20_000, 900_000_000, 0.025, 0.025)


@measured
@pytest.mark.parametrize(
    "row",
    [
        pytest.param("azure/P4", marks=pytest.mark.slow),
        pytest.param("azure/P6", marks=pytest.mark.slow),
        pytest.param(FEW_BYTES, marks=pytest.mark.slow, id="few bytes"),
        pytest.param(FAR_AWAY, marks=pytest.mark.slow, id="far away"),
    ],
)
def test_a_limit_that_hides_behind_another_does_not_fail_the_gate(
    row: str | Tier, world: World
) -> None:
    tier = row if isinstance(row, Tier) else tier_catalog.choose(CATALOG, row, row).tier
    mechanism = EmulatedTier()
    taken = calm(lambda: mechanism.gate(tier, world, thorough=False))
    assert taken.passed, [check for check in taken.checks if not check.passed]
    reach = "not reachable" if row is FAR_AWAY else "ok"
    assert of(taken, "IOPS, 4 KiB random read").verdict == reach


@contextmanager
def mounted_disk(world: World, tier: Tier = SMALL) -> Iterator[Path]:
    """An emulated disk that the engine keeps mounted, as a stand-in for a real one."""
    with device(tier, world) as volume:
        argv = ["docker", "volume", "inspect", "-f", "{{.Mountpoint}}", volume.name]
        place = subprocess.run(
            argv, capture_output=True, text=True, check=True
        ).stdout.strip()
        keeper = ContainerSpec(
            name="tierbench-keeper",
            image=own_images.need(world.root, "disk", world.platform),
            entrypoint=("sleep",),
            command=("infinity",),
            role="client",
            init=True,
            stop_timeout_s=1,
            mounts=(Mount(volume.name, "/tier"),),
        )
        with world.platform.running(keeper):
            if not Path(place).is_dir():
                pytest.skip("the engine's volumes cannot be seen from here")
            yield Path(place)


@measured
def test_a_real_disk_is_found_measured_and_left_clean(world: World) -> None:
    with mounted_disk(world) as place:
        wrong = changed(
            SMALL,
            enforcement="mounted",
            path=str(place),
            iops=400,
            bytes_per_s=160_000_000,
        )
        mechanism = MountedTier()
        mechanism.check(wrong, world)
        taken = mechanism.gate(wrong, world, thorough=False)
        assert (
            of(taken, "IOPS, 4 KiB random read").verdict
            == "faster than declared (cache or burst)"
        )
        assert of(taken, "bandwidth, 256 KiB sequential write").verdict == "slow"
        assert of(taken, "median latency at queue depth 1, write").verdict == "ok"
        with mechanism.attached(wrong, NodesData([2**20, 2**20]), world) as disks:
            volumes, (facts,) = disks.volumes, disks.facts["disks"].values()
            assert (
                str(facts["device"]).startswith("loop")
                and facts["file_system"] == "xfs"
            )
            assert [one.device for one in volumes] == [f"/dev/{facts['device']}"] * 2
            (Path(volumes[0].name) / "left").write_text("behind")
        assert list(place.iterdir()) == []
        (place / node_places.FOLDER / "of-others").mkdir(parents=True)
        with (
            pytest.raises(UsageError, match="was not made by tierbench"),
            mechanism.attached(wrong, NodesData([2**20]), world),
        ):
            pass
        shutil.rmtree(place / node_places.FOLDER)


READS = (
    (0.0, 4e-4),
    (0.5, 6e-4),
    (0.9, 9e-4),
    (0.97, 15e-4),
    (0.99, 3e-3),
    (1.0, 8e-3),
)
WRITES = (
    (0.0, 6e-4),
    (0.5, 9e-4),
    (0.9, 13e-4),
    (0.97, 2e-3),
    (0.99, 4e-3),
    (1.0, 9e-3),
)
TAILED = a_tier(
    *("tailed", "A disk with a tail", "emulated", 3000, 120_000_000, 6e-4, 9e-4),
    latency_model=LatencyModel(READS, WRITES, "this test", "2026-01-01"),
)
ALONE = {"SIZE": "32m", "RAMP": "200ms", "RUNTIME": "9s", "PAUSE_US": "0"}


@pytest.mark.slow
@measured
def test_a_recorded_disk_is_rehearsed(world: World) -> None:
    """Stands for a rented disk: one with a tail is recorded, and played from the file alone."""
    effort = recording.RecordingEffort(32 * 2**20, rate_s=0.8, latency_s=9.0)
    with mounted_disk(world, TAILED) as place:
        found = recording.record(place, effort, world, allow_root_disk=False)
        assert list(place.iterdir()) == []
    assert found.limits is not None and found.device["file_system"] == "xfs"
    disk = recorded_disk.read("disk.json", json.dumps(found.model_dump()))
    limits = found.limits
    iops, throughput = recorded_disk.own_limits(limits).values()
    tier = a_tier(
        "rehearsed", "", "emulated", int(iops), units.parse_bytes_per_s(throughput)
    )
    tier = recorded_disk.applied(tier, disk)
    with device(tier, world) as volume, fio_jobs.fio_on(volume, world) as fio:
        assert volume.server is not None and volume.server.container
        fio.run("prepare", ALONE)
        rates = [fio_jobs.bytes_per_s(job) / 4096 for job in fio.run("iops", JOB)]
        (alone,) = fio.run("latency", ALONE)
        stats = running_disks.ask(volume.server.container, ("stats",), world)
        with pytest.raises(UsageError, match="drawn from a table"):
            limit_changes.change(
                volume.server.container, {"read_latency_us": 500}, world
            )
    for rate, was in zip(rates, (limits.iops_read, limits.iops_write), strict=False):
        assert rate == pytest.approx(was, rel=0.05)
    latency = disk.latency
    ways = (("read", latency.read_quantiles_s), ("write", latency.write_quantiles_s))
    for way, table in ways:
        percentiles_ns = alone[way]["lat_ns"]["percentile"]
        median_s, p99_s = (
            percentiles_ns["50.000000"] * 1e-9,
            percentiles_ns["99.000000"] * 1e-9,
        )
        assert median_s == pytest.approx(quantile_s(table, 0.5), rel=0.10)
        assert p99_s == pytest.approx(quantile_s(table, 0.99), rel=0.20)
        assert stats[way]["table_points"] == len(table) and stats[way]["draws"] > 3000


def test_a_real_disk_that_vanishes_is_said_to_have(world: World) -> None:
    with mounted_disk(world) as place:
        tier = changed(SMALL, enforcement="mounted", path=str(place))
        with (
            pytest.raises(RunError, match=r"vanished from .* in mid-run"),
            MountedTier().attached(tier, NodesData([2**20]), world),
        ):
            world.platform.container("tierbench-keeper").stop(1)
            raise RunError("the database died")


def test_a_directory_of_the_root_disk_is_refused(world: World, tmp_path: Path) -> None:
    tier = a_tier("real", "Real", "mounted", None, None, path=str(tmp_path))
    with pytest.raises(UsageError, match="is not a mount point"):
        MountedTier().check(tier, world)
