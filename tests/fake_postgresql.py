"""A PostgreSQL that is not there: specs of nodes; an engine and a server that record calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from orchestrator.databases.postgresql import PostgreSQL
from orchestrator.errors import Mistake, RunError
from orchestrator.model import Cluster, ClusterSpec, Endpoint, NodeSize, Volume
from orchestrator.platforms import own_images
from orchestrator.powers import Network
from tests import ROOT
from tests.fakes import FakeClock, FakePlatform, fake_world

MIB, GIB = 2**20, 2**30
NETWORK = Network("net", ("10.1.2.11", "10.1.2.12", "10.1.2.13"))
SMOKE = NodeSize(cpus=1.0, memory_bytes=192 * MIB, disk_bytes=2 * GIB)


def spec(nodes: int = 1, size: NodeSize = SMOKE, **changes: Any) -> ClusterSpec:
    return replace(ClusterSpec("postgresql", nodes, nodes, size), **changes)


def volumes(count: int, restored: bool = False) -> tuple[Volume, ...]:
    return tuple(
        Volume(f"vol-{k}", f"/dev/loop{k}", restored) for k in range(1, count + 1)
    )


def by_place(mistakes: Sequence[Mistake]) -> dict[str, str]:
    return {mistake.where: mistake.what for mistake in mistakes}


class Server:
    """Answers every statement as a healthy cluster of `standbys` does."""

    def __init__(self, standbys: int) -> None:
        self.row = {
            "server_version": "17.4 (Debian)",
            "replicas_caught_up": standbys,
            "flushed": "0/3000060",
        }
        self.statements: list[str] = []
        self.failure: RunError | None = None

    @contextmanager
    def session(self, _endpoint: Endpoint, _timeout_s: float) -> Iterator[Server]:
        if self.failure:
            raise self.failure
        yield self

    def rows(self, statement: str) -> list[dict[str, Any]]:
        self.statements.append(statement.split()[0])
        return [self.row]


class Bench:
    def __init__(self, nodes: int) -> None:
        self.engine = FakePlatform(images=[own_images.tag(ROOT, "postgres")])
        self.engine.said.default_factory = lambda: (
            "LOG:  database system is shut down\n"
        )
        self.clock, self.server = FakeClock(), Server(nodes - 1)
        self.world = fake_world(clock=self.clock, platform=self.engine)
        connect: Any = self.server.session
        self.database = PostgreSQL(connect)
        self.nodes = nodes

    def run(self, body: Callable[[Cluster], None] = lambda _cluster: None) -> None:
        disks = volumes(self.nodes)
        with self.database.running(
            spec(self.nodes), disks, NETWORK, self.world
        ) as cluster:
            body(cluster)

    def stops(self) -> list[tuple[Any, ...]]:
        return [entry[1:] for entry in self.engine.asked if entry[0] == "stop"]
