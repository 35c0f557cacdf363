"""Mistakes in a profile's cluster that every database of ours would refuse."""

from collections.abc import Iterator, Sequence

from orchestrator import errors, units
from orchestrator.errors import Mistake
from orchestrator.model import (
    ClusterSpec,
)

# The most nodes for which docs/research/SCALE.md has figures. An engine's network holds as many and
# 140 clients besides.
MAX_NODES = 100


def require_none(mistakes: Sequence[Mistake], database: str) -> None:
    """UsageError if the profile has mistakes."""
    errors.require_none(
        mistakes, f"{database} cannot run this cluster", "correct the profile"
    )


def shape_mistakes(
    spec: ClusterSpec, least_bytes: int, needed_for: str
) -> Iterator[Mistake]:
    """Mistakes in the numbers of nodes and copies, and in a node's memory: `needed_for` names what
    `least_bytes` of it are for."""
    nodes = spec.nodes
    copies = spec.replication_factor
    memory_bytes = spec.size.memory_bytes
    if not 1 <= nodes <= MAX_NODES:
        yield Mistake(
            "cluster.nodes", f"{nodes} nodes: set up here with 1 to {MAX_NODES}"
        )
    if copies > nodes:
        text = f"{copies} copies on {nodes} node(s): every copy needs a node of its own"
        yield Mistake("cluster.replication_factor", text)
    if memory_bytes < least_bytes:
        given = units.format_bytes(memory_bytes)
        least = units.format_bytes(least_bytes)
        what = f"{given} is too little for {needed_for} and a few sessions"
        yield Mistake("cluster.node.memory", f"{what}: give it at least {least}")


def setting_mistake(name: str, text: str) -> Mistake:
    return Mistake(f"cluster.settings.{name}", text)
