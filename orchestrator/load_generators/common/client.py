"""The client: a container on the database's network in which a load generator's programs run.

The client ends, and all load with it, when this program is gone. While the client is up, a thread
sends it a new number once a second. Its first process ends when the number has not changed for
LEASE_S seconds. It counts these seconds itself, so setting a clock or suspending a machine ends
nothing.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Protocol, Unpack

from orchestrator import errors, parts, powers
from orchestrator.model import CLIENT, TLS_IF_OFFERED, Cluster, Node, Tls
from orchestrator.platforms import own_images
from orchestrator.platforms.common import lifecycle, node_records
from orchestrator.powers import NETWORK_OF, Completed, ContainerSpec, World
from orchestrator.system import at_once, sql
from orchestrator.system.shell import script

LOAD_TIMEOUT_S = 24 * 3600.0
PUT_WITHIN_S = 30.0
# The time for which a client outlives this program.
LEASE_VARIABLE = "TIERBENCH_LEASE_S"
LEASE_S = 60  # a busy disk may hold up the heartbeat for many seconds
_HEARTBEAT = "/tmp/heartbeat"  # a file in the client
_WORKLOADS = "/workloads"
OUT = "/out"
_TLS = "/tls"
_ROOT = f"{_TLS}/root.crt"
_CERTIFICATE = f"{_TLS}/client.crt"
_KEY = f"{_TLS}/client.key"


class InClient(parts.LoadGenerator, Protocol):
    """A load generator whose programs run in a client.

    `own_image`: the name of the client's image among ours.
    """

    own_image: str = "client"

    def client_image(self, world: World) -> tuple[str, Mapping[str, Path]]:
        """The client's image, and the files to copy into the client: path there → file here.

        The image has the folders of these paths.
        """
        return own_images.need(world.root, self.own_image, world.platform), {}

    @contextmanager
    def client(
        self, network: str, world: World, tls: Tls = TLS_IF_OFFERED, name: str = CLIENT
    ) -> Iterator[Node]:
        """Starts the client, which idles until a command is run in it.

        The project's `workloads` are at `/workloads`, the files of `tls` in `/tls`; raw output goes
        to `/out`. A client that shares the network of a node runs on the first node's machine.
        """
        image, files = self.client_image(world)
        lease_s = lifecycle.seconds_of(LEASE_VARIABLE, LEASE_S)
        live = script(__package__, "live", _HEARTBEAT)
        spec = ContainerSpec(
            name=f"{world.scope}-{name}",
            image=image,
            entrypoint=("sh",),
            command=live[1:],
            role="client",
            environment={"LEASE_S": str(lease_s)},
            network=network,
            init=True,
            stop_timeout_s=1,
            placement=_placement(name, network),
            folders={_WORKLOADS: {}, OUT: {}, _TLS: {}},
        )
        places = {_WORKLOADS: world.root / "workloads", **files, **_files_of(tls)}
        with world.platform.running(spec) as container, _beating(container.name, world):
            for place, source in places.items():
                container.put(source, place)
            yield node_records.as_node(container, name, "client")


def _files_of(tls: Tls) -> dict[str, Path]:
    """Path in the client → file on this computer, of the certificates that are set."""
    files: dict[str, Path] = {}
    places = {_ROOT: tls.root, _CERTIFICATE: tls.certificate, _KEY: tls.key}
    for place, file in places.items():
        if file:
            files[place] = Path(file)
    return files


def _placement(name: str, network: str) -> str:
    """The machine on which a client runs. A single client runs on the first one for clients."""
    if network.startswith(NETWORK_OF):  # a node's network is only on the node's machine
        return "node-1"
    if name == CLIENT:
        return f"{CLIENT}-1"
    return name


@contextmanager
def _beating(client: str, world: World, every_s: float = 1.0) -> Iterator[None]:
    """Sends the client a new number every second.

    A client that hears nothing ends itself, and the block then fails. If the last number could not
    be sent, a note on the error says why.
    """
    stop = threading.Event()
    trouble: list[str] = []
    numbers = count(1)

    def beat_until_cut() -> None:
        hear = script(__package__, "hear", _HEARTBEAT)
        with world.platform.container(client).conversation(hear) as conversation:
            while not stop.is_set():
                conversation.send(str(next(numbers)))
                trouble.clear()
                world.clock.wait(stop, every_s)

    def beat() -> None:
        while not stop.is_set():
            try:
                beat_until_cut()
            except Exception as error:
                # An engine that restarts cuts the connection. The next number goes over a new one.
                trouble[:] = [f"{type(error).__name__}: {error}"]
            world.clock.wait(stop, every_s)

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    except Exception as error:
        for text in trouble:
            error.add_note(f"{client}'s heartbeat could not be sent: {text}")
        raise
    finally:
        stop.set()
        thread.join(timeout=5)


def tls_environment(tls: Tls) -> dict[str, str]:
    """Environment variables that make a libpq in the client encrypt and verify as `tls` says."""
    places = {"sslrootcert": _ROOT, "sslcert": _CERTIFICATE, "sslkey": _KEY}
    variables: dict[str, str] = {}
    for name, value in sql.of_libpq(tls).items():
        variables[f"PG{name.upper()}"] = places.get(name, value)
    return variables


def jdbc_options(tls: Tls) -> list[str]:
    """Options of PostgreSQL's JDBC driver for `tls`, without the client's key.

    The driver needs keys in another format.
    """
    options = [f"sslmode={sql.of_libpq(tls)['sslmode']}"]
    if tls.root:
        options.append(f"sslrootcert={_ROOT}")
    return options


def put(client: Node, file: str, line: str, world: World) -> None:
    """Writes a file of one line in the client while a command runs there, whole or not at all.

    A file that `Container.put` copies could be read while half of it is there. LoadError if it
    cannot be written.
    """
    container = client.container or ""
    try:
        argv = script(__package__, "put", file)
        with world.platform.container(container).conversation(argv) as talk:
            talk.send(line)
            talk.receive(PUT_WITHIN_S)
    except errors.RunError as error:
        what = f"{client.name}: {file} could not be written: {error.what}"
        raise errors.LoadError(what, evidence=error.evidence) from error


def run_in_client(
    client: Node,
    argv: Sequence[str],
    cluster: Cluster,
    world: World,
    *,
    timeout_s: float = LOAD_TIMEOUT_S,
    out: Path | None = None,
    **how: Unpack[powers.How],
) -> Completed:
    """Runs a command in the client to its end. NodeError if a database node dies meanwhile.

    What the command leaves in `/out` is copied to the folder `out`, also if it fails.
    """
    container = world.platform.container
    runner = container(client.container or "")
    # The password goes through the environment, so no file or command line holds it.
    how["env"] = {
        "PGPASSWORD": cluster.endpoints[0].password,
        **tls_environment(cluster.tls),
        **(how.get("env") or {}),
    }
    # A cluster of others has no containers: there a lost connection ends the command.
    watched = [node.container for node in cluster.nodes if node.container]
    how["watch"] = [container(name) for name in watched]

    def fetch() -> None:
        if out:
            at_once.unless(world.carrying_given_up, partial(runner.fetch, OUT, out))

    ended_well = False
    try:
        done = runner.exec(argv, timeout_s=timeout_s, **how)
        ended_well = done.exit_code == 0
        return done
    finally:
        if ended_well:
            fetch()
        else:
            # An error here must not hide why the command failed.
            with suppress(errors.TierbenchError, OSError):
                fetch()
