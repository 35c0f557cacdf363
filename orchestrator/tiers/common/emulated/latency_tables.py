"""The tables that a disk's server draws latencies from: how they reach it, and that it has them.

The server reads them when it starts, from files that its container is given.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from orchestrator.errors import GateError
from orchestrator.powers import World
from orchestrator.tier import LatencyModel, Quantiles

_INSIDE = "/latencies"
OPTIONS = tuple(
    part for way in ("read", "write") for part in (f"--{way}-quantiles", f"{_INSIDE}/{way}")
)


def files(latency: LatencyModel) -> dict[str, dict[str, bytes]]:
    """The folder of a server that draws from them: path → name → content."""
    return {_INSIDE: {"read": text(latency.read).encode(), "write": text(latency.write).encode()}}


def text(table: Quantiles) -> str:
    """A table of quantiles as the server reads it: lines "probability latency_us"."""
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
