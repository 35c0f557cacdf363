"""Database nodes that are containers: what every database says of them and asks of the engine."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence

from orchestrator.errors import NodeError
from orchestrator.model import Endpoint, Node, Volume
from orchestrator.powers import Container, ContainerSpec, World

USER = DATABASE = "bench"

Log = Callable[[str, World], str]


def new_password() -> str:
    """Of one start of one cluster: every local user reaches its port, and kept disks outlive it, so
    each start sets its own. It goes through environments and SQL, never through a command line."""
    return secrets.token_hex(16)


def endpoint(started: Container, port: int, password: str) -> Endpoint:
    """Where SQL is spoken: at the container's own address, and at a published port from here."""
    return Endpoint(
        host=started.address or started.name,
        port=port,
        local_port=started.ports[port],
        user=USER,
        password=password,
        database=DATABASE,
    )


def described(
    number: int,
    plan: ContainerSpec,
    volume: Volume,
    started: Container,
    sources: Mapping[str, str] | None = None,
) -> Node:
    """Node `number`, counted from 1, as it is watched."""
    return Node(
        name=f"node-{number}",
        role="database",
        container=started.name,
        container_id=started.id,
        process_id=started.process_id,
        device=volume.device.removeprefix("/dev/") or None,
        cpus=plan.cpus,
        memory_bytes=plan.memory_bytes,
        sources=sources or {},
    )


def last_lines(name: str, world: World) -> str:
    """What the container said last."""
    return f"{name}:\n{world.platform.logs(name, tail=20)}"


def raise_if_dead(names: Sequence[str], world: World, log: Log = last_lines) -> None:
    """NodeError, with its last lines, for the first container that no longer runs."""
    for name in names:
        state = world.platform.state(name)
        if state != "running":
            raise NodeError(
                f"the database node {name} is {state}",
                advice="its last log lines say why; out of memory means: give nodes more of it",
                evidence=log(name, world),
            )
