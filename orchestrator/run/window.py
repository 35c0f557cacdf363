"""A run while it is measured.

Counters of its emulated disks and of its statements at the begin and the end of the window,
the burst credit at its begin, and whether the clock was set meanwhile.

A load generator says when its window begins (`World.window_begins`) while it works, so a
thread waits for that moment. Reading or setting takes some 0.1 s; when it was done is
recorded.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from orchestrator.analysis.doubts import noted
from orchestrator.analysis.figures.statements import grown
from orchestrator.errors import UNREADABLE, NotCountedError, TierbenchError
from orchestrator.model import Cluster, Doubt, Run
from orchestrator.parts import ClientLoad, ServedDisk
from orchestrator.powers import Clock, World
from orchestrator.run.run_context import RunContext
from orchestrator.system import at_once, files

# Seconds for what follows a window and still works when the load has ended. A thread that takes
# longer is left alone. The next step need not wait for servers that do not answer.
LATE_S = 60.0
# A clock that is slewed, not set, runs off by at most 500 parts in a million (adjtimex(2)).
CLOCK_STEP_S = 0.5
CLOCK_SLEW = 0.0005
# The most by which the program may be late when a run ends before its time.
_WAKE_S = 0.05


@contextmanager
def watched(
    disks: Sequence[ServedDisk], measure_s: float | None, world: World
) -> Iterator[tuple[World, dict[str, dict[str, Any]]]]:
    """Yields the world to give to the load generator, and a mapping that is filled at the end.

    Name of each server of ours that plays one of `disks` → what its counters say of the window.

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


@dataclass
class Follower:
    """Waits for moments of a window on a thread of its own, while a load runs.

    `stop`: is set when the load has ended. `late_s`: how long the thread is waited for then.
    """

    clock: Clock
    stop: threading.Event = field(default_factory=threading.Event)
    late_s: float = LATE_S

    def wait_until(self, time_s: float) -> bool:
        """False if the load ended before."""
        left_s = time_s - self.clock.now()
        while left_s > 0:
            # Waits last a second at most, because a clock that is set changes how long is left.
            if self.stop.wait(min(left_s, 1.0)):
                return self.clock.now() >= time_s - _WAKE_S
            left_s = time_s - self.clock.now()
        return True


@contextmanager
def followed(
    follow: Callable[[float], None], name: str, follower: Follower, world: World
) -> Iterator[World]:
    """Yields the world to give to a load generator.

    `follow` is called, on a thread of its own, with the moment at which the window begins,
    and has ended when the block has, or goes on alone if it takes longer than `late_s`.
    """
    threads: list[threading.Thread] = []

    def begins(time_s: float) -> None:
        world.window_begins(time_s)
        if threads:
            return  # the first call alone counts
        # A daemon, so that a server that never answers does not keep the program alive.
        thread = threading.Thread(target=follow, args=(time_s,), name=name, daemon=True)
        threads.append(thread)
        thread.start()

    try:
        yield replace(world, window_begins=begins)
    finally:
        follower.stop.set()
        for thread in threads:
            thread.join(timeout=follower.late_s)


class _Asked(NamedTuple):
    """What servers answered about a window: for the record, and a file's content in `raw/`."""

    facts: Mapping[str, Any]
    raw: Mapping[str, Any] | None = None


@contextmanager
def _asked(
    here: RunContext,
    name: str,
    ask: Callable[[float], _Asked],
    follower: Follower,
    load: ClientLoad,
) -> Iterator[ClientLoad]:
    """Asks servers when `followed` says so. Yields the load to carry.

    What `ask` returns goes to the facts `name` and to `raw/<name>.json`, or why it is not known.
    The thread itself writes neither: servers that answer late would otherwise change a record
    that is written, or that of the next run.
    """
    facts = here.draft.facts
    began: list[float] = []
    answers: list[_Asked] = []

    def follow(begin_s: float) -> None:
        began.append(begin_s)
        answers.append(_answered(ask, begin_s))

    try:
        with followed(follow, name, follower, load.world) as telling:
            yield replace(load, world=telling)
    finally:
        if began and not answers:
            late = (
                f"servers had not answered {follower.late_s:g} s after the load ended"
            )
            facts[name] = {"not_read": late}
        # The thread may still add its answer; what is not here by now is not kept.
        for answer in tuple(answers):
            if answer.facts:
                facts[name] = answer.facts
            if answer.raw is not None:
                files.write_json(here.raw / f"{name}.json", answer.raw)


def _answered(ask: Callable[[float], _Asked], begin_s: float) -> _Asked:
    """What is asked, or why there is no answer. A release may answer in another form."""
    try:
        return ask(begin_s)
    except NotCountedError as error:
        return _Asked({"not_read": error.what, "not_counted_in": error.database})
    except TierbenchError as error:
        # PostgreSQL adds the line of the statement, which says nothing to who reads the report.
        return _Asked({"not_read": error.what.partition(" LINE ")[0]})
    except UNREADABLE as error:
        kind = type(error).__name__
        reason = f"the answer has an unknown form: {kind}: {error}"
        return _Asked({"not_read": reason})


def statements_counted(
    here: RunContext, cluster: Cluster, load: ClientLoad, late_s: float = LATE_S
) -> AbstractContextManager[ClientLoad]:
    """Asks for the servers' counts of statements when the window begins, and at its end.

    `cluster`: with the nodes that the load does not use, too.
    They go to `raw/statements.json`. What they say, or why there are none, goes to the facts
    "statements".
    """
    clock = load.world.clock
    follower = Follower(clock, late_s=late_s)

    def read(time_s: float) -> tuple[float, list[Any]]:
        follower.wait_until(time_s)  # or until the load ends
        read_s = clock.now()
        return read_s, list(here.parts.statements(cluster))

    def ask(begin_s: float) -> _Asked:
        began_s, before = read(begin_s)
        ended_s, after = read(begin_s + here.workload.measure_s)
        most = grown(before, after)
        # Nothing is kept where servers count no statements, or nothing grew.
        if not most:
            return _Asked({})
        times_s = [began_s, ended_s]
        content = {"times_s": times_s, "before": before, "after": after}
        return _Asked({"window_s": ended_s - began_s, "most": most}, content)

    return _asked(here, "statements", ask, follower, load)


def waits_sampled(
    here: RunContext, cluster: Cluster, load: ClientLoad, late_s: float = LATE_S
) -> AbstractContextManager[ClientLoad]:
    """Asks what sessions waited for, as servers sampled it themselves, when the window is over.

    The answer, or why there is none, goes to the facts "waits".
    """
    clock = load.world.clock
    follower = Follower(clock, late_s=late_s)

    def ask(begin_s: float) -> _Asked:
        # Or until the load ends, which may be a moment before.
        follower.wait_until(begin_s + here.workload.measure_s)
        window_s = clock.now() - begin_s
        sampled = here.parts.waits(cluster, window_s)
        if not sampled:
            return _Asked({})
        return _Asked({"window_s": window_s, **sampled})

    return _asked(here, "waits", ask, follower, load)


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
