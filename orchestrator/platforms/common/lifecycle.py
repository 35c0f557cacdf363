"""What all platforms do alike around a campaign: repeat calls that were not answered, keep other
campaigns out, take down what a block made, and sweep what earlier campaigns left."""

import math
import operator
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from orchestrator import errors, powers
from orchestrator.errors import RunError, TierbenchError, UnavailableError, UsageError
from orchestrator.system import at_once, host

PATIENCE_S = 60.0
_ASKED_FOR = "TIERBENCH_UNPROTECTED"
_SILENT_S = 50.0  # less than any limit after which an engine counts as silent
_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 8.0

Answer = TypeVar("Answer")
DEAD_S = 300.0  # a campaign that was silent for so long, ten of its beats, is dead


def patiently(
    call: Callable[[], Answer],
    clock: powers.Clock,
    may_pass: Callable[[Exception], bool],
    patience_s: float = PATIENCE_S,
) -> Answer:
    """Calls at least twice, and until `patience_s` is over, while what is raised `may_pass`; then
    raises the last error as it is. A call in which nothing came for a minute is not made again."""
    end = clock.monotonic() + patience_s
    pause_s = _FIRST_PAUSE_S
    again = False
    while True:
        begun_s = clock.monotonic()
        try:
            return call()
        except Exception as error:
            # One long silence is answer enough: a second would
            # double the wait for an engine that is gone.
            was_silent = clock.monotonic() - begun_s >= _SILENT_S and timed_out(error)
            # The call is made once more at least, also if the first took all of the patience.
            over = was_silent or (again and clock.monotonic() + pause_s > end)
            if over or not may_pass(error):
                raise
        clock.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        again = True


@dataclass
class Answering:
    """Calls to `who`, an engine or a cluster. Once a signal has ended the campaign, `probe`, a
    question that is answered at once, goes before each and beside those that last. When it has no
    answer, nothing more is asked, and every call is an UnavailableError."""

    look_every_s = 1.0
    probe_s = 5.0
    _is_gone = False

    who: str
    beats: Callable[[], powers.GuardBeats]
    probe: Callable[[], object]
    # The name within `who` of one of several engines; empty for the only one.
    place: str = ""

    def answers(self) -> bool:
        with suppress(Exception):  # whatever it is, it is no answer
            return bool(at_once.within(self.probe, self.probe_s))
        return False

    def heard(self, call: Callable[[], Answer], limit_s: float = math.inf) -> Answer:
        """What `call` returns. TimeoutError if it takes longer."""
        self._look()
        return at_once.within(
            call, limit_s, self._look, min(self.look_every_s, limit_s)
        )

    def _look(self) -> None:
        # A slow engine is waited for before a signal. After one, a lost engine would hold up the
        # end.
        if self._is_gone or (self.beats().ending.is_set() and not self.answers()):
            self._is_gone = True
            error = UnavailableError(
                f"{self.who} does not answer after the signal, and is not asked again",
                advice="check that it can be reached from here again",
            )
            error.place = self.place
            raise error


def timed_out(error: BaseException | None) -> bool:
    """Whether the error is a timeout, or was raised because of a timeout."""
    while error is not None and not isinstance(error, TimeoutError):
        error = error.__cause__ or error.__context__
    return error is not None


def seconds_of(variable: str, default: int, least: int = 1) -> int:
    """A duration that the environment may set. UsageError if the variable holds no such number."""
    text = os.environ.get(variable) or str(default)
    if not (text.isdigit() and int(text) >= least):
        raise UsageError(
            f"{variable} is {text!r}",
            advice=f"write whole seconds, at least {least}",
        )
    return int(text)


def rent_s() -> int:
    """How long what is rented outlives this program; raises as `seconds_of`."""
    return seconds_of("TIERBENCH_RENT_S", 900, least=60)


def require_asked_for(what: str, refusal: UsageError) -> None:
    """Raises the refusal, which says what others could do and how that is avoided, unless the
    environment asks for what protects nobody (`_ASKED_FOR`)."""
    if what not in os.environ.get(_ASKED_FOR, "").split():
        refusal.advice += (
            f"; where nobody else can reach it, `export {_ASKED_FOR}={what}`"
        )
        raise refusal


def lives(process_mark: str, is_young: Callable[[], bool]) -> bool:
    """Whether the holder lives; `is_young` is asked if its process cannot be seen from here."""
    alive = host.process_lives(process_mark)
    if alive is None:
        return is_young()
    return alive


def refused_beat(by: str, error: Exception) -> errors.GuardLostError:
    return errors.GuardLostError(
        f"{by} refuses this campaign's sign of life: {error}",
        advice=(
            "another campaign now takes this one for dead: sign in again, or "
            "ask for the right"
        ),
    )


def taken_over(place: str, campaign: str, host: str) -> errors.GuardLostError:
    """The error of a beat that finds another campaign's guard."""
    return errors.GuardLostError(
        f"the campaign {campaign} on {host} took over {place}, because this "
        "one was silent. Each measures the other's load",
        advice=(
            "run again when it has ended. Check whether this machine was "
            "suspended, or cut off"
        ),
    )


def refusal(
    on: str, process_mark: str, its_host: str, more: str, drop: str
) -> UnavailableError:
    """The error of a second campaign. `drop`: the command that removes the guard of the first."""
    # The mark's third word is the number of the process (`host.process_mark`).
    process = [*process_mark.split(), "?", "?", "?"][2]
    return UnavailableError(
        f"another campaign is running on this {on}: process {process} on "
        f"{its_host}, {more}",
        advice=(
            "wait for it to end, or stop it with Ctrl-C where it runs. If that "
            f"machine is gone for good, `{drop}`"
        ),
    )


@contextmanager
def taken_down(remove: Callable[[], Any], stays: bool = False) -> Iterator[None]:
    """Calls `remove` at the end of the block. If the block raised, that error is raised, and one
    of `remove` becomes a note of it. `stays`: only if the block raised."""
    try:
        yield
    except BaseException as error:  # Ctrl-C too: what was made is taken down
        try:
            remove()
        except TierbenchError as trouble:
            error.add_note(trouble.what)
        raise
    if not stays:
        remove()


def passed_on(part: str, name: str) -> Any:
    """An attribute of a class that is one of a part's, to be read and set."""

    def write(whole: object, value: object) -> None:
        setattr(getattr(whole, part), name, value)

    return property(operator.attrgetter(f"{part}.{name}"), write)


@dataclass
class Swept:
    """`removed`: one line each; `kept`: why each of the others stayed."""

    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def take(self, line: str, remove: Callable[[], Sequence[str] | None]) -> None:
        """Calls `remove`, and notes the lines that it returns, or else `line`."""
        try:
            self.removed += remove() or [line]
        except TierbenchError as error:
            self.kept.append(error.what)

    def result(self, look: str) -> tuple[str, ...]:
        """Returns what was removed. RunError if something stayed, which `look` shows."""
        if self.kept:
            kept = "; ".join(self.kept)
            raise RunError(
                f"leftovers of an earlier run could not be removed: {kept}",
                advice=f"look with `{look}` at what holds them, then `tierbench clean`",
            )
        return tuple(self.removed)
