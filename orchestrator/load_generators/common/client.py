"""The client: a container on the database's network in which a load generator's programs run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from orchestrator.model import Cluster, Node
from orchestrator.powers import Completed, ContainerSpec, Mount, World

LOAD_TIMEOUT_S = 24 * 3600.0


@contextmanager
def client_container(
    image: str, network: str, out: Path, world: World, mounts: Sequence[Mount] = ()
) -> Iterator[Node]:
    """Starts the client, which idles until a command is run in it.

    The project's `workloads` are at `/workloads`, the run's folder `out` is at `/out`.
    """
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


def run_in_client(
    client: Node,
    argv: Sequence[str],
    cluster: Cluster,
    world: World,
    *,
    timeout_s: float,
    on_line: Callable[[str], None] | None = None,
    env: Mapping[str, str] | None = None,
    user: str = "",
) -> Completed:
    """Runs a command in the client to its end. NodeError if a database node dies meanwhile.

    It gets the database's password through the environment, so no file or command line holds it.
    """
    return world.platform.exec(
        client.container or "",
        argv,
        env={"PGPASSWORD": cluster.endpoints[0].password, **(env or {})},
        timeout_s=timeout_s,
        on_line=on_line,
        watch=[node.container for node in cluster.nodes if node.container],
        user=user,
    )
