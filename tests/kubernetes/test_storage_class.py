"""Tiers that are a StorageClass, on a real cluster whose provisioner stands for a cloud's driver.

Goal: each node gets a volume of the class where it runs, each run the data of its own node, and
nothing rented is left. Method: the mechanism as `run/` calls it; what is on a volume is read and
written in containers that mount it, as a database does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.errors import UnavailableError
from orchestrator.model import Volume
from orchestrator.parts import NodesData
from orchestrator.powers import World
from orchestrator.system import at_once
from orchestrator.tier import ClassWanted, Tier
from orchestrator.tiers.common.any_disk import fio_containers
from tests.cluster import provisioner
from tests.kubernetes.rented import COPIES, MECHANISM, NODES, SIZE, TIER, WANTED, world
from tests.tiers import changed

__all__ = ["world"]

pytestmark = [pytest.mark.kubernetes, pytest.mark.docker]

SNAPSHOT_CLASSES = "/apis/snapshot.storage.k8s.io/v1/volumesnapshotclasses"
SPOILING = "cat /tier/who; echo spoilt > /tier/who; sync"


@pytest.fixture
def snapshots(world: World) -> Iterator[None]:
    """The driver can make snapshots."""
    platform: Any = world.platform
    kind = {"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotClass"}
    content = {**kind, "metadata": {"name": "fast"}, "deletionPolicy": "Delete"}
    platform._api.make(SNAPSHOT_CLASSES, {**content, "driver": provisioner.NAME})
    yield
    platform._api.remove(f"{SNAPSHOT_CLASSES}/fast")  # the owner's, not ours


def shell(volume: Volume, script: str, world: World) -> str:
    """What a script prints that has the volume at /tier."""
    spec = fio_containers.fio_container(f"{volume.name}-user", "client", volume, world)
    with world.platform.running(spec):
        done = world.platform.container(spec.name).exec(
            ("sh", "-c", script), timeout_s=60
        )
    assert done.exit_code == 0, done.err
    return done.out.strip()


def test_each_node_has_a_volume_on_its_own_machine(world: World) -> None:
    MECHANISM.check(TIER, world)
    with MECHANISM.attached(TIER, NodesData([SIZE] * NODES), world) as disks:
        assert (
            len({one["machines"][0] for one in disks.facts["disks"].values()}) == NODES
        )
        assert {one["size_bytes"] for one in disks.facts["disks"].values()} == {SIZE}
        assert shell(disks.volumes[1], "stat -fc %T /tier; ls /tier", world) == "xfs"
    assert disks.facts["provisioner"] == provisioner.NAME


@pytest.mark.parametrize(
    "tier",
    [
        pytest.param(TIER, id="snapshots"),
        pytest.param(COPIES, marks=pytest.mark.slow, id="copies"),
    ],
)
def test_runs_start_from_the_data_of_their_node(
    world: World, snapshots: None, tier: Tier
) -> None:
    tier, sizes = changed(tier, storage_class=replace(WANTED, nodes=2)), [SIZE] * 2
    notes = MECHANISM.snapshots(tier, sizes, "f00", world)
    with MECHANISM.loading(tier, NodesData(sizes, notes), world) as volumes:
        for volume in volumes:
            shell(volume, f"echo {volume.placement} > /tier/who; sync", world)
    for _ in range(2):
        with MECHANISM.attached(tier, NodesData(sizes, notes), world) as disks:
            found = at_once.each(
                lambda volume: shell(volume, SPOILING, world), disks.volumes
            )
            assert found == [volume.placement for volume in disks.volumes]


@pytest.mark.slow
def test_the_gate_measures_a_volume_on_each_machine(world: World) -> None:
    gate = MECHANISM.gate(
        changed(TIER, storage_class=replace(WANTED, nodes=2)), world, thorough=False
    )
    assert gate.passed
    rates = [check for check in gate.checks if check.quantity == "iops_read"]
    assert [check.nodes for check in rates] == [("node-1",), ("node-2",)]
    assert all(check.measured > 0 for check in rates)
    assert len({one["machines"][0] for one in gate.device["disks"].values()}) == 2


def test_a_class_that_is_not_there(world: World) -> None:
    with pytest.raises(UnavailableError, match="no StorageClass 'gold'"):
        MECHANISM.check(changed(TIER, storage_class=ClassWanted("gold")), world)
