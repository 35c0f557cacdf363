"""The client: a container on the database's network in which a load generator's programs run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from orchestrator.model import Node
from orchestrator.powers import ContainerSpec, Mount, World


@contextmanager
def client_container(
    image: str, network: str, out: Path, world: World, mounts: Sequence[Mount] = ()
) -> Iterator[Node]:
    """Idle until something is run inside. `/workloads` is the project's, `/out` the run's `out`."""
    spec = ContainerSpec(
        name=f"{world.scope}-client",
        image=image,
        entrypoint=("sleep",),
        command=("infinity",),
        role="client",
        network=network,
        init=True,
        stop_timeout_s=1,
        mounts=(
            *mounts,
            Mount(str(world.root / "workloads"), "/workloads", read_only=True),
            Mount(str(out.resolve()), "/out"),
        ),
    )
    with world.platform.running(spec) as container:
        yield Node(
            name="client",
            role="client",
            container=container.name,
            container_id=container.id,
            process_id=container.process_id,
        )
