"""Fakes of the outside powers; the do-nothing parts of the package, writing words to one log.

With them a whole campaign runs in milliseconds, and the log is the order of everything that
happened: tests/unit/test_lifecycle.py compares it word for word.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
import pytest

from orchestrator.collectors.dry import DryCollector
from orchestrator.databases.dry import DryDatabase
from orchestrator.errors import RunError
from orchestrator.load_generators.dry import DryGenerator
from orchestrator.metrics import measured
from orchestrator.model import Cluster, ClusterSpec, Node, Phase, Volume, Workload
from orchestrator.parts import Disks, Parts, Result
from orchestrator.platforms.common.machines import LocalMachine
from orchestrator.platforms.docker.images import Images
from orchestrator.powers import (
    Completed,
    Container,
    ContainerSpec,
    Machine,
    MachineFacts,
    Network,
    Standing,
    World,
)
from orchestrator.system.clock import MadeUpClock
from orchestrator.tier import Gate, GateCheck, Tier
from orchestrator.tiers.dry import DryTier
from tests import ROOT


class FarMachine:
    """A machine of which only `facts` are known: reading anything else is an OSError."""

    def __init__(self, facts: MachineFacts) -> None:
        self._facts = facts
        self.name = facts.hostname

    def facts(self) -> MachineFacts:
        return self._facts

    def read(self, path: str) -> NoReturn:
        raise OSError(f"the machine {self.name} is not reachable from here")

    exists = is_folder = listing = real_path = free_bytes = read

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


# The end of a run on the parts below, as it stands in their log.
DOWN = ["client down", "logs of node-1", "database down", "network down", "disks of premium down"]
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


class FakePlatform:
    """Has images, starts containers and answers in them, as told; keeps what was asked of it.

    asked: ("pull", tag), ("build", tag, *files), ("start", name), ("exec", container, *argv),
    ("stop", container, timeout_s), ("remove", name), in order. `images` are here, those of
    `registry` can be pulled. `answer` is called for each `exec`: a text is the output of a command
    that ended well.
    """

    def __init__(
        self,
        log: Log | None = None,
        *,
        images: Collection[str] = (),
        registry: Collection[str] = (),
        answer: Answer = lambda _container, _argv: "",
    ) -> None:
        self._log = log or Log()
        self.images, self.registry, self.answer = set(images), set(registry), answer
        self.asked: list[tuple[Any, ...]] = []
        self.specs: dict[str, ContainerSpec] = {}
        self.environments: list[dict[str, str]] = []  # one for each `exec`
        self.stood: dict[str, Standing] = {}
        self.talks: list[Talk] = []
        self.states: dict[str, str] = {}
        self.said: defaultdict[str, str] = defaultdict(lambda: "a log line\n")

    name = ""  # as of plans that say no platform
    campaign = "c1"
    ways_to_get = Images.ways_to_get

    def image_present(self, tag: str) -> bool:
        return tag in self.images

    def image_id(self, tag: str) -> str | None:
        return f"id of {tag}" if tag in self.images else None

    def pull(self, tag: str) -> bool:
        self.asked.append(("pull", tag))
        self.images |= {tag} & set(self.registry)
        return tag in self.images

    def build(self, folder: str, tag: str, on_line: Any) -> None:
        files = sorted(file.name for file in Path(folder).iterdir())
        self.asked.append(("build", tag, *files))
        self.images.add(tag)

    def machines(self) -> tuple[Machine, ...]:
        return (LocalMachine(),)

    def folder(self, cache: Path) -> Path:
        return cache

    def machine_of(self, container: str) -> Machine:
        return self.machines()[0]

    @contextmanager
    def network(self, name: str, nodes: int, addresses: Sequence[str] = ()) -> Iterator[Network]:
        with self._log.bracket("network"):
            yield Network(name, tuple(f"10.0.0.{11 + k}" for k in range(nodes)))

    @contextmanager
    def volume(self, name: str, device: str, fstype: str, placement: str = "") -> Iterator[str]:
        with self._log.bracket("volume"):
            yield name

    @contextmanager
    def running(self, spec: ContainerSpec) -> Iterator[Container]:
        self.asked.append(("start", spec.name))
        self.specs[spec.name] = spec
        yield Container(spec.name, "id", 42, spec.address, dict.fromkeys(spec.ports, 15432))
        self.asked.append(("remove", spec.name))

    def stand(self, spec: ContainerSpec) -> Container:
        self.asked.append(("stand", spec.name))
        self.stood[spec.name] = Standing(spec.name, spec.note, "running")
        return Container(spec.name, "id", 42, None, {})

    def standing(self) -> tuple[Standing, ...]:
        return tuple(self.stood.values())

    def remove(self, container: str, timeout_s: float) -> None:
        self.asked.append(("remove", container))
        self.stood.pop(container, None)

    def exec(self, container: str, argv: Sequence[str], **options: Any) -> Completed:
        self.asked.append(("exec", container, *argv))
        self.environments.append(dict(options.get("env") or {}))
        answer = self.answer(container, argv)
        done = answer if isinstance(answer, Completed) else completed(answer)
        for line in done.out.splitlines() if options.get("on_line") else ():
            options["on_line"](line)
        return done

    def once(self, spec: ContainerSpec, timeout_s: float) -> Completed:
        self.asked.append(("once", spec.name))
        self.specs[spec.name] = spec
        answer = self.answer(spec.name, spec.command)
        return answer if isinstance(answer, Completed) else completed(answer)

    @contextmanager
    def conversation(self, container: str, argv: Sequence[str]) -> Iterator[Talk]:
        self.talks.append(Talk(container, tuple(argv)))
        yield self.talks[-1]

    def stop(self, container: str, timeout_s: float) -> None:
        self.asked.append(("stop", container, timeout_s))

    def state(self, container: str) -> str:
        return self.states.get(container, "running")

    def image_of(self, container: str) -> str:
        return f"sha256:{container}"

    def logs(self, container: str, tail: int | None = None) -> str:
        self._log.say(f"logs of {container}")
        return self.said[container]

    def facts(self) -> Mapping[str, Any]:
        return {"ServerVersion": "1"}

    def alone(self) -> AbstractContextManager[None]:
        return nullcontext()  # nobody else uses it

    def answers(self) -> bool:
        return True

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        self._log.say("sweep")
        return ()


def completed(out: str = "", exit_code: int = 0, err: str = "") -> Completed:
    """What a command left."""
    return Completed((), exit_code, out, err, 1.0)


class QuietProgress:
    """Shows nothing; `said` keeps the lines that would have stayed on the console."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def run(self, title: str, number: int, total: int, left_s: float) -> None: ...
    def step(self, text: str, expected_s: float | None = None) -> None: ...

    def note(self, text: str) -> None:
        self.said.append(text)

    def warn(self, text: str) -> None:
        self.said.append(text)


class FakeTier(DryTier):
    """The do-nothing tier; `restores` and the word of its gate are as told."""

    name = "emulated"

    def __init__(self, log: Log, restores: bool, verdict: Any = "ok") -> None:
        self._log, self._restores, self.verdict = log, restores, verdict

    def check(self, tier: Tier, world: World) -> None:
        self._log.say(f"check {tier.name}")

    def restores(self, *_: Any) -> bool:
        return self._restores

    @contextmanager
    def attached(self, tier: Tier, *rest: Any) -> Iterator[Disks]:
        with self._log.bracket(f"disks of {tier.name}"), super().attached(tier, *rest) as disks:
            yield disks

    @contextmanager
    def loading(self, *arguments: Any) -> Iterator[tuple[Volume, ...]]:
        with self._log.bracket("unlimited disks"), super().loading(*arguments) as volumes:
            yield volumes

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        self._log.say(f"gate of {tier.name}")
        check = GateCheck("IOPS", "1/s", 100.0, 100.0, 5.0, self.verdict)
        return replace(super().gate(tier, world, thorough), checks=(check,))


class FakeDatabase(DryDatabase):
    """The do-nothing database."""

    name = "postgresql"

    def __init__(self, log: Log) -> None:
        self._log = log

    def check(self, spec: ClusterSpec, world: World) -> None:
        self._log.say("check database")

    @contextmanager
    def running(self, *arguments: Any) -> Iterator[Cluster]:
        with self._log.bracket("database"), super().running(*arguments) as cluster:
            yield replace(cluster, database=self.name)

    def settle(self, cluster: Cluster, world: World) -> None:
        self._log.say("settle")

    def warm(self, cluster: Cluster, world: World) -> None:
        self._log.say("warm")

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        self._log.say("begin measuring")


class FakeGenerator(DryGenerator):
    """The do-nothing load generator, but for two figures that are always the same."""

    name = "sysbench"

    def __init__(self, log: Log) -> None:
        self._log = log

    def check(self, workload: Workload, spec: ClusterSpec, world: World) -> None:
        self._log.say(f"check {workload.name}")

    @contextmanager
    def client(self, *arguments: Any) -> Iterator[Node]:
        with self._log.bracket("client"), super().client(*arguments) as client:
            yield client

    def load(self, workload: Workload, cluster: Cluster, client: Node, world: World) -> None:
        self._log.say("load")

    def run(self, workload: Workload, *rest: Any) -> tuple[Phase, Phase]:
        self._log.say(f"run {workload.name}")
        return super().run(workload, *rest)

    def verify(self, workload: Workload, cluster: Cluster, world: World) -> Mapping[str, Any]:
        self._log.say("verify")
        return super().verify(workload, cluster, world)

    def read(self, *arguments: Any) -> Result:
        self._log.say("read")
        figures = (measured("throughput_per_s", 42.0), measured("latency_avg_s", 0.1))
        return replace(super().read(*arguments), measurements=figures)


def transaction_table(rows: Sequence[tuple[float, float, str, int]]) -> pd.DataFrame:
    """(start_s, latency_s, type, outcome) rows as the table of transactions.py."""
    table = pd.DataFrame(rows, columns=["start_s", "latency_s", "type", "outcome"])
    table["type"] = table["type"].astype("category")
    table["queue_s"], table["retries"], table["sqlstate"] = 0.0, 0, ""
    return table


def this_machine_has(
    monkeypatch: pytest.MonkeyPatch, free_bytes: int = 0, memory_bytes: int = 0, cpus: int = 2
) -> None:
    """As if, for the time of a test."""
    facts = replace(LocalMachine().facts(), memory_bytes=memory_bytes, cpus=cpus)
    monkeypatch.setattr(LocalMachine, "free_bytes", lambda *_: free_bytes)
    monkeypatch.setattr(LocalMachine, "facts", lambda _: facts)


def fake_world(
    log: Log | None = None,
    cache: Path = ROOT,
    clock: FakeClock | None = None,
    platform: Any = None,
    shell: Any = None,
) -> World:
    platform = platform or FakePlatform(log)
    return World(clock or FakeClock(), shell, platform, QuietProgress(), cache, cache)


def fake_parts(log: Log, *, restores: bool = True, gate: Any = "ok") -> Parts:
    return Parts(
        databases={"postgresql": FakeDatabase(log)},
        load_generators={"sysbench": FakeGenerator(log)},
        tiers={"emulated": FakeTier(log, restores, gate)},
        collectors=(DryCollector(),),
    )
