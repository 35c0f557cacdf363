"""Counters of YugabyteDB's own servers: log, data files, block cache, statements.

For nodes whose `sources` name their servers. Every five seconds, because the server makes each
answer of some ten kilobytes from thousands of counters, and reading more often would disturb what
is measured. Histograms are not reset by reading: other readers would miss the difference.
A node's name stands for its tablet server's counters, those of YSQL and, with `master_` before
them, those of its master's log, which lies on the same disk."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from orchestrator.collectors.common import local
from orchestrator.model import Node, Sample, sources
from orchestrator.system import http_client
from orchestrator.yugabyte import counters, pages

EVERY_S = 5.0
_YSQL_PATH = "/metrics?reset_histograms=false"


class YugabyteDBCollector:
    name = "yugabytedb"
    _due_s = 0.0

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        servers = list(_pages(nodes))
        if not servers or now_s < self._due_s:
            return ()
        self._due_s = now_s + EVERY_S
        return local.samples(servers, now_s, http_client.get)


def _pages(nodes: Sequence[Node]) -> Iterator[local.Page]:
    for server, path, parse in (
        (pages.TSERVER, counters.PATH, counters.storage),
        (pages.MASTER, counters.PATH, _master),
        (pages.YSQL, _YSQL_PATH, counters.statements),
    ):
        for node, url in sources(nodes, server).items():
            yield local.Page(node, f"{url}{path}", partial(_readings, parse))


def _readings(
    parse: Callable[[str], Mapping[str, float]], body: str
) -> Iterator[local.Reading]:
    for metric, value in parse(body).items():
        yield metric, counters.UNITS[metric.removeprefix("master_")], value


def _master(body: str) -> Mapping[str, float]:
    """The counters of a master's log: it writes little else."""
    storage = counters.storage(body)
    return {
        f"master_{name}": value
        for name, value in storage.items()
        if name.startswith("wal_")
    }
