"""What the servers of a running YugabyteDB answer, asked one by one and kept as it came.

For a bundle (`bundle.py`), with which somebody else's cluster can be compared with what this
program takes for granted of all of them. Every question only reads."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator import errors
from orchestrator.model import Node
from orchestrator.system import http_client, sql
from orchestrator.yugabyte import pages, queries

# Pages that masters answer for the whole cluster: others than the leader forward or refuse.
OF_CLUSTER = (
    "/api/v1/cluster-config",
    "/api/v1/tablet-servers",
    "/api/v1/health-check",
    "/dump-entities",
)
_FLAGS = "/api/v1/varz"
OF_SERVER = (_FLAGS, "/api/v1/version")
# A master that does not lead answers of the masters, too, and was seen to list those of long ago.
_OF_KIND = {pages.MASTER: (*OF_SERVER, "/api/v1/masters"), pages.TSERVER: OF_SERVER}
_METRICS = "/metrics"
_KINDS = (pages.MASTER, pages.TSERVER, pages.YSQL)
# Views and functions of YSQL → the query of sql/ that reads them.
_QUERIES = {
    "yb_servers": "own_servers",
    "pg_settings": "all_settings",
    "views": "own_views",
}
_SQL_S = 60.0
_KIND_OF_ENTITY = re.compile("[a-z]{1,16}")


@dataclass(frozen=True)
class ServerAnswer:
    """One answer, of one server or of the masters' leader."""

    name: str
    question: str  # the page or the view
    content: Any = None
    server: str = ""
    entity: str = ""  # the entity to which metrics belong
    unread: str = ""  # why there is no `content`


def ask(
    nodes: Sequence[Node], connect: sql.Connect, addresses: Sequence[sql.Address]
) -> Iterator[ServerAnswer]:
    """Yields each answer as it comes, of all pages that `nodes` declare and of YSQL. An error of
    one is that answer's."""
    masters = list(pages.urls(nodes, pages.MASTER).values())
    for path in OF_CLUSTER:
        yield _leader_answer(masters, path)
    for kind, paths in _OF_KIND.items():
        urls = pages.urls(nodes, kind)
        if not urls:
            yield ServerAnswer(f"{kind} flags", _FLAGS, unread=_not_declared(kind))
        for node, url in urls.items():
            for path in paths:
                yield _page(f"{node} {kind} {_last_part(path)}", url, path, kind)
    for kind in _KINDS:
        yield from _metrics(kind, pages.urls(nodes, kind))
    yield from _ysql_answers(connect, addresses)


def _last_part(path: str) -> str:
    return path.rpartition("/")[2]


def _not_declared(kind: str) -> str:
    return f"the profile declares no page of a {kind}"


def _leader_answer(masters: Sequence[str], path: str) -> ServerAnswer:
    """The first answer of a master."""
    name = _last_part(path)
    answer = ServerAnswer(name, path, unread=_not_declared(pages.MASTER))
    for url in masters:
        answer = _page(name, url, path, pages.MASTER)
        if not answer.unread:
            return answer
    return answer


def _page(name: str, url: str, path: str, kind: str) -> ServerAnswer:
    try:
        content = json.loads(http_client.get(f"{url}{path}"))
    except OSError as error:
        return ServerAnswer(name, path, server=kind, unread=str(error))
    except ValueError:
        return ServerAnswer(name, path, server=kind, unread="the page is not JSON")
    # An error may come with status 200.
    if isinstance(content, dict) and "error" in content:
        return ServerAnswer(
            name, path, server=kind, unread="the page holds an error alone"
        )
    return ServerAnswer(name, path, content, server=kind)


def _metrics(kind: str, urls: Mapping[str, str]) -> Iterator[ServerAnswer]:
    """The names of metrics of the first server of this kind, by whose they are."""
    if not urls:
        return
    node, url = next(iter(urls.items()))
    name = f"{node} {kind} metrics"
    # Histograms are not reset by reading: other readers would miss the difference.
    address = f"{url}{_METRICS}?reset_histograms=false"
    try:
        with http_client.understood(_METRICS):
            names = _names_by_entity(json.loads(http_client.get(address)))
    except OSError as error:
        yield ServerAnswer(name, _METRICS, server=kind, unread=str(error))
        return
    for entity, names_of_entity in names.items():
        yield ServerAnswer(
            f"{name} of a {entity}",
            _METRICS,
            names_of_entity,
            server=kind,
            entity=entity,
        )


def _names_by_entity(entities: Any) -> dict[str, list[str]]:
    names: dict[str, set[str]] = {}
    for entity in entities:
        # A bundle holds no text that nobody knows: an owner's word could stand here.
        kind = str(entity["type"])
        if not _KIND_OF_ENTITY.fullmatch(kind):
            kind = "other"
        of_kind = names.setdefault(kind, set())
        for metric in entity["metrics"]:
            of_kind.add(str(metric["name"]))
    return {kind: sorted(of_kind) for kind, of_kind in names.items()}


def _ysql_answers(
    connect: sql.Connect, addresses: Sequence[sql.Address]
) -> Iterator[ServerAnswer]:
    """What the YSQL of the first node that answers says of itself and of its cluster."""
    reasons: dict[str, None] = {}
    for address in addresses:
        try:
            with connect(address, _SQL_S) as session:
                read = _read_by_sql(session)
        except errors.TierbenchError as error:
            reasons[error.what] = None
            continue
        yield from read
        return
    yield ServerAnswer("version", "version", unread="; ".join(reasons))


def _read_by_sql(session: sql.Session) -> list[ServerAnswer]:
    """RunError if it does not even say its version."""
    # `PostgreSQL 11.2-YB-2.18.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang …`
    release, _, compiled = queries.banner(session).partition(" on ")
    banner = {"release": release, "compiled": compiled}
    read = [ServerAnswer("version", "version", banner)]
    for view, name in _QUERIES.items():
        read.append(_rows(session, view, name))
    return read


def _rows(session: sql.Session, view: str, name: str) -> ServerAnswer:
    try:
        rows = session.rows(sql.query(__package__, name))
    except errors.RunError as error:
        return ServerAnswer(view, view, unread=error.what)
    return ServerAnswer(view, view, rows)
