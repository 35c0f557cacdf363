"""PostgreSQL on plain volumes, and sessions with it, for the tests that need a real one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg

from orchestrator.databases.postgresql import PostgreSQL
from orchestrator.model import Cluster, ClusterSpec, NodeSize, Volume
from orchestrator.powers import World

MIB = 2**20
NETWORK = "tierbench-test-pg"
DATABASE = PostgreSQL()


NODE = NodeSize(cpus=1.0, memory_bytes=128 * MIB, disk_bytes=1024 * MIB)


def spec(count: int, **settings: str) -> ClusterSpec:
    return ClusterSpec("postgresql", count, count, NODE, settings=settings)


@contextmanager
def plain_volumes(count: int, world: World) -> Iterator[tuple[Volume, ...]]:
    with ExitStack() as up:
        names = [f"{NETWORK}-{number}" for number in range(1, count + 1)]
        for name in names:
            up.enter_context(world.platform.volume(name, "", ""))
        yield tuple(Volume(name, "", restored=False) for name in names)


@contextmanager
def running(
    volumes: tuple[Volume, ...], world: World, **settings: str
) -> Iterator[Cluster]:
    shape = spec(len(volumes), **settings)
    with (
        world.platform.network(NETWORK, shape.nodes) as network,
        DATABASE.running(shape, volumes, network, world) as cluster,
    ):
        yield cluster


@contextmanager
def session(cluster: Cluster, options: str = "") -> Iterator[psycopg.Connection[Any]]:
    at = cluster.endpoints[0]
    with psycopg.connect(
        host="127.0.0.1",
        port=at.local_port,
        user=at.user,
        password=at.password,
        dbname=at.database,
        options=options,
        autocommit=True,
    ) as connection:
        yield connection


def count(cluster: Cluster, question: str) -> int:
    with session(cluster) as connection:
        row = connection.execute(question.encode()).fetchone()
    assert row is not None
    return int(row[0])
