"""What emulated disks count while a run is measured."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from orchestrator.parts import ServedDisk
from orchestrator.powers import World
from orchestrator.run.window.window_followers import Follower, followed
from orchestrator.system import at_once


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
