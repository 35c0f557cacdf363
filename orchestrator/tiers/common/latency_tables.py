"""The tables that a disk's server draws latencies from: how they reach it, and that it has them.

The server reads them when it starts, from files beside the disk's own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.errors import GateError
from orchestrator.powers import World
from orchestrator.tier import LatencyModel, Quantiles


def written(file: Path, latency: LatencyModel | None) -> dict[str, Path]:
    """Writes what the server of `file` draws from beside it, as lines "probability latency_us"."""
    if latency is None:
        return {}
    tables = files(file)
    tables["read"].write_text(text(latency.read))
    tables["write"].write_text(text(latency.write))
    return tables


def files(file: Path) -> dict[str, Path]:
    """Where the tables of the disk `file` are while its server starts: "read" and "write"."""
    return {way: file.with_name(f"{file.stem}.{way}-quantiles") for way in ("read", "write")}


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
