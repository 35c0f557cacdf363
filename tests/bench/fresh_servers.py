"""A fresh server on this machine's own disk for each measurement of a benchmark."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from orchestrator.collectors.cgroup import CgroupCollector
from orchestrator.databases.postgresql import PostgreSQL
from orchestrator.model import Cluster, ClusterSpec, Node, NodeSize
from orchestrator.parts import NodesData
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import World
from orchestrator.tiers.unlimited import UnlimitedTier
from tests.tiers import a_tier

SERVER = ClusterSpec(
    "postgresql",
    1,
    1,
    NodeSize(float(LocalMachine().facts().cpus), 4 * 2**30, 20 * 2**30),
)
NO_TIER = a_tier("none", "no tier", "none", None, None)
NETWORK = "tierbench-bench"

T = TypeVar("T")


def on_fresh_server(
    program: Callable[[Cluster, str, Path, World], T], world: World
) -> T:
    """What `program` returns, given a new server, its network and an empty folder."""
    assert SERVER.node is not None
    with ExitStack() as up:
        sizes = [SERVER.node.disk_bytes]
        disks = up.enter_context(
            UnlimitedTier().attached(NO_TIER, NodesData(sizes), world)
        )
        network = up.enter_context(world.platform.network(NETWORK, 1))
        running = PostgreSQL().running(SERVER, disks.volumes, network, world)
        cluster = up.enter_context(running)
        out = Path(up.enter_context(tempfile.TemporaryDirectory()))
        return program(cluster, NETWORK, out, world)


def cpu_seconds(node: Node) -> float:
    readings = CgroupCollector(lambda _: LocalMachine()).read([node], 0.0)
    return next(one.value for one in readings if one.metric == "cpu_seconds_total")
