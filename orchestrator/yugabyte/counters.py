"""The storage engine's counters: from the servers' metrics (`/metrics`, JSON), in base units.

Names and units: docs/research/YUGABYTEDB.md. Percentiles are not read: readers reset them, and
releases drop them; totals and counts are cumulative."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from orchestrator.errors import RunError
from orchestrator.facts import OTHERS, WAL_NODES, WAL_SYNC_AVG_S, WAL_SYNC_S, WAL_SYNCS
from orchestrator.keys import shipped_yaml
from orchestrator.model import Node
from orchestrator.powers import Moment, World
from orchestrator.system import at_once, clock, http_client
from orchestrator.yugabyte import pages

_MICRO = 1e-6

_NAMES = shipped_yaml.shipped(__package__, "counters.yaml")
_PLAIN = _NAMES["plain"]
_DRIVES = _NAMES["drives"]
_TICKERS = _NAMES["tickers"]
_LATENCIES = _NAMES["latencies"]


def _values() -> dict[str, tuple[str, str]]:
    """Their names → ours and units, of tickers in both stores."""
    # `rocksdb_*` is the regular store, `intentsdb_rocksdb_*` the one of provisional records. Both
    # write to the disk, so both count.
    values = {**_PLAIN, **_DRIVES}
    for store in _NAMES["stores"]:
        for name, ours in _TICKERS.items():
            values[f"{store}_{name}"] = ours
    return values


_VALUES: Mapping[str, tuple[str, str]] = _values()
_SHARED = ("wal_bytes_total", "block_cache_hits_total", "block_cache_misses_total")
# Begins the names of the cluster's own databases, where all transactions are noted. `yb_system` has
# been there since 2025.2.3, for LISTEN and NOTIFY.
_SYSTEM = ("system", "yb_system")
# The last repeats the others, beside what is its own.
_ENTITIES = ("tablet", "table", "drive", "server")
# The server matches parts of names: these match all of the above, in both stores.
_LATENT = tuple(name.removeprefix("rocksdb_") for name in _LATENCIES)
_PARTS = (*_PLAIN, *_LATENT, *_TICKERS, *_DRIVES)
PATH = f"/metrics?metrics={','.join(_PARTS)}&reset_histograms=false&compact=true"


def _units() -> dict[str, str]:
    """Our name → its unit."""
    units = dict(_VALUES.values())
    for number, _ in _LATENCIES.values():
        units[number] = ""
    for _, time in _LATENCIES.values():
        units[time] = "s"
    units["sql_statements_total"] = ""
    units["sql_statement_seconds_total"] = "s"
    return units


UNITS = _units()

Counters = Mapping[str, float]


def storage(body: str, ours: Collection[str] = ()) -> dict[str, float]:
    """Counters of log, data files and cache from a server's `/metrics`, as far as it has them; some
    also of all databases but `ours`, if named. ValueError if the body has another form."""
    totals: dict[str, float] = {}
    if ours:
        totals = {f"{OTHERS}{name}": 0.0 for name in _SHARED}
    for entity in _entities(body):
        if entity.get("type") not in _ENTITIES:
            continue
        is_others = bool(ours) and _is_others(entity, ours)
        # RocksDB's tickers are per tablet, the log's latencies per table, syncs of everything per
        # drive: a node has the sum.
        for name, value in _readings_of(entity):
            totals[name] = totals.get(name, 0.0) + value
            if is_others and name in _SHARED:
                totals[f"{OTHERS}{name}"] += value
    return totals


def _is_others(entity: Mapping[str, Any], ours: Collection[str]) -> bool:
    """Whether it is of a database that is neither ours nor the cluster's own."""
    # A server's own counters name no database: they are nobody else's.
    attributes = entity.get("attributes") or {}
    database = str(attributes.get("namespace_name", "system"))
    return database not in ours and not database.startswith(_SYSTEM)


def _readings_of(entity: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The counters of a server or a tablet. Of a server only those that its tablets do not have."""
    is_server = entity.get("type") == "server"
    for metric in entity.get("metrics", ()):
        is_of_server = _name(metric).startswith(_NAMES["of_server"])
        if is_server == is_of_server:
            yield from _readings(metric)


_STATEMENTS = (
    "_SQLProcessor_SelectStmt",
    "_SQLProcessor_InsertStmt",
    "_SQLProcessor_UpdateStmt",
    "_SQLProcessor_DeleteStmt",
    "_SQLProcessor_OtherStmts",
)


def statements(body: str) -> dict[str, float]:
    """Number of statements, and their seconds in the server, from YSQL's `/metrics`."""
    timers = []
    for entity in _entities(body):
        for metric in entity.get("metrics", ()):
            if _name(metric).endswith(_STATEMENTS):
                timers.append(metric)
    if not timers:
        return {}
    number = sum(float(timer.get("count", 0)) for timer in timers)
    took_us = sum(float(timer.get("sum", 0)) for timer in timers)
    return {
        "sql_statements_total": number,
        "sql_statement_seconds_total": took_us * _MICRO,
    }


def _entities(body: str) -> list[dict[str, Any]]:
    content = json.loads(body)
    if not isinstance(content, list):
        raise ValueError("the metrics are not a list of entities")
    return [entity for entity in content if isinstance(entity, dict)]


def _name(metric: Mapping[str, Any]) -> str:
    return str(metric.get("name", ""))


def _readings(metric: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    name = _name(metric)
    if name in _LATENCIES and "total_count" in metric:
        number, time = _LATENCIES[name]
        yield number, float(metric["total_count"])
        yield time, float(metric.get("total_sum", 0)) * _MICRO
    value = metric.get("value")
    # A truth is an `int` in Python too.
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return
    if name in _VALUES:
        ours, _ = _VALUES[name]
        yield ours, value * _factor(name)


def _factor(name: str) -> float:
    """The factor that makes base units of it."""
    if name.endswith("_micros") or (name in _DRIVES and name.endswith("_time")):
        return _MICRO
    return 1.0


# The engine goes on after a load: memory tables are flushed, files are merged. A run that began
# meanwhile would measure that as well. So loading ends only when the disk is quiet.
QUIET_S = 15.0  # seconds that pass without a flush or a compaction
POLL_S = 3.0
_UNREADABLE_S = 60.0
_QUIET_DEADLINE_S = 3 * 3600.0
_WORK = ("flush_written_bytes_total", "compaction_written_bytes_total")

ByNode = Mapping[str, Counters]


@http_client.understood("/metrics")
def read(
    nodes: Sequence[Node], ours: Collection[str] = ()
) -> dict[str, dict[str, float]]:
    """Node → its tablet server's counters, as `storage`. OSError if one does not answer so."""
    urls = pages.urls(nodes, pages.TSERVER)
    texts = at_once.each(_counters_page, urls.values())
    by_node: dict[str, dict[str, float]] = {}
    for name, text in zip(urls, texts, strict=True):
        by_node[name] = storage(text, ours)
    return by_node


def _counters_page(server: str) -> str:
    return http_client.get(f"{server}{PATH}")


def await_quiet(
    nodes: Sequence[Node], world: World, deadline_s: float = _QUIET_DEADLINE_S
) -> None:
    """Waits until no node has flushed or merged anything for `QUIET_S`. RunError past the
    deadline. Counters that stay unreadable are only warned of: they may have another form."""
    quiet = _Quiet(nodes, world)
    if not clock.wait_until(
        quiet.is_reached, deadline_s=deadline_s, clock=world.clock, every_s=POLL_S
    ):
        raise RunError(
            "YugabyteDB was still flushing or merging files after "
            f"{deadline_s / 60:g} minutes",
            advice="the tier may be too slow for this data set at this size",
        )


class _Quiet:
    """What has been flushed and merged, since when it is the same, and when it was last read."""

    def __init__(self, nodes: Sequence[Node], world: World) -> None:
        self._nodes = nodes
        self._world = world
        self._work: list[list[float | None]] | None = None
        self._since = world.clock.monotonic()
        self._read = self._since

    def is_reached(self) -> bool:
        now = self._world.clock.monotonic()
        try:
            by_node = read(self._nodes)
        except OSError as error:
            return self._gives_up(now, error)
        work = [[node.get(name) for name in _WORK] for node in by_node.values()]
        self._read = now
        if work != self._work:
            self._work = work
            self._since = now
        return now - self._since >= QUIET_S

    def _gives_up(self, now: Moment, error: OSError) -> bool:
        """Whether counters have been unreadable for so long that they will stay so."""
        self._work = None
        self._since = now
        if now - self._read < _UNREADABLE_S:
            return False
        self._world.progress.warn(
            f"whether files are still merged is not known: {error}"
        )
        return True


def since(begun: ByNode, now: ByNode) -> dict[str, Any]:
    """What all nodes did between two readings. Reads of data files are `sst_read_s`."""
    # Reads for merging are among `sst_read_s`, so they do not tell how long sessions waited.
    total: dict[str, float] = {}
    for node, after in now.items():
        for counter, growth in _growth(begun.get(node, {}), after):
            name = _fact(counter)
            total[name] = total.get(name, 0.0) + growth
    hits = total.get("block_cache_hits", 0.0)
    misses = total.get("block_cache_misses", 0.0)
    sync_avg_s = _ratio(total.get(WAL_SYNC_S), total.get(WAL_SYNCS))
    append_avg_s = _ratio(total.get("wal_append_s"), total.get("wal_appends"))
    return {
        **total,
        WAL_SYNC_AVG_S: sync_avg_s,
        WAL_NODES: len(now),
        "wal_append_avg_s": append_avg_s,
        "block_cache_hit_ratio": _ratio(hits, hits + misses),
    }


def _growth(before: Counters, after: Counters) -> Iterator[tuple[str, float]]:
    """By how much counters grew, of those that were there before."""
    for counter, value in after.items():
        if not counter.endswith("_total") or counter not in before:
            continue
        # A counter that fell was reset, as by a restart: its growth is not known.
        if value >= before[counter]:
            yield counter, value - before[counter]


def _fact(counter: str) -> str:
    """`wal_sync_seconds_total`, as it is sampled → `wal_sync_s`, as facts are named."""
    name = counter.removesuffix("_total")
    if name.endswith("_seconds"):
        return f"{name.removesuffix('_seconds')}_s"
    return name


def _ratio(part: float | None, whole: float | None) -> float | None:
    if part is not None and whole:
        return part / whole
    return None
