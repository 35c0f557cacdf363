"""What is up is removed at the end, however the end comes: by itself, by a signal, by a limit."""

import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from orchestrator.errors import TierbenchError
from orchestrator.powers import World

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# A teardown ends within five minutes: after 240 s it gives up a step that hangs every 2 s, and
# thirty of them take 60 s more.
TEARDOWN_S = 240.0
_STEP_S = 2.0
_SOON_S = 0.001  # the alarm clock takes 0 for never
_HOW_REMOVED = (
    "`tierbench clean`, with the same --profile or --platform, or the next campaign "
    "removes it"
)


class TimeIsUp(KeyboardInterrupt):
    """Ends the run in progress as Ctrl-C does: it is no failure of that run."""


class _StepGivenUp(KeyboardInterrupt):
    """Ends a step of a teardown that has lasted too long; the next ones are tried."""


@contextmanager
def sweeping(
    world: World,
    alone: AbstractContextManager[None] | None = None,
    most_s: float | None = None,
    teardown_s: float = TEARDOWN_S,
) -> Iterator[None]:
    """Removes everything of ours when the block ends, however it ends.

    `alone`: keeps other campaigns away, from before the block until all is removed.
    `most_s`: after so long `TimeIsUp` ends the block.

    Ctrl-C ends the block too. A second one gives up what is only carried here, such as logs, and no
    removal. When a teardown that was asked for by a signal has lasted for `teardown_s`, what hangs
    is given up step by step.
    """
    signals = _Signals(world, teardown_s)
    signals.listen(most_s)
    try:
        # Removal is within the lock: the next campaign must find nothing of this one.
        with alone or nullcontext():
            try:
                try:
                    yield
                finally:
                    # First of all, so that a signal from here on cannot end the removal.
                    signals.begin_teardown()
            finally:
                # A `finally` of its own: a signal may come within `begin_teardown` too.
                _sweep(world)
    finally:
        signals.restore()


class _Signals:
    """What signals do while something of ours is up, and while it is taken down.

    The alarm clock of the process has two uses: it ends the block when its time is up, and, once
    a teardown was asked for by a signal, each of its steps that hangs."""

    def __init__(self, world: World, teardown_s: float) -> None:
        self._world = world
        self._teardown_s = teardown_s
        self._is_down = False
        # What is ignored stays ignored: `nohup` and shells without a terminal ask for that.
        self._heard = [
            number
            for number in _SIGNALS
            if signal.getsignal(number) is not signal.SIG_IGN
        ]
        listened = (*self._heard, signal.SIGALRM)
        self._before = {number: signal.getsignal(number) for number in listened}

    def listen(self, most_s: float | None) -> None:
        """Ends the block at a signal, or after `most_s`."""
        for number in self._heard:
            signal.signal(number, self._interrupted)
        signal.signal(signal.SIGALRM, self._time_is_up)
        alarm_s = 0.0  # never
        if most_s is not None:
            alarm_s = max(most_s, _SOON_S)
        signal.setitimer(signal.ITIMER_REAL, alarm_s)

    def begin_teardown(self) -> None:
        """From now on a signal only gives up copying files here; nothing ends the teardown."""
        if self._is_down:
            return
        self._is_down = True
        # The limit of the block must not end the removal of what is rented.
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number in self._heard:
            signal.signal(number, self._hasten)

    def restore(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, disposition in self._before.items():
            signal.signal(number, disposition)

    def _interrupted(self, *_: object) -> None:
        self._end("interrupted")
        raise KeyboardInterrupt

    def _time_is_up(self, *_: object) -> None:
        self._end("the limit is reached")
        raise TimeIsUp

    def _end(self, why: str) -> None:
        self.begin_teardown()
        self._limit_teardown()
        self._world.progress.warn(
            f"{why}: taking everything down; what is finished is kept"
        )

    def _hasten(self, *_: object) -> None:
        given_up = self._world.carrying_given_up
        if not given_up.is_set():
            given_up.set()
            self._world.progress.warn(
                "logs and files that are still there are not collected; removing "
                "goes on"
            )
        # A third signal must not put the end off. The teardown of a block that ended by itself has
        # no limit yet.
        remaining_s, _interval_s = signal.getitimer(signal.ITIMER_REAL)
        if remaining_s == 0:
            self._limit_teardown()

    def _limit_teardown(self) -> None:
        """After `teardown_s` each step that hangs is given up, every few seconds one."""
        # An engine that is gone is not asked again and again from now on.
        self._world.platform.guard.beats.ending.set()
        signal.signal(signal.SIGALRM, self._give_up)
        signal.setitimer(signal.ITIMER_REAL, self._teardown_s, _STEP_S)

    def _give_up(self, *_: object) -> None:
        self._world.progress.warn(
            f"removing hangs, so something may be left: {_HOW_REMOVED}"
        )
        raise _StepGivenUp


def _sweep(world: World) -> None:
    platform = world.platform
    try:
        platform.sweep()
        claims = platform.abilities.claims
        if claims is None:
            return
        kept = claims.retained()
        if kept:
            names = ", ".join(kept)
            world.progress.warn(f"rented and kept, at a cost, until removed: {names}")
    except TierbenchError as error:
        world.progress.warn(f"{error.what}; something may be left: {_HOW_REMOVED}")
