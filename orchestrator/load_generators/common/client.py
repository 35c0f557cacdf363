"""The client: a container on the database's network in which a load generator's programs run.

It ends, and with it all load, when this program is gone: while the client is up, a thread sends it
a new number once a second, and its first process gives up when the number has stayed the same for
so many seconds. It counts by itself, so a clock that is set, or a machine that slept, ends nothing.
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
LEASE_VARIABLE = "TIERBENCH_LEASE_S"  # how long a client outlives this program
LEASE_S = 60  # a busy disk may hold up the heartbeat for many seconds
_HEARTBEAT = "/tmp/heartbeat"  # in the client
_WORKLOADS = "/workloads"
OUT = "/out"
_TLS = "/tls"
_ROOT = f"{_TLS}/root.crt"
_CERTIFICATE = f"{_TLS}/client.crt"
_KEY = f"{_TLS}/client.key"


class InClient(parts.LoadGenerator, Protocol):
    """A load generator whose programs run in a client. `own_image`: of our images, the client's."""

    own_image: str = "client"

    def client_image(self, world: World) -> tuple[str, Mapping[str, Path]]:
        """The client's image, and the files that it is given, by places whose folders it has."""
        return own_images.need(world.root, self.own_image, world.platform), {}

    @contextmanager
    def client(
        self, network: str, world: World, tls: Tls = TLS_IF_OFFERED, name: str = CLIENT
    ) -> Iterator[Node]:
        """Starts the client, which idles until a command is run in it. The project's `workloads`
        are at `/workloads`, the files of `tls` in `/tls`; raw output goes to `/out`. In the network
        of a node it is on the machine of the first."""
        image, files = self.client_image(world)
        spec = ContainerSpec(
            name=f"{world.scope}-{name}",
            image=image,
            entrypoint=("sh",),
            command=script(__package__, "live", _HEARTBEAT)[1:],
            role="client",
            environment={"LEASE_S": str(lifecycle.seconds_of(LEASE_VARIABLE, LEASE_S))},
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
    """Place in the client → the file of this computer."""
    files: dict[str, Path] = {}
    places = {_ROOT: tls.root, _CERTIFICATE: tls.certificate, _KEY: tls.key}
    for place, file in places.items():
        if file:
            files[place] = Path(file)
    return files


def _placement(name: str, network: str) -> str:
    """On which machine a client is: the only one is the first."""
    if network.startswith(NETWORK_OF):
        return "node-1"
    if name == CLIENT:
        return f"{CLIENT}-1"
    return name


@contextmanager
def _beating(client: str, world: World, every_s: float = 1.0) -> Iterator[None]:
    """Sends the client another number every second. Why the last one could not be sent is a note
    of the error that ends the block: a client that hears nothing ends itself."""
    stop = threading.Event()
    trouble: list[str] = []
    numbers = count(1)

    def beat_until_cut() -> None:
        hear = script(__package__, "hear", _HEARTBEAT)
        with world.platform.container(client).conversation(hear) as conversation:
            while not stop.is_set():
                conversation.send(str(next(numbers)))
                trouble.clear()
                stop.wait(every_s)

    def beat() -> None:
        while not stop.is_set():
            try:  # until one cannot be sent: an engine that is restarted cuts the connection
                beat_until_cut()
            except Exception as error:
                # Whatever it is, the next goes over a new connection.
                trouble[:] = [f"{type(error).__name__}: {error}"]
            stop.wait(every_s)

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
    """What makes every libpq in the client encrypt and verify as `tls` says."""
    places = {"sslrootcert": _ROOT, "sslcert": _CERTIFICATE, "sslkey": _KEY}
    variables: dict[str, str] = {}
    for name, value in sql.of_libpq(tls).items():
        variables[f"PG{name.upper()}"] = places.get(name, value)
    return variables


def jdbc_options(tls: Tls) -> list[str]:
    """The same for PostgreSQL's JDBC driver, whose client keys have another format."""
    options = [f"sslmode={sql.of_libpq(tls)['sslmode']}"]
    if tls.root:
        options.append(f"sslrootcert={_ROOT}")
    return options


def put(client: Node, file: str, line: str, world: World) -> None:
    """Puts a file into the client while a command runs in it, whole or not at all. LoadError if it
    cannot be written. What `Container.put` copies could be read while half of it is there."""
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
    """Runs a command in the client to its end. NodeError if a database node dies meanwhile. It gets
    the database's password through the environment, so no file or command line holds it. What it
    leaves in `/out` comes to the folder `out`, also if it fails."""
    container = world.platform.container
    runner = container(client.container or "")
    how["env"] = {
        "PGPASSWORD": cluster.endpoints[0].password,
        **tls_environment(cluster.tls),
        **(how.get("env") or {}),
    }
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
            # As far as that goes, for the failure is what must be said.
            with suppress(errors.TierbenchError, OSError):
                fetch()
