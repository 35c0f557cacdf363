"""The do-nothing database: nodes that are only names, for rehearsals."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from orchestrator.design.rehearsal import WARNING
from orchestrator.facts import DatabaseFacts
from orchestrator.keys.schema import DRY
from orchestrator.model import Cluster, ClusterSpec, Endpoint, Node, Volume
from orchestrator.parts import Database
from orchestrator.powers import Network, World


def _node(number: int, spec: ClusterSpec, volume: Volume) -> Node:
    return Node(
        f"node-{number}",
        "database",
        cpus=spec.size.cpus,
        memory_bytes=spec.size.memory_bytes,
        sources={DRY: volume.name},
    )


class DryDatabase(Database):
    """Its nodes name the made-up disks as their `sources`. Nothing is missing or awaited."""

    name: str = DRY

    def image(self, spec: ClusterSpec, world: World) -> str:
        return DRY

    @contextmanager
    def running(
        self,
        spec: ClusterSpec,
        volumes: Sequence[Volume],
        network: Network,
        world: World,
    ) -> Iterator[Cluster]:
        nodes: list[Node] = []
        for number, volume in enumerate(volumes, start=1):
            nodes.append(_node(number, spec, volume))
        endpoint = Endpoint(
            host="nowhere",
            port=5432,
            local_port=5432,
            user=DRY,
            password="",
            database=DRY,
        )
        yield Cluster(
            database=DRY,
            version="",
            nodes=tuple(nodes),
            endpoints=(endpoint,),
            network=network.name,
        )

    def facts(self, cluster: Cluster, world: World) -> DatabaseFacts:
        return DatabaseFacts(more={"rehearsal": WARNING})
