"""The output of a command: what follows when the thread that reads it ends by an error."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.errors import GuardLostError, RunError, TierbenchError
from orchestrator.platforms.common import commands, lifecycle
from orchestrator.platforms.common.commands import Chunk, LineConversation, Output
from orchestrator.powers import RUNNING, Completed, ContainerState, GuardBeats
from orchestrator.system.clock import SystemClock

# docker-py's response that another thread has closed: its file object is None by then.
CLOSED = AttributeError("'NoneType' object has no attribute 'read'")


def broken(error: Exception) -> Iterator[Chunk]:
    yield b"one\ntw", None
    raise error


def followed(output: Output, most: int = 200) -> list[str]:
    """The lines of the output until it ends; AssertionError if it goes on."""
    lines: list[str] = []
    for _ in range(most):
        if not output.follow(lines.append):
            return lines
    raise AssertionError("it goes on")


@pytest.mark.parametrize(
    "error", [CLOSED, ValueError("closed file"), MemoryError()], ids=repr
)
def test_an_error_of_any_kind_ends_what_waits_with_its_cause(error: Exception) -> None:
    output = Output(broken(error))
    with pytest.raises(
        RunError, match=f"could not be read on: {type(error).__name__}"
    ) as ended:
        followed(output, most=20)
    assert ended.value.__cause__ is error
    assert "one\ntw" in ended.value.evidence
    assert followed(output) == [], "and it has ended"


def test_a_stream_that_breaks_ends_with_its_words() -> None:
    output = Output(broken(TierbenchError("the output stream broke: reset")))
    assert followed(output) == ["one"]
    assert output.tail().endswith("the output stream broke: reset")


def test_a_conversation_ends_with_the_cause_too() -> None:
    class Streams:
        def __iter__(self) -> Iterator[Chunk]:
            return broken(CLOSED)

        def send(self, data: bytes) -> None: ...

        def end_input(self) -> None: ...

    talk = LineConversation(Streams(), "talking", SystemClock())
    assert talk.receive(5) == "one"
    with pytest.raises(RunError, match="could not be read on: AttributeError") as ended:
        talk.receive(5)
    assert ended.value.evidence == "", "what was answered is no evidence"
    with pytest.raises(RunError, match="talking: it has ended"):
        talk.receive(5)


def test_no_error_ends_the_beats_of_a_guard() -> None:
    """Without them another campaign calls this one dead after five minutes. A beat that was not
    delivered loses nothing."""
    beats, enough, guard = list[int](), threading.Event(), GuardBeats()

    def beat() -> None:
        beats.append(1)
        if len(beats) == 2:
            enough.set()
        raise AttributeError("no engine")

    guard.every_s = 0.001
    with guard.during(beat, SystemClock()):
        assert enough.wait(10)
        assert guard.are_given
    guard.require()
    # Behind the block nobody asks for beats, and none is given.
    assert not guard.are_given
    given = len(beats)
    guard.renew()
    assert len(beats) == given


def test_a_guard_that_is_lost_stays_lost() -> None:
    answers = iter([lifecycle.taken_over("the engine", "c9", "vm-7")])
    guard = GuardBeats()

    def beat() -> None:
        for error in answers:
            raise error

    with guard.during(beat, SystemClock()):
        for _ in range(2):
            with pytest.raises(
                GuardLostError, match="the campaign c9 on vm-7 took over"
            ):
                guard.renew()
    with pytest.raises(GuardLostError):
        guard.require()


def test_a_command_ends_when_the_guard_is_lost() -> None:
    """Within a second or two, not when its load is over an hour later."""
    guard, over = GuardBeats(), threading.Event()

    def chunks() -> Iterator[Chunk]:
        yield b"begun\n", None
        over.wait(60)

    def beat() -> None:
        raise lifecycle.taken_over("the engine", "c9", "vm-7")

    with guard.during(beat, SystemClock()), pytest.raises(GuardLostError):
        guard.renew()
    clock = SystemClock()
    with pytest.raises(GuardLostError):
        deadline = clock.monotonic() + 50
        commands.follow(Output(chunks()), None, (), deadline, clock, guard.require)
    over.set()


def test_a_look_at_others_that_takes_long_holds_up_no_line() -> None:
    """By when lines come it is measured, and a busy cluster was seen to answer after seconds."""
    looks, line_came, came_meanwhile = threading.Event(), threading.Event(), []

    class Slow:
        name = "slow"

        def state(self) -> ContainerState:
            looks.set()
            came_meanwhile.append(line_came.wait(5))
            return RUNNING

    def said() -> Iterator[Chunk]:
        yield b"one\n", None
        assert looks.wait(5)
        yield b"two\n", None
        while not came_meanwhile:
            threading.Event().wait(0.01)

    def on_line(line: str) -> None:
        if line == "two":
            line_came.set()

    watch: list[Any] = [Slow()]
    clock = SystemClock()
    assert commands.follow(
        Output(said()), on_line, watch, clock.monotonic() + 20, clock
    )
    assert came_meanwhile[0]


def test_the_end_of_what_a_command_said_is_its_evidence() -> None:
    said = Completed(("a",), 1, "begin " + "x" * 5000, "the error", 1.0)
    assert said.tail() == "x" * (4000 - len("the error")) + "the error"
