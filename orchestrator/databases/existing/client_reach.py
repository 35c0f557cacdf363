"""Whether the declared hosts are the same servers where the load client runs."""

from collections.abc import Iterator

from orchestrator.databases.existing.declaration import Existing
from orchestrator.errors import Mistake
from orchestrator.keys.addresses import Server
from orchestrator.model import CLIENT
from orchestrator.platforms import own_images
from orchestrator.powers import HOST_NETWORK, World
from orchestrator.system import host, shell


def not_from_client(declared: Existing, world: World) -> Iterator[Mistake]:
    """Hosts that are others, or do not answer, where the load client runs."""
    there = world.on(f"{CLIENT}-1")
    if there.is_here:
        return
    machines = ", ".join(machine.name for machine in there.platform.machines())
    # The path at which bash opens a connection; the script prints it before what went wrong.
    servers: dict[str, Server] = {}
    for server in declared.servers:
        servers[f"/dev/tcp/{server.host}/{server.port}"] = server
    argv = shell.script(__package__, "reach", "reach", *servers)
    spec = own_images.container(
        "client",
        f"{world.scope}-reach",
        argv,
        world,
        capabilities=(),
        network=HOST_NETWORK,
        placement=f"{CLIENT}-1",
    )
    lines = world.platform.once(spec, timeout_s=120).out.splitlines()
    for place, server in servers.items():
        failures = [line.partition(place)[2] for line in lines if f"{place}:" in line]
        # A loopback address that answers there is another server than the one seen from here.
        if server.is_loopback or failures:
            failure = "".join(failures[:1])
            yield _not_the_same_there(server, machines, failure)


def _not_the_same_there(server: Server, machines: str, failure: str) -> Mistake:
    """`failure`: what the shell there said of the address; "" if it answered."""
    why = "answers here"
    if server.is_loopback:
        why = "is this computer"
    return Mistake(
        "cluster.existing.hosts",
        f"{server} {why}, but the load client runs on {machines}, where "
        f"that is another server or none{failure}. Write `hosts: "
        f"{host.name()}:{server.port}`, or another address of the server "
        "that is the same from both",
    )
