"""`--confirm`: behind the measured window the run's own limits are changed by 25 %, one at a time
and in short windows, while the load goes on. What that does to throughput says which of them held
it back (`analysis/telemetry/proof.py`). What cannot be more than it is, as the processors of a
whole machine, is only made less.

Each change is made twice, the second time in the order turned round, so that a steady drift
favours none."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.analysis.telemetry.loads import has_pace
from orchestrator.load_generators.common.client import LimitsSessions
from orchestrator.model import Node, Workload
from orchestrator.parts import Disks, LiftsLimits, LoadGenerator
from orchestrator.platforms.common.machines import LiftsItsLimits
from orchestrator.powers import World
from orchestrator.run import window
from orchestrator.run.recording import RunContext

CHANGES = (1.25, 0.75)  # times what is declared
LESS = (1.0, 0.75)
_HELD = (
    0.25,
    0.95,
)  # of each change's time: first what is in flight is of the limits before


@contextmanager
def changing(
    here: RunContext,
    disks: Disks,
    nodes: Sequence[Node],
    world: World,
    ended: Callable[[], None],
) -> Iterator[tuple[Workload, World]]:
    """Yields the workload as long as it now takes, and the world to give to its load generator;
    both as they were where none of its limits, nor those of `nodes` and clients, can be changed.
    When the window is over `ended` is called, the limits are changed, and each change goes
    with its times into the facts "confirm". At the end all limits are as declared."""
    workload = here.workload
    if workload.confirm_s:
        levers = _levers(here, disks, nodes)
    else:
        levers = {}
    if not levers:
        yield workload, world
        return
    follower = window.Follower(world.clock)
    changes = Changes(levers, workload, ended, follower)
    longer = replace(workload, measure_s=workload.measure_s + workload.confirm_s)
    with window.followed(changes.follow, "confirm", follower, world) as telling:
        yield longer, telling
    here.draft.facts["confirm"] = changes.kept


@dataclass(frozen=True)
class Lever:
    """What sets a limit to so many times what it is, and which those shall be."""

    set: Callable[[float], None]
    levels: Sequence[float] = CHANGES


def _levers(here: RunContext, disks: Disks, nodes: Sequence[Node]) -> dict[str, Lever]:
    mechanism = here.mechanism
    world = here.world
    levers: dict[str, Lever | None] = {}
    if isinstance(mechanism, LiftsLimits):
        of_tier = mechanism.levers(here.profile.tier, disks, world)
        levers = {name: Lever(lever) for name, lever in of_tier.items()}
    watched = [
        node for node in here.draft.nodes if node.name in {own.name for own in nodes}
    ]
    clients = [node for node in watched if node.role == "client"]
    databases = _live([node for node in nodes if node.role == "database"], world)
    levers["node CPU"] = _cpus(
        [(own, node.cpus, node.cpus) for node, own in databases if node.cpus]
    )
    levers["client CPU"] = cpus_of_clients(clients, here.draft.nodes, world)
    levers["sessions"] = sessions(here.generator, here.workload, clients, world)
    return {name: lever for name, lever in levers.items() if lever}


_Limited = tuple[
    LiftsItsLimits, float | None, float
]  # its own limit of processors, and the most


def cpus_of_clients(
    clients: Sequence[Node], watched: Sequence[Node], world: World
) -> Lever | None:
    """Of the processors that their containers may use; without a limit, of those of their machines,
    which the clients on one share."""
    cores = {host.machine: host.cpus or 0.0 for host in watched if host.role == "host"}
    machines = [client.machine for client in clients]
    shares = {name: cores.get(name, 0.0) / machines.count(name) for name in machines}
    each = [(client, own, own.find_cpus()) for client, own in _live(clients, world)]
    return _cpus(
        [(own, cpus, cpus or shares[client.machine]) for client, own, cpus in each]
    )


def _cpus(limited: Sequence[_Limited]) -> Lever | None:
    def lever(times: float) -> None:
        for container, cpus, most in limited:
            container.limit_cpus(cpus if times == 1 else times * most)

    known = limited and all(most for _, _, most in limited)
    if known:
        return Lever(lever, CHANGES if all(cpus for _, cpus, _ in limited) else LESS)
    return None


def sessions(
    generator: LoadGenerator, workload: Workload, clients: Sequence[Node], world: World
) -> Lever | None:
    """So many threads of the load go on; none where it has a pace of its own."""
    threads = workload.threads
    if not isinstance(generator, LimitsSessions) or has_pace(workload) or threads < 2:
        return None

    def lever(times: float) -> None:
        generator.limit_sessions(round(times * threads), clients, world)

    return Lever(lever, (LESS[0], max(1, round(LESS[1] * threads)) / threads))


def _live(nodes: Sequence[Node], world: World) -> list[tuple[Node, LiftsItsLimits]]:
    """Those of `nodes` whose limits can be changed."""
    every = [
        (node, world.platform.container(node.container or node.name)) for node in nodes
    ]
    return [(node, own) for node, own in every if isinstance(own, LiftsItsLimits)]


@dataclass
class Changes:
    """`kept`: of each change the `limit`, `times` what is declared, and `start_s` and `end_s` of
    the time in which it held, without that in which it settled."""

    levers: Mapping[str, Lever]
    workload: Workload
    window_over: Callable[[], None]
    follower: window.Follower
    kept: list[dict[str, Any]] = field(default_factory=list)

    def follow(self, window_s: float) -> None:
        begin_s = window_s + self.workload.measure_s
        each = [
            (name, times) for name, of in self.levers.items() for times in of.levels
        ]
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
        lever = self.levers[name].set
        held_s, end_s = (start_s + part * lasts_s for part in _HELD)
        try:
            lever(times)
            in_time = self.follower.clock.now() < held_s
            whole = self.follower.wait_until(end_s)
        finally:
            lever(1.0)
        if whole and in_time:
            self.kept.append(
                {"limit": name, "times": times, "start_s": held_s, "end_s": end_s}
            )
