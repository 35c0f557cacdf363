"""What a running YugabyteDB answers, as entries of a bundle that its owner can send: for
`tierbench doctor --bundle`."""

import datetime
from collections.abc import Iterable, Iterator, Sequence

from orchestrator.databases.common import container_nodes
from orchestrator.databases.yugabytedb import checklist
from orchestrator.databases.yugabytedb.read_checks import ReadCluster
from orchestrator.model import Cluster, Node
from orchestrator.parts import CheckedFact
from orchestrator.system import http_client, sql
from orchestrator.yugabyte import (
    answers,
    bundle,
    counters,
    pages,
    queries,
    server_facts,
    versions,
)
from orchestrator.yugabyte.anonymous import Anonymous
from orchestrator.yugabyte.answers import ServerAnswer
from orchestrator.yugabyte.bundle import BundleEntry

__all__ = ["BundleEntry", "ServerAnswer"]
listing = bundle.listing
text = bundle.text
release_of = bundle.release_of
urls_at = pages.urls_at


def ask(
    nodes: Sequence[Node], connect: sql.Connect, addresses: Sequence[sql.Address]
) -> Iterable[ServerAnswer]:
    """Every page and query of the bundle, one after the other."""
    return answers.ask(nodes, connect, addresses)


def is_yugabytedb(session: sql.Session) -> bool:
    """Whether the server of this session is one. RunError if it does not answer."""
    return versions.banner_number(queries.banner(session)) is not None


def read_only(
    cluster: Cluster, connect: sql.Connect, release: str
) -> Iterator[CheckedFact]:
    """The lines of the checklist that can be looked at on a cluster that others run."""
    return checklist.read_only(ReadCluster(cluster, connect, release))


def entries(
    cluster: Cluster,
    collected: Sequence[ServerAnswer],
    checked: Sequence[CheckedFact],
    today: datetime.date,
) -> list[BundleEntry]:
    """The bundle's entries, without what the cluster's owner keeps."""
    hosts = list(dict.fromkeys(_hosts(cluster)))
    anonymous = Anonymous(hosts, _users(cluster), _own_words())
    lines: list[bundle.CheckedLine] = []
    for line in checked:
        lines.append(bundle.CheckedLine(line.name, line.state, line.seen))
    source = f"tierbench doctor --bundle, {today}"
    return bundle.entries_of(collected, lines, anonymous, source)


# ------------------------------------------------------------------ whose words are taken out


def _hosts(cluster: Cluster) -> Iterator[str]:
    """The hosts in the order of the nodes."""
    for endpoint in cluster.endpoints:
        yield endpoint.host
    for node in cluster.nodes:
        for name in (pages.TSERVER, pages.MASTER, pages.YSQL):
            if name in node.sources:
                yield http_client.host_of(node.sources[name])


def _users(cluster: Cluster) -> list[str]:
    """The cluster's users, without the users that every cluster has or this program makes."""
    # Replacing these would hide only what every reader knows.
    users = {endpoint.user for endpoint in cluster.endpoints}
    return sorted(users - {queries.ADMIN, container_nodes.DATABASE})


def _own_words() -> set[str]:
    """Names of counters, flags and servers, in lines of the checklist."""
    words = {"of", pages.MASTER, pages.TSERVER, pages.YSQL, *counters.UNITS}
    for kind in ("durability", "explanatory", "execution", "compared"):
        words.update(server_facts.names_of(kind))
    return words
