"""A machine that is not this computer, read by the agent (`docker/disk/agent`) on it.

A way there takes milliseconds, so what is read again and again is read in one go: `refresh` asks
for all files that `read` was asked for lately, and `read` then returns what was found. Where
nothing refreshes, each `read` asks. The first question starts the agent. If it fails, or gives no
answer in time, every question is an OSError for a moment; the next one starts it anew."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from orchestrator.errors import TierbenchError
from orchestrator.platforms import own_images
from orchestrator.platforms.common.clock_offsets import RecentOffsets
from orchestrator.platforms.common.machine_facts import OF_FACTS, facts_in
from orchestrator.powers import (
    Clock,
    ClockOffset,
    ContainerSpec,
    Conversation,
    MachineFacts,
    Moment,
    Mount,
    Platform,
)

IMAGE = "disk"  # the image of ours that every machine has
COMMAND = ("agent", "/host")
# The agent follows links as the machine does, and looks into folders that are closed to others.
_CAPABILITIES = ("SYS_CHROOT", "DAC_READ_SEARCH")
SILENCE_S = 0.5  # a failure counts for other questions too for so long, as of one tick
FRESH_S = 1.5  # seconds for which `read` returns what `refresh` has found
KEPT = 5  # refreshes for which a file is read that nobody asks for any more

Converse = Callable[[], AbstractContextManager[Conversation]]


def container(name: str, image: str, placement: str = "") -> ContainerSpec:
    """The agent's container on the machine of `placement`. It idles until it is talked with."""
    return ContainerSpec(
        name=name,
        image=image,
        entrypoint=("sleep",),
        command=("infinity",),
        role="agent",
        mounts=(Mount("/", "/host", read_only=True),),
        capabilities=_CAPABILITIES,
        init=True,
        stop_timeout_s=1,
        placement=placement,
    )


@contextmanager
def conversation(
    platform: Platform, name: str, placement: str = ""
) -> Iterator[Conversation]:
    """Starts the agent's container for the block, on the machine of `placement`."""
    image = own_images.need(own_images.PROJECT, IMAGE, platform)
    spec = container(name, image, placement)
    with platform.running(spec) as running, running.conversation(COMMAND) as talking:
        yield talking


@dataclass(frozen=True)
class _Refresh:
    """What a refresh found, and when: by this computer's wall clock, and by the monotonic one."""

    time_s: float
    at: Moment
    texts: dict[str, str | OSError]


class AgentMachine:
    """The `Machine` protocol. `converse` begins a conversation with the agent.
    `facts_told`: its facts, as the platform says them, in case that the agent cannot be asked."""

    is_here = False
    answer_s = 2.0  # the limit for an answer: then the agent is started anew
    queue_s = 0.5  # the limit within which another question is answered

    def __init__(
        self,
        name: str,
        converse: Converse,
        clock: Clock,
        facts: MachineFacts | None = None,
    ) -> None:
        self.name = name
        self._converse = converse
        self._clock = clock
        self.facts_told = facts
        self._facts: MachineFacts | None = None
        self._asking = threading.Lock()
        self._asker: int | None = None  # the thread that holds it
        self._up = ExitStack()
        self._talking: Conversation | None = None
        self._failed: tuple[Moment, str] | None = None
        # Path → refreshes since it was last asked for.
        self._wanted: dict[str, int] = {}
        self._refreshed: _Refresh | None = None
        # Each thread's moment at which its last text was read.
        self._last = threading.local()
        self._clocks = RecentOffsets()
        self._located: dict[str, Mapping[str, Any]] = {}

    @property
    def clock_offset(self) -> ClockOffset | None:
        """How far the machine's clock is off, by the shortest way there and back of the last
        minute.

        None before the first answer.
        """
        return self._clocks.best

    def close(self) -> None:
        """Ends the agent. A later question starts it again."""
        with self._asking:
            self._hang_up()

    def facts(self) -> MachineFacts:
        """Read once. OSError if the agent cannot be asked and the platform did not say them."""
        if self._facts is None:
            try:
                self._facts = self._read_facts()
            except OSError:
                if self.facts_told is None:
                    raise
                return self.facts_told
        return self._facts

    def _read_facts(self) -> MachineFacts:
        texts: dict[str, str] = {}
        for path, text in self._read(*OF_FACTS).texts.items():
            if isinstance(text, str):
                texts[path] = text
        # Files of a machine do not say what its provider calls it.
        instance_type = ""
        if self.facts_told:
            instance_type = self.facts_told.instance_type
        return facts_in(texts, self.name, instance_type)

    def refresh(self) -> None:
        for path in list(self._wanted):  # another thread may ask for one meanwhile
            age = self._wanted.get(path, 0) + 1
            self._wanted[path] = age
            if age > KEPT:
                self._wanted.pop(path, None)
        # Nothing of the tick before is taken for this one's if the question fails.
        self._refreshed = None
        self._refreshed = self._read(*self._wanted)

    def read(self, path: str) -> str:
        self._wanted[path] = 0
        latest = self._refreshed
        if latest is None or path not in latest.texts or not self._is_fresh(latest):
            latest = self._read(path)
        self._last.time_s = latest.time_s
        text = latest.texts[path]
        if isinstance(text, OSError):
            raise text
        return text

    def _is_fresh(self, refresh: _Refresh) -> bool:
        return self._clock.monotonic() - refresh.at <= FRESH_S

    def _read(self, *paths: str) -> _Refresh:
        answer, time_s = self._ask("read", *paths)
        errors = {
            path: OSError(*error, path) for path, error in answer["errors"].items()
        }
        return _Refresh(time_s, self._clock.monotonic(), {**answer["found"], **errors})

    def read_at(self) -> float | None:
        """Returns when the calling thread's last text was read, by this computer's clock."""
        return getattr(self._last, "time_s", None)

    def exists(self, path: str) -> bool:
        return bool(self._answer("exists", path))

    def is_folder(self, path: str) -> bool:
        return bool(self._answer("folder", path))

    def listing(self, path: str) -> tuple[str, ...]:
        return tuple(self._answer("list", path))

    def real_path(self, path: str) -> str:
        return str(self._answer("real", path))

    def free_bytes(self, path: str) -> int:
        return int(self._answer("free", path))

    def _answer(self, word: str, argument: str) -> Any:
        return self._ask(word, argument)[0]["found"]

    def locate(self, container_id: str) -> Mapping[str, Any]:
        """Finds a container once: an id is never used again."""
        if container_id not in self._located:
            self._located[container_id] = self._answer("groups", container_id)
        return self._located[container_id]

    def _ask(self, *words: str) -> tuple[dict[str, Any], float]:
        """The answer, and when it was made by this computer's clock. OSError if there is none."""
        self._raise_if_silent()
        # The platform asks for the machine while it starts the agent: who then waited would wait
        # for itself.
        if self._asker == threading.get_ident():
            raise OSError(f"the agent of {self.name} is not up yet")
        if not self._asking.acquire(timeout=self.queue_s):
            raise self._silent("another question is not answered yet")
        self._asker = threading.get_ident()
        try:
            # Whoever had the turn before may have found the machine silent.
            self._raise_if_silent()
            answer, time_s = self._asked(words)
        except (TierbenchError, ValueError, KeyError) as error:
            evidence = getattr(error, "evidence", "")[-200:]
            silent = self._silent(f"{error} {evidence}".strip())
            self._hang_up()
            raise silent from error
        finally:
            self._asker = None
            self._asking.release()
        if "error" in answer:
            raise OSError(*answer["error"], *words[1:2])
        return answer, time_s

    def _asked(self, words: tuple[str, ...]) -> tuple[dict[str, Any], float]:
        if self._talking is None:
            self._talking = self._up.enter_context(self._converse())
        sent_s = self._clock.now()
        self._talking.send(json.dumps(words))
        answer = json.loads(self._talking.receive(self.answer_s))
        self._failed = None
        received_s = self._clock.now()
        # The answer was made between both moments: in the middle, give or take half the time (NTP).
        middle_s = (sent_s + received_s) / 2
        half_s = (received_s - sent_s) / 2
        offset = ClockOffset(float(answer["time_s"]) - middle_s, half_s)
        self._clocks.add(offset, self._clock.monotonic())
        return answer, middle_s

    def _hang_up(self) -> None:
        # First forgotten, then closed: what closing raises leaves nothing half open here.
        connection = self._up
        self._talking = None
        self._up = ExitStack()
        with suppress(TierbenchError, OSError):
            connection.close()

    def _silent(self, why: str) -> OSError:
        text = f"the machine {self.name} does not answer: {why}"
        self._failed = (self._clock.monotonic() + SILENCE_S, text)
        return OSError(text)

    def _raise_if_silent(self) -> None:
        """OSError if the machine was silent a moment ago."""
        # An agent's end and new start may take a minute, for which no other thread waits.
        others = self._asker not in (None, threading.get_ident())
        failed = self._failed
        if failed and (others or self._clock.monotonic() < failed[0]):
            raise OSError(failed[1])
