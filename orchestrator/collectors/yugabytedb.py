"""Counters of YugabyteDB's own servers: log, data files, block cache, statements.

For nodes that say where their servers are (`sources`). Every five seconds, all servers at once:
an answer is some ten kilobytes, made by the server from thousands of counters, so more often would
cost what it measures. Histograms are not reset by reading: other readers would miss the difference.
Under a node's name: its tablet server's counters, those of YSQL, and, with `master_` before them,
its master's, whose log lies on the same disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from orchestrator.databases.common.yugabyte import counters, pages
from orchestrator.model import Node, Sample, sources
from orchestrator.system import http_client

EVERY_S = 5.0
_TIMEOUT_S = 2.0  # it blocks the other collectors
_YSQL_PATH = "/metrics?reset_histograms=false"

Get = Callable[[str, float], str]
Parse = Callable[[str], Mapping[str, float]]


@dataclass(frozen=True)
class _Source:
    """One server of one node: where it is read, and how."""

    node: str
    url: str
    parse: Parse


class YugabyteDBCollector:
    name = "yugabytedb"

    def __init__(self, get: Get = http_client.get) -> None:
        self._get = get
        self._due_s = 0.0

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        wanted = list(_wanted(nodes))
        if not wanted or now_s < self._due_s:
            return
        self._due_s = now_s + EVERY_S
        failures: list[str] = []
        with ThreadPoolExecutor(max_workers=len(wanted)) as pool:
            for source, read in zip(wanted, pool.map(self._read, wanted), strict=True):
                if isinstance(read, Exception):
                    failures.append(f"{source.node}: {read}")
                    continue
                for metric, value in read.items():
                    yield Sample(now_s, source.node, metric, _unit(metric), value)
        if failures:
            raise OSError("; ".join(failures))

    def _read(self, source: _Source) -> Mapping[str, float] | Exception:
        try:
            return source.parse(self._get(source.url, _TIMEOUT_S))
        except (OSError, ValueError) as error:
            return error


def _wanted(nodes: Sequence[Node]) -> Iterator[_Source]:
    for server, path, parse in (
        (pages.TSERVER, counters.PATH, counters.storage),
        (pages.MASTER, counters.PATH, _master),
        (pages.YSQL, _YSQL_PATH, counters.statements),
    ):
        for node, url in sources(nodes, server).items():
            yield _Source(node, f"{url}{path}", parse)


def _master(body: str) -> Mapping[str, float]:
    """Of a master only the log: it writes little else."""
    found = counters.storage(body)
    return {f"master_{name}": value for name, value in found.items() if name.startswith("wal_")}


def _unit(metric: str) -> str:
    return counters.UNITS[metric.removeprefix("master_")]
