"""Fakes of the outside powers and do-nothing parts, each writing words to one log.

With them a whole campaign runs in milliseconds, and the log is the order of everything that
happened: tests/unit/test_lifecycle.py compares it word for word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from orchestrator import transactions
from orchestrator.metrics import measured
from orchestrator.model import (
    Cluster,
    ClusterSpec,
    Endpoint,
    Gate,
    GateCheck,
    Node,
    Phase,
    Sample,
    Tier,
    Volume,
    Workload,
)
from orchestrator.protocols import Parts, Result, World


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


class FakeClock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.time_s = 1_000.0

    def now(self) -> float:
        return self.time_s

    def monotonic(self) -> float:
        return self.time_s

    def sleep(self, seconds: float) -> None:
        self.time_s += seconds


class FakeContainers:
    """Networks only: the fake parts start no containers."""

    def __init__(self, log: Log) -> None:
        self._log = log

    @contextmanager
    def network(self, name: str, prefix: str | None = None) -> Iterator[str]:
        with self._log.bracket("network"):
            yield "10.0.0"

    def logs(self, container: str, tail: int | None = None) -> str:
        self._log.say(f"logs of {container}")
        return "a log line\n"

    def sweep(self) -> tuple[str, ...]:
        self._log.say("sweep")
        return ()


class QuietTell:
    def run(self, title: str, number: int, total: int, left_s: float) -> None: ...
    def step(self, text: str, expected_s: float | None = None) -> None: ...
    def note(self, text: str) -> None: ...
    def warn(self, text: str) -> None: ...


class FakeTier:
    name = "emulated"

    def __init__(self, log: Log, keeps_images: bool, verdict: Any = "ok") -> None:
        self._log, self._keeps, self.verdict = log, keeps_images, verdict

    def check(self, tier: Tier, world: World) -> None:
        self._log.say(f"check {tier.name}")

    def keeps_images(self, tier: Tier) -> bool:
        return self._keeps

    def gate_identity(self, tier: Tier, world: World) -> Mapping[str, Any] | None:
        return None

    def facts(self) -> Mapping[str, Any]:
        return {"mechanism": "fake"}

    @contextmanager
    def attached(
        self, tier: Tier, sizes_bytes: Sequence[int], images: Sequence[Path] | None, world: World
    ) -> Iterator[tuple[Volume, ...]]:
        with self._log.bracket(f"disks of {tier.name}"):
            yield tuple(
                Volume(f"v{k}", "/dev/fake", images is not None) for k in range(len(sizes_bytes))
            )

    @contextmanager
    def loading(
        self, sizes_bytes: Sequence[int], images: Sequence[Path], world: World
    ) -> Iterator[tuple[Volume, ...]]:
        with self._log.bracket("unlimited disks"):
            for image in images:
                image.write_text("loaded")
            yield tuple(Volume(f"v{k}", "/dev/fake", False) for k in range(len(sizes_bytes)))

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        self._log.say(f"gate of {tier.name}")
        check = GateCheck("IOPS", "1/s", 100.0, 100.0, 5.0, self.verdict)
        return Gate(tier.name, world.clock.now(), (check,))


class FakeDatabase:
    name = "postgresql"

    def __init__(self, log: Log) -> None:
        self._log = log

    def image(self, spec: ClusterSpec, world: World) -> str:
        return "fake:1"

    def keeps_images(self, spec: ClusterSpec) -> bool:
        return True

    def check(self, spec: ClusterSpec, world: World) -> None:
        self._log.say("check database")

    @contextmanager
    def running(
        self, spec: ClusterSpec, volumes: Sequence[Volume], network: str, prefix: str, world: World
    ) -> Iterator[Cluster]:
        with self._log.bracket("database"):
            node = Node("node-1", "database", container="node-1", cpus=1.0)
            endpoint = Endpoint("10.0.0.11", 5432, 1, "bench", "secret", "bench")
            yield Cluster("postgresql", "17", (node,), (endpoint,), network)

    def settle(self, cluster: Cluster, world: World) -> None:
        self._log.say("settle")

    def warm(self, cluster: Cluster, world: World) -> None:
        self._log.say("warm")

    def begin_measuring(self, cluster: Cluster, world: World) -> None:
        self._log.say("begin measuring")

    def facts(self, cluster: Cluster, world: World) -> Mapping[str, Any]:
        return {"version": "17", "data_bytes": 10, "cache_bytes": 1}


class FakeGenerator:
    name = "sysbench"

    def __init__(self, log: Log) -> None:
        self._log = log

    def loader_version(self, workload: Workload, world: World) -> str:
        return "1"

    def check(self, workload: Workload, spec: ClusterSpec, world: World) -> None:
        self._log.say(f"check {workload.name}")

    @contextmanager
    def client(self, network: str, out: Path, world: World) -> Iterator[Node]:
        with self._log.bracket("client"):
            yield Node("client", "client", container="client")

    def load(self, workload: Workload, cluster: Cluster, client: Node, world: World) -> None:
        self._log.say("load")

    def run(
        self, workload: Workload, cluster: Cluster, client: Node, out: Path, world: World
    ) -> tuple[Phase, Phase]:
        self._log.say(f"run {workload.name}")
        start_s = world.clock.now()
        world.clock.sleep(workload.warmup_s + workload.measure_s)
        middle_s = start_s + workload.warmup_s
        return (
            Phase("warm-up", start_s, middle_s),
            Phase("measure", middle_s, middle_s + workload.measure_s),
        )

    def verify(self, workload: Workload, cluster: Cluster, world: World) -> Mapping[str, Any]:
        self._log.say("verify")
        return {}

    def read(self, workload: Workload, out: Path, start_s: float, end_s: float) -> Result:
        self._log.say("read")
        table = transaction_table([(start_s + 0.5, 0.1, "point_select", 0)])
        spans = {"measure": (start_s, end_s)}
        return Result(
            (measured("throughput_per_s", 42.0), measured("latency_avg_s", 0.1)),
            transactions.intervals(table, spans),
            table,
            {},
        )


class FakeCollector:
    name = "fake"

    def read(self, nodes: Sequence[Node], now_s: float) -> Sequence[Sample]:
        return [Sample(now_s, "node-1", "cpu_seconds_total", "s", now_s)]


def transaction_table(rows: Sequence[tuple[float, float, str, int]]) -> pd.DataFrame:
    """(start_s, latency_s, type, outcome) rows as the table of transactions.py."""
    table = pd.DataFrame(rows, columns=["start_s", "latency_s", "type", "outcome"])
    table["type"] = table["type"].astype("category")
    table["queue_s"], table["retries"], table["sqlstate"] = 0.0, 0, ""
    return table


def fake_world(log: Log, cache: Path, clock: FakeClock | None = None) -> World:
    containers: Any = FakeContainers(log)
    shell: Any = None
    return World(clock or FakeClock(), shell, containers, QuietTell(), cache, cache)


def fake_parts(log: Log, *, keeps_images: bool = True, gate: Any = "ok") -> Parts:
    return Parts(
        databases={"postgresql": FakeDatabase(log)},
        load_generators={"sysbench": FakeGenerator(log)},
        tiers={"emulated": FakeTier(log, keeps_images, gate)},
        collectors=(FakeCollector(),),
    )
