"""Clusters of the stand-in for YugabyteDB as an owner has them, with TLS and at real ports.

They are on three VMs, each beside a node_exporter, or of the Helm chart, which gives nodes names,
and no placement.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
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
NODES = 3
# Certificates where `yugabyted --secure` looks for them, named by what the node is known as.
_SECURE = f"""
folder={flags.BASE_DIR}/certs
mkdir -p $folder
printf %s "$AUTHORITY" > $folder/ca.crt
printf %s "$CERTIFICATE" > $folder/node.$NODE.crt
(umask 077; printf %s "$KEY" > $folder/node.$NODE.key)
exec "$@"
"""


@dataclass(frozen=True)
class Wanted:
    """`folder`: where the authority's certificate is left. `pods`: the names of each node by the
    chart, that of its tablet server first; none: of VMs, which are known by their addresses.
    `cpus`: of each node; None: all that there are."""

    image: str
    folder: Path
    pods: tuple[tuple[str, ...], ...] = ()
    cpus: float | None = None


@dataclass(frozen=True)
class _Node:
    """`known_as`: the name or address by which the others find it. `names`: all in the network."""

    number: int
    known_as: str
    names: tuple[str, ...]
    certificate: certificates.Certificate


@contextmanager
def cluster(wanted: Wanted) -> Iterator[tuple[str, ...]]:
    """Yields the addresses of three nodes. Its administrator has PASSWORD."""
    with ExitStack() as up:
        network = up.enter_context(
            Network(docker_network_kw={"labels": servers.LABELS})
        )
        certificates.authority(wanted.folder)
        nodes = _nodes(wanted, network)
        addresses: list[str] = []
        containers: list[DockerContainer] = []
        for node in nodes:
            container = _container(wanted, node, nodes[0]).with_network(network)
            containers.append(up.enter_context(container))
            addresses.append(servers.address(container))
            if not wanted.pods:
                up.enter_context(_exporter(wanted.image, container))
        _set_password(containers[0], addresses[0])
        yield tuple(addresses)


def _nodes(wanted: Wanted, network: Network) -> list[_Node]:
    nodes: list[_Node] = []
    if not wanted.pods:
        # Those that containers get in an empty network.
        given = servers.addresses_of(network.name)[1 : 1 + NODES]
        addresses = [str(address) for address in given]
        made = certificates.signed(wanted.folder, *addresses)
        for number, address in enumerate(addresses):
            nodes.append(_Node(number, address, (), made))
        return nodes
    for number, names in enumerate(wanted.pods):
        certified = certificates.names_of_the_chart(names[0])
        made = certificates.signed(wanted.folder, *certified)
        nodes.append(_Node(number, names[0], names, made))
    return nodes


def _container(wanted: Wanted, node: _Node, first: _Node) -> DockerContainer:
    command = ["sh", "-ec", _SECURE, "sh", "bin/yugabyted", "start", "--secure"]
    command += ["--background=false", f"--base_dir={flags.BASE_DIR}"]
    command.append(f"--advertise_address={node.known_as}")
    command.append(f"--cloud_location=cloud1.region1.z{node.number}")
    if node != first:
        command.append(f"--join={first.known_as}")
    more = {}
    if wanted.cpus is not None:
        more["nano_cpus"] = int(wanted.cpus * 1e9)
    container = DockerContainer(wanted.image).with_command(command)
    made = node.certificate
    container.with_env("NODE", node.known_as)
    container.with_env("AUTHORITY", made.authority.read_text())
    container.with_env("CERTIFICATE", made.certificate).with_env("KEY", made.key)
    if node.names:
        container.with_network_aliases(*node.names)
        container.with_env("STANDIN_PLACEMENT", "none")
    container.with_kwargs(labels=servers.LABELS, **more)
    return container.waiting_for(servers.said("YugabyteDB started successfully"))


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
