"""What keeps campaigns apart: a guard of each place, and the signs of life by which it is kept."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from orchestrator.errors import GuardLostError
from orchestrator.powers.clocks import Clock

BEAT_S = 30.0


class GuardBeats:
    """A campaign's signs of life to all guards that it holds: of engines, clusters, databases.
    `ending` is set when a signal ends it: then nobody is waited for who is not there any more."""

    def __init__(self) -> None:
        self.every_s = BEAT_S
        self.ending = threading.Event()
        self.lost: GuardLostError | None = None
        self._undelivered = ""  # why the newest that failed was not
        self._beats: list[Callable[[], None]] = []

    @contextmanager
    def during(self, beat: Callable[[], object], clock: Clock) -> Iterator[None]:
        """Calls `beat`, which reads its guard first, every half minute until the block ends. With
        GuardLostError from it the guard is lost; any other error is a beat not delivered."""
        over = threading.Event()
        turn = threading.Lock()

        def once() -> None:
            # `renew` may beat while the thread does.
            with turn:
                try:
                    beat()
                except GuardLostError as error:
                    self.lost = self.lost or error
                except Exception as error:
                    # An engine that does not answer for a moment costs no campaign: the next one
                    # reads the guard first.
                    self._undelivered = f"a sign of life was not delivered: {error}"

        def loop() -> None:
            while not clock.wait(over, self.every_s):
                once()

        thread = threading.Thread(target=loop, name="guard", daemon=True)
        self._beats.append(once)
        thread.start()
        try:
            yield
        finally:
            self._beats.remove(once)
            over.set()
            thread.join(timeout=5)

    @property
    def are_given(self) -> bool:
        """Whether a guard is held, so that signs of life go on."""
        return bool(self._beats)

    def require(self) -> None:
        """GuardLostError if a guard is lost. Asks nobody."""
        if self.lost is not None:
            raise GuardLostError(self.lost.what, self.lost.advice, self._undelivered)

    def renew(self) -> None:
        """Beats at once, after silence; raises as `require`."""
        # A copy, because a guard may end on another thread meanwhile.
        for once in tuple(self._beats):
            once()
        self.require()


class Guard(Protocol):
    @property
    def beats(self) -> GuardBeats: ...

    def held(self) -> AbstractContextManager[None]:
        """Keeps other campaigns out during the block. UnavailableError if one is running."""

    def other(self) -> str | None:
        """Returns the other campaign that is running here, if any."""
