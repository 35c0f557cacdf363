"""The nodes as containers: how each is started, stopped, watched, and what is run inside it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from orchestrator.databases.common import container_nodes
from orchestrator.databases.common.yugabyte import pages
from orchestrator.databases.yugabytedb import flags
from orchestrator.databases.yugabytedb.settings import Settings
from orchestrator.errors import RunError, TierbenchError
from orchestrator.model import ClusterSpec, Node, Volume
from orchestrator.powers import Completed, Container, ContainerSpec, Mount, Network, World

_STOP_S = 60.0
_HOME = "/home/yugabyte"
_LOGS = ("yugabyted.log", "master.err", "tserver.err")


def container_spec(
    spec: ClusterSpec,
    asked: Settings,
    number: int,
    volume: Volume,
    network: Network,
    image: str,
    certificates: Path | None,
) -> ContainerSpec:
    """Node `number`, counted from 1. Only node 1 has a port of the user's choice."""
    mounts = [Mount(volume.name, flags.BASE_DIR)]
    if certificates is not None:
        mounts.append(Mount(str(certificates.resolve()), flags.CERTS_SOURCE, read_only=True))
    return ContainerSpec(
        name=f"{network.name}-node-{number}",
        image=image,
        command=flags.start_command(spec, asked, number, network.addresses, volume.restored),
        role="database",
        mounts=tuple(mounts),
        network=network.name,
        address=network.addresses[number - 1],
        ports={
            flags.YSQL: spec.port if number == 1 else None,
            flags.MASTER_WEB: None,
            flags.TSERVER_WEB: None,
            flags.YSQL_WEB: None,
        },
        cpus=spec.size.cpus,
        memory_bytes=spec.size.memory_bytes,
        # PostgreSQL's shared memory of a node; it counts against the memory limit.
        shared_memory_bytes=max(256 * 2**20, spec.size.memory_bytes // 8),
        stop_timeout_s=30,
        io_caps=volume.caps,
    )


def sources(started: Container) -> dict[str, str]:
    """Where the node's servers tell their counters, from this machine."""
    ports = started.ports
    return {
        pages.MASTER: f"http://127.0.0.1:{ports[flags.MASTER_WEB]}",
        pages.TSERVER: f"http://127.0.0.1:{ports[flags.TSERVER_WEB]}",
        pages.YSQL: f"http://127.0.0.1:{ports[flags.YSQL_WEB]}",
    }


# ------------------------------------------------------------------ watching and stopping


def raise_if_dead(names: Sequence[str], world: World) -> None:
    """NodeError, with the servers' last lines, for the first node that no longer runs."""
    container_nodes.raise_if_dead(names, world, log)


def log(name: str, world: World) -> str:
    """The container's last lines, and, while it runs, those of the servers in it."""
    text = container_nodes.last_lines(name, world)
    with contextlib.suppress(TierbenchError):
        if world.platform.state(name) == "running":
            files = [f"{flags.BASE_DIR}/logs/{file}" for file in _LOGS]
            argv = ("tail", "-q", "-n", "12", *files)
            text += world.platform.exec(name, argv, timeout_s=10).out
    return text


def stop(names: Sequence[str], world: World, timeout_s: float = _STOP_S) -> None:
    """All at once, so that no node works on what the others no longer see.

    YugabyteDB has no slower stop than this: its servers are killed and recover from their logs.
    """

    def one(name: str) -> None:
        with contextlib.suppress(TierbenchError):  # reported where the container is removed
            world.platform.stop(name, timeout_s)

    with ThreadPoolExecutor(max_workers=len(names)) as pool:
        list(pool.map(one, names))


# ------------------------------------------------------------------ commands in containers


def run(node: Node, argv: Sequence[str], timeout_s: float, world: World) -> Completed:
    """In the image's home. RunError where the command fails, NodeError where its node dies."""
    container = node.container or node.name
    command = (f"{_HOME}/{argv[0]}" if argv[0].startswith("bin/") else argv[0], *argv[1:])
    done = world.platform.exec(container, command, timeout_s=timeout_s, watch=(container,))
    if done.exit_code != 0:
        raise RunError(
            f"{' '.join(argv[:3])} failed on {container} (exit {done.exit_code})",
            advice="look at the database's log among the raw files of the run",
            evidence=(done.out + done.err)[-2000:],
        )
    return done


def admin(
    node: Node, masters: str, tls: bool, words: Sequence[str], timeout_s: float, world: World
) -> str:
    """One command of yb-admin; what it printed."""
    options = [f"--master_addresses={masters}", f"--timeout_ms={round(timeout_s * 1000)}"]
    if tls:
        options.append(f"--certs_dir_name={flags.CERTS_DIR}")
    return run(node, ("bin/yb-admin", *options, *words), timeout_s + 10, world).out


def flush_tablets(node: Node, address: str, tls: bool, timeout_s: float, world: World) -> None:
    """Writes all memory tables of one tablet server to its disk."""
    options = [
        f"--server_address={address}:{flags.TSERVER_RPC}",
        f"--timeout_ms={round(timeout_s * 1000)}",
    ]
    if tls:
        options.append(f"--certs_dir_name={flags.CERTS_DIR}")
    run(node, ("bin/yb-ts-cli", *options, "flush_all_tablets"), timeout_s + 10, world)


def remembered(node: Node, world: World) -> dict[str, object]:
    """What yugabyted keeps of itself in its configuration file: masters, password."""
    done = run(node, ("cat", flags.CONF), 20, world)
    try:
        content = json.loads(done.out)
    except ValueError:  # it is being written at this moment
        return {}
    return content if isinstance(content, dict) else {}
