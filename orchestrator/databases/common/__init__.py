"""Code that several databases share."""

from collections.abc import Mapping

from orchestrator.facts import WAL_NODES, WAL_SYNC_AVG_S, WAL_SYNC_S, WAL_SYNCS


def with_quotients(counted: Mapping[str, float]) -> dict[str, float | None]:
    """What a server counted, with what follows: None where a part was not counted."""
    blocks = counted.get("blks_hit", 0) + counted.get("blks_read", 0)
    syncs = counted.get(WAL_SYNCS)
    synced_s = counted.get(WAL_SYNC_S)
    return {
        **counted,
        "buffer_hit_ratio": counted["blks_hit"] / blocks if blocks else None,
        WAL_SYNC_AVG_S: synced_s / syncs if syncs and synced_s is not None else None,
        WAL_NODES: 1,  # the primary's log; standbys count their own
    }
