"""What runs in a container, as collectors and the record need it."""

from collections.abc import Mapping
from typing import Literal

from orchestrator.model import Node
from orchestrator.powers import Container

_Role = Literal["database", "coordinator", "client", "disk"]


def as_node(
    container: Container,
    name: str,
    role: _Role,
    *,
    device: str | None = None,
    wal_device: str | None = None,
    cpus: float | None = None,
    memory_bytes: int | None = None,
    sources: Mapping[str, str] | None = None,
) -> Node:
    """What runs in a container, as collectors and the record need it."""
    return Node(
        name,
        role,
        container=container.name,
        container_id=container.id,
        process_id=container.process_id,
        device=device,
        wal_device=wal_device,
        cpus=cpus,
        memory_bytes=memory_bytes,
        sources=sources or {},
    )
