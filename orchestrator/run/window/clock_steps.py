"""Whether the clock of this computer is set while a run is measured."""

from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.analysis.doubts import noted
from orchestrator.model import Doubt, Run
from orchestrator.powers import Clock

# A clock that is slewed, not set, runs off by at most 500 parts in a million (adjtimex(2)).
CLOCK_STEP_S = 0.5
CLOCK_SLEW = 0.0005


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
