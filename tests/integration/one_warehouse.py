"""One warehouse of TPC-C-derived data in a PostgreSQL that tierbench did not start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.model import Cluster, Endpoint, Node, Workload
from orchestrator.planning import project_files
from orchestrator.platforms import own_images
from orchestrator.powers import HOST_NETWORK, World
from tests import ROOT
from tests.integration import servers
from tests.integration.servers import Server


@dataclass(frozen=True)
class OneWarehouse:
    cluster: Cluster
    workload: Workload
    client: Node
    server: Server


@contextmanager
def loaded(world: World) -> Iterator[OneWarehouse]:
    """Loaded by the built-in workload's own loader."""
    generator = Sysbench()
    _, (workload,) = project_files.read(ROOT, [], ["tpcc"], "smoke")
    workload = replace(
        workload, dataset=replace(workload.dataset, parameters={"warehouses": 1})
    )
    with (
        servers.postgresql(own_images.need(ROOT, "postgres", world.platform)) as server,
        generator.client(HOST_NETWORK, world) as client,
    ):
        host, port = server.hosts[0], server.port
        at = Endpoint(
            host, port, port, server.user, server.password, server.database, host
        )
        cluster = Cluster("postgresql", "17", (), (at,), HOST_NETWORK)
        generator.load(workload, cluster, client, world)
        yield OneWarehouse(cluster, workload, client, server)
