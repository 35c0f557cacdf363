"""Counters of YugabyteDB's own servers: log, data files, block cache, statements.

For nodes whose `sources` name their servers. A node's name stands for its tablet server's counters,
those of YSQL and, with `master_` before them, those of its master's log."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from orchestrator.collectors.common import node_by_node
from orchestrator.model import Node, Sample
from orchestrator.system import http_client
from orchestrator.yugabyte import counters, pages

# A server makes each answer of some ten kilobytes from thousands of counters. Reading more often
# would disturb what is measured.
EVERY_S = 5.0
# Histograms are not reset by reading: other readers would miss the difference.
_YSQL_PATH = "/metrics?reset_histograms=false"
_Parse = Callable[[str], Mapping[str, float]]


class YugabyteDBCollector:
    name = "yugabytedb"

    def __init__(self) -> None:
        self._pace = node_by_node.ReadingPace(EVERY_S)

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        servers = list(_pages(nodes))
        if not servers or not self._pace.is_due(now_s):
            return ()
        return node_by_node.samples(servers, now_s, http_client.get)


def _pages(nodes: Sequence[Node]) -> Iterator[node_by_node.Page]:
    for server in _SERVERS:
        parse = partial(_readings, server.parse)
        for node, url in pages.urls(nodes, server.source).items():
            yield node_by_node.Page(node, f"{url}{server.path}", parse)


def _readings(parse: _Parse, body: str) -> Iterator[node_by_node.Reading]:
    for metric, value in parse(body).items():
        yield metric, counters.UNITS[metric.removeprefix("master_")], value


def _master(body: str) -> Mapping[str, float]:
    """The counters of a master's log: it writes little else."""
    # The log lies on the disk of the tablet server's data: its writes are part of that disk's.
    log_counters = {}
    for name, value in counters.storage(body).items():
        if name.startswith("wal_"):
            log_counters[f"master_{name}"] = value
    return log_counters


class _ServerPage(NamedTuple):
    """A kind of server by its name in a node's `sources`, its page, and what reads it."""

    source: str
    path: str
    parse: _Parse


_SERVERS = (
    _ServerPage(pages.TSERVER, counters.PATH, counters.storage),
    _ServerPage(pages.MASTER, counters.PATH, _master),
    _ServerPage(pages.YSQL, _YSQL_PATH, counters.statements),
)
