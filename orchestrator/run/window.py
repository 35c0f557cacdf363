"""A run while it is measured: counters of its emulated disks and of its statements at the begin and
the end of the window, the burst credit at its begin, and whether the clock was set meanwhile.

A load generator says when its window begins (`World.window_begins`) while it works, so a thread
waits for that moment. Reading or setting takes some 0.1 s; when it was done is recorded."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.analysis.doubts import noted
from orchestrator.analysis.figures.statements import grown
from orchestrator.errors import TierbenchError
from orchestrator.model import Cluster, Doubt, Node, Run, Volume
from orchestrator.powers import Clock, World
from orchestrator.run.recording import RunContext
from orchestrator.system import at_once, files
from orchestrator.tier import Emulated, Tier
from orchestrator.tiers.common.emulated import disk_server, host_load

_CREDITS = ("iops_credit", "bytes_credit")
# A clock that is slewed, not set, runs off by at most 500 parts in a million (adjtimex(2)).
CLOCK_STEP_S = 0.5
CLOCK_SLEW = 0.0005
_WAKE_S = 0.05  # how late the program may be when a run ends before its time


@contextmanager
def watched(
    tier: Tier, volumes: Sequence[Volume], measure_s: float | None, world: World
) -> Iterator[tuple[World, dict[str, dict[str, Any]]]]:
    """Yields the world to give to the load generator, and a mapping that is filled at the end. Name
    of each server of ours that plays a disk → its counters `begin` and `end`, and over the window
    `late_s`, `over_pct`, of reads and writes what `host_load.counted_apart` says, and `overhead`
    (`host_load.overheads`). `measure_s`: how long the window lasts; None: to the end of the block.
    If the generator does not say when its window begins, the counters are of the whole block."""
    served: dict[str, dict[str, Any]] = {}
    disks = [_EmulatedDisk(v, v.server, world) for v in volumes if v.server is not None]
    if isinstance(tier.disk, Emulated):
        burst = tier.limits.burst
    else:
        burst = None
    # A bucket that starts empty is not filled.
    credit_pct = None
    if burst and burst.start_pct > 0:
        credit_pct = burst.start_pct

    def follow(time_s: float) -> None:
        if follower.wait_until(time_s):
            at_once.each(lambda disk: disk.begin(credit_pct), disks)
        if measure_s is not None and follower.wait_until(time_s + measure_s):
            at_once.each(_EmulatedDisk.end, disks)

    follower = Follower(world.clock)
    at_once.each(_EmulatedDisk.begin, disks)
    try:
        with followed(follow, "window", follower, world) as telling:
            yield telling, served
    finally:
        at_once.each(_EmulatedDisk.end, [disk for disk in disks if disk.last is None])
    for disk in disks:
        facts = disk.facts()
        if facts:
            served[disk.server.name] = facts


@dataclass
class _EmulatedDisk:
    volume: Volume
    server: Node
    world: World
    first: tuple[float, host_load.Reading] | None = (
        None  # with the moment at which it was read
    )
    last: tuple[float, host_load.Reading] | None = None
    more: dict[str, Any] = field(default_factory=dict)

    def begin(self, credit_pct: float | None = None) -> None:
        """With so much burst credit. What cannot be set stays as the begin's figures say."""
        if credit_pct is not None:
            with suppress(TierbenchError):
                limits = {"burst_start": credit_pct}
                disk_server.change(self.server.container or "", limits, self.world)
                self.more["credit_set_pct"] = credit_pct
        reading = host_load.read(self.volume, self.world)
        self.first = self.world.clock.now(), reading

    def end(self) -> None:
        reading = host_load.read(self.volume, self.world)
        self.last = self.world.clock.now(), reading

    def facts(self) -> dict[str, Any]:
        if self.first is None or self.last is None:
            return {}
        _, before = self.first
        _, after = self.last
        load = host_load.since(before, after)
        load.pop("host_cpu_pct", None)
        groups: dict[str, Mapping[str, Any]] = {
            **host_load.counted_apart(before, after),
            "overhead": host_load.overheads(before, after),
            "begin": _shown(*self.first),
            "end": _shown(*self.last),
        }
        facts = {**load, **{name: group for name, group in groups.items() if group}}
        if facts:
            return {**facts, **self.more}
        return {}


def _shown(time_s: float, reading: host_load.Reading) -> dict[str, Any]:
    """The server's own counters, credit in % of a full bucket."""
    own: Mapping[str, Any] = reading.disk
    if not own:
        return {}
    credits = {
        f"{name}_pct": 100 * own[name] for name in _CREDITS if own.get(name) is not None
    }
    counters = {
        name: value for name, value in own.items() if name not in (*_CREDITS, "time_s")
    }
    return {"time_s": time_s, **counters, **credits}


@dataclass
class Follower:
    """For what follows a window, on a thread of its own, while a load runs."""

    clock: Clock
    stop: threading.Event = field(default_factory=threading.Event)  # the load has ended

    def wait_until(self, time_s: float) -> bool:
        """False if the load ended before."""
        while (left_s := time_s - self.clock.now()) > 0:
            if self.stop.wait(min(left_s, 1.0)):
                return self.clock.now() >= time_s - _WAKE_S
        return True


@contextmanager
def followed(
    follow: Callable[[float], None], name: str, follower: Follower, world: World
) -> Iterator[World]:
    """Yields the world to give to a load generator: `follow` is called, on a thread of its own,
    with the moment at which the window begins, and has ended when the block has."""
    threads: list[threading.Thread] = []

    def begins(time_s: float) -> None:
        world.window_begins(time_s)
        if not threads:  # only the first call counts
            threads.append(
                threading.Thread(target=follow, args=(time_s,), name=name, daemon=True)
            )
            threads[0].start()

    try:
        yield replace(world, window_begins=begins)
    finally:
        follower.stop.set()
        for thread in threads:
            thread.join(timeout=60)


def statements_counted(
    here: RunContext, cluster: Cluster, facts: dict[str, Any], world: World
) -> AbstractContextManager[World]:
    """As `followed`. Servers' counts of statements when the window begins, and at its end, go to
    `raw/statements.json`, what they say, or why there are none, to the facts "statements"."""
    follower = Follower(world.clock)
    times_s = list[float]()
    readings = list[list[Any]]()

    def follow(begin_s: float) -> None:
        try:
            for time_s in (begin_s, begin_s + here.workload.measure_s):
                follower.wait_until(time_s)  # or until the load ends
                times_s.append(world.clock.now())
                readings.append(list(here.parts.statements(cluster)))
        except TierbenchError as error:
            facts["statements"] = {"not_read": error.what.partition(" LINE ")[0]}
            return
        most = grown(*readings)
        if most:
            facts["statements"] = {"window_s": times_s[1] - times_s[0], "most": most}
            content = {"times_s": times_s, "before": readings[0], "after": readings[1]}
            files.write_json(here.raw / "statements.json", content)

    return followed(follow, "statements", follower, world)


@contextmanager
def clock_watched(clock: Clock, run: Run, doubts: list[Doubt]) -> Iterator[None]:
    """Adds a doubt if the clock is set in the block: a window is cut by the time of day."""
    began_s = clock.now()
    began_monotonic_s = clock.monotonic()
    yield
    passed_s = clock.monotonic() - began_monotonic_s
    off_s = clock.now() - began_s - passed_s
    if abs(off_s) > CLOCK_STEP_S + CLOCK_SLEW * passed_s:
        doubts.append(noted.clock_set(run.number, off_s))
