"""Nodes of a cluster by what they are for. Pure."""

from collections.abc import Iterable

from orchestrator.model import Node, Role


def nodes_of_role(nodes: Iterable[Node], role: Role) -> list[Node]:
    """The nodes that have the role, in their order."""
    in_role: list[Node] = []
    for node in nodes:
        if node.role == role:
            in_role.append(node)
    return in_role
