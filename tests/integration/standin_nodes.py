"""Clusters of the stand-in for YugabyteDB on plain volumes, and its switches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import psycopg

from orchestrator.databases.yugabytedb import YugabyteDB
from orchestrator.model import Cluster, ClusterSpec, NodeSize, Volume
from orchestrator.powers import Container, ContainerSpec, World

NETWORK = "tierbench-test-yb"
GIB = 2**30
TABLE = """CREATE TABLE stock (w int, i int, q text, PRIMARY KEY ((w) HASH, i ASC))
SPLIT INTO 3 TABLETS"""


class Switched:
    """Docker, with environment variables for some of the nodes: the stand-in's switches."""

    def __init__(self, real: Any, switches: Mapping[int, Mapping[str, str]]) -> None:
        self._real, self._switches = real, switches

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def running(self, spec: ContainerSpec) -> AbstractContextManager[Container]:
        number = int(spec.name.rsplit("-", 1)[1])
        environment = {**spec.environment, **self._switches.get(number, {})}
        running: AbstractContextManager[Container] = self._real.running(
            replace(spec, environment=environment)
        )
        return running


def spec(
    image: str, count: int = 3, copies: int | None = None, **settings: str
) -> ClusterSpec:
    factor = count if copies is None else copies
    node = NodeSize(1.0, 3 * GIB // 2, 2 * GIB)
    return ClusterSpec(
        "yugabytedb", count, factor, node, settings={"image": image, **settings}
    )


@contextmanager
def volumes(
    count: int, world: World, restored: bool = False
) -> Iterator[tuple[Volume, ...]]:
    with ExitStack() as up:
        names = [f"{NETWORK}-{number}" for number in range(1, count + 1)]
        for name in names:
            up.enter_context(world.platform.volume(name, "", ""))
        yield tuple(Volume(name, "", restored) for name in names)


@contextmanager
def up(
    asked: ClusterSpec,
    world: World,
    switches: Mapping[int, Mapping[str, str]] | None = None,
    database: YugabyteDB | None = None,
) -> Iterator[Cluster]:
    here = replace(world, platform=Switched(world.platform, switches or {}))
    with (
        volumes(asked.nodes, world) as disks,
        world.platform.network(NETWORK, asked.nodes) as network,
        (database or YugabyteDB()).running(asked, disks, network, here) as cluster,
    ):
        yield cluster


def ask(
    cluster: Cluster, number: int, statement: str, **options: Any
) -> list[tuple[Any, ...]]:
    """Through node `number`, as the load generator's user."""
    at = cluster.endpoints[number - 1]
    with psycopg.connect(
        host="127.0.0.1",
        port=at.local_port,
        user=at.user,
        password=at.password,
        dbname=at.database,
        autocommit=True,
        **options,
    ) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []
