"""Clusters of the stand-in for YugabyteDB as an owner has them on three VMs: with TLS, at real
ports, each node beside a node_exporter."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network

from orchestrator.databases.yugabytedb import flags
from tests import certificates
from tests.integration import servers

PASSWORD = "of-the-owner"
PAGE = Path(__file__).with_name("node_page.py")
EXPORTER_PORT = 9300
# Certificates where `yugabyted --secure` looks for them, named by the node's own address.
_SECURE = f"""
folder={flags.BASE_DIR}/certs
mkdir -p $folder
address=$(hostname --ip-address)
printf %s "$AUTHORITY" > $folder/ca.crt
printf %s "$CERTIFICATE" > $folder/node.$address.crt
(umask 077; printf %s "$KEY" > $folder/node.$address.key)
exec "$@"
"""


@dataclass(frozen=True)
class Wanted:
    """`cpus`: of each node; None: all that there are. `folder`: where the authority's certificate
    is left."""

    image: str
    folder: Path
    cpus: float | None = None


@contextmanager
def cluster(wanted: Wanted, nodes: int = 3) -> Iterator[tuple[str, ...]]:
    """Yields the nodes' addresses. Its administrator has PASSWORD."""
    with ExitStack() as up:
        network = up.enter_context(
            Network(docker_network_kw={"labels": servers.LABELS})
        )
        certificates.authority(wanted.folder)
        addresses: list[str] = []
        containers: list[DockerContainer] = []
        expected = _addresses(network, nodes)
        for number in range(nodes):
            made = certificates.signed(wanted.folder, *expected)
            node = _node(wanted, number, made, addresses[:1]).with_network(network)
            container = up.enter_context(node)
            containers.append(container)
            addresses.append(servers.address(container))
            up.enter_context(_exporter(wanted.image, container))
        _set_password(containers[0], addresses[0])
        yield tuple(addresses)


def _addresses(network: Network, nodes: int) -> list[str]:
    """Those that Docker gives to the first containers of an empty network."""
    asked = ["docker", "network", "inspect", network.name]
    (told,) = json.loads(subprocess.run(asked, capture_output=True, check=True).stdout)
    begin = told["IPAM"]["Config"][0]["Subnet"].rpartition(".")[0]
    return [f"{begin}.{number}" for number in range(2, 2 + nodes)]


def _node(
    wanted: Wanted,
    number: int,
    made: certificates.Certificate,
    first: Sequence[str],
) -> DockerContainer:
    command = ["sh", "-ec", _SECURE, "sh", "bin/yugabyted", "start", "--secure"]
    command += ["--background=false", f"--base_dir={flags.BASE_DIR}"]
    command.append(f"--cloud_location=cloud1.region1.z{number}")
    command += [f"--join={host}" for host in first]
    more = {}
    if wanted.cpus is not None:
        more["nano_cpus"] = int(wanted.cpus * 1e9)
    node = DockerContainer(wanted.image).with_command(command)
    node.with_env("AUTHORITY", made.authority.read_text())
    node.with_env("CERTIFICATE", made.certificate).with_env("KEY", made.key)
    node.with_kwargs(labels=servers.LABELS, **more)
    return node.waiting_for(servers.said("YugabyteDB started successfully"))


def _exporter(image: str, beside: DockerContainer) -> DockerContainer:
    """In the network of a node."""
    container = beside.get_wrapped_container()
    command = ["python3", "-c", PAGE.read_text(), str(EXPORTER_PORT)]
    exporter = DockerContainer(image).with_command(command)
    return exporter.with_kwargs(
        labels=servers.LABELS, network_mode=f"container:{container.id}"
    )


def _set_password(first: DockerContainer, address: str) -> None:
    """In place of the random one that `yugabyted --secure` keeps in its own file."""
    _, kept = first.exec(["cat", flags.CONF])
    assert isinstance(kept, bytes)
    random = json.loads(kept)["database_password"]
    with session_of_owner(address, random) as session:
        session.execute(f"ALTER ROLE yugabyte PASSWORD '{PASSWORD}'".encode())


def session_of_owner(
    address: str, password: str = PASSWORD
) -> psycopg.Connection[tuple[Any, ...]]:
    """Of the administrator, on one node. Each statement is a transaction."""
    return psycopg.connect(
        host=address,
        port=flags.YSQL,
        user="yugabyte",
        password=password,
        dbname="yugabyte",
        sslmode="require",
        autocommit=True,
    )
