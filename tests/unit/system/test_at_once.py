"""What is done for many nodes at once: nothing is left out, whatever fails."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress

import pytest

from orchestrator.errors import RunError
from orchestrator.system import at_once


@pytest.mark.parametrize("count", [2, 8])
def test_all_are_done_at_the_same_time_and_answers_stay_in_order(count: int) -> None:
    # Broken unless all are under way at once.
    meet = threading.Barrier(count, timeout=5)

    def square(number: int) -> int:
        meet.wait()
        return number * number

    squares = [number * number for number in range(count)]
    assert at_once.each(square, range(count)) == squares


def test_all_are_done_although_one_fails() -> None:
    done: set[int] = set()

    def odd_fail(number: int) -> None:
        done.add(number)
        if number % 2:
            raise RunError(f"number {number}")

    with pytest.raises(RunError, match="number 1"):
        at_once.each(odd_fail, range(6))
    assert done == set(range(6))


def blocked() -> set[int]:
    return set(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, [])))


def test_a_signal_is_left_to_the_main_thread() -> None:
    """A thread that begins another would take it while the main one has not been scheduled yet,
    which then waits on: seen as a Ctrl-C that did nothing."""
    heard = {
        int(signal.SIGINT),
        int(signal.SIGTERM),
        int(signal.SIGHUP),
        int(signal.SIGALRM),
    }
    before = blocked()
    assert at_once.begun(blocked).result() >= heard
    assert blocked() == before, "the main thread hears them as before"
    of_caller = list[set[int]]()

    def begins() -> None:
        at_once.begun(int).result()
        of_caller.append(blocked())

    caller = threading.Thread(target=begins)
    caller.start()
    caller.join()
    assert of_caller[0] >= heard


class Nodes:
    """Brackets that note who is up; `cannot`: who cannot be started, or taken down."""

    def __init__(self, cannot: str = "") -> None:
        self.up: set[int] = set()
        self.cannot = cannot

    @contextmanager
    def running(self, number: int) -> Iterator[int]:
        if self.cannot == f"start {number}":
            raise RunError(self.cannot)
        self.up.add(number)
        try:
            yield number
        finally:
            if self.cannot == f"remove {number}":
                raise RunError(self.cannot)
            self.up.discard(number)


def test_what_was_started_is_taken_down_whatever_happens() -> None:
    nodes = Nodes()
    with at_once.entered([nodes.running(number) for number in range(5)]) as numbers:
        assert numbers == list(range(5)) and nodes.up == set(numbers)
    assert nodes.up == set()
    with (
        pytest.raises(KeyError, match="mine"),
        at_once.entered([nodes.running(number) for number in range(5)]),
    ):
        raise KeyError("mine")
    assert nodes.up == set()


def test_of_nodes_that_cannot_all_be_started_none_stays() -> None:
    nodes = Nodes("start 3")
    with (
        pytest.raises(RunError, match="start 3"),
        at_once.entered([nodes.running(number) for number in range(5)]),
    ):
        raise AssertionError("not all are up")
    assert nodes.up == set()


def test_one_that_cannot_be_taken_down_does_not_keep_the_others() -> None:
    nodes = Nodes("remove 2")
    with (
        pytest.raises(RunError, match="remove 2"),
        at_once.entered([nodes.running(number) for number in range(5)]),
    ):
        pass
    assert nodes.up == {2}


def test_brackets_are_entered_at_once_unless_it_is_said_otherwise() -> None:
    """Each waits until the other is entered too."""
    both = threading.Barrier(2, timeout=10)

    @contextmanager
    def waiting() -> Iterator[int]:
        yield both.wait()

    with at_once.entered([waiting(), waiting()]) as places:
        assert sorted(places) == [0, 1]


def test_nodes_may_be_started_in_turn_and_still_none_stays() -> None:
    order: list[int] = []
    nodes = Nodes("start 3")

    @contextmanager
    def noted(number: int) -> Iterator[int]:
        with nodes.running(number):
            order.append(number)
            yield number

    with (
        pytest.raises(RunError, match="start 3"),
        at_once.entered([noted(number) for number in range(5)], in_turn=True),
    ):
        raise AssertionError("not all are up")
    assert order == [0, 1, 2] and nodes.up == set()


def test_of_several_errors_the_first_is_raised_with_the_others_as_notes() -> None:
    def fail(number: int) -> None:
        if number % 2:
            raise RunError(f"number {number}")

    with pytest.raises(RunError, match="number 1") as raised:
        at_once.each(fail, range(6))
    assert raised.value.__notes__ == [
        "also: RunError: number 3",
        "also: RunError: number 5",
    ]


def test_a_call_that_does_not_end_is_not_waited_for() -> None:
    over = threading.Event()
    with pytest.raises(TimeoutError, match=r"no answer within 0\.05 s"):
        at_once.within(over.wait, 0.05)
    over.set()
    assert at_once.within(lambda: 7, 30) == 7
    with pytest.raises(KeyError, match="mine"):
        at_once.within(lambda: dict[str, int]()["mine"], 30)


def test_who_waits_asks_until_the_time_is_over() -> None:
    over = threading.Event()
    asked: list[int] = []
    with pytest.raises(TimeoutError):
        at_once.within(over.wait, 0.03125, lambda: asked.append(1), 0.015625)
    over.set()
    assert len(asked) == 1, "in the middle, and not at the end"


def test_whether_all_have_ended_is_known_when_the_time_is_over() -> None:
    may_end = threading.Event()
    may_not_wait = threading.Event()
    may_not_wait.set()
    calls = [at_once.begun(may_not_wait.wait), at_once.begun(may_end.wait)]
    assert not at_once.all_ended(calls, 0.01)
    may_end.set()
    assert at_once.all_ended(calls, 60.0)
    assert at_once.all_ended(calls)


def test_what_ends_a_thread_that_nobody_waits_for_is_kept() -> None:
    def fail() -> None:
        raise LookupError("no such port")

    before = threading.excepthook
    with at_once.kept_errors() as errors:
        thread = threading.Thread(target=fail, name="port 5433")
        thread.start()
        thread.join()
    assert errors == ["port 5433: LookupError: no such port"]
    assert threading.excepthook is before


class _Interrupt(Exception):
    pass


# Python drops what a handler raises within a callback of a weak reference, and says so.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_wait_that_is_interrupted_harms_no_thread() -> None:
    """A handler that raised within a lock of `concurrent.futures` left it locked: the thread that
    ended next waited for ever, and so did whoever waited for it."""
    # A list, because an Event has a lock that the handler could find locked.
    armed: list[bool] = []

    def interrupt(*_: object) -> None:
        # Once, and only in the wait: elsewhere it would end this test.
        if armed:
            armed.clear()
            raise _Interrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        with at_once.kept_errors() as errors:
            for number in range(400):
                with suppress(_Interrupt):
                    try:
                        armed.append(True)
                        after_s = 0.0002 + number % 20 * 0.0001
                        signal.setitimer(signal.ITIMER_REAL, after_s)
                        at_once.each(time.sleep, [0.001] * 4)
                    except _Interrupt:
                        interrupted += 1
                    armed.clear()
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 20 and errors == []


@pytest.mark.parametrize("place", [0, 1])
def test_a_block_s_error_ends_at_the_bracket_that_takes_it(place: int) -> None:
    brackets: list[AbstractContextManager[None]] = [nullcontext(), nullcontext()]
    brackets[place] = suppress(ValueError)
    with at_once.entered(brackets):
        raise ValueError("of the block")
    with pytest.raises(TypeError), at_once.entered(brackets):
        raise TypeError("that nobody takes")
