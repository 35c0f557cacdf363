"""The database nodes of a run, and which of them share a disk. Pure."""

from __future__ import annotations

from collections.abc import (
    Iterable,
)

from orchestrator import counter_sources, units
from orchestrator.model import (
    Node,
)


def database_nodes(nodes: Iterable[Node]) -> list[Node]:
    return [node for node in nodes if node.role == "database"]


def by_disk(nodes: Iterable[Node]) -> dict[tuple[str, ...], list[Node]]:
    """The database nodes by disk; a node whose device is not known has one of its own."""
    return units.gathered((_disk(node), node) for node in database_nodes(nodes))


def _disk(node: Node) -> tuple[str, ...]:
    device = node.device or node.sources.get(counter_sources.DISK_DEVICE)
    if device:
        return (place(node), device)
    # Three parts, so that it is no disk of any place.
    return ("", "node", node.name)


def place(node: Node) -> str:
    """Its machine, or what counts for it: devices of one name in one place are one disk."""
    return node.sources.get(counter_sources.NODE_EXPORTER) or node.machine
