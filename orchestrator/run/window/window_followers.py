"""Doing something at moments of the measured window, on a thread of its own.

A load generator says when its window begins (`World.window_begins`) while it works, so a thread
waits for that moment. Reading or setting takes some 0.1 s; when it was done is recorded.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from orchestrator.powers import Clock, World

# Seconds for what follows a window and still works when the load has ended. A thread that takes
# longer is left alone. The next step need not wait for servers that do not answer.
LATE_S = 60.0
# The most by which the program may be late when a run ends before its time.
_WAKE_S = 0.05


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
            if self.clock.wait(self.stop, min(left_s, 1.0)):
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
