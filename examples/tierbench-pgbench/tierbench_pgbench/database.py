"""One PostgreSQL server with the settings that it comes with: nothing follows from a node's size.
It is only told to answer others than its own machine.

It runs in tierbench's own image of PostgreSQL; an image of yours would be named in `image`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from orchestrator.databases.common import (
    cluster_checks,
    container_nodes,
    node_lifecycle,
)
from orchestrator.errors import Mistake, NodeError
from orchestrator.facts import DatabaseFacts
from orchestrator.model import Cluster, ClusterSpec, Volume
from orchestrator.parts import Database
from orchestrator.platforms import own_images
from orchestrator.powers import Network, World
from orchestrator.system import sql

PORT = 5432
_COMMAND = ("primary", "-c", "listen_addresses=*")
_START_S = 120.0
_STOP_S = 180.0
_QUERY_S = 900.0
_SHUT_DOWN = "database system is shut down"


class PlainPostgreSQL(Database):
    name = "plain-postgresql"

    def image(self, spec: ClusterSpec, world: World) -> str:
        return own_images.tag(world.root, "postgres")

    def check(self, spec: ClusterSpec, world: World) -> None:
        mistakes = []
        if spec.nodes != 1:
            mistakes.append(Mistake("cluster.nodes", "is 1: there are no standbys"))
        if spec.settings:
            mistakes.append(Mistake("cluster.settings", "are those it comes with"))
        cluster_checks.require_none(mistakes, "plain PostgreSQL")
        own_images.need(world.root, "postgres", world.platform)

    @contextmanager
    def running(
        self,
        spec: ClusterSpec,
        volumes: Sequence[Volume],
        network: Network,
        world: World,
    ) -> Iterator[Cluster]:
        password = container_nodes.new_password()
        image = self.image(spec, world)
        bare = container_nodes.container_of_node(
            spec, 1, volumes[0], network, image, _COMMAND, ["/data", "/wal"]
        )
        plan = replace(bare, ports={PORT: None})
        with world.platform.running(plan) as server:
            stopping = node_lifecycle.stopped(
                [plan.name], volumes, _SHUT_DOWN, _STOP_S, world
            )
            with stopping:
                _set_password(plan.name, password, world)
                endpoint = container_nodes.endpoint(server, PORT, password)
                with sql.session(sql.local(endpoint), _START_S) as session:
                    (row,) = session.rows("SHOW server_version")
                nodes = container_nodes.node_records([plan], volumes, [server], world)
                version = str(row["server_version"]).split()[0]
                yield Cluster(
                    self.name, version, tuple(nodes), (endpoint,), network.name
                )

    def settle(self, cluster: Cluster, world: World) -> None:
        self.begin_measuring(cluster, world)

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        with sql.session(sql.local(cluster.endpoints[0]), _QUERY_S) as session:
            session.rows("CHECKPOINT")

    def facts(self, cluster: Cluster, world: World) -> DatabaseFacts:
        """What decides durability, as the server says it."""
        settings = {}
        with sql.session(sql.local(cluster.endpoints[0]), _QUERY_S) as session:
            for name in ("fsync", "synchronous_commit", "full_page_writes"):
                (row,) = session.rows(f"SHOW {name}")
                settings[name] = str(row[name])
        return DatabaseFacts(
            version=cluster.version,
            durable=settings["fsync"] == "on"
            and settings["synchronous_commit"] == "on",
            durability=settings,
        )


def _set_password(name: str, password: str, world: World) -> None:
    """Gives the load's user the password of this start, once the server answers."""
    server = world.platform.container(name)
    done = server.exec(
        ("node", "passwords", f"{_START_S - 10:.0f}"),
        timeout_s=_START_S,
        env={"BENCH_PASSWORD": password, "STANDBY_PASSWORD": password},
        watch=(server,),
    )
    if done.exit_code != 0:
        raise NodeError(f"{name} did not take a password", evidence=done.tail())
