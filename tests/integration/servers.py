"""Servers that tierbench did not start: database clusters of others, by testcontainers.

Their images are those that our own tests build, started as an owner would start them: their own
users, passwords and addresses. They carry a label of their own, because a campaign removes all that
carries ours; testcontainers' own cleaner is one more image to pull, so they are removed here.
"""

from __future__ import annotations

import ipaddress
import itertools
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

# Read when testcontainers is imported.
os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")

from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

from orchestrator.databases.yugabytedb import flags
from tests import certificates

LABELS = {"tierbench-test": "1"}
READY_S = 60

_OWN_POSTGRESQL = """
echo "$PASSWORD" > /tmp/password
printf %s "$CERTIFICATE" > /tmp/server.crt
(umask 077; printf %s "$KEY" > /tmp/server.key)
initdb -D /tmp/data -U owner --auth=scram-sha-256 --pwfile=/tmp/password --no-sync > /dev/null
echo 'host all all all scram-sha-256' >> /tmp/data/pg_hba.conf
cat >> /tmp/data/postgresql.conf << END
listen_addresses = '*'
ssl = on
shared_preload_libraries = pg_stat_statements
ssl_cert_file = '/tmp/server.crt'
ssl_key_file = '/tmp/server.key'
END
exec postgres -D /tmp/data
"""


@dataclass(frozen=True)
class Server:
    """A cluster as its owner tells others of it. All hosts listen on `port`. `inside`: an address
    that only this computer reaches."""

    hosts: tuple[str, ...]
    port: int
    user: str
    password: str
    database: str
    authority: Path | None = None  # who signed its certificate
    inside: str = ""

    def ask(
        self, statement: str, database: str | None = None
    ) -> list[tuple[object, ...]]:
        with psycopg.connect(
            host=self.hosts[0],
            port=self.port,
            user=self.user,
            password=self.password,
            dbname=database or self.database,
            autocommit=True,
        ) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def databases(self) -> set[str]:
        return {str(row[0]) for row in self.ask("SELECT datname FROM pg_database")}


@contextmanager
def postgresql(image: str) -> Iterator[Server]:
    """One server, reached through a port of this machine as `localhost`, which its certificate
    names. Sessions may be without TLS too."""
    password = "not-for-others"
    folder = TemporaryDirectory(prefix="tierbench-test-")
    made = certificates.certified(Path(folder.name), "localhost")
    started = (
        DockerContainer(image)
        .with_env("PASSWORD", password)
        .with_env("CERTIFICATE", made.certificate)
        .with_env("KEY", made.key)
        .with_exposed_ports(5432)
        .with_command(["-ec", _OWN_POSTGRESQL])
        .with_kwargs(entrypoint=["sh"], user="postgres", labels=LABELS)
        .waiting_for(said("database system is ready to accept connections"))
    )
    with folder, started as container:
        port = int(container.get_exposed_port(5432))
        inside = address(container)
        server = Server(
            ("localhost",), port, "owner", password, "postgres", made.authority, inside
        )
        server.ask("CREATE EXTENSION pg_stat_statements")
        yield server


@contextmanager
def standin(image: str, nodes: int, **switches: str) -> Iterator[Server]:
    """The stand-in for YugabyteDB on a network of its own, reached at the nodes' own addresses.
    `switches`: its environment variables."""
    with ExitStack() as up:
        network = up.enter_context(Network(docker_network_kw={"labels": LABELS}))
        hosts: list[str] = []
        for number in range(nodes):
            command = ["bin/yugabyted", "start", "--background=false"]
            command += [
                f"--base_dir={flags.BASE_DIR}",
                f"--cloud_location=cloud1.region1.z{number}",
            ]
            command += [f"--join={hosts[0]}"] if hosts else []
            started = (
                DockerContainer(image)
                .with_network(network)
                .with_command(command)
                .with_envs(**switches)
                .with_kwargs(labels=LABELS)
                .waiting_for(said("YugabyteDB started successfully"))
            )
            hosts.append(address(up.enter_context(started)))
        yield Server(tuple(hosts), flags.YSQL, "yugabyte", "yugabyte", "yugabyte")


@contextmanager
def azurite(image: str, port: int) -> Iterator[str]:
    """Where it listens: at the engine's own address in its networks, which all containers reach."""
    host = str(addresses_of("bridge")[0])
    started = (
        DockerContainer(image)
        .with_command(["--blobHost", host, "--blobPort", str(port)])
        .with_kwargs(labels=LABELS, network_mode="host", init=True)
        .waiting_for(said("successfully listens"))
    )
    with started:
        yield f"{host}:{port}"


def addresses_of(network: str) -> Sequence[ipaddress.IPv4Address]:
    """The first 32 of a network, in the order in which the engine gives them. The very first is its
    own, which not all engines list as the network's gateway."""
    asked = ["docker", "network", "inspect", network]
    (found,) = json.loads(subprocess.run(asked, capture_output=True, check=True).stdout)
    subnet = found["IPAM"]["Config"][0]["Subnet"]
    return list(itertools.islice(ipaddress.IPv4Network(subnet).hosts(), 32))


def said(text: str) -> LogMessageWaitStrategy:
    return LogMessageWaitStrategy(text).with_startup_timeout(READY_S)


def address(container: DockerContainer) -> str:
    made = container.get_wrapped_container()
    made.reload()
    (network,) = made.attrs["NetworkSettings"]["Networks"].values()
    return str(network["IPAddress"])


def leftovers() -> list[tuple[str, ...]]:
    """Commands that remove what a killed test run left of its servers."""
    label = f"label={next(iter(LABELS))}"
    found: list[tuple[str, ...]] = []
    for listing, removal in (
        (("docker", "ps", "-aq"), ("docker", "rm", "-fv")),
        (("docker", "network", "ls", "-q"), ("docker", "network", "rm")),
    ):
        command = [*listing, "--filter", label]
        listed = subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout
        found += [(*removal, name) for name in listed.split()]
    return found


def sweep() -> None:
    for command in leftovers():
        subprocess.run(command, capture_output=True, check=True)
