"""Rates of loading seen on this machine: a small file in the cache, from which later estimates
learn. A damaged or missing file is none; nothing that fails here ends a campaign."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orchestrator.model import Profile, Workload
from orchestrator.planning.durations import Rate, data_bytes, rate_name
from orchestrator.powers import World
from orchestrator.system import store

_FILE, _KEPT = "load-rates.json", 20
_ROOM = 1.5  # beyond what was seen: other sizes, other neighbours


def learnt(cache: Path) -> dict[str, Rate]:
    """By `rate_name`."""
    rates = {}
    for name, seen in _read(cache).items():
        each = [one["bytes_per_s"] for one in seen]
        day = datetime.fromtimestamp(max(one["time_s"] for one in seen), UTC).date().isoformat()
        rates[name] = Rate(max(each) * _ROOM, min(each) / _ROOM, f"measured here, last on {day}")
    return rates


def note_load(profile: Profile, workload: Workload, took_s: float, world: World) -> None:
    """Keeps the rate of a load that is complete."""
    loaded = data_bytes(workload)
    if not loaded or took_s <= 0:
        return
    known, now_s = _read(world.cache), world.clock.now()
    name = rate_name(profile.cluster.database, workload.dataset.family)
    seen = [*known.get(name, []), {"bytes_per_s": loaded / took_s, "time_s": now_s}]
    with suppress(OSError):
        store.write_json(world.cache / _FILE, {**known, name: seen[-_KEPT:]})


def _read(cache: Path) -> dict[str, list[dict[str, float]]]:
    try:
        content = json.loads((cache / _FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict):
        return {}
    found = {
        name: [one for one in seen if _is_rate(one)]
        for name, seen in content.items()
        if isinstance(seen, list)
    }
    return {name: seen for name, seen in found.items() if seen}


def _is_rate(one: Any) -> bool:
    if not isinstance(one, dict):
        return False
    values = [one.get(key) for key in ("bytes_per_s", "time_s")]
    return all(
        isinstance(each, (int, float)) and math.isfinite(each) and 0 < each < 1e12
        for each in values
    )
