"""The storage engine: is it idle, and what has it done since measuring began.

A loaded table goes on working: memory tables are flushed, files are merged. A run that starts in
the middle of that measures the load's remains, so loading ends only when the disk is quiet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.databases.common.yugabyte import counters, pages
from orchestrator.errors import RunError
from orchestrator.facts import WAL_NODES, WAL_SYNC_AVG_S, WAL_SYNC_S, WAL_SYNCS
from orchestrator.model import Node, sources
from orchestrator.powers import World
from orchestrator.system import http_client
from orchestrator.system.clock import wait_until

QUIET_S = 15.0  # without a flush or a compaction
POLL_S = 3.0
_REST_S = 3 * 3600.0
_WORK = ("flush_written_bytes_total", "compaction_written_bytes_total")

ByNode = Mapping[str, counters.Counters]


def read(nodes: Sequence[Node]) -> dict[str, dict[str, float]]:
    """Each tablet server's counters. OSError where one does not answer."""
    servers = sources(nodes, pages.TSERVER)
    return {
        name: counters.storage(http_client.get(f"{url}{counters.PATH}"))
        for name, url in servers.items()
    }


def rest(nodes: Sequence[Node], world: World, deadline_s: float = _REST_S) -> None:
    """Returns when no node has flushed or merged anything for `QUIET_S`. RunError past that."""
    seen: dict[str, Any] = {"work": None, "since_s": world.clock.monotonic()}

    def quiet() -> bool:
        try:
            work = [[node.get(name) for name in _WORK] for node in read(nodes).values()]
        except (OSError, ValueError):
            work = None
        now_s = world.clock.monotonic()
        if work is None or work != seen["work"]:
            seen.update(work=work, since_s=now_s)
        return now_s - float(seen["since_s"]) >= QUIET_S

    if not wait_until(quiet, deadline_s=deadline_s, clock=world.clock, every_s=POLL_S):
        raise RunError(
            f"YugabyteDB was still flushing or merging files after {deadline_s / 60:g} minutes",
            advice="the tier may be too slow for this data set at this size",
        )


def since(begun: ByNode, now: ByNode) -> dict[str, Any]:
    """What all nodes did between two readings: bytes, and what one sync of the log took.

    Reads of data files stay under a name of their own, `sst_read_s`: anybody's are in it, also
    those of merging, so they do not say what sessions waited for.
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
