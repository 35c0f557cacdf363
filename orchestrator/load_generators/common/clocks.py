"""How far a client's clock is from this computer's, so that records of several clients are one.

A shell in the client answers each line with its time (`date`). The answer was given at some moment
between question and reply, so the middle of the two is wrong by half the round trip at most; of
several questions the one with the shortest round trip counts (Cristian's algorithm, 1989).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from orchestrator.errors import TierbenchError
from orchestrator.model import Node
from orchestrator.powers import Clock, Conversation, World

QUESTIONS = 10
_ANSWER = ("sh", "-c", "while read -r _; do date +%s.%N; done")
_TIME = re.compile(r"\d+\.\d{3,9}")  # a `date` without %N leaves its letter there
_ANSWERS_WITHIN_S = 10.0


@dataclass(frozen=True)
class Offset:
    """The client's clock minus this computer's, true within the uncertainty either way."""

    offset_s: float
    uncertainty_s: float

    @property
    def shift_s(self) -> float:
        """What to take off the client's times: nothing where the clocks may well be equal."""
        return self.offset_s if abs(self.offset_s) > self.uncertainty_s else 0.0


def compare(client: Node, world: World) -> Offset | None:
    """None if the client does not say its time, or not to the millisecond."""
    with (
        suppress(TierbenchError),
        world.platform.container(client.container or "").conversation(_ANSWER) as conversation,
    ):
        found = list(_asked(conversation, world.clock))
        return min(found, key=lambda one: one.uncertainty_s, default=None)
    return None


def _asked(conversation: Conversation, clock: Clock) -> Iterator[Offset]:
    for _ in range(QUESTIONS):
        asked_s, begin_s = clock.now(), clock.monotonic()
        conversation.send("")
        answer = conversation.receive(_ANSWERS_WITHIN_S).strip()
        half_s = (clock.monotonic() - begin_s) / 2
        if not _TIME.fullmatch(answer):
            return
        yield Offset(float(answer) - asked_s - half_s, half_s)


@dataclass(frozen=True)
class ShiftedClock:
    """This computer's clock as a client reads it."""

    clock: Clock
    shift_s: float

    def now(self) -> float:
        return self.clock.now() + self.shift_s

    def monotonic(self) -> float:
        return self.clock.monotonic()

    def sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)
