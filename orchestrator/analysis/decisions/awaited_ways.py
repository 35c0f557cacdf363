"""In which direction a tier's sessions wait for its disk: the latency of the other decides nothing.
Pure.
"""

from collections.abc import Mapping

from orchestrator.tier import WAYS, Way

# Share of sessions' time below which nobody waits for that.
_NOTHING_PCT = 5.0
# What tells of each direction: the database's own count, and how sessions were seen.
_WAITS: Mapping[Way, tuple[str, ...]] = {
    "read": ("sessions_reading_pct", "seen_reading_pct"),
    "write": ("log_syncing_pct", "seen_syncing_pct", "wal_disk_syncing_pct"),
}


def awaited_ways(evidence: Mapping[str, float]) -> tuple[Way, ...]:
    """The directions for which sessions may wait, as far as the evidence of a bottleneck tells.

    A direction is left out only if it is known that sessions hardly ever wait for it.
    """
    awaited: list[Way] = []
    for way in WAYS:
        waits_pct = [evidence[name] for name in _WAITS[way] if name in evidence]
        # A wait that nobody counted is not taken for none. The highest of several counts is the
        # safe one.
        if not waits_pct or max(waits_pct) >= _NOTHING_PCT:
            awaited.append(way)
    return tuple(awaited)
