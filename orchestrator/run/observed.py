"""How long parts of campaigns took on this machine: a small file in the cache, from which later
estimates learn. A damaged or missing file is none; nothing that fails here ends a campaign."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orchestrator.planning.durations import Pace, Span
from orchestrator.powers import World
from orchestrator.system import store

_FILE, _KEPT = "durations.json", 20
_ROOM = 1.5  # beyond what was seen: other sizes, other neighbours


def learnt(cache: Path) -> dict[str, Pace]:
    """By `durations.kept_as`."""
    paces = {}
    for name, seen in _read(cache).items():
        each = [one["took_s"] / one["amount"] for one in seen]
        day = datetime.fromtimestamp(max(one["time_s"] for one in seen), UTC).date().isoformat()
        span = Span(min(each) / _ROOM, max(each) * _ROOM)
        largest = max(one["amount"] for one in seen)
        paces[name] = Pace(span, f"measured here, last on {day}", largest)
    return paces


def note(name: str, took_s: float, world: World, amount: float | None = 1.0) -> None:
    """Keeps how long so many bytes took, or so many times of one thing."""
    if not amount or took_s <= 0:
        return
    known = _read(world.cache)
    one = {"amount": amount, "took_s": took_s, "time_s": world.clock.now()}
    with suppress(OSError):
        world.cache.mkdir(parents=True, exist_ok=True)
        content = {**known, name: [*known.get(name, []), one][-_KEPT:]}
        store.write_json(world.cache / _FILE, content)


def _read(cache: Path) -> dict[str, list[dict[str, float]]]:
    try:
        content = json.loads((cache / _FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict):
        return {}
    found = {
        name: [one for one in seen if _is_seen(one)]
        for name, seen in content.items()
        if isinstance(seen, list)
    }
    return {name: seen for name, seen in found.items() if seen}


def _is_seen(one: Any) -> bool:
    if not isinstance(one, dict):
        return False
    values = [one.get(key) for key in ("amount", "took_s", "time_s")]
    return all(
        isinstance(each, (int, float)) and math.isfinite(each) and 0 < each < 1e15
        for each in values
    )
