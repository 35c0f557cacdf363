"""`--confirm`: behind the measured window the limits of the run's own tier are changed by 25 %, one
at a time and in short windows, while the load goes on. What that does to throughput says which of
them held it back (`analysis/telemetry/proof.py`).

Each change is made twice, the second time in the order turned round, so that a steady drift
favours none.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from orchestrator.model import Node, Workload
from orchestrator.parts import Disks, Levers, LiftsLimits
from orchestrator.platforms.common.machines import LiftsItsLimits
from orchestrator.powers import World
from orchestrator.run import window
from orchestrator.run.recording import RunContext

CHANGES = (1.25, 0.75)  # times what is declared
_HELD = (0.25, 0.95)  # of each change's time: first what is in flight is of the limits before


@contextmanager
def changing(
    here: RunContext,
    disks: Disks,
    nodes: Sequence[Node],
    world: World,
    window_over: Callable[[], None],
) -> Iterator[tuple[Workload, World]]:
    """Yields the workload as long as it now takes, and the world to give to its load generator;
    both as they were where none of its limits, nor those of `nodes`, can be changed.
    When the window is over `window_over` is called, the limits are changed, and each change goes
    with its times into the facts "confirm". At the end all limits are as declared."""
    workload = here.workload
    levers = _levers(here, disks, nodes) if workload.confirm_s else {}
    if not levers:
        yield workload, world
        return
    follower = window.Follower(world.clock)
    changes = Changes(levers, workload, window_over, follower)

    def begins(time_s: float) -> None:
        world.window_begins(time_s)
        follower.begin(partial(changes.follow, time_s + workload.measure_s), "confirm")

    longer = replace(workload, measure_s=workload.measure_s + workload.confirm_s)
    try:
        yield longer, replace(world, window_begins=begins)
    finally:
        follower.over()
    if here.draft.facts is not None:
        here.draft.facts["confirm"] = changes.kept


def _levers(here: RunContext, disks: Disks, nodes: Sequence[Node]) -> Levers:
    mechanism, world, levers = here.mechanism, here.world, {}
    if isinstance(mechanism, LiftsLimits):
        levers = dict(mechanism.levers(here.profile.tier, disks, world))
    limited: list[tuple[LiftsItsLimits, float]] = []
    for node in nodes:
        container = world.platform.container(node.container or node.name)
        if node.cpus and isinstance(container, LiftsItsLimits):
            limited.append((container, node.cpus))

    def lever(times: float) -> None:
        for container, cpus in limited:
            container.limit_cpus(times * cpus)

    return {**levers, "node CPU": lever} if limited else levers


@dataclass
class Changes:
    """`kept`: of each change the `limit`, `times` what is declared, and `start_s` and `end_s` of
    the time in which it held, without that in which it settled."""

    levers: Levers
    workload: Workload
    window_over: Callable[[], None]
    follower: window.Follower
    kept: list[dict[str, Any]] = field(default_factory=list)

    def follow(self, begin_s: float) -> None:
        each = [(name, times) for name in self.levers for times in CHANGES]
        order = [*each, *reversed(each)]
        if not self.follower.wait_until(begin_s):
            return
        end_s = begin_s + self.workload.confirm_s
        self.window_over()
        begin_s = self.follower.clock.now()
        lasts_s = (end_s - begin_s) / len(order)
        for number, (name, times) in enumerate(order):
            start_s = begin_s + number * lasts_s
            if not self.follower.wait_until(start_s):
                return
            self._change(name, times, start_s, lasts_s)

    def _change(self, name: str, times: float, start_s: float, lasts_s: float) -> None:
        """Leaves no note of one that was made too late, or of which the load's end cut off."""
        lever = self.levers[name]
        held_s, end_s = (start_s + part * lasts_s for part in _HELD)
        try:
            lever(times)
            in_time = self.follower.clock.now() < held_s
            whole = self.follower.wait_until(end_s)
        finally:
            lever(1.0)
        if whole and in_time:
            self.kept.append({"limit": name, "times": times, "start_s": held_s, "end_s": end_s})
