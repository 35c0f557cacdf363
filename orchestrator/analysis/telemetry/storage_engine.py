"""What YugabyteDB's servers did with their log and data files over a window, from samples. Pure.

Other databases' servers are not sampled, so they have none of these figures. Counters as
`yugabyte/counters.py` writes them: sums over a node's tablets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.analysis.telemetry.counters import Growth, summed
from orchestrator.metrics import measured
from orchestrator.model import Measurement, Node

_COUNTED = {  # metric → the counter whose growth per second it is
    "wal_syncs_per_s": "wal_syncs_total",
    "wal_bytes_per_s": "wal_bytes_total",
    "flush_bytes_per_s": "flush_written_bytes_total",
    "compaction_read_bytes_per_s": "compaction_read_bytes_total",
    "compaction_write_bytes_per_s": "compaction_written_bytes_total",
}
_TIMED = {  # metric → the counters of the time and of the number that it is the mean of
    "wal_sync_avg_s": ("wal_sync_seconds_total", "wal_syncs_total"),
    "wal_append_avg_s": ("wal_append_seconds_total", "wal_appends_total"),
}
_HITS, _MISSES = "block_cache_hits_total", "block_cache_misses_total"
_STALLED = "write_stall_seconds_total"
COUNTERS = frozenset(
    {*_COUNTED.values(), *(name for pair in _TIMED.values() for name in pair)}
    | {_HITS, _MISSES, _STALLED}
)


def telemetry(nodes: Sequence[Node], growth: Growth) -> Iterator[Measurement]:
    """The figures of each node, and of all together if every node has the counter."""
    counted = {name: (name,) for name in COUNTERS}
    grown = {node.name: growth.of(node.name, counted) for node in nodes if node.role == "database"}
    for name, values in grown.items():
        yield from _figures(values, name, nodes=1)
    yield from _figures(summed(list(grown.values())), "all", nodes=len(grown))


def _figures(values: Mapping[str, float], scope: str, nodes: int) -> Iterator[Measurement]:
    for metric, counter in _COUNTED.items():
        if counter in values:
            yield measured(metric, values[counter], scope)
    for metric, (time, number) in _TIMED.items():
        if time in values and values.get(number):
            yield measured(metric, values[time] / values[number], scope)
    lookups = values.get(_HITS, 0.0) + values.get(_MISSES, 0.0)
    if _HITS in values and _MISSES in values and lookups > 0:
        yield measured("block_cache_hit_pct", 100 * values[_HITS] / lookups, scope)
    if _STALLED in values:
        yield measured("write_stall_pct", 100 * values[_STALLED] / nodes, scope)
