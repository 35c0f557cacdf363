"""The do-nothing database: nodes that are only names, for rehearsals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from orchestrator.facts import DatabaseFacts
from orchestrator.keys.schema import DRY
from orchestrator.model import Cluster, ClusterSpec, Endpoint, Node, Volume
from orchestrator.planning.rehearsal import WARNING
from orchestrator.powers import Network, World


class DryDatabase:
    """Its nodes name the made-up disks as their `sources`."""

    name: str = DRY

    def image(self, spec: ClusterSpec, world: World) -> str:
        return DRY

    def restores(self, spec: ClusterSpec) -> bool:
        return True

    def check(self, spec: ClusterSpec, world: World) -> None:
        """Nothing can be missing."""

    @contextmanager
    def running(
        self, spec: ClusterSpec, volumes: Sequence[Volume], network: Network, world: World
    ) -> Iterator[Cluster]:
        nodes = tuple(
            Node(
                f"node-{number}",
                "database",
                cpus=spec.size.cpus,
                memory_bytes=spec.size.memory_bytes,
                sources={DRY: volume.name},
            )
            for number, volume in enumerate(volumes, start=1)
        )
        endpoint = Endpoint("nowhere", 5432, 5432, DRY, "", DRY)
        yield Cluster(DRY, "", nodes, (endpoint,), network.name)

    def settle(self, cluster: Cluster, world: World) -> None:
        """Nothing to wait for."""

    def warm(self, cluster: Cluster, world: World) -> None:
        """Nothing to read."""

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        """Nothing to reset."""

    def facts(self, cluster: Cluster, world: World) -> DatabaseFacts:
        return DatabaseFacts(more={"rehearsal": WARNING})
