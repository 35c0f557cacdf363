"""Whether the WAL of each node is on the disk that the profile names for it."""

from collections.abc import Sequence

from orchestrator.databases.common.container_nodes import LIST_MOUNTS, LOOK_S
from orchestrator.databases.common.node_lifecycle import run
from orchestrator.errors import NodeError
from orchestrator.kernel import mounts
from orchestrator.model import (
    Node,
)
from orchestrator.powers import World


def wal_devices(nodes: Sequence[Node], directory: str, world: World) -> dict[str, str]:
    """Node → device that holds its WAL, of the nodes with a disk for it. `directory`: of the WAL in
    the container, maybe a link. NodeError if it is on another device."""
    devices: dict[str, str] = {}
    for node in nodes:
        if node.wal_device is None:
            continue
        # PostgreSQL's pg_wal is a link to the disk that the tier names for it.
        link = run(node, ("readlink", "-f", directory), LOOK_S, world, (node,))
        listed = run(node, LIST_MOUNTS, LOOK_S, world, (node,))
        real = link.out.strip()
        mount = mounts.deepest(real, mounts.parsed(listed.out))
        machine = world.platform.container(node.container_name).find_machine()
        device = mount and mounts.device_name(mount, machine)
        if device != node.wal_device:
            raise _wal_elsewhere(node, f"{real} on {device or 'no disk'}")
        devices[node.name] = device
    return devices


def _wal_elsewhere(node: Node, place: str) -> NodeError:
    return NodeError(
        f"the WAL of {node.name} is at {place}, and the profile's disk for "
        f"it is {node.wal_device}",
        advice=(
            "this is a fault of tierbench: the figures would describe another disk"
        ),
    )
