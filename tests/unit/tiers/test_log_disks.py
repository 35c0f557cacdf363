"""A second emulated disk for each node's WAL: its own server, limits, counters, snapshot and gate.

Method: a platform in memory whose disks say the limits that their containers were started with, and
take others, as `device` does; what a real one answers is in tests/integration/test_tiers.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis.telemetry.causes import proof_by_trial
from orchestrator.analysis.telemetry.use import idle_disk
from orchestrator.errors import RunError
from orchestrator.parts import NodesData
from orchestrator.platforms import own_images
from orchestrator.powers import Completed, ContainerSpec, World
from orchestrator.tier import (
    LOG_DISK,
    Burst,
    Gate,
    GateCheck,
    Limits,
    MachineLimits,
    Tier,
)
from orchestrator.tier.slow_disk import SlowDisk
from orchestrator.tiers.common.any_disk import log_disks
from orchestrator.tiers.common.emulated import window_disks
from orchestrator.tiers.common.emulated.server_limits import limits_of
from orchestrator.tiers.emulated import EmulatedTier
from tests import ROOT
from tests.fakes import FakeContainer, FakePlatform, completed, fake_world
from tests.tiers import a_tier, changed

P30 = a_tier("log", "P30", "emulated", 5000, 200_000_000, 0.003, 0.002)
P15 = a_tier("data", "P15", "emulated", 1100, 125_000_000, 0.003, 0.002)
BOTH = replace(P15, wal=changed(P30, burst=Burst(9000, None, 30.0, 50.0)))
LIMITS = {*limits_of(P15), *limits_of(BOTH.wal or P30)} | {
    "shared_iops",
    "shared_bytes_per_s",
}
TWO_NODES = NodesData((2**30, 2**30))
DISKS = ("node-1", "node-2", "node-1-wal", "node-2-wal")


class Devices(FakePlatform):
    """Keeps what limits each device enforces, by the end of its container's name."""

    def __init__(self) -> None:
        super().__init__(images=[own_images.tag(ROOT, "disk")])
        self.enforced: dict[str, dict[str, float]] = {}

    @contextmanager
    def running(self, spec: ContainerSpec) -> Iterator[FakeContainer]:
        with super().running(spec) as container:
            self.enforced[_disk_of(spec.name)] = _options(spec.command)
            yield container

    def logs(self, name: str, tail: int | None = None) -> str:
        disk = _disk_of(name)
        ready = {"device": f"/dev/loop-{disk}", "limits": self.enforced[disk]}
        return f"device: the image is there\n{json.dumps(ready)}\n"

    def exec(self, container: str, argv: Sequence[str], **_: Any) -> Completed:
        enforced = self.enforced[_disk_of(container)]
        if argv[1] == "set":
            for setting in argv[2:]:
                name, value = setting.split("=")
                enforced[name] = float(value)
        return completed(json.dumps(enforced))


def _disk_of(container: str) -> str:
    return container.partition("-disk-")[2]


def _options(command: Sequence[str]) -> dict[str, float]:
    """The limits among the options of `device serve`."""
    limits: dict[str, float] = {}
    for option, value in pairwise(command):
        name = option.removeprefix("--").replace("-", "_")
        if name in LIMITS:
            limits[name] = float(value)
    return limits


@pytest.fixture
def platform() -> Devices:
    return Devices()


@pytest.fixture(name="world")
def log_disk_world(platform: Devices, tmp_path: Path) -> World:
    return replace(fake_world(platform=platform), cache=tmp_path)


def enforced(platform: Devices) -> dict[str, float]:
    """Disk → its IOPS."""
    return {disk: limits["iops"] for disk, limits in platform.enforced.items()}


def iops(data: float, logs: float) -> dict[str, float]:
    """Disk → its IOPS, if those of data have these, and those of the WAL those."""
    both = dict.fromkeys(DISKS[:2], data)
    return {**both, **dict.fromkeys(DISKS[2:], logs)}


def test_each_node_has_a_disk_of_either_tier(platform: Devices, world: World) -> None:
    with EmulatedTier().attached(BOTH, TWO_NODES, world) as disks:
        assert enforced(platform) == iops(data=1100, logs=5000)
        volume = disks.volumes[1]
    assert (volume.device, volume.wal_device) == (
        "/dev/loop-node-2",
        "/dev/loop-node-2-wal",
    )
    assert volume.wal == f"{world.scope}-node-2-wal"
    assert set(disks.facts["overhead_us"]) == {f"disk-{disk}" for disk in DISKS}
    assert disks.facts["wal"]["limits"]["iops"] == 5000
    placements = {spec.name[-10:]: spec.placement for spec in platform.specs.values()}
    assert placements["node-2-wal"] == "node-2"


def test_limits_are_lifted_and_enforced_of_both(
    platform: Devices, world: World
) -> None:
    tier = EmulatedTier()
    with tier.attached(BOTH, TWO_NODES, world) as disks:
        tier.lift(BOTH, disks, world)
        assert enforced(platform) == dict.fromkeys(DISKS, 0)
        tier.enforce(BOTH, disks, world)
        assert enforced(platform) == iops(data=1100, logs=5000)
        assert platform.enforced["node-1-wal"]["burst_start"] == 50
        assert "burst_start" not in platform.enforced["node-1"]


ON_MACHINE = replace(BOTH, machine=MachineLimits("azure/D4", Limits(3000, 90_000_000)))


def test_both_disks_of_a_node_share_what_its_machine_lets_through(
    platform: Devices, world: World
) -> None:
    tier = EmulatedTier()
    with tier.attached(ON_MACHINE, TWO_NODES, world) as disks:
        shared = {
            disk: limits["shared_iops"] for disk, limits in platform.enforced.items()
        }
        assert shared == dict.fromkeys(DISKS, 3000)
        assert iops(data=1100, logs=5000) == enforced(platform)
        files = {
            _disk_of(spec.name): _shared_file(spec) for spec in platform.specs.values()
        }
        tier.lift(ON_MACHINE, disks, world)
        assert platform.enforced["node-2-wal"]["shared_bytes_per_s"] == 0
        tier.enforce(ON_MACHINE, disks, world)
        assert platform.enforced["node-2-wal"]["shared_bytes_per_s"] == 90_000_000
    assert files["node-1"] == files["node-1-wal"] != files["node-2"]
    assert files["node-2"] == files["node-2-wal"]


def _shared_file(spec: ContainerSpec) -> str:
    """The file in which the disk keeps what it used of limits that it shares."""
    return spec.command[spec.command.index("--shared") + 1]


def test_a_lever_moves_the_disks_of_data_or_those_of_the_wal(
    platform: Devices, world: World
) -> None:
    tier = EmulatedTier()
    with tier.attached(BOTH, TWO_NODES, world) as disks:
        levers = tier.levers(BOTH, disks, world)
        levers["IOPS"](0.5)
        assert enforced(platform) == iops(data=550, logs=5000)
        levers["IOPS"](1.0)
        levers["WAL disk's IOPS"](0.5)
        assert enforced(platform) == iops(data=1100, logs=2500)
        assert platform.enforced["node-1-wal"]["iops_burst"] == 4500
    assert set(levers) == {
        "IOPS",
        "bandwidth",
        "disk latency",
        "WAL disk's IOPS",
        "WAL disk's bandwidth",
        "WAL disk's latency",
    }


def test_a_lever_moves_what_both_disks_have_together(
    platform: Devices, world: World
) -> None:
    tier = EmulatedTier()
    with tier.attached(ON_MACHINE, TWO_NODES, world) as disks:
        levers = tier.levers(ON_MACHINE, disks, world)
        levers["machine's IOPS"](0.75)
        assert {of["shared_iops"] for of in platform.enforced.values()} == {2250}
        levers["machine's bandwidth"](0.75)
    assert not {"shared IOPS", "WAL disk's shared IOPS"} & set(levers)
    # Each is a cause that counters may name, and that a trial then proves.
    assert set(levers) <= set(proof_by_trial.CAUSES)


def test_the_disk_of_the_wal_is_slow_and_as_declared_again(
    platform: Devices, world: World
) -> None:
    tier = EmulatedTier()
    slow = SlowDisk("node-2", "share", 10.0, 60.0, of_log=True)
    with tier.attached(BOTH, TWO_NODES, world) as disks:
        tier.slow(BOTH, disks, slow, world)
        assert enforced(platform) == {**iops(data=1100, logs=5000), "node-2-wal": 500}
        tier.restore(BOTH, disks, slow, world)
        assert enforced(platform) == iops(data=1100, logs=5000)
        with pytest.raises(RunError, match=r"no emulated disk of node-2.wal is served"):
            tier.slow(P15, disks, slow, world)


def test_a_window_reads_both_and_fills_each_bucket_as_its_tier_says(
    world: World,
) -> None:
    with EmulatedTier().attached(BOTH, TWO_NODES, world) as disks:
        played = window_disks.of_run(BOTH, disks.volumes, world)
    assert [(disk.name, disk.credit_pct, disk.volume.device) for disk in played] == [
        ("disk-node-1", None, "/dev/loop-node-1"),
        ("disk-node-1-wal", 50.0, "/dev/loop-node-1-wal"),
        ("disk-node-2", None, "/dev/loop-node-2"),
        ("disk-node-2-wal", 50.0, "/dev/loop-node-2-wal"),
    ]


def snapshots(tier: Tier, world: World) -> tuple[Path, ...]:
    kept = EmulatedTier().abilities.kept_data
    assert kept is not None
    return kept.snapshots(tier, TWO_NODES.sizes_bytes, "key", world)


def test_loaded_data_are_kept_of_both(platform: Devices, world: World) -> None:
    """Under a name of their own: with the WAL elsewhere the disks of the data are others."""
    kept = snapshots(BOTH, world)
    assert [path.stem for path in kept] == list(DISKS)
    assert {path.parent for path in kept}.isdisjoint(
        {path.parent for path in snapshots(P15, world)}
    )
    loading = NodesData(TWO_NODES.sizes_bytes, kept)
    with EmulatedTier().loading(BOTH, loading, world) as volumes:
        assert [volume.wal_device for volume in volumes] == [
            "/dev/loop-node-1-wal",
            "/dev/loop-node-2-wal",
        ]
        assert not any(volume.restored for volume in volumes)
    with EmulatedTier().attached(BOTH, loading, world) as disks:
        assert all(volume.restored for volume in disks.volumes)
    copies = []
    for spec in platform.specs.values():
        if "--copy-of" in spec.command:
            source = Path(spec.command[spec.command.index("--copy-of") + 1])
            copies.append((_disk_of(spec.name), source.stem))
    assert copies == [(disk, disk) for disk in DISKS]


def test_a_gate_says_which_of_its_checks_are_of_the_log() -> None:
    def gate(measured: float, busy_pct: float) -> Gate:
        check = GateCheck(
            "write latency", "s", None, measured, None, "not declared", "latency_write"
        )
        return Gate("data", 1.0, (check,), {"host_cpu_pct": busy_pct})

    both = log_disks.one_gate(gate(0.002, 10.0), gate(0.001, 30.0))
    assert [(check.disk, check.measured) for check in both.checks] == [
        ("", 0.002),
        (LOG_DISK, 0.001),
    ]
    assert [check.is_of_log for check in both.checks] == [False, True]
    assert both.device["host_cpu_pct"] == 30.0
    unsaid = changed(P15, read_latency_s=None, write_latency_s=None)
    log_alone = replace(both, checks=both.checks[1:])
    assert idle_disk.idle_latency_s(unsaid, both, 0.0, 1.0, "node-1") == 0.002
    assert idle_disk.idle_latency_s(unsaid, log_alone, 0.0, 1.0, "node-1") is None


def test_the_servers_of_both_are_sampled_and_their_logs_kept(world: World) -> None:
    with EmulatedTier().attached(BOTH, TWO_NODES, world) as disks:
        servers = [server.name for server in disks.servers]
    assert servers == [
        "disk-node-1",
        "disk-node-1-wal",
        "disk-node-2",
        "disk-node-2-wal",
    ]
