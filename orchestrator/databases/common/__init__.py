"""Code that several databases share."""

from collections.abc import Mapping

from orchestrator.facts import WAL_NODES, WAL_SYNC_AVG_S, WAL_SYNC_S, WAL_SYNCS


def with_quotients(counted: Mapping[str, float]) -> dict[str, float | None]:
    """What a server counted, with what follows: None where a part was not counted."""
    # A block that the server had to ask the system for may have come from the page cache.
    hits = counted.get("blks_hit", 0)
    blocks = hits + counted.get("blks_read", 0)
    hit_ratio = None
    if blocks:
        hit_ratio = counted["blks_hit"] / blocks
    syncs = counted.get(WAL_SYNCS)
    synced_s = counted.get(WAL_SYNC_S)
    sync_s = None
    if syncs and synced_s is not None:
        sync_s = synced_s / syncs
    return {
        **counted,
        "buffer_hit_ratio": hit_ratio,
        WAL_SYNC_AVG_S: sync_s,
        WAL_NODES: 1,  # the primary's log; standbys count their own
    }
