"""How far the clock of a client is from this computer's.

It is asked of a shell in the client (`date`): the middle of question and reply is wrong by half the
round trip at most, so that of the shortest counts (Cristian, 1989).
"""

import re
from contextlib import suppress
from operator import attrgetter

from orchestrator.errors import TierbenchError
from orchestrator.model import Node
from orchestrator.powers import Clock, ClockOffset, Conversation, World
from orchestrator.system.shell import script

# The least round trip of several counts: a busy moment would widen the bound of a single one.
QUESTIONS = 10
_TIME = re.compile(r"\d+\.\d{3,9}")  # a `date` without %N leaves its letter there
_ANSWERS_WITHIN_S = 10.0


def compare_clocks(client: Node, world: World) -> ClockOffset | None:
    """How far the client's clock is off.

    None if the client tells no time, or none to the millisecond.
    """
    container = world.platform.container(client.container or "")
    tell = script(__package__, "tell")
    offsets: list[ClockOffset] = []
    # A client without a shell or `date` runs all the same; its clock is then not compared.
    with suppress(TierbenchError), container.conversation(tell) as talk:
        for _ in range(QUESTIONS):
            offset = _asked_once(talk, world.clock)
            if offset is None:
                break
            offsets.append(offset)
        return min(offsets, key=attrgetter("within_s"), default=None)
    return None


def _asked_once(talk: Conversation, clock: Clock) -> ClockOffset | None:
    """The offset by one question and its reply; None if the reply is no time."""
    asked_s = clock.now()
    begin_s = clock.monotonic()
    talk.send("")
    answer = talk.receive(_ANSWERS_WITHIN_S).strip()
    # Monotonic, because a clock that is set between the two would make a false round trip.
    half_s = (clock.monotonic() - begin_s) / 2
    if not _TIME.fullmatch(answer):
        return None
    return ClockOffset(float(answer) - asked_s - half_s, half_s)


class ShiftedClock:
    """This computer's clock as a client reads it."""

    def __init__(self, clock: Clock, shift_s: float) -> None:
        self._clock = clock
        self._shift_s = shift_s
        self.monotonic = clock.monotonic
        self.sleep = clock.sleep
        self.wait = clock.wait

    def now(self) -> float:
        return self._clock.now() + self._shift_s
