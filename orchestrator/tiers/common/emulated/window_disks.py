"""Emulated disks while a run is measured.

When the window begins, their burst credit is set. Their servers' counters are read at its begin and
at its end.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from orchestrator.errors import TierbenchError
from orchestrator.model import Node, Volume
from orchestrator.powers import World
from orchestrator.tier import Tier
from orchestrator.tiers.common.any_disk import log_disks
from orchestrator.tiers.common.emulated import host_load, running_disks

_CREDITS = ("iops_credit", "bytes_credit")


def of_run(tier: Tier, volumes: Sequence[Volume], world: World) -> list["WindowDisk"]:
    """The disks of those `volumes` that a disk server of ours emulates, and those of their WAL."""
    disks: list[WindowDisk] = []
    for volume in volumes:
        if volume.server is not None:
            credit_pct = _credit_pct(tier)
            disks.append(WindowDisk(volume, volume.server, credit_pct, world))
        if volume.wal_server is not None and tier.wal is not None:
            credit_pct = _credit_pct(tier.wal)
            log = log_disks.log_of(volume)
            disks.append(WindowDisk(log, volume.wal_server, credit_pct, world))
    return disks


def _credit_pct(tier: Tier) -> float | None:
    """The burst credit with which a window begins, % of a full bucket.

    None if none is set: the tier has no burst, or its bucket starts empty.
    """
    burst = tier.limits.burst
    # A bucket that starts empty is kept empty by the server, which then knows no burst to set.
    if not tier.disk.holds_limits or not burst or burst.start_pct <= 0:
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
    `readings`: the counters at the "begin" and at the "end" of the window. Until the window begins,
    "begin" has them as of the begin of the load. `credit_set`: "credit_set_pct" → the burst credit
    that was set; empty if it was not or could not be.
    """

    volume: Volume
    server: Node
    credit_pct: float | None
    world: World
    readings: dict[Literal["begin", "end"], _ReadAt] = field(default_factory=dict)
    credit_set: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.server.name

    def begin(self) -> None:
        self.readings["begin"] = self._read()

    def begin_window(self) -> None:
        # Credit that cannot be set stays as it was: the counters at the begin then show how much.
        if self.credit_pct is not None:
            with suppress(TierbenchError):
                limits = {"burst_start": self.credit_pct}
                running_disks.change(self.server.container or "", limits, self.world)
                self.credit_set["credit_set_pct"] = self.credit_pct
        self.readings["begin"] = self._read()

    def end(self) -> None:
        # Whoever stops a run calls this again: the first call was at the end of the window.
        if "end" not in self.readings:
            self.readings["end"] = self._read()

    def _read(self) -> _ReadAt:
        reading = host_load.read(self.volume, self.world)
        return _ReadAt(self.world.clock.now(), reading)

    def facts(self) -> dict[str, Any]:
        """What both readings say of the window; empty if nothing could be read.

        These are `late_s` and `over_pct` over the window, what `host_load.counted_apart` says of
        reads and of writes, `overhead` (`host_load.overheads`), and the counters at the `begin` and
        the `end`.
        """
        begin = self.readings.get("begin")
        end = self.readings.get("end")
        if begin is None or end is None:
            return {}
        before = begin.reading
        after = end.reading
        facts: dict[str, Any] = dict(host_load.since(before, after))
        # The machine's load in the window is in its telemetry, second by second.
        facts.pop("host_cpu_pct", None)
        groups: dict[str, Mapping[str, Any]] = {
            **host_load.counted_apart(before, after),
            "overhead": host_load.overheads(before, after),
            "begin": _shown(begin),
            "end": _shown(end),
        }
        for name, group in groups.items():
            if group:
                facts[name] = group
        if not facts:
            return {}  # credit alone says nothing of what the disk did
        return {**facts, **self.credit_set}


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
            # The server says a share of 1, and nothing where the tier has no burst.
            shown[f"{name}_pct"] = 100 * counters[name]
    return shown
