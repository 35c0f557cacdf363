"""How long parts of campaigns took on this machine: a small file in the cache, from which later
estimates learn. A damaged or missing file is none; nothing that fails here ends a campaign."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from orchestrator.planning.paces import Pace, Span
from orchestrator.powers import World
from orchestrator.system import files

_FILE = "durations.json"
_KEPT = 20
# Beyond what was seen: other sizes, other neighbours.
_ROOM = 1.5
# Amounts are left out that are so many times less than the most seen. Their time is mostly the
# start.
_MUCH = 4
_Number = Annotated[float, Field(gt=0, lt=1e15)]


@dataclass(frozen=True)
class _Seen:
    """So many bytes, or so many times of one thing; how long they took, and when (Unix time)."""

    amount: _Number
    took_s: _Number
    time_s: _Number


_CONTENT = TypeAdapter(dict[str, Annotated[list[_Seen], Field(min_length=1)]])


def learnt_paces(cache: Path) -> dict[str, Pace]:
    """The paces that were learnt, by `paces.kept_as`."""
    paces: dict[str, Pace] = {}
    for name, times in _read(cache).items():
        most = max(seen.amount for seen in times)
        last_s = max(seen.time_s for seen in times)
        source = f"measured here, last on {_day(last_s)}"
        paces[name] = Pace(_span(times, most), source, most)
    return paces


def _span(times: Sequence[_Seen], most: float) -> Span:
    """How long one byte, or one time, takes at least and at most."""
    # Small amounts are left out. They are mostly a start, and would make an hour's plan look like
    # ten.
    alike = [seen for seen in times if seen.amount >= most / _MUCH]
    one_s = [seen.took_s / seen.amount for seen in alike]
    return Span(min(one_s) / _ROOM, max(one_s) * _ROOM)


def _day(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).date().isoformat()


def keep(name: str, took_s: float, world: World, amount: float | None = 1.0) -> None:
    """Keeps how long so many bytes took, or so many times of one thing."""
    if not amount or took_s <= 0:
        return
    content = _read(world.cache)
    now = _Seen(amount, took_s, world.clock.now())
    times = [*content.get(name, []), now]
    content[name] = times[-_KEPT:]
    with suppress(OSError):
        files.make_folder(world.cache)
        files.write_json(world.cache / _FILE, _CONTENT.dump_python(content))


def _read(cache: Path) -> dict[str, list[_Seen]]:
    with suppress(OSError, ValueError):
        return _CONTENT.validate_json((cache / _FILE).read_bytes())
    return {}
