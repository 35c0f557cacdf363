"""The real image, wherever it can be had: one node by itself, and the first-run checklist.

Goal: what docs/research/YUGABYTEDB.md calls inferred becomes a fact or a failing test. Method: the
image is looked for, then pulled; where neither works, the test is skipped and says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import psycopg
import pytest
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

from orchestrator.databases.yugabytedb import checklist, flags, image, settings
from orchestrator.model import ClusterSpec
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import World
from orchestrator.system import http_client
from orchestrator.yugabyte import counters, pages, versions
from tests.integration.servers import LABELS

pytestmark = pytest.mark.docker

RELEASES = os.environ.get("YUGABYTEDB_VERSIONS", versions.DEFAULT).split()
GIB = 2**30
READY_S = 300
STARTED = "YugabyteDB started successfully"


@pytest.fixture(scope="module", params=RELEASES)
def asked(request: pytest.FixtureRequest, engine: DockerPlatform) -> ClusterSpec:
    spec = checklist.spec(version=request.param)
    if image.obtain(spec, engine) is None:
        read, _ = settings.read(spec)
        pytest.skip(
            f"{image.tags(read)[0]} is neither here nor can it be pulled; "
            f"{image.advice(read, engine)}"
        )
    return spec


@pytest.fixture(scope="module")
def node(asked: ClusterSpec, engine: DockerPlatform) -> Iterator[DockerContainer]:
    """One node as its own users start it, but with our flags, its address its own choice."""
    read, _ = settings.read(asked)
    started = (
        DockerContainer(image.need(read, engine))
        .with_exposed_ports(
            flags.YSQL, flags.MASTER_WEB, flags.TSERVER_WEB, flags.YSQL_WEB
        )
        .with_command(
            "bin/yugabyted start --background=false --ui=false --callhome=false "
            f"--base_dir={flags.BASE_DIR} "
            f"--master_flags={flags.joined(flags.master_flags(asked, read))} "
            f"--tserver_flags={flags.joined(flags.tserver_flags(asked, read))}"
        )
        .with_kwargs(mem_limit=2 * GIB, hostname="yugabytedb", labels=LABELS)
        .waiting_for(LogMessageWaitStrategy(STARTED).with_startup_timeout(READY_S))
    )
    with started as container:
        yield container


def url(node: DockerContainer, port: int) -> str:
    return f"http://{node.get_container_host_ip()}:{node.get_exposed_port(port)}"


def test_one_node_takes_sql_and_says_what_it_runs_with(
    node: DockerContainer, asked: ClusterSpec
) -> None:
    with psycopg.connect(
        host=node.get_container_host_ip(),
        port=int(node.get_exposed_port(flags.YSQL)),
        user="yugabyte",
        password="yugabyte",
        dbname="yugabyte",
    ) as connection:
        row = connection.execute("SELECT version()").fetchone()
    assert row is not None
    assert (
        versions.banner_number(str(row[0])) == versions.parse(str(asked.version)).number
    )
    tserver = url(node, flags.TSERVER_WEB)
    assert pages.version(tserver) == asked.version
    found = pages.flags(tserver)
    read, _ = settings.read(asked)
    for name, value in flags.tserver_flags(asked, read).items():
        assert found[name] == value, name
    assert "wal_bytes_total" in counters.storage(
        http_client.get(f"{tserver}{counters.PATH}")
    )


@pytest.mark.usefixtures("nothing_left")
def test_everything_inferred_is_so(asked: ClusterSpec, world: World) -> None:
    """Three nodes, every line of the checklist, a start from the stopped disks."""
    found = list(checklist.first_run(asked, world))
    open_lines = {one.name for one in found if one.state != "confirmed"}
    assert open_lines & checklist.needed() == set()
