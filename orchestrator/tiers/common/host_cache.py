"""Whether reads come from a cache in front of the disk, such as a cloud host's.

A guest does not see such a cache, and direct I/O does not pass it by. But a region that was just
read comes from it faster than the disk's own cap allows: a second pass over the same region tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.model import Volume
from orchestrator.powers import World
from orchestrator.tier import Tier
from orchestrator.tiers.common import expected, fio_jobs, truth_gate

NOT_TRIED: Mapping[str, Any] = {"host_cache": "not tried"}
_BLOCK_BYTES = 262_144
_REGION = "256m"


def seen(tier: Tier, volume: Volume, world: World) -> Mapping[str, Any]:
    """The fact `host_cache`: "shows", "does not show", or "not tried" without a declared cap; with
    the rates of both passes. GateError if fio cannot run."""
    cap = expected.cap_per_s(expected.at_peak(tier) or tier, _BLOCK_BYTES)
    if cap is None:
        return NOT_TRIED
    world.progress.step(f"truth gate of {tier.name}: the same region read twice")
    with fio_jobs.fio_on(volume, world) as fio:
        passes = fio.run("reread", {"SIZE": _REGION})
    first, second = (fio_jobs.bytes_per_s(one) for one in passes)
    most = cap * _BLOCK_BYTES * (1 + truth_gate.RATE_TOLERANCE_PCT / 100)
    word = "shows" if second > most else "does not show"
    return {"host_cache": word, "reread_bytes_per_s": [round(first), round(second)]}
