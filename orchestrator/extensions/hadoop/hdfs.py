"""Hadoop's file system from our image `hadoop`: a data node on each of the tier's disks, and beside
them one name node, which has none.

The name node's files are on its machine's own disk. Node 1's disk has a copy of them, written when
the cluster is stopped cleanly, so that kept disks hold all that a start needs."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

from orchestrator.databases.common import (
    cluster_checks,
    container_nodes,
    node_lifecycle,
)
from orchestrator.design.nodes_by_role import nodes_of_role
from orchestrator.errors import Mistake, RunError
from orchestrator.extensions.hadoop import pages
from orchestrator.extensions.hadoop.pages import DATA_PAGE, NAME_PAGE, RPC, Servers
from orchestrator.extensions.hadoop.settings import is_setting
from orchestrator.facts import DatabaseFacts
from orchestrator.keys import shipped_yaml
from orchestrator.model import Cluster, ClusterSpec, Node, Volume
from orchestrator.parts import Database
from orchestrator.platforms import own_images
from orchestrator.platforms.common.node_records import as_node
from orchestrator.powers import Container, ContainerSpec, Mount, Network, World
from orchestrator.system import at_once, clock

MIN_MEMORY_BYTES = 2**30  # a data node takes 200 MB, a job beside it up to 400
_SERVER_MB = 256  # size of Java's heap
_JOB_SHARE = 0.4  # share of a node's memory
_START_S = 180.0
_STOP_S = 60.0
_SETTLE_S = 600.0
_FORGET_S = 300.0
_ENDED = "node: ended"

# Data nodes sync each block when it is closed: without that a write would end in memory.
_SYNCS = "dfs.datanode.synconclose"
_CHECKSUM = "dfs.bytes-per-checksum"
_READ_BACK = (
    _SYNCS,
    _CHECKSUM,
    "dfs.blocksize",
    "dfs.namenode.redundancy.considerLoad",
)
_CRC_BYTES = 4  # size of the sum for each `dfs.bytes-per-checksum` bytes


class Hdfs(Database):
    """Nothing is warmed: what is read comes from the disks (`begin_measuring`)."""

    name = "hdfs"

    def image(self, spec: ClusterSpec, world: World) -> str:
        return own_images.tag(world.root, "hadoop")

    def check(self, spec: ClusterSpec, world: World) -> None:
        cluster_checks.require_none(list(_mistakes(spec)), "HDFS")
        own_images.provide(world.root, "hadoop", world.platform, world.progress)

    @contextmanager
    def running(
        self,
        spec: ClusterSpec,
        volumes: Sequence[Volume],
        network: Network,
        world: World,
    ) -> Iterator[Cluster]:
        """Stops servers on kept disks cleanly at the end; NodeError if that fails. Kills servers on
        other disks, and all servers after an error."""
        image = self.image(spec, world)
        plan = name_node(spec, volumes[0], network, image)
        with ExitStack() as up:
            # The name node first: data nodes are given its address.
            first = up.enter_context(world.platform.running(plan))
            address = first.address or first.name
            environment = {**plan.environment, "NAME_NODE": address}
            plans = [*_data_nodes(spec, volumes, network, image, environment)]
            names = [plan.name]
            for data_node in plans:
                names.append(data_node.name)
            # First in `names`, so it is stopped before the others. It then writes its files to node
            # 1's disk.
            with node_lifecycle.stopped(names, volumes, _ENDED, _STOP_S, world):
                starting = [world.platform.running(data_node) for data_node in plans]
                started = up.enter_context(at_once.entered(starting))
                servers = Servers(
                    _page(first, NAME_PAGE), _data_pages(started), environment
                )
                version = _await_ready(servers, names, world)
                coordinator = as_node(first, "name-node", "coordinator")
                nodes = container_nodes.node_records(plans, volumes, started, world)
                endpoint = container_nodes.endpoint(first, RPC, "")
                yield Cluster(
                    database=self.name,
                    version=version,
                    nodes=(coordinator, *nodes),
                    endpoints=(endpoint,),
                    network=network.name,
                    handle=servers,
                )

    def settle(self, cluster: Cluster, world: World) -> None:
        """Waits until each block has all its copies."""
        lacking = partial(pages.lacking, cluster.handle.name_node)
        state = clock.wait_while(
            lacking, deadline_s=_SETTLE_S, clock=world.clock, every_s=1.0
        )
        if state:
            raise RunError(
                f"HDFS has not all copies of all blocks: {state}",
                advice=(
                    "see the name node's log. Disks need room for all copies, and for "
                    "one more block of each file"
                ),
            )
        self.begin_measuring(cluster, world)

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        """Writes back what is in memory, and drops the files of blocks from there."""

        # Else what is read would come from the nodes' page cache.
        def forget(node: Node) -> None:
            node_lifecycle.run(
                node, ("node", "forget"), _FORGET_S, world, cluster.nodes
            )

        at_once.each(forget, nodes_of_role(cluster.nodes, "database"))

    def facts(self, cluster: Cluster, world: World) -> DatabaseFacts:
        servers: Servers = cluster.handle
        try:
            execution = {name: _setting_of_all(servers, name) for name in _READ_BACK}
            written: dict[str, float] = {}
            for node, page in servers.data_nodes.items():
                written[node] = pages.written_bytes(page)
        except OSError as error:
            raise RunError(f"a data node's pages could not be read: {error}") from error
        # A byte of a file, and its part of a checksum, as they are on the disk.
        bytes_of_copy = 1 + _CRC_BYTES / int(execution[_CHECKSUM])
        return DatabaseFacts(
            version=cluster.version,
            image=own_images.tag(world.root, "hadoop"),
            durable=execution[_SYNCS] == "true",
            durability={_SYNCS: execution[_SYNCS]},
            settings={"given": servers.environment["SETTINGS"]},
            execution=execution,
            given_bytes=written,
            bytes_of_copy=bytes_of_copy,
        )


def _setting_of_all(servers: Servers, name: str) -> str:
    """The value on all data nodes; several values with commas, if they differ."""
    ask = partial(pages.setting, name=name)
    values = at_once.each(ask, servers.data_nodes.values())
    return ", ".join(dict.fromkeys(values))


def _mistakes(spec: ClusterSpec) -> Iterator[Mistake]:
    yield from cluster_checks.shape_mistakes(
        spec, MIN_MEMORY_BYTES, "a data node, a job"
    )
    for key in ("version", "port"):
        if getattr(spec, key) is not None:
            yield Mistake(
                f"cluster.{key}", f"the image's own is taken: leave `{key}` out"
            )
    reserved = shipped_yaml.shipped(__package__, "hdfs.yaml")["reserved"]
    for name, value in spec.settings.items():
        where = f"cluster.settings.{name}"
        if not is_setting("dfs.", name, value):
            yield Mistake(
                where, "is not a setting of HDFS (`dfs.…`), or its value has spaces"
            )
        elif name in reserved:
            yield Mistake(where, f"cannot be set here: {reserved[name]}")


# ------------------------------------------------------------------ servers as containers


def name_node(
    spec: ClusterSpec, volume: Volume, network: Network, image: str
) -> ContainerSpec:
    """The name node, on node 1's machine. It uses node 1's disk only before and after a run.

    It takes little of a CPU, and nothing of node 1's.
    """
    settings = [f"-D{name}={value}" for name, value in spec.settings.items()]
    environment = {
        "COPIES": str(spec.replication_factor),
        "SETTINGS": " ".join(settings),
    }
    return ContainerSpec(
        name=f"{network.name}-name-node",
        image=image,
        command=("name", *settings),
        role="coordinator",
        environment=environment,
        mounts=(Mount(volume.name, "/data"),),
        network=network.name,
        ports={RPC: None, NAME_PAGE: None},
        memory_bytes=MIN_MEMORY_BYTES,
        placement="node-1",
    )


def _data_nodes(
    spec: ClusterSpec,
    volumes: Sequence[Volume],
    network: Network,
    image: str,
    environment: Mapping[str, str],
) -> Iterator[ContainerSpec]:
    # The job runs in the data node's container, within the same memory limit.
    job_mb = int(_JOB_SHARE * spec.size.memory_bytes) >> 20
    in_data_nodes = {
        **environment,
        "HEAP_MB": str(job_mb),
        "SERVER_MB": str(_SERVER_MB),
        "SPILL": "/data/spill",
    }
    command = ("data", *environment["SETTINGS"].split())
    for number, volume in enumerate(volumes, start=1):
        node = container_nodes.container_of_node(
            spec, number, volume, network, image, command, ["/data"]
        )
        yield replace(node, environment=in_data_nodes, ports={DATA_PAGE: None})


def _data_pages(started: Sequence[Container]) -> dict[str, str]:
    """Node → where its data node serves its pages."""
    by_node: dict[str, str] = {}
    for number, container in enumerate(started, start=1):
        by_node[f"node-{number}"] = _page(container, DATA_PAGE)
    return by_node


def _page(container: Container, port: int) -> str:
    return f"http://{container.host}:{container.ports[port]}"


def _await_ready(servers: Servers, names: Sequence[str], world: World) -> str:
    """Waits until clients may write and every data node is known; returns the release."""
    wanted = len(servers.data_nodes)

    def missing() -> str:
        live = pages.live_nodes(servers.name_node)
        if live == wanted:
            return ""
        return f"{live} of {wanted} data nodes are known"

    node_lifecycle.await_ready(
        "HDFS was not ready", missing, names, world, deadline_s=_START_S
    )
    return pages.version(servers.name_node)
