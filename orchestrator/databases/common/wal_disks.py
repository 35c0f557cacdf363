"""Whether each node's WAL is on the disk that the profile names for it: read back, not believed."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.databases.common import container_nodes
from orchestrator.errors import NodeError
from orchestrator.kernel import mounts
from orchestrator.model import Node
from orchestrator.powers import World

_READ_S = 20.0


def devices(nodes: Sequence[Node], directory: str, world: World) -> dict[str, str]:
    """Node → device that holds its WAL, of the nodes with a disk for it. `directory`: of the WAL in
    the container, maybe a link. NodeError if it is on another device."""
    found: dict[str, str] = {}
    for node in nodes:
        if node.wal_device is None:
            continue
        real = container_nodes.run(node, ("readlink", "-f", directory), _READ_S, world, (node,))
        listed = container_nodes.run(node, ("cat", "/proc/self/mountinfo"), _READ_S, world, (node,))
        mount = mounts.deepest(real.out.strip(), mounts.parsed(listed.out))
        machine = world.platform.container(container_nodes.container_name(node)).find_machine()
        device = mount and mounts.device_name(mount, machine)
        if device != node.wal_device:
            raise NodeError(
                f"the WAL of {node.name} is at {real.out.strip()} on {device or 'no disk'}, and "
                f"the profile's disk for it is {node.wal_device}",
                advice="this is a fault of the program: its figures would be of another disk",
            )
        found[node.name] = device
    return found
