"""No database: one container on the tier's disk, in which fio runs alone.

For workloads that measure only the disk. It takes one disk, has no endpoint, and no limit on
processors and memory, so that only the disk limits. Needs our image `disk`, which has fio."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from orchestrator import errors, parts
from orchestrator.databases.common import container_nodes
from orchestrator.model import Cluster, ClusterSpec, Volume
from orchestrator.platforms import own_images
from orchestrator.powers import Network, World
from orchestrator.tiers.common.any_disk import fio_containers


class NoDatabase(parts.Database):
    """Nothing settles, is warmed or is reset: fio syncs the file that it lays out, of which copies
    are restored, and there is no cache."""

    name = "none"

    def image(self, spec: ClusterSpec, world: World) -> str:
        return own_images.tag(world.root, "disk")

    def check(self, spec: ClusterSpec, world: World) -> None:
        own_images.need(world.root, "disk", world.platform)
        if spec.nodes != 1:
            raise errors.UsageError(
                f"without a database there is one disk to measure, not {spec.nodes}",
                advice="leave --nodes out, or choose a database",
            )

    @contextmanager
    def running(
        self,
        spec: ClusterSpec,
        volumes: Sequence[Volume],
        network: Network,
        world: World,
    ) -> Iterator[Cluster]:
        (volume,) = volumes
        plan = fio_containers.fio_container(
            f"{network.name}-node-1", "database", volume, world
        )
        with world.platform.running(plan) as container:
            node = container_nodes.node_record(1, plan, volume, container, world)
            yield Cluster(
                database=self.name,
                version="",
                nodes=(node,),
                endpoints=(),
                network=network.name,
            )
