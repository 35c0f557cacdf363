"""The storage engine: whether it is idle, and what it did since measuring began.

After a load it goes on: memory tables are flushed, files are merged. A run that began meanwhile
would measure that as well, so loading ends only when the disk is quiet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.errors import RunError
from orchestrator.facts import WAL_NODES, WAL_SYNC_AVG_S, WAL_SYNC_S, WAL_SYNCS
from orchestrator.model import Node, sources
from orchestrator.powers import World
from orchestrator.system import at_once, http_client
from orchestrator.system.clock import wait_until
from orchestrator.yugabyte import counters, pages

QUIET_S = 15.0  # without a flush or a compaction
POLL_S = 3.0
_UNREADABLE_S = 60.0
_QUIET_DEADLINE_S = 3 * 3600.0
_WORK = ("flush_written_bytes_total", "compaction_written_bytes_total")

ByNode = Mapping[str, counters.Counters]


def read(nodes: Sequence[Node]) -> dict[str, dict[str, float]]:
    """Node → its tablet server's counters. OSError if one does not answer."""
    urls = sources(nodes, pages.TSERVER)
    texts = at_once.each(lambda url: http_client.get(f"{url}{counters.PATH}"), urls.values())
    return {name: counters.storage(text) for name, text in zip(urls, texts, strict=True)}


def await_quiet(nodes: Sequence[Node], world: World, deadline_s: float = _QUIET_DEADLINE_S) -> None:
    """Waits until no node has flushed or merged anything for `QUIET_S`. RunError past the
    deadline. Counters that stay unreadable are only warned of: they may have another form."""
    last: list[list[float | None]] | None = None
    since_s = read_s = world.clock.monotonic()

    def quiet() -> bool:
        nonlocal last, since_s, read_s
        now_s = world.clock.monotonic()
        try:
            work = [[node.get(name) for name in _WORK] for node in read(nodes).values()]
        except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
            last, since_s = None, now_s
            if now_s - read_s < _UNREADABLE_S:
                return False
            world.progress.warn(f"whether files are still merged could not be read: {error}")
            return True
        read_s = now_s
        if work != last:
            last, since_s = work, now_s
        return now_s - since_s >= QUIET_S

    if not wait_until(quiet, deadline_s=deadline_s, clock=world.clock, every_s=POLL_S):
        raise RunError(
            f"YugabyteDB was still flushing or merging files after {deadline_s / 60:g} minutes",
            advice="the tier may be too slow for this data set at this size",
        )


def since(begun: ByNode, now: ByNode) -> dict[str, Any]:
    """What all nodes did between two readings: bytes, times, and the time of one sync of the log.

    Reads of data files have a name of their own, `sst_read_s`: reads for merging are among them, so
    they do not tell how long sessions waited.
    """
    total: dict[str, float] = {}
    for node, after in now.items():
        for counter, value in counters.growth(begun.get(node, {}), after).items():
            name = _fact(counter)
            total[name] = total.get(name, 0.0) + value
    hits, misses = total.get("block_cache_hits", 0.0), total.get("block_cache_misses", 0.0)
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
    return f"{name.removesuffix('_seconds')}_s" if name.endswith("_seconds") else name


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None
