"""The output of a command: what follows when the thread that reads it ends by an error."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from orchestrator.errors import RunError, TierbenchError
from orchestrator.platforms.common import lifecycle
from orchestrator.platforms.common.commands import Chunk, LineConversation, Output
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


@pytest.mark.parametrize("error", [CLOSED, ValueError("closed file"), MemoryError()], ids=repr)
def test_an_error_of_any_kind_ends_what_waits_with_its_cause(error: Exception) -> None:
    output = Output(broken(error))
    with pytest.raises(RunError, match=f"could not be read on: {type(error).__name__}") as ended:
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
    with pytest.raises(RunError, match="could not be read on: AttributeError"):
        talk.receive(5)
    with pytest.raises(RunError, match="talking: it has ended"):
        talk.receive(5)


def test_no_error_ends_the_beats_of_a_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them another campaign calls this one dead after five minutes."""
    beats, enough = [], threading.Event()

    def beat() -> None:
        beats.append(1)
        if len(beats) == 2:
            enough.set()
        raise AttributeError("no engine")

    monkeypatch.setattr(lifecycle, "BEAT_S", 0.001)
    with lifecycle.beating(beat):
        assert enough.wait(10)
