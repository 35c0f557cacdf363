"""Clients on machines of their own, whose clocks are not this computer's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from orchestrator.model import Cluster, Endpoint, Node
from tests.fakes import FakeClock, FakePlatform

CLUSTER = Cluster(
    "postgresql", "17", (), (Endpoint("h", 1, 1, "u", "secret", "d"),), "net"
)
CLIENTS = tuple(Node(f"client-{k}", "client", f"t-client-{k}") for k in (1, 2, 3))


@dataclass
class Answers:
    """A shell in a client whose clock is ahead, as `date +%s.%N` answers. `trip_s`: of each
    question, half before and half after the answer is made."""

    clock: FakeClock
    ahead_s: float
    trips_s: Iterator[float]
    _said: str = ""

    def send(self, _: str) -> None:
        trip_s = next(self.trips_s)
        self.clock.sleep(trip_s / 2)
        self._said = f"{self.clock.now() + self.ahead_s:.9f}"
        self.clock.sleep(trip_s / 2)

    def receive(self, _: float) -> str:
        return self._said


@dataclass
class Elsewhere(FakePlatform):
    """Clients on machines of their own, whose clocks are ahead by so much."""

    clock: FakeClock = field(default_factory=FakeClock)
    ahead_s: dict[str, float] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    @contextmanager
    def conversation(self, container: str, argv: Sequence[str]) -> Iterator[Any]:
        yield Answers(
            self.clock, self.ahead_s.get(container, 0.0), iter([0.05, 0.002] * 5)
        )

    def stop(self, container: str, timeout_s: float) -> None:
        self.stopped.append(container)
