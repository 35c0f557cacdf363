"""The tables that a disk's server draws latencies from: how they reach it, and that it has them.

The server reads them when it starts, from files that are mounted for it.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.errors import GateError
from orchestrator.powers import Mount, World
from orchestrator.tier import LatencyModel, Quantiles

_INSIDE = "/latencies"
OPTIONS = tuple(
    part for way in ("read", "write") for part in (f"--{way}-quantiles", f"{_INSIDE}/{way}")
)


def written(disk: str, latency: LatencyModel, world: World) -> Mount:
    """Writes what the container `disk` draws from, as lines "probability latency_us"; returns them
    as its mount."""
    folder = _folder(disk, world)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "read").write_text(text(latency.read))
    (folder / "write").write_text(text(latency.write))
    return Mount(str(folder.resolve()), _INSIDE, read_only=True)


def remove(disk: str, world: World) -> None:
    """Removes what `written` has left, if anything. The server reads it once."""
    shutil.rmtree(_folder(disk, world), ignore_errors=True)


def _folder(disk: str, world: World) -> Path:
    return world.cache / "latencies" / disk


def text(table: Quantiles) -> str:
    """A table of quantiles as the server reads it."""
    return "".join(f"{p!r} {latency_s * 1e6:.3f}\n" for p, latency_s in table)


def check(latency: LatencyModel | None, ready: Mapping[str, Any]) -> None:
    """GateError if the running server draws from other tables than these."""
    points = [len(latency.read), len(latency.write)] if latency else [0, 0]
    reported = ready.get("latency_table_points") or [0, 0]
    if [int(count or 0) for count in reported] != points:
        raise GateError(
            f"the emulated disk draws latencies from tables of {reported} points, expected {points}"
        )


def seed_of(disk: str, world: World) -> int:
    """The seed of what a disk draws: another for each disk, the same in the same repetition."""
    name = f"{world.seed}/{disk}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6])
