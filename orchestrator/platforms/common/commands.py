"""A command in a container: its output followed while it comes, lines exchanged with it, and other
containers watched that must live meanwhile."""

import codecs
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from orchestrator.errors import NodeError, RunError, TierbenchError
from orchestrator.powers import Clock, Completed, Container, Moment
from orchestrator.system import at_once

_KEPT = 20  # pieces of output, as evidence of an end: a conversation lasts as long as a campaign

Chunk = tuple[bytes | None, bytes | None]
"""What came at once: of standard output, of standard error."""
_LOOK_EVERY_S = 1.0
_POLL_S = 0.1
QUIET_S = 8.0  # a command that says nothing for so long may have lost its engine
# A line is sent: an engine that does not take it for so long is gone.
SEND_S = 60.0
_UNNOTICED_S = 0.5  # the platform has noticed a death after so long


class Streams(Protocol):
    """The streams of a command that runs; iterating gives its output to its end."""

    def __iter__(self) -> Iterator[Chunk]: ...

    def send(self, data: bytes) -> None:
        """Sends to standard input. OSError if the command has ended."""

    def end_input(self) -> None:
        """Ends standard input, and with it every command that reads it."""


class Output:
    """The streams of a command, read by a thread; `kept`: how many pieces at most. TierbenchError
    from `chunks` ends it as an error of the command; any other is raised in `follow`, as a
    RunError."""

    def __init__(self, chunks: Iterable[Chunk], kept: int | None = None) -> None:
        self.out: deque[str] = deque(maxlen=kept)
        self.err: deque[str] = deque(maxlen=kept)
        self.came = 0  # pieces
        self._begun: list[str] = []  # parts of a line that has not ended yet
        self._decoders = [
            # A piece may end within a character: what is begun waits for the next piece.
            codecs.getincrementaldecoder("utf-8")("replace")
            for _ in range(2)
        ]
        self._queue: queue.Queue[Chunk | Exception | None] = queue.Queue()
        threading.Thread(target=self._read, args=(chunks,), daemon=True).start()

    def _read(self, chunks: Iterable[Chunk]) -> None:
        try:
            for chunk in chunks:
                self._queue.put(chunk)
        except Exception as error:  # whatever it is: who follows must not wait for ever
            self._queue.put(error)
        self._queue.put(None)

    def follow(self, on_line: Callable[[str], None]) -> bool:
        """Reads what arrives within a quarter second; False at the end. RunError if it broke."""
        try:
            chunk = self._queue.get(timeout=0.25)
        except queue.Empty:
            return True
        if chunk is None:
            return False
        if isinstance(chunk, Exception):
            if not isinstance(chunk, TierbenchError):
                what = (
                    f"its output could not be read on: {type(chunk).__name__}: {chunk}"
                )
                raise RunError(what, evidence=self.tail()) from chunk
            # An error of the command, as what it would have written to standard error.
            self.err.append(f"{chunk}\n")
            return True
        self.came += 1
        out, err = chunk
        if err:
            self.err.append(self._decoders[1].decode(err))
        if out:
            text = self._decoders[0].decode(out)
            self.out.append(text)
            # A line may come in several pieces, and a piece may have several lines.
            first, *others = text.split("\n")
            self._begun.append(first)
            for other in others:
                line = "".join(self._begun)
                self._begun = [other]
                on_line(line)
        return True

    def tail(self) -> str:
        return "\n".join(("".join(self.out) + "".join(self.err)).splitlines()[-20:])


class LineConversation:
    """The `Conversation` protocol on the streams of a command, which ends when it is closed."""

    def __init__(self, streams: Streams, doing: str, clock: Clock) -> None:
        self._streams = streams
        self._doing = doing
        self._clock = clock
        self._output = Output(streams, _KEPT)
        self._lines: deque[str] = deque()
        self._open = True
        self.send_s = SEND_S
        self.close = streams.end_input  # and with its input the command

    def send(self, line: str) -> None:
        data = f"{line}\n".encode()
        try:
            at_once.within(lambda: self._streams.send(data), self.send_s)
        except OSError as error:
            what = f"{self._doing}: it does not accept input: {error}"
            raise RunError(what, evidence=self._output.tail()) from error

    def receive(self, timeout_s: float) -> str:
        deadline = self._clock.monotonic() + timeout_s
        while not self._lines:
            if not self._open:
                raise RunError(
                    f"{self._doing}: it has ended", evidence=self._output.tail()
                )
            if self._clock.monotonic() >= deadline:
                what = f"{self._doing}: no answer within {timeout_s:g} s"
                raise RunError(what, evidence=self._output.tail())
            self._open = self._output.follow(self._lines.append)
        self._output.out.clear()  # an answer says nothing of why there is none later
        return self._lines.popleft()


class Ends(Protocol):
    """A container that was started for its command."""

    name: str

    def exit_code(self) -> int | None:
        """The exit code; None while the command runs. RunError or NodeError if it is gone."""

    def logs(self, tail: int | None = None) -> str: ...


def to_its_end(
    container: Ends,
    command: tuple[str, ...],
    started: Moment,
    timeout_s: float,
    clock: Clock,
) -> Completed:
    """What comes of a container that was started for its command. RunError past the deadline."""
    while True:
        code = container.exit_code()
        if code is not None:
            break
        if clock.monotonic() >= started + timeout_s:
            raise RunError(
                f"{container.name} did not end within {timeout_s:g} s",
                advice=(
                    "check whether the disk under the cache, or the tier's path, is "
                    "very busy"
                ),
                evidence=container.logs(tail=20),
            )
        clock.sleep(_POLL_S)
    return Completed(
        argv=command,
        exit_code=code,
        out=container.logs(),
        err="",
        duration_s=clock.monotonic() - started,
    )


def follow(
    output: Output,
    on_line: Callable[[str], None] | None,
    watch: Sequence[Container],
    deadline: Moment,
    clock: Clock,
    look: Callable[[], None] | None = None,
    ask: Callable[[], object] | None = None,
) -> bool:
    """Reads the output to its end; False if the deadline comes first. Each second it looks at the
    containers of `watch` and calls `look`; and `ask`, for a sign of life, when no output has come
    for a while. What they raise has the last output as its evidence."""

    def look_at_all() -> None:
        raise_if_dead(watch, output)
        if look:
            look()

    looks = _Looks(look_at_all, clock.monotonic())
    silence = _Silence(output, ask or _ask_nothing, clock)
    try:
        while output.follow(on_line or _unheard):
            now = clock.monotonic()
            if now >= deadline:
                return False
            looks.go_on(now)
            silence.go_on(now)
    except TierbenchError as error:
        error.evidence = error.evidence or output.tail()
        raise
    return True


class _Looks:
    """Looks once a second, on a thread: windows are measured by when lines come, and looking may
    take seconds."""

    def __init__(self, look: Callable[[], None], now: Moment) -> None:
        self._look = look
        self._looked = now
        self._looking: at_once.StartedCall[None] | None = None

    def go_on(self, now: Moment) -> None:
        """Raises what the last look raised, and begins the next when its time has come."""
        if self._looking is not None and self._looking.done():
            self._looking.result()
            self._looking = None
        if self._looking is None and now >= self._looked + _LOOK_EVERY_S:
            self._looking = at_once.begun(self._look)
            self._looked = now


class _Silence:
    """Asks for a sign of life when no output has come for a while."""

    def __init__(self, output: Output, ask: Callable[[], object], clock: Clock) -> None:
        self._output = output
        self._ask = ask
        self._clock = clock
        self._began = clock.monotonic()
        self._came = 0

    def go_on(self, now: Moment) -> None:
        """Raises what asking raises."""
        if self._output.came != self._came:
            self._came = self._output.came
            self._began = now
        elif now >= self._began + QUIET_S:
            self._ask()
            # An engine that is busy may take long to answer.
            self._began = self._clock.monotonic()


def _ask_nothing() -> None:
    """Where nothing can be asked."""


def _unheard(_line: str) -> None:
    """Takes a line that nobody asked for."""


def after_failure(watch: Sequence[Container], output: Output, clock: Clock) -> None:
    """Waits a moment, and then does as `raise_if_dead`."""
    # A client fails at once when its database dies, and the platform notices that later.
    if watch:
        clock.sleep(_UNNOTICED_S)
        raise_if_dead(watch, output)


def raise_if_dead(watch: Sequence[Container], output: Output) -> None:
    """NodeError for the first that is not running, with its last lines and the command's."""
    for container in watch:
        state = container.state()
        if not state.is_running:
            raise NodeError(
                f"{container.name} died in the middle of the run: {state.words}",
                advice="look at its log among the raw files of the run",
                evidence=f"{container.logs(tail=20)}\n{output.tail()}",
            )
