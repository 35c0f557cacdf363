"""HDFS in pods, on volumes of a class: what was sorted is kept, and scanned from there.

Goal: all copies are there when a load ends; servers stop cleanly, so that others start from copies
of their disks; a scan reads the disks, and has the generator's checksum; a pod that is killed voids
the run. Method: the adapters as `run/` calls them; a device's own counter says what it has read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.errors import NodeError
from orchestrator.extensions.hadoop import pages
from orchestrator.extensions.hadoop.hdfs import Hdfs
from orchestrator.extensions.hadoop.tera import Tera
from orchestrator.model import CLIENT, Cluster, ClusterSpec, Node, NodeSize, Volume
from orchestrator.parts import ClientLoad, NodesData
from orchestrator.platforms import own_images
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import World
from orchestrator.system import at_once
from orchestrator.system.clock import SystemClock, wait_until
from tests import ROOT, hadoop
from tests.cluster.cluster import Cluster as Machines
from tests.fakes import QuietProgress
from tests.kubernetes.rented import COPIES, MECHANISM, NODES, SIZE, world

__all__ = ["world"]

pytestmark = [pytest.mark.kubernetes, pytest.mark.docker]

SPEC = ClusterSpec("hdfs", NODES, NODES, NodeSize(1.0, 2**30, SIZE))
ROWS = 48_000_000  # bytes
DEVICE = r"sed -n 's|.* /data .* /dev/\([a-z0-9]*\) .*|\1|p' /proc/self/mountinfo"
READ = f"cat /sys/block/$({DEVICE})/stat"
NOBODY = Node(CLIENT, "client")  # jobs run on the nodes


@contextmanager
def running(volumes: Sequence[Volume], world: World) -> Iterator[Cluster]:
    with (
        world.platform.network("tierbench-hdfs", NODES) as network,
        Hdfs().running(SPEC, volumes, network, world) as cluster,
    ):
        yield cluster


def read_bytes(cluster: Cluster, world: World) -> int:
    """By all disks, since they are there."""
    names = [node.container or "" for node in cluster.nodes if node.role == "database"]
    told = [
        world.platform.container(name).exec(("sh", "-c", READ), timeout_s=20)
        for name in names
    ]
    return sum(int(done.out.split()[2]) * 512 for done in told)


@pytest.mark.slow
def test_what_was_sorted_is_kept_and_scanned_cold(
    world: World, loaded: Machines, tmp_path: Path
) -> None:
    loaded.load(
        own_images.provide(
            ROOT, "hadoop", DockerPlatform(SystemClock()), QuietProgress()
        )
    )
    scan, sizes = hadoop.small("scan", bytes=ROWS), [SIZE] * NODES
    notes = MECHANISM.snapshots(COPIES, sizes, "f00", world)
    with (
        MECHANISM.loading(COPIES, NodesData(sizes, notes), world) as volumes,
        running(volumes, world) as cluster,
    ):
        assert all(volume.kept for volume in volumes)
        Tera().load(scan, cluster, NOBODY, world)
        Hdfs().settle(cluster, world)
        facts = Hdfs().facts(cluster, world)
        assert facts.durable and facts.given_bytes is not None
        for given in facts.given_bytes.values():  # rows as they were made, and sorted
            assert given == pytest.approx(2 * ROWS, rel=0.02)
    with (
        MECHANISM.attached(COPIES, NodesData(sizes, notes), world) as disks,
        running(disks.volumes, world) as cluster,
    ):
        machines = {n.name: n.machine for n in cluster.nodes}
        assert machines["name-node"] == machines["node-1"]
        Hdfs().begin_measuring(cluster, world)
        before = read_bytes(cluster, world)
        _, window = Tera().run(ClientLoad(scan, cluster, NOBODY, tmp_path, world))
        # Lines that came late together made it 0.14 s: no Java begins and ends two tasks in that.
        assert window.duration_s > 0.5
        assert read_bytes(cluster, world) - before == pytest.approx(ROWS, rel=0.1)
        writes = hadoop.small("dfsio-write", bytes=1_200_000_000, file_size=8_000_000)
        ran = at_once.begun(
            lambda: Tera().run(ClientLoad(writes, cluster, NOBODY, tmp_path, world))
        )
        page = cluster.handle.data_nodes["node-2"]
        wait_until(lambda: pages.written_bytes(page), deadline_s=60, clock=world.clock)
        world.platform.container(cluster.nodes[2].container or "").stop(0)
        with pytest.raises(NodeError, match="node-2"):
            ran.result()
