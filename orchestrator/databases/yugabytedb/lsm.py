"""The storage engine: is it at rest, and what has it done since measuring began.

A loaded table goes on working: memory tables are flushed, files are merged. A run that starts in
the middle of that measures the load's remains, so loading ends only when the disk is quiet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator import web
from orchestrator.clock import wait_until
from orchestrator.databases.yugabytedb import counters, pages
from orchestrator.errors import RunError
from orchestrator.model import Node, sources
from orchestrator.protocols import World

QUIET_S = 15.0  # without a flush or a compaction
POLL_S = 3.0
_REST_S = 3 * 3600.0
_WORK = ("flush_written_bytes_total", "compaction_written_bytes_total")

ByNode = Mapping[str, counters.Counters]


def read(nodes: Sequence[Node]) -> dict[str, dict[str, float]]:
    """Each tablet server's counters. OSError where one does not answer."""
    servers = sources(nodes, pages.TSERVER)
    return {
        name: counters.storage(web.get(f"{url}{counters.PATH}")) for name, url in servers.items()
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
    """What all nodes did between two readings: bytes, and what one sync of the log took."""
    total: dict[str, float] = {}
    for node, after in now.items():
        for name, value in counters.growth(begun.get(node, {}), after).items():
            total[name.removesuffix("_total")] = total.get(name.removesuffix("_total"), 0.0) + value
    hits, misses = total.get("block_cache_hits", 0.0), total.get("block_cache_misses", 0.0)
    return {
        **total,
        "wal_sync_avg_s": _ratio(total.get("wal_sync_seconds"), total.get("wal_syncs")),
        "wal_append_avg_s": _ratio(total.get("wal_append_seconds"), total.get("wal_appends")),
        "block_cache_hit_ratio": _ratio(hits, hits + misses),
    }


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None
