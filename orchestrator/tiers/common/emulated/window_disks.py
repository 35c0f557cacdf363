"""Disks that servers of ours play, while a run is measured: burst credit at the window's begin, and
their counters at its begin and end."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from orchestrator.errors import TierbenchError
from orchestrator.model import Node, Volume
from orchestrator.powers import World
from orchestrator.tier import Emulated, Tier
from orchestrator.tiers.common.emulated import disk_server, host_load

_CREDITS = ("iops_credit", "bytes_credit")


def of_run(tier: Tier, volumes: Sequence[Volume], world: World) -> list["WindowDisk"]:
    """Those of `volumes` that a server of ours plays."""
    credit_pct = _credit_pct(tier)
    disks: list[WindowDisk] = []
    for volume in volumes:
        if volume.server is not None:
            disks.append(WindowDisk(volume, volume.server, credit_pct, world))
    return disks


def _credit_pct(tier: Tier) -> float | None:
    """The burst credit with which a window begins; a bucket that starts empty is not filled."""
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
    """`credit_pct`: the burst credit with which a window begins, % of a full bucket. `name`,
    `begin`, `end` and `facts` as of `parts.ServedDisk`: the server's own name, the counters `begin`
    and `end`, and over the window `late_s`, `over_pct`, of reads and writes what
    `host_load.counted_apart` says, and `overhead` (`host_load.overheads`)."""

    volume: Volume
    server: Node
    credit_pct: float | None
    world: World
    begun: list[_ReadAt] = field(default_factory=list)
    ended: list[_ReadAt] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.server.name

    def begin(self) -> None:
        self.begun.append(self._read())

    def begin_window(self) -> None:
        """What cannot be set stays as the begin's figures say."""
        if self.credit_pct is not None:
            with suppress(TierbenchError):
                limits = {"burst_start": self.credit_pct}
                disk_server.change(self.server.container or "", limits, self.world)
                self.more["credit_set_pct"] = self.credit_pct
        self.begun.append(self._read())

    def end(self) -> None:
        if not self.ended:
            self.ended.append(self._read())

    def _read(self) -> _ReadAt:
        reading = host_load.read(self.volume, self.world)
        return _ReadAt(self.world.clock.now(), reading)

    def facts(self) -> dict[str, Any]:
        if not self.begun or not self.ended:
            return {}
        first = self.begun[-1]
        last = self.ended[0]
        before = first.reading
        after = last.reading
        facts: dict[str, Any] = dict(host_load.since(before, after))
        facts.pop("host_cpu_pct", None)
        groups: dict[str, Mapping[str, Any]] = {
            **host_load.counted_apart(before, after),
            "overhead": host_load.overheads(before, after),
            "begin": _shown(first),
            "end": _shown(last),
        }
        for name, group in groups.items():
            if group:
                facts[name] = group
        if not facts:
            return {}
        return {**facts, **self.more}


def _shown(read_at: _ReadAt) -> dict[str, Any]:
    """The server's own counters, credit in % of a full bucket."""
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
