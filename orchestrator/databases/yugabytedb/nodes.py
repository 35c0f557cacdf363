"""YugabyteDB's nodes as containers: how they are started, stopped, watched, and commanded.

Some readings and commands rest on documents and source code: one that fails ends no run (`Unread`).
"""

import contextlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from orchestrator.databases.common import container_nodes, node_lifecycle
from orchestrator.databases.yugabytedb import flags
from orchestrator.databases.yugabytedb.settings import Settings
from orchestrator.errors import NodeError, RunError, TierbenchError
from orchestrator.model import ClusterSpec, Node, Volume
from orchestrator.powers import (
    Completed,
    Container,
    ContainerSpec,
    Moment,
    Network,
    World,
)
from orchestrator.system import at_once, redaction, shell
from orchestrator.yugabyte import pages

_HOME = "/home/yugabyte"
# The limits that YugabyteDB's documents ask of each node (deploy/manual-deployment/system-config).
# Processes and their threads are counted by user, over all containers of the machine.
OPEN_FILES = 1_048_576
_PROCESSES = 12_000
_LOGS = ("yugabyted.log", "master.err", "tserver.err")
_LOGS_S = 120.0
# Words in the text of a failure.
PASSWORD = re.compile(r"Could not update (?:Postgress|Cassandra) user password")
_LITTLE_MEMORY = re.compile(r"soft memory limit|namespace creation", re.IGNORECASE)


def container_spec(
    spec: ClusterSpec,
    settings: Settings,
    number: int,
    volume: Volume,
    network: Network,
    image: str,
    certificates: Mapping[str, bytes],
) -> ContainerSpec:
    """The container of node `number`, from 1, which alone has the profile's port."""
    on_volume = settings.on(volume)
    command = flags.start_command(
        spec, on_volume, number, network.addresses, volume.restored
    )
    places = (flags.BASE_DIR, flags.WAL_DISK_DIR)
    node = container_nodes.container_of_node(
        spec, number, volume, network, image, command, places
    )
    ports = dict.fromkeys((flags.YSQL, *flags.WEB.values()))
    if number == 1:  # the others are published at any free port
        ports[flags.YSQL] = spec.port
    folders = {}
    if certificates:
        folders = {flags.CERTS_SOURCE: certificates}
    return replace(
        node,
        folders=folders,
        ports=ports,
        # Shared memory is for YSQL's processes; it counts against the memory limit.
        shared_memory_bytes=max(256 * 2**20, spec.size.memory_bytes // 8),
        # All nodes may be on one machine, which counts the processes of all of them together.
        ulimits={"nofile": OPEN_FILES, "nproc": _PROCESSES * spec.nodes},
        stop_timeout_s=30,
    )


def sources(container: Container) -> dict[str, str]:
    """The base URLs of the node's servers, from this machine."""
    ports = {server: container.ports[port] for server, port in flags.WEB.items()}
    return {server: f"http://{container.host}:{port}" for server, port in ports.items()}


# ------------------------------------------------------------------ watching and stopping


def log(name: str, world: World) -> str:
    """The container's last lines and, while it runs, those of the servers in it."""
    text = node_lifecycle.last_lines(name, world)
    # The logs explain another failure, which must not be hidden by one of their own.
    with contextlib.suppress(TierbenchError):
        if world.platform.container(name).state().is_running:
            files = [f"{flags.BASE_DIR}/logs/{file}" for file in _LOGS]
            argv = ("tail", "-q", "-n", "12", *files)
            text += world.platform.container(name).exec(argv, timeout_s=10).out
    return text


def explain(error: RunError, plans: Sequence[ContainerSpec], world: World) -> None:
    """Adds to a failure what the logs say of nodes that ended, or of all; and what that means."""
    ended: list[ContainerSpec] = []
    for plan in plans:
        if not world.platform.container(plan.name).state().is_running:
            ended.append(plan)
    logs = at_once.each(lambda plan: _servers_logs(plan, world), ended or plans)
    joined = "\n".join(logs)
    error.evidence = f"{error.evidence}\n{joined}".strip()
    text = f"{error.what}\n{error.evidence}"
    if _LITTLE_MEMORY.search(text):
        error.advice = (
            "give nodes more memory (`cluster.node.memory`): their servers "
            "have too little for this. Creating a database takes a master up "
            "to 500 MB"
        )
    if PASSWORD.search(text):
        error.advice = (
            "yugabyted ends if a change of an administrator's password takes "
            'over a minute, as on a slow disk. Take `tls: "off"`, nodes with '
            "more CPUs, or a faster tier"
        )


def _servers_logs(plan: ContainerSpec, world: World) -> str:
    """The last lines of the servers' logs, without passwords: also of a node that has ended."""
    argv = shell.script(__package__, "servers_logs", flags.BASE_DIR)
    try:
        if world.platform.container(plan.name).state().is_running:
            done = world.platform.container(plan.name).exec(argv, timeout_s=10)
        else:
            # A container that has ended runs no command; its logs are on its disk.
            done = node_lifecycle.on_its_disks(plan, "logs", argv, _LOGS_S, world)
        text = done.out
    except TierbenchError as error:
        text = error.what
    text = redaction.hidden(text.strip())
    if text:
        return f"{plan.name}, its servers' logs:\n{text}"
    return ""


def empty(plan: ContainerSpec, world: World) -> None:
    """Removes all that a node has written to its disks, and enters no mount there. RunError if
    something stays."""
    targets = " ".join(mount.target for mount in plan.mounts)
    # A mount point itself cannot be removed, and ext4 needs its own lost+found.
    find = f"find {targets} -xdev -mindepth 1 ! -path '*/lost+found*' -delete"
    node_lifecycle.empty(plan, ("sh", "-c", find), world)


# ------------------------------------------------------------------ commands in containers


def run(node: Node, argv: Sequence[str], timeout_s: float, world: World) -> Completed:
    """Runs a command, `bin/…` in the image's home. RunError if it fails or its node dies."""
    if argv[0].startswith("bin/"):
        program = f"{_HOME}/{argv[0]}"
    else:
        program = argv[0]
    return node_lifecycle.run(node, (program, *argv[1:]), timeout_s, world, (node,))


def admin(
    node: Node,
    masters: str,
    tls: bool,
    words: Sequence[str],
    timeout_s: float,
    world: World,
) -> str:
    """Runs one command of yb-admin; returns its output."""
    argv = (
        "bin/yb-admin",
        f"--master_addresses={masters}",
        *_options(tls, timeout_s),
        *words,
    )
    # The program's own deadline comes first: its message says more than that of a kill.
    return run(node, argv, timeout_s + 10, world).out


def flush_tablets(
    node: Node, address: str, tls: bool, timeout_s: float, world: World
) -> None:
    """Writes all memory tables of one tablet server to its disk."""
    server = f"--server_address={address}:{flags.TSERVER_RPC}"
    argv = ("bin/yb-ts-cli", server, *_options(tls, timeout_s), "flush_all_tablets")
    run(node, argv, timeout_s + 10, world)


def _options(tls: bool, timeout_s: float) -> tuple[str, ...]:
    """The options that yb-admin and yb-ts-cli have in common."""
    certificates: tuple[str, ...] = ()
    if tls:
        certificates = (f"--certs_dir_name={flags.CERTS_DIR}",)
    return (f"--timeout_ms={round(timeout_s * 1000)}", *certificates)


def log_bytes(name: str, world: World) -> int:
    """What a node keeps of the write-ahead log of its tablets; 0 if that cannot be told."""
    places = [f"{place}/yb-data/tserver/wals" for place in
              (flags.DATA_DIR, flags.WAL_DIR, flags.WAL_DISK_DIR)]  # fmt: skip
    size = f"du -skc {' '.join(places)} 2>/dev/null | tail -n 1"
    try:
        container = world.platform.container(name)
        done = container.exec(("sh", "-c", size), timeout_s=60)
        return 1024 * int(done.out.split()[0])  # du -k
    except (TierbenchError, ValueError, IndexError):
        return 0


def remembered(node: Node, world: World) -> dict[str, object]:
    """yugabyted's own configuration file: masters, address, password."""
    text = run(node, ("cat", flags.CONF), 20, world).out
    try:
        content = json.loads(text)
    except ValueError:  # the file is being written at this moment
        return {}
    if isinstance(content, dict):
        return content
    return {}


def remembered_masters(node: Node, world: World) -> tuple[str, ...]:
    """The masters that the node's own file names, `host:port` each, in order."""
    names = str(remembered(node, world).get("current_masters", ""))
    return tuple(sorted(name for name in names.split(",") if name))


def leaders_list(up: Sequence[Node], world: World) -> tuple[str, ...]:
    """The masters as their leader lists them. OSError if no master says that it leads."""
    failures: list[str] = []
    for node in up:
        try:
            listed = pages.masters_listed_by(node.sources[pages.MASTER])
        except OSError as error:
            failures.append(str(error))
            continue
        # A follower's page was seen to show masters of long ago: only the leader's own counts.
        address = remembered(node, world).get("advertise_address")
        if address == listed.leader:
            return listed.addresses
    raise OSError("; ".join(failures) or "no master says that it leads")


# ------------------------------------------------------------------ what may fail

PATIENCE_S = 60.0  # a page may be unreadable for a moment, as its server starts

T = TypeVar("T")


class Unread:
    """What could not be read of one cluster, and why."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._reasons: dict[str, str] = {}

    def note(self, what: str, reason: str) -> None:
        if what not in self._reasons:
            self._reasons[what] = reason
            self._world.progress.warn(f"{what} could not be read: {reason}")

    def text(self) -> str | None:
        reasons = [f"{what}: {reason}" for what, reason in self._reasons.items()]
        return "; ".join(reasons) or None

    def attempt(
        self, what: str, reading: Callable[[], T], otherwise: T, cluster: Sequence[Node]
    ) -> T:
        """What is read, or a command says; `otherwise` if it fails. NodeError if a node died."""
        try:
            return reading()
        except NodeError:
            raise
        except (OSError, RunError) as error:
            # A connection is lost before the engine notices a death.
            self._world.clock.sleep(0.5)
            raise_if_dead(cluster, self._world)
            self.note(what, str(error))
            return otherwise

    def patiently(self, what: str, missing: Callable[[], str]) -> Callable[[], str]:
        """`missing`, but a page that stays unreadable is noted, and then nothing is missing."""
        since: Moment | None = None

        def missing_or_noted() -> str:
            nonlocal since
            try:
                text = missing()
            except OSError as error:
                now = self._world.clock.monotonic()
                if since is None:
                    since = now
                if now - since < PATIENCE_S:
                    return str(error)
                self.note(what, str(error))
                return ""
            # A page that is read again starts a new minute of patience.
            since = None
            return text

        return missing_or_noted


def raise_if_dead(cluster: Sequence[Node], world: World) -> None:
    names = [node.container_name for node in cluster]
    node_lifecycle.raise_if_dead(names, world, log)
