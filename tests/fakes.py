"""Fakes of the outside powers; the do-nothing parts of the package, writing words to one log.

With them a whole campaign runs in milliseconds, and the log is the order of everything that
happened: tests/unit/test_lifecycle.py compares it word for word.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn, Unpack

import pandas as pd
import pytest

from orchestrator.errors import RunError
from orchestrator.platforms.common import architectures, shared_network
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.platforms.docker.images import DockerImages
from orchestrator.platforms.dry import NobodyElse
from orchestrator.powers import (
    GONE,
    RUNNING,
    Clock,
    Completed,
    Container,
    ContainerEntry,
    ContainerLimits,
    ContainerSpec,
    ContainerState,
    Conversation,
    How,
    Machine,
    MachineFacts,
    Network,
    Platform,
    PlatformAbilities,
    World,
)
from orchestrator.system import files
from orchestrator.system.clock import MadeUpClock
from tests import ROOT


class FarMachine:
    """A machine of which only `facts` are known: reading anything else is an OSError."""

    is_here = False
    facts_told: MachineFacts | None = None
    clock_offset = None

    def __init__(self, facts: MachineFacts) -> None:
        self._facts = facts
        self.name = facts.hostname

    def facts(self) -> MachineFacts:
        return self._facts

    def read(self, path: str) -> NoReturn:
        raise OSError(f"the machine {self.name} is not reachable from here")

    exists = is_folder = listing = real_path = free_bytes = locate = read

    def read_at(self) -> None:
        return None

    def refresh(self) -> None:
        """Nothing: there is nothing to read."""


@dataclass
class Log:
    """Words in the order they were said. A word in `broken` raises instead of being done."""

    words: list[str] = field(default_factory=list)
    broken: dict[str, BaseException] = field(default_factory=dict)

    def say(self, word: str) -> None:
        self.words.append(word)
        if word in self.broken:
            raise self.broken[word]

    @contextmanager
    def bracket(self, word: str) -> Iterator[None]:
        self.say(f"{word} up")
        try:
            yield
        finally:
            self.say(f"{word} down")


class FakeClock(MadeUpClock):
    def __init__(self) -> None:
        super().__init__(1_000.0)


class LeapingClock(FakeClock):
    """Of which 20 times as long passes, so that a deadline of minutes takes few looks."""

    def sleep(self, seconds: float) -> None:
        super().sleep(20 * seconds)


Answer = Callable[[str, Sequence[str]], Completed | str]


@dataclass
class Talk:
    """A conversation in which nothing is ever answered: what was sent."""

    container: str
    argv: tuple[str, ...]
    sent: list[str] = field(default_factory=list)

    def send(self, line: str) -> None:
        self.sent.append(line)

    def receive(self, timeout_s: float) -> str:
        raise RunError(f"no answer within {timeout_s:g} s")


class FakeImages:
    """The `Images` protocol. Those of `here` are here (tag → id), those of `registry` can be
    pulled. The engine's `architecture` is not known; those of `built_for` are for another one."""

    architecture = ""

    def __init__(
        self,
        here: Collection[str],
        registry: Collection[str],
        asked: list[tuple[Any, ...]],
    ) -> None:
        self.here, self._registry, self._asked = _ids(here), _ids(registry), asked
        self.built_for: dict[str, str] = {}

    ways_to_get = DockerImages.ways_to_get

    def present(self, tag: str) -> bool:
        return tag in self.here

    def id(self, tag: str) -> str | None:
        return self.here.get(tag)

    def mismatch(self, tag: str) -> str:
        return architectures.mismatch(self.built_for.get(tag, ""), self.architecture)

    def pull(self, tag: str) -> bool:
        self._asked.append(("pull", tag))
        self.here |= {tag: self._registry[tag]} if tag in self._registry else {}
        return tag in self.here

    def push(self, tag: str, registry: str) -> None:
        self._asked.append(("push", tag, registry))

    def build(self, folder: str, tag: str, on_line: Callable[[str], None]) -> None:
        files = sorted(file.name for file in Path(folder).iterdir())
        self._asked.append(("build", tag, *files))
        self.here |= _ids([tag])


def _ids(tags: Collection[str]) -> dict[str, str]:
    return (
        dict(tags)
        if isinstance(tags, Mapping)
        else {tag: f"id of {tag}" for tag in tags}
    )


class FakeGuard(NobodyElse):
    """`running` is the other campaign."""

    def __init__(self, running: str | None = None) -> None:
        super().__init__()
        self.running = running

    def other(self) -> str | None:
        return self.running


@dataclass(eq=False)
class FakeContainer:
    """The `Container` protocol: what `FakePlatform` answers of the container of this name."""

    name: str
    platform: FakePlatform
    id: str = "id"
    process_id: int | None = 42
    address: str | None = None
    ports: Mapping[int, int] = field(default_factory=dict)
    ulimits: Mapping[str, str] = field(default_factory=dict)
    host: str = "127.0.0.1"

    @property
    def limits(self) -> ContainerLimits | None:
        return None

    def exec(
        self, argv: Sequence[str], *, timeout_s: float, **how: Unpack[How]
    ) -> Completed:
        unsaid: dict[str, Any] = {"env": None, "on_line": None, "user": ""}
        named = {
            "timeout_s": timeout_s,
            "watch": [one.name for one in how.get("watch", ())],
        }
        return self.platform.exec(self.name, argv, **{**unsaid, **how, **named})

    def conversation(self, argv: Sequence[str]) -> AbstractContextManager[Conversation]:
        return self.platform.conversation(self.name, argv)

    def put(self, source: Path, target: str) -> None:
        self.platform.put.append((self.name, str(source), target))

    def fetch(self, folder: str, target: Path) -> None:
        self.platform.fetch(self.name, folder, target)

    def stop(self, timeout_s: float) -> None:
        self.platform.stop(self.name, timeout_s)

    def remove(self, timeout_s: float) -> None:
        self.platform.remove(self.name, timeout_s)

    def state(self) -> ContainerState:
        return self.platform.state(self.name)

    def logs(self, tail: int | None = None) -> str:
        return self.platform.logs(self.name, tail)

    def find_machine(self) -> Machine:
        return self.platform.machine_of(self.name)

    def find_image(self) -> str:
        return self.platform.find_image(self.name)


class FakePlatform:
    """Has images, starts containers and answers in them, as told; keeps what was asked of it.

    asked: ("pull", tag), ("build", tag, *files), ("start", name), ("exec", container, *argv),
    ("stop", container, timeout_s), ("remove", name), in order. `answer` is called for each `exec`:
    a text is the output of a command that ended well. `put`: (container, file or folder, target);
    `fetched`: (container, folder, target). What containers are asked comes to methods here.
    """

    def __init__(
        self,
        log: Log | None = None,
        *,
        images: Collection[str] = (),
        registry: Collection[str] = (),
        machine: Machine | None = None,
        answer: Answer = lambda _container, _argv: "",
    ) -> None:
        self._log, self.answer = log or Log(), answer
        self.asked: list[tuple[Any, ...]] = []
        self.images = FakeImages(images, registry, self.asked)
        self.guard = FakeGuard()
        self._here = machine or LocalMachine()
        self.specs: dict[str, ContainerSpec] = {}
        self.environments: list[dict[str, str]] = []  # one for each `exec`
        self.stood: dict[str, ContainerEntry] = {}
        self.up: set[str] = set()  # what `running` has started
        self.talks: list[Talk] = []
        self.put: list[tuple[str, str, str]] = []
        self.fetched: list[tuple[str, str, Path]] = []
        self.states: dict[str, ContainerState] = {}
        self.said: defaultdict[str, str] = defaultdict(lambda: "a log line\n")

    name: str = ""  # as of plans that say no platform
    campaign: str = "c1"

    @property
    def abilities(self) -> PlatformAbilities:
        """Those of an engine: its containers can share a network."""
        return PlatformAbilities(shared_network=shared_network.SHARED)

    def machines_of_nodes(self) -> tuple[Machine, ...]:
        return self.machines()

    def machines(self) -> tuple[Machine, ...]:
        return (self._here,)

    def folder(self, cache: Path) -> Path:
        return cache

    @contextmanager
    def network(
        self, name: str, nodes: int, addresses: Sequence[str] = ()
    ) -> Iterator[Network]:
        with self._log.bracket("network"):
            yield Network(name, tuple(f"10.0.0.{11 + k}" for k in range(nodes)))

    @contextmanager
    def volume(
        self, name: str, device: str, fstype: str, placement: str = ""
    ) -> Iterator[str]:
        with self._log.bracket("volume"):
            yield name

    def container(self, name: str) -> FakeContainer:
        return FakeContainer(name, self)

    @contextmanager
    def running(self, spec: ContainerSpec) -> Iterator[FakeContainer]:
        self.asked.append(("start", spec.name))
        self.specs[spec.name] = spec
        if self.states.get(spec.name) == GONE:
            del self.states[spec.name]
        ports = dict.fromkeys(spec.ports, 15432)
        self.up.add(spec.name)
        try:
            yield replace(self.container(spec.name), address=spec.address, ports=ports)
        finally:
            self.asked.append(("remove", spec.name))
            self._gone(spec.name)

    def _gone(self, container: str) -> None:
        self.up.discard(container)
        self.states.setdefault(container, GONE)

    def stand(self, spec: ContainerSpec) -> Container:
        self.asked.append(("stand", spec.name))
        self.specs[spec.name] = spec
        self.states.pop(spec.name, None)
        self.stood[spec.name] = ContainerEntry(spec.name, spec.note, RUNNING)
        return self.container(spec.name)

    def find_containers(self, role: str = "") -> tuple[ContainerEntry, ...]:
        up = [ContainerEntry(name, "", self.state(name)) for name in sorted(self.up)]
        found = [*self.stood.values(), *up]
        return tuple(
            one for one in found if not role or self.specs[one.name].role == role
        )

    def once(self, spec: ContainerSpec, timeout_s: float) -> Completed:
        self.asked.append(("once", spec.name))
        self.specs[spec.name] = spec
        answer = self.answer(spec.name, spec.command)
        return answer if isinstance(answer, Completed) else completed(answer)

    def facts(self) -> Mapping[str, Any]:
        return {"ServerVersion": "1"}

    def answers(self) -> bool:
        return True

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        self._log.say("sweep")
        return ()

    # -------------------------------------------------------------- verbs of containers

    def exec(self, container: str, argv: Sequence[str], **options: Any) -> Completed:
        self.asked.append(("exec", container, *argv))
        self.environments.append(dict(options.get("env") or {}))
        answer = self.answer(container, argv)
        done = answer if isinstance(answer, Completed) else completed(answer)
        for line in done.out.splitlines() if options.get("on_line") else ():
            options["on_line"](line)
        return done

    @contextmanager
    def conversation(
        self, container: str, argv: Sequence[str]
    ) -> Iterator[Conversation]:
        self.talks.append(Talk(container, tuple(argv)))
        yield self.talks[-1]

    def fetch(self, container: str, folder: str, target: Path) -> None:
        self.fetched.append((container, folder, target))

    def stop(self, container: str, timeout_s: float) -> None:
        self.asked.append(("stop", container, timeout_s))

    def remove(self, container: str, timeout_s: float) -> None:
        self.asked.append(("remove", container))
        self.stood.pop(container, None)
        self._gone(container)

    def state(self, container: str) -> ContainerState:
        return self.states.get(container, RUNNING)

    def logs(self, container: str, tail: int | None = None) -> str:
        self._log.say(f"logs of {container}")
        return self.said[container]

    def machine_of(self, container: str) -> Machine:
        return self.machines()[0]

    def find_image(self, container: str) -> str:
        return f"sha256:{container}"


class FarPlatform(FakePlatform):
    """Its machine is not this computer."""

    def folder(self, cache: Path) -> Path:
        return Path("/var/lib/tierbench")


def completed(out: str = "", exit_code: int = 0, err: str = "") -> Completed:
    """What a command left."""
    return Completed((), exit_code, out, err, 1.0)


class QuietProgress:
    """Shows nothing; `said` keeps the lines that would have stayed on the console, `steps` what
    would have been shown of each run while it went on."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.steps: list[str] = []

    def run(self, title: str, number: int, total: int, left_s: float) -> None: ...

    def step(self, text: str, expected_s: float | None = None) -> None:
        self.steps.append(text)

    def show(self, state: object) -> None: ...
    def done(self) -> None: ...
    def speak(self, quiet: bool, verbose: bool, color: str) -> None: ...

    def note(self, text: str) -> None:
        self.said.append(text)

    def warn(self, text: str) -> None:
        self.said.append(text)


def transaction_table(rows: Sequence[tuple[float, float, str, int]]) -> pd.DataFrame:
    """(start_s, latency_s, type, outcome) rows as the table of transactions.py."""
    table = pd.DataFrame(rows, columns=["start_s", "latency_s", "type", "outcome"])
    table["type"] = table["type"].astype("category")
    table["queue_s"], table["retries"], table["sqlstate"] = 0.0, 0, ""
    return table


def this_machine_has(
    monkeypatch: pytest.MonkeyPatch,
    free_bytes: int = 0,
    memory_bytes: int = 0,
    cpus: int = 2,
) -> None:
    """As if, for the time of a test."""
    facts = replace(LocalMachine().facts(), memory_bytes=memory_bytes, cpus=cpus)
    monkeypatch.setattr(files, "free_bytes", lambda _: free_bytes)
    monkeypatch.setattr(LocalMachine, "facts", lambda _: facts)


def fake_world(
    log: Log | None = None,
    cache: Path = ROOT,
    clock: Clock | None = None,
    platform: Platform | None = None,
    shell: Any = None,
) -> World:
    platform = platform or FakePlatform(log)
    return World(clock or FakeClock(), shell, platform, QuietProgress(), cache, cache)
