"""Whether the load client's machine reaches the servers that the program's own sessions reach.

Where that is another machine, a name or an address may stand for another server, or for none.
"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.databases.existing import own_commands
from orchestrator.databases.existing.declaration import Existing, address
from orchestrator.errors import Mistake
from orchestrator.model import CLIENT
from orchestrator.planning.addresses import Server
from orchestrator.platforms import own_images
from orchestrator.platforms.common.machines import is_here, on
from orchestrator.powers import HOST_NETWORK, ContainerSpec, Mount, World
from orchestrator.system import at_once, host
from orchestrator.system.sql import Connect

_FIRST = f"{CLIENT}-1"
# When the server began, to the microsecond: no two are alike in it.
_BEGAN = (
    "SELECT to_char(pg_postmaster_start_time() AT TIME ZONE 'UTC', 'YYYYMMDDHH24MISSUS') AS began"
)


def others(declared: Existing, world: World) -> Iterator[Mistake]:
    """Hosts that are surely other ones where the load client runs."""
    there = on(_FIRST, world)
    if is_here(there):
        return
    for server in declared.servers:
        if server.is_loopback:
            yield Mistake(
                "cluster.existing.hosts",
                f"{server} is this computer, but the load client runs on {_machines(there)}: "
                f"write `hosts: {host.name()}:{server.port}`, or another name or address of the "
                "server that is the same from both",
            )


def unreached(declared: Existing, connect: Connect, world: World) -> Iterator[Mistake]:
    """Hosts that answer here, and not where the load client runs. Warns of those at which another
    server answers there: behind a load balancer it may be one of the same cluster."""
    there = on(_FIRST, world)
    if is_here(there):
        return
    at = [address(declared, server, declared.maintenance_database) for server in declared.servers]
    files = {file for one in at for file in own_commands.files(one).values()}
    spec = ContainerSpec(
        name=f"{world.scope}-reach",
        image=own_images.need(world.root, "client", world.platform),
        entrypoint=("sleep",),
        command=("infinity",),
        role="client",
        network=HOST_NETWORK,
        init=True,
        stop_timeout_s=1,
        placement=_FIRST,
        mounts=tuple(Mount(file, file, read_only=True) for file in sorted(files)),
    )
    words = ("psql", "-XAtc", _BEGAN)
    with world.platform.running(spec) as client:

        def answered(number: int) -> tuple[str, str]:
            """When the server began, as it says there; why it says nothing."""
            env = {**own_commands.environment(at[number]), "PGCONNECT_TIMEOUT": "10"}
            done = world.platform.exec(client.name, words, timeout_s=60, env=env)
            return done.out.strip(), " ".join(done.err.split()) if done.exit_code else ""

        answers = at_once.each(answered, range(len(at)))
    for server, one, (began, failure) in zip(declared.servers, at, answers, strict=True):
        if failure:
            yield Mistake("cluster.existing.hosts", _unreached(server, there, failure))
            continue
        with connect(one, 30.0) as session:
            if str(session.rows(_BEGAN)[0]["began"]) != began:
                world.progress.warn(
                    f"another server answers at {server} on {_machines(there)}, where the load "
                    "client runs, than here: is it one of the same cluster?"
                )


def _unreached(server: Server, there: World, failure: str) -> str:
    return (
        f"{server} answers here, but not on {_machines(there)}, where the load client runs: "
        f"{failure}; write a name or address of it that is the same from both"
    )


def _machines(there: World) -> str:
    return ", ".join(machine.name for machine in there.platform.machines())
