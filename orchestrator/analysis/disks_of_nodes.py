"""The database nodes of a run, and which of them share a disk. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from orchestrator import counter_sources, units
from orchestrator.design.nodes_by_role import nodes_of_role
from orchestrator.model import Node


class PlacedDisk(NamedTuple):
    """A disk by its device and the place in which that name means it.

    `node`: the only node that it counts for, where the device is not known; else empty.
    """

    place: str
    device: str
    node: str = ""


def by_disk(nodes: Iterable[Node]) -> dict[PlacedDisk, list[Node]]:
    """The database nodes by disk; a node whose device is not known has one of its own."""
    return units.gathered(
        (_disk(node), node) for node in nodes_of_role(nodes, "database")
    )


def _disk(node: Node) -> PlacedDisk:
    device = node.device or node.sources.get(counter_sources.DISK_DEVICE)
    if device:
        return PlacedDisk(place(node), device)
    return PlacedDisk("", "", node.name)


def place(node: Node) -> str:
    """Its machine, or what counts for it: devices of one name in one place are one disk."""
    return node.sources.get(counter_sources.NODE_EXPORTER) or node.machine
