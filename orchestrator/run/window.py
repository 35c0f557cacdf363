"""A run while it is measured: what its emulated disks count, and whether the clock is set."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from orchestrator.analysis.doubts import noted
from orchestrator.model import Doubt, Run
from orchestrator.parts import ServedDisk
from orchestrator.powers import Clock, World
from orchestrator.run.window_followers import Follower, followed
from orchestrator.system import at_once

# A clock that is slewed, not set, runs off by at most 500 parts in a million (adjtimex(2)).
CLOCK_STEP_S = 0.5
CLOCK_SLEW = 0.0005


@contextmanager
def disks_counted(
    disks: Sequence[ServedDisk], measure_s: float | None, world: World
) -> Iterator[tuple[World, dict[str, dict[str, Any]]]]:
    """Yields the world to give to the load generator, and a mapping that is filled at the end.

    The mapping: name of each server of ours that plays one of `disks` → what its counters say of
    the window.

    `measure_s`: how long the window lasts; None: to the end of the block. If the generator
    does not say when its window begins, the counters are of the whole block.
    """
    served: dict[str, dict[str, Any]] = {}

    def follow(time_s: float) -> None:
        if follower.wait_until(time_s):
            at_once.each(_begin_window, disks)
        if measure_s is not None and follower.wait_until(time_s + measure_s):
            at_once.each(_end, disks)

    follower = Follower(world.clock)
    # Should the generator never tell a window, counters are of the whole block.
    at_once.each(_begin, disks)
    try:
        with followed(follow, "window", follower, world) as telling:
            yield telling, served
    finally:
        at_once.each(_end, disks)
    for disk in disks:
        facts = disk.facts()
        if facts:
            served[disk.name] = facts


def _begin(disk: ServedDisk) -> None:
    disk.begin()


def _begin_window(disk: ServedDisk) -> None:
    disk.begin_window()


def _end(disk: ServedDisk) -> None:
    disk.end()


@contextmanager
def clock_watched(clock: Clock, run: Run, doubts: list[Doubt]) -> Iterator[None]:
    """Adds a doubt if the clock is set in the block: a window is cut by the time of day."""
    began_s = clock.now()
    began_monotonic_s = clock.monotonic()
    yield
    passed_s = clock.monotonic() - began_monotonic_s
    off_s = clock.now() - began_s - passed_s
    # The monotonic clock is not set, so what the other gained beside it was set or slewed.
    if abs(off_s) > CLOCK_STEP_S + CLOCK_SLEW * passed_s:
        doubts.append(noted.clock_set(run.number, off_s))
