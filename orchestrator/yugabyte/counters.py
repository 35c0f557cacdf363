"""The storage engine's counters: from the servers' metrics (`/metrics`, JSON), in base units.

Names and units: docs/YUGABYTEDB.md. RocksDB's tickers are per tablet, the log's latencies per
table; a node's figure is the sum. `rocksdb_*` is the regular store, `intentsdb_rocksdb_*` the one
of provisional records: both write to the disk, so both count. Percentiles are not read: readers
reset them, and releases drop them; totals and counts are cumulative.

After a load the engine goes on: memory tables are flushed, files are merged. A run that began
meanwhile would measure that as well, so loading ends only when the disk is quiet."""

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from orchestrator.errors import RunError
from orchestrator.facts import OTHERS, WAL_NODES, WAL_SYNC_AVG_S, WAL_SYNC_S, WAL_SYNCS
from orchestrator.keys import strict_yaml
from orchestrator.model import Node, sources
from orchestrator.powers import World
from orchestrator.system import at_once, clock, http_client
from orchestrator.yugabyte import pages

_MICRO = 1e-6

_NAMES = strict_yaml.shipped(__package__, "counters.yaml")
_PLAIN, _TICKERS, _LATENCIES = (
    _NAMES[kind] for kind in ("plain", "tickers", "latencies")
)
_VALUES: Mapping[str, tuple[str, str]] = _PLAIN | {
    f"{store}_{name}": ours
    for store in _NAMES["stores"]
    for name, ours in _TICKERS.items()
}
_SHARED = ("wal_bytes_total", "block_cache_hits_total", "block_cache_misses_total")
# Begins the names of the cluster's own databases, where all transactions are noted. `yb_system` has
# been there since 2025.2.3, for LISTEN and NOTIFY.
_SYSTEM = ("system", "yb_system")
_ENTITIES = (
    "tablet",
    "table",
    "server",
)  # the last repeats the others, beside what is its own
# The server matches parts of names: these match all of the above, in both stores.
_LATENT = tuple(name.removeprefix("rocksdb_") for name in _LATENCIES)
_PARTS = (*_PLAIN, *_LATENT, *_TICKERS)
PATH = f"/metrics?metrics={','.join(_PARTS)}&reset_histograms=false&compact=true"

UNITS = {
    **dict(_VALUES.values()),
    **{number: "" for number, _ in _LATENCIES.values()},
    **{time: "s" for _, time in _LATENCIES.values()},
    "sql_statements_total": "",
    "sql_statement_seconds_total": "s",
}

Counters = Mapping[str, float]


def storage(body: str, ours: Collection[str] = ()) -> dict[str, float]:
    """Counters of log, data files and cache from a server's `/metrics`, as far as it has them; some
    also of all databases but `ours`, if named. ValueError if the body has another form."""
    totals = {f"{OTHERS}{name}": 0.0 for name in _SHARED if ours}
    for entity in _entities(body):
        if entity.get("type") not in _ENTITIES:
            continue
        database = str((entity.get("attributes") or {}).get("namespace_name", "system"))
        is_others = ours and database not in ours and not database.startswith(_SYSTEM)
        is_server = entity.get("type") == "server"
        for metric in entity.get("metrics", ()):
            if is_server != str(metric.get("name", "")).startswith(_NAMES["of_server"]):
                continue
            for name, value in _readings(metric):
                totals[name] = totals.get(name, 0.0) + value
                if is_others and name in _SHARED:
                    totals[f"{OTHERS}{name}"] += value
    return totals


def statements(body: str) -> dict[str, float]:
    """Number of statements, and their seconds in the server, from YSQL's `/metrics`."""
    kinds = ("SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt", "OtherStmts")
    timers = [
        metric
        for entity in _entities(body)
        for metric in entity.get("metrics", ())
        if str(metric.get("name", "")).endswith(
            tuple(f"_SQLProcessor_{kind}" for kind in kinds)
        )
    ]
    if not timers:
        return {}
    return {
        "sql_statements_total": sum(float(timer.get("count", 0)) for timer in timers),
        "sql_statement_seconds_total": sum(
            float(timer.get("sum", 0)) for timer in timers
        )
        * _MICRO,
    }


def _entities(body: str) -> list[dict[str, Any]]:
    content = json.loads(body)
    if not isinstance(content, list):
        raise ValueError("the metrics are not a list of entities")
    return [entity for entity in content if isinstance(entity, dict)]


def _readings(metric: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    name = str(metric.get("name", ""))
    if name in _LATENCIES and "total_count" in metric:
        number, time = _LATENCIES[name]
        yield number, float(metric["total_count"])
        yield time, float(metric.get("total_sum", 0)) * _MICRO
    value = metric.get("value")
    if (
        name in _VALUES
        and isinstance(value, (int, float))
        and not isinstance(value, bool)
    ):
        yield _VALUES[name][0], value * (_MICRO if name.endswith("_micros") else 1.0)


QUIET_S = 15.0  # without a flush or a compaction
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
    urls = sources(nodes, pages.TSERVER)
    texts = at_once.each(lambda url: http_client.get(f"{url}{PATH}"), urls.values())
    return {name: storage(text, ours) for name, text in zip(urls, texts, strict=True)}


def await_quiet(
    nodes: Sequence[Node], world: World, deadline_s: float = _QUIET_DEADLINE_S
) -> None:
    """Waits until no node has flushed or merged anything for `QUIET_S`. RunError past the
    deadline. Counters that stay unreadable are only warned of: they may have another form."""
    last: list[list[float | None]] | None = None
    since_s = read_s = world.clock.monotonic()

    def quiet() -> bool:
        nonlocal last, since_s, read_s
        now_s = world.clock.monotonic()
        try:
            work = [[node.get(name) for name in _WORK] for node in read(nodes).values()]
        except OSError as error:
            last = None
            since_s = now_s
            if now_s - read_s < _UNREADABLE_S:
                return False
            world.progress.warn(
                f"whether files are still merged could not be read: {error}"
            )
            return True
        read_s = now_s
        if work != last:
            last = work
            since_s = now_s
        return now_s - since_s >= QUIET_S

    if not clock.wait_until(
        quiet, deadline_s=deadline_s, clock=world.clock, every_s=POLL_S
    ):
        raise RunError(
            "YugabyteDB was still flushing or merging files after "
            f"{deadline_s / 60:g} minutes",
            advice="the tier may be too slow for this data set at this size",
        )


def since(begun: ByNode, now: ByNode) -> dict[str, Any]:
    """What all nodes did between two readings. Reads of data files are `sst_read_s`: as those for
    merging are among them, they do not tell how long sessions waited."""
    total: dict[str, float] = {}
    for node, after in now.items():
        before = begun.get(node, {})
        for counter, value in after.items():
            # One that is new has no growth yet, and one that fell was reset.
            if counter.endswith("_total") and value >= before.get(counter, math.inf):
                name = _fact(counter)
                total[name] = total.get(name, 0.0) + (value - before[counter])
    hits = total.get("block_cache_hits", 0.0)
    misses = total.get("block_cache_misses", 0.0)
    return {
        **total,
        WAL_SYNC_AVG_S: _ratio(total.get(WAL_SYNC_S), total.get(WAL_SYNCS)),
        WAL_NODES: len(now),
        "wal_append_avg_s": _ratio(total.get("wal_append_s"), total.get("wal_appends")),
        "block_cache_hit_ratio": _ratio(hits, hits + misses),
    }


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
