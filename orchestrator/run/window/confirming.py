"""`--confirm`: behind the measured window the run's own limits are changed by 25 %.

One at a time and in short windows, while the load goes on. What that does to throughput says
which of them held it back: `analysis/telemetry/causes/proof_by_trial.py`. What cannot be more than
it is, as the processors of a whole machine, is only made less.

A limit is set high and low in pairs, one right after the other. The places of the pairs and the
order within each are drawn by lot, so that no drift and no rhythm of the system favours a limit.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from orchestrator.analysis.telemetry.use.load_and_sessions import has_pace
from orchestrator.design.nodes_by_role import nodes_of_role
from orchestrator.facts import TriedLimit
from orchestrator.model import Node, Workload
from orchestrator.parts import ClientLoad, Disks, LoadGenerator
from orchestrator.powers import ContainerLimits, World
from orchestrator.run.record.run_context import RunContext
from orchestrator.run.window import window_followers

CHANGES = (1.25, 0.75)  # factors of the declared limit
LESS = (1.0, 0.75)
# The most and the least pairs of each limit, if each change lasts for the least time.
MOST_PAIRS = 8
LEAST_PAIRS = 2
LEAST_CHANGE_S = 1.0
# The part of each change's time that counts. What is in flight at first is of the limits before.
_HELD_FROM = 0.25
_HELD_TO = 0.95


@contextmanager
def changing(
    here: RunContext,
    disks: Disks,
    nodes: Sequence[Node],
    load: ClientLoad,
    ended: Callable[[], None],
) -> Iterator[ClientLoad]:
    """Yields the load to carry, which is longer by the time in which limits are changed.

    It is the same load if none of its limits, nor those of `nodes` and clients, can be
    changed. When the window is over `ended` is called, the limits are changed, and each
    change goes with its times into the facts "confirm". At the end all limits are as
    declared.
    """
    workload = here.workload
    levers: dict[TriedLimit, Lever] = {}
    if workload.confirm_s:
        levers = _levers(here, disks, nodes)
    if not levers:
        yield load
        return
    follower = window_followers.Follower(load.world.clock)
    changes = Changes(levers, workload, ended, follower, here.world.seed)
    # Limits are changed behind the window, and the load must go on for that long.
    longer = replace(workload, measure_s=workload.measure_s + workload.confirm_s)
    with window_followers.followed(
        changes.follow, "confirm", follower, load.world
    ) as telling:
        yield replace(load, workload=longer, world=telling)
    here.draft.facts["confirm"] = changes.kept


# ------------------------------------------------------------------ what sets a limit


@dataclass(frozen=True)
class Lever:
    """Sets a limit to a multiple of its usual value. `levels`: the multiples to set."""

    set: Callable[[float], None]
    levels: Sequence[float] = CHANGES


def _levers(
    here: RunContext, disks: Disks, nodes: Sequence[Node]
) -> dict[TriedLimit, Lever]:
    levers = _levers_of_tier(here, disks)
    for name, lever in _levers_of_load(here, nodes).items():
        if lever is not None:
            levers[name] = lever
    return levers


def _levers_of_load(
    here: RunContext, nodes: Sequence[Node]
) -> dict[TriedLimit, Lever | None]:
    """The levers beside the disk; None for what cannot be changed here."""
    clients = _sampled_clients(here, nodes)
    cpus = cpus_of_clients(clients, here.draft.nodes, here.world)
    threads = sessions(here.generator, here.workload, clients, here.world)
    return {
        "node CPU": _cpus_of_nodes(nodes, here.world),
        "client CPU": cpus,
        "sessions": threads,
    }


def _levers_of_tier(here: RunContext, disks: Disks) -> dict[TriedLimit, Lever]:
    limits = here.mechanism.abilities.limits
    if limits is None:
        return {}
    tier_levers = limits.levers(here.profile.tier, disks, here.world)
    return {name: Lever(set_times) for name, set_times in tier_levers.items()}


def _sampled_clients(here: RunContext, nodes: Sequence[Node]) -> list[Node]:
    """The clients among `nodes`, with the names of their machines."""
    names = {node.name for node in nodes}
    clients: list[Node] = []
    for node in here.draft.nodes:
        if node.role == "client" and node.name in names:
            clients.append(node)
    return clients


class _LimitedCpus(NamedTuple):
    """A container whose processors can be limited.

    `limit`: the container's own limit of processors, if any. `most`: the most processors that it
    can use.
    """

    container: ContainerLimits
    limit: float | None
    most: float

    def set_times(self, times: float) -> None:
        # A container that had no limit has none again.
        if times == 1:
            self.container.set_cpus(self.limit)
        else:
            self.container.set_cpus(times * self.most)


def _cpus_of_nodes(nodes: Sequence[Node], world: World) -> Lever | None:
    databases = nodes_of_role(nodes, "database")
    limited: list[_LimitedCpus] = []
    for node, container in _live(databases, world):
        # A node without a limit of processors has none that could be changed.
        if node.cpus:
            limited.append(_LimitedCpus(container, node.cpus, node.cpus))
    return _cpus(limited)


def cpus_of_clients(
    clients: Sequence[Node], watched: Sequence[Node], world: World
) -> Lever | None:
    """A lever on the processors that the clients' containers may use.

    If they have no limit, it is the processors of their machines, which clients on one machine
    share.
    """
    cores: dict[str, float] = {}
    for host in watched:
        if host.role == "host":
            cores[host.machine] = host.cpus or 0.0
    machines = [client.machine for client in clients]
    limited: list[_LimitedCpus] = []
    for client, container in _live(clients, world):
        share = cores.get(client.machine, 0.0) / machines.count(client.machine)
        limit = container.find_cpus()
        limited.append(_LimitedCpus(container, limit, limit or share))
    return _cpus(limited)


def _cpus(limited: Sequence[_LimitedCpus]) -> Lever | None:
    """The lever on these containers' processors; None if it is not known how many each has."""
    if not limited or not all(cpus.most for cpus in limited):
        return None
    # A node without a limit has all of its machine already, and can only get less.
    levels = LESS
    if all(cpus.limit for cpus in limited):
        levels = CHANGES
    return Lever(partial(_set_all, limited), levels)


def _set_all(limited: Sequence[_LimitedCpus], times: float) -> None:
    for cpus in limited:
        cpus.set_times(times)


def sessions(
    generator: LoadGenerator, workload: Workload, clients: Sequence[Node], world: World
) -> Lever | None:
    """A lever on how many threads of the load go on; None if the load has a pace of its own."""
    threads = workload.threads
    limit_sessions = generator.abilities.limit_sessions
    # A load with a pace carries the same rate with fewer threads, and one thread is the least.
    if limit_sessions is None or has_pace(workload) or threads < 2:
        return None

    def set_times(times: float) -> None:
        limit_sessions(round(times * threads), clients, world)

    # Threads that were never started cannot be added, so sessions are only made fewer.
    all_threads, less = LESS
    # Threads are whole, so what is told is the share that was set, not the one wished for.
    fewer = min(threads - 1, round(less * threads))
    return Lever(set_times, (all_threads, fewer / threads))


def _live(
    nodes: Sequence[Node], world: World
) -> Iterator[tuple[Node, ContainerLimits]]:
    """The `nodes` whose limits can be changed, each with what changes them."""
    for node in nodes:
        container = world.platform.container(node.container or node.name)
        if container.limits is not None:
            yield node, container.limits


# ------------------------------------------------------------------ changes in their order


class LimitChange(NamedTuple):
    """A limit, set to so many `times` what is declared."""

    limit: TriedLimit
    times: float


def drawn_order(
    levels: Mapping[TriedLimit, Sequence[float]], lasts_s: float, seed: int
) -> list[LimitChange]:
    """Changes of limits in an order that is drawn: as many as there is time for.

    `levels`: two of each limit. They are made in rounds. A round has all limits in a drawn order,
    and of each limit both levels, one right after the other, in a drawn order too.
    """
    dice = random.Random(seed)
    round_s = 2 * len(levels) * LEAST_CHANGE_S
    # Changes become shorter than a second in little time, rather than fewer than two pairs.
    rounds = min(MOST_PAIRS, max(LEAST_PAIRS, int(lasts_s / round_s)))
    order: list[LimitChange] = []
    for _ in range(rounds):
        order += _drawn_round(levels, dice)
    return order


def _drawn_round(
    levels: Mapping[TriedLimit, Sequence[float]], dice: random.Random
) -> Iterator[LimitChange]:
    """Each limit once, with both of its levels in a row."""
    limits = list(levels)
    dice.shuffle(limits)
    for limit in limits:
        both = list(levels[limit])
        dice.shuffle(both)
        for times in both:
            yield LimitChange(limit, times)


@dataclass
class Changes:
    """Changes limits one after the other, behind the window.

    `kept`: one entry for each change. `limit` is what was changed, and `times` the multiple of the
    declared value. From `start_s` to `end_s` the change held; the time in which it settled is left
    out.
    """

    levers: Mapping[TriedLimit, Lever]
    workload: Workload
    window_over: Callable[[], None]
    follower: window_followers.Follower
    seed: int = 0
    kept: list[dict[str, Any]] = field(default_factory=list)

    def follow(self, window_s: float) -> None:
        window_end_s = window_s + self.workload.measure_s
        # The load ended early: nothing is left that a limit could hold back.
        if not self.follower.wait_until(window_end_s):
            return
        end_s = window_end_s + self.workload.confirm_s
        self.window_over()
        # The questions just asked of the database took time that the changes no longer have.
        begin_s = self.follower.clock.now()
        order = self._order()
        lasts_s = (end_s - begin_s) / len(order)
        for number, change in enumerate(order):
            start_s = begin_s + number * lasts_s
            if not self.follower.wait_until(start_s):
                return
            self._carry_out(change, start_s, lasts_s)

    def _order(self) -> list[LimitChange]:
        levels: dict[TriedLimit, Sequence[float]] = {}
        for name, lever in self.levers.items():
            levels[name] = lever.levels
        return drawn_order(levels, self.workload.confirm_s, self.seed)

    def _carry_out(self, change: LimitChange, start_s: float, lasts_s: float) -> None:
        """Leaves no note of a change that was made too late, or that the load's end cut off."""
        set_times = self.levers[change.limit].set
        held_s = start_s + _HELD_FROM * lasts_s
        end_s = start_s + _HELD_TO * lasts_s
        try:
            set_times(change.times)
            in_time = self.follower.clock.now() < held_s
            is_whole = self.follower.wait_until(end_s)
        finally:
            # The limits are reset after an error too: the read-back behind the window would find
            # others.
            set_times(1.0)
        if is_whole and in_time:
            self.kept.append(
                {
                    "limit": change.limit,
                    "times": change.times,
                    "start_s": held_s,
                    "end_s": end_s,
                }
            )
