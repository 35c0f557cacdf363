"""No database: one container on the tier's disk, in which fio is run by itself.

For workloads that measure the disk alone. It takes one disk, has no endpoint, and its processor
and memory are not limited: what is measured is the disk, not the node.
Needs the image of docker/disk/, whose fio it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from orchestrator import images
from orchestrator.errors import UsageError
from orchestrator.model import Cluster, ClusterSpec, Node, Volume
from orchestrator.protocols import ContainerSpec, Mount, World


class NoDatabase:
    name = "none"

    def image(self, spec: ClusterSpec, world: World) -> str:
        return images.tag(world.root, "disk")

    def keeps_images(self, spec: ClusterSpec) -> bool:
        return True  # as before: its workloads decide

    def check(self, spec: ClusterSpec, world: World) -> None:
        images.need(world.root, "disk", world.containers)
        if spec.nodes != 1:
            raise UsageError(
                f"without a database there is one disk to measure, not {spec.nodes}",
                advice="leave NODES out",
            )

    @contextmanager
    def running(
        self, spec: ClusterSpec, volumes: Sequence[Volume], network: str, prefix: str, world: World
    ) -> Iterator[Cluster]:
        (volume,) = volumes
        plan = ContainerSpec(
            name=f"{network}-node-1",
            image=images.need(world.root, "disk", world.containers),
            entrypoint=("sleep",),
            command=("infinity",),
            role="database",
            init=True,
            stop_timeout_s=1,
            mounts=(
                Mount(volume.name, "/tier"),
                Mount(str(world.root / "workloads" / "fio"), "/fio", read_only=True),
            ),
        )
        with world.containers.running(plan) as container:
            node = Node(
                name="node-1",
                role="database",
                container=container.name,
                process_id=container.process_id,
                device=volume.device.removeprefix("/dev/") or None,
            )
            yield Cluster(self.name, "", (node,), (), network)

    def settle(self, cluster: Cluster, world: World) -> None:
        """Nothing to do: fio syncs what it lays out."""

    def warm(self, cluster: Cluster, world: World) -> None:
        """Nothing to do: there is no cache."""

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        """Nothing to do."""

    def facts(self, cluster: Cluster, world: World) -> Mapping[str, Any]:
        return {}
