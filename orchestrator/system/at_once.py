"""Work on threads: the same for many things at once, of a hundred nodes, each of which takes a
moment to answer; and a call that is not waited for longer than a limit.

No thread keeps this program from ending, and what a thread raises is kept: for whoever waits for
it, or, if nobody does, in what `kept_errors` yields."""

import math
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar, cast

from orchestrator.errors import RunError
from orchestrator.system.clock import SystemClock

_LOOK_EVERY_S = 0.1
# Signals that a thread takes from the main thread when it begins another. The main thread then does
# not wake (fork(2)).
_OF_MAIN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
MOST = 32  # threads: beyond that an engine is only kept waiting

Thing = TypeVar("Thing")
Answer = TypeVar("Answer")


class StartedCall(Generic[Answer]):
    """A call that goes on on a thread of its own: whether it has ended, and with what.

    It is no Future of `concurrent.futures`, because the locks of those are Python code. A handler
    of a signal that raises there leaves them locked: then the thread that ends waits for ever, and
    whoever waits for it does too. A SimpleQueue is written in C, and made for being interrupted.
    """

    def __init__(self, call: Callable[[], Answer]) -> None:
        self._call = call
        self._has_ended = False
        self._answers: list[Answer] = []
        self._error: BaseException | None = None
        self._wake_ups: SimpleQueue[None] = SimpleQueue()

    def run(self) -> None:
        """Makes the call, on the thread of this method's caller."""
        try:
            self._answers.append(self._call())
        except BaseException as error:  # raised by `result`
            self._error = error
        # First the mark, so that nobody begins to wait after the one who is woken.
        self._has_ended = True
        self._wake_ups.put(None)

    def done(self) -> bool:
        return self._has_ended

    def wait(self, limit_s: float | None = None) -> bool:
        """Whether it has ended, now or within the limit."""
        if self._has_ended:
            return True
        try:
            self._wake_ups.get(timeout=limit_s)
        except Empty:
            return self._has_ended
        # Whoever wakes wakes the next one who waits.
        self._wake_ups.put(None)
        return True

    def error(self) -> BaseException | None:
        """What it raised, when it has ended."""
        self.wait()
        return self._error

    def result(self) -> Answer:
        """What it returned, when it has ended. It raises what the call raised."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._answers[0]


def begun(call: Callable[[], Answer], name: str | None = None) -> StartedCall[Answer]:
    """Begins `call` on a thread of its own; it and its caller leave signals to the main one."""
    started = StartedCall(call)
    try:
        # A thread begins with the mask of the one that begins it. May raise what a handler of a
        # signal raises.
        signal.pthread_sigmask(signal.SIG_BLOCK, _OF_MAIN)
        threading.Thread(target=started.run, name=name, daemon=True).start()
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _OF_MAIN)
    return started


def all_ended(calls: Iterable[StartedCall[Any]], limit_s: float | None = None) -> bool:
    """Waits until all have ended, together for no longer than the limit. Whether they have."""
    if limit_s is None:
        return all(call.wait() for call in calls)
    clock = SystemClock()
    until_s = clock.monotonic() + limit_s
    left = 0
    for call in calls:
        if not call.wait(max(0.0, until_s - clock.monotonic())):
            left += 1
    return not left


@contextmanager
def hearing_signals() -> Iterator[None]:
    """In the block this thread hears signals too, and so do threads that are begun in the block."""
    before = signal.pthread_sigmask(signal.SIG_UNBLOCK, _OF_MAIN)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ask_nothing() -> None:
    pass


def within(
    call: Callable[[], Answer],
    limit_s: float,
    ask: Callable[[], object] = _ask_nothing,
    ask_every_s: float | None = None,
) -> Answer:
    """What `call` returns. TimeoutError if it takes longer: then its thread is left to itself.
    Meanwhile it calls `ask` from time to time, which raises what ends the wait sooner."""
    started = begun(call)
    waited_s = 0.0
    step_s = ask_every_s or limit_s
    while not started.wait(step_s):
        waited_s += step_s
        if waited_s >= limit_s:
            raise TimeoutError(f"no answer within {limit_s:g} s")
        ask()
    return started.result()


def unless(given_up: threading.Event, call: Callable[[], Answer]) -> Answer:
    """What `call` returns. RunError as soon as `given_up` is set, also before."""

    def look() -> None:
        if given_up.is_set():
            raise RunError("it was stopped, because of the interrupt")

    look()
    return within(call, math.inf, look, _LOOK_EVERY_S)


def pieces(
    things: Iterable[Thing],
    silence_s: float,
    ask: Callable[[], object] = _ask_nothing,
    ask_every_s: float | None = None,
) -> Iterator[Thing]:
    """Yields `things` as they come. TimeoutError if none comes for long; `ask` as of `within`."""
    rest = iter(things)
    end = object()
    following = partial(next, rest, end)
    while True:
        piece = within(following, silence_s, ask, ask_every_s)
        if piece is end:
            return
        yield cast(Thing, piece)


def each(
    do: Callable[[Thing], Answer], things: Iterable[Thing], most: int = MOST
) -> list[Answer]:
    """The answers in the order of `things`; `most` of them are asked at once.

    If some raise, all the others are still asked. Then the error of the first is raised, and has
    those of the others as notes.
    """
    all_things = list(things)
    # A single thing needs no thread, and its error has the whole way to it in its traceback.
    if len(all_things) < 2:
        return [do(thing) for thing in all_things]
    turn = threading.Semaphore(most)

    def done(thing: Thing) -> Answer:
        with turn:
            return do(thing)

    calls = [begun(partial(done, thing)) for thing in all_things]
    try:
        all_ended(calls)
    finally:
        # The calls are awaited after an interrupt too: what they begin must be there to be taken
        # down.
        all_ended(calls)
    errors = []
    for call in calls:
        error = call.error()
        if error:
            errors.append(error)
    for other in errors[1:]:
        errors[0].add_note(f"also: {type(other).__name__}: {other}")
    return [call.result() for call in calls]


@contextmanager
def entered(
    brackets: Sequence[AbstractContextManager[Answer]], in_turn: bool = False
) -> Iterator[list[Answer]]:
    """Enters all brackets at once, or with `in_turn` each after the one before it.

    All entered brackets are left at once, also if another bracket could not be entered. Then the
    first error is raised.
    """
    stacks = [ExitStack() for _ in brackets]
    pairs = list(zip(stacks, brackets, strict=True))

    def enter(pair: tuple[ExitStack, AbstractContextManager[Answer]]) -> Answer:
        stack, bracket = pair
        return stack.enter_context(bracket)

    def leave_all(*error: Any) -> bool:
        """Whether one of them takes the error of the block for no error."""

        def leave(stack: ExitStack) -> bool:
            return bool(stack.__exit__(*error))

        return any(each(leave, stacks))

    with ExitStack() as up:
        # The exit is set up before anything is entered. Those that were entered are left even if
        # another cannot be.
        up.push(leave_all)
        if in_turn:
            yield [enter(pair) for pair in pairs]
        else:
            yield each(enter, pairs)


@contextmanager
def kept_errors() -> Iterator[list[str]]:
    """What ends a thread in the block that nobody waits for, as it comes."""
    errors: list[str] = []

    def keep(ended: threading.ExceptHookArgs) -> None:
        name = "thread"
        if ended.thread:
            name = ended.thread.name
        errors.append(f"{name}: {ended.exc_type.__name__}: {ended.exc_value}")

    before = threading.excepthook
    threading.excepthook = keep
    try:
        yield errors
    finally:
        threading.excepthook = before
