"""Emulated disks while a run is measured.

When the window begins, their burst credit is set. Their servers' counters are read at its begin and
at its end.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from orchestrator.errors import TierbenchError
from orchestrator.model import Node, Volume
from orchestrator.powers import World
from orchestrator.tier import Emulated, Tier
from orchestrator.tiers.common.emulated import disk_server, host_load

_CREDITS = ("iops_credit", "bytes_credit")


def of_run(tier: Tier, volumes: Sequence[Volume], world: World) -> list["WindowDisk"]:
    """The disks of those `volumes` that a disk server of ours emulates."""
    credit_pct = _credit_pct(tier)
    disks: list[WindowDisk] = []
    for volume in volumes:
        if volume.server is not None:
            disks.append(WindowDisk(volume, volume.server, credit_pct, world))
    return disks


def _credit_pct(tier: Tier) -> float | None:
    """The burst credit with which a window begins, % of a full bucket.

    None if none is set: the tier has no burst, or its bucket starts empty.
    """
    burst = tier.limits.burst
    if not isinstance(tier.disk, Emulated) or not burst or burst.start_pct <= 0:
        return None
    return burst.start_pct


class _ReadAt(NamedTuple):
    """Counters, and the moment at which they were read."""

    time_s: float
    reading: host_load.Reading


@dataclass
class WindowDisk:
    """An emulated disk during a measured window: a `parts.ServedDisk`.

    `credit_pct`: the burst credit with which a window begins, % of a full bucket. None: as it is.
    `first`: the counters when the window began, or when the load began if it has not said when its
    window does. `last`: the counters when the window ended. `credit_set_pct`: the burst credit that
    was set; None if it was not or could not be.
    """

    volume: Volume
    server: Node
    credit_pct: float | None
    world: World
    first: _ReadAt | None = None
    last: _ReadAt | None = None
    credit_set_pct: float | None = None

    @property
    def name(self) -> str:
        return self.server.name

    def begin(self) -> None:
        self.first = self._read()

    def begin_window(self) -> None:
        # Credit that cannot be set stays as it was: the counters at the begin then show how much.
        if self.credit_pct is not None:
            with suppress(TierbenchError):
                limits = {"burst_start": self.credit_pct}
                disk_server.change(self.server.container or "", limits, self.world)
                self.credit_set_pct = self.credit_pct
        self.first = self._read()

    def end(self) -> None:
        if self.last is None:
            self.last = self._read()

    def _read(self) -> _ReadAt:
        reading = host_load.read(self.volume, self.world)
        return _ReadAt(self.world.clock.now(), reading)

    def facts(self) -> dict[str, Any]:
        """What both readings say of the window; empty if nothing could be read.

        These are `late_s` and `over_pct` over the window, what
        `host_load.counted_apart` says of reads and of writes, `overhead` (`host_load.overheads`),
        and the counters themselves at the `begin` and the `end`.
        """
        if self.first is None or self.last is None:
            return {}
        before = self.first.reading
        after = self.last.reading
        facts: dict[str, Any] = dict(host_load.since(before, after))
        facts.pop("host_cpu_pct", None)
        groups: dict[str, Mapping[str, Any]] = {
            **host_load.counted_apart(before, after),
            "overhead": host_load.overheads(before, after),
            "begin": _shown(self.first),
            "end": _shown(self.last),
        }
        for name, group in groups.items():
            if group:
                facts[name] = group
        if not facts:
            return {}
        if self.credit_set_pct is not None:
            facts["credit_set_pct"] = self.credit_set_pct
        return facts


def _shown(read_at: _ReadAt) -> dict[str, Any]:
    """The server's counters at that moment, with credit in % of a full bucket."""
    counters: Mapping[str, Any] = read_at.reading.disk
    if not counters:
        return {}
    shown: dict[str, Any] = {"time_s": read_at.time_s}
    for name, value in counters.items():
        if name not in (*_CREDITS, "time_s"):
            shown[name] = value
    for name in _CREDITS:
        if counters.get(name) is not None:
            shown[f"{name}_pct"] = 100 * counters[name]
    return shown
