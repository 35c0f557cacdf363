"""The sampler reads every collector once a second, on its own thread, and never fails a run.

If a collector fails, the reason and the number of misses are kept; the run goes on. Ticks are due
at fixed instants: a late one is not followed by a burst.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from orchestrator.model import Cluster, Node, Phase, Sample
from orchestrator.parts import Collector, Disks
from orchestrator.powers import Clock, Machine


@dataclass
class Readings:
    """What the sampler has gathered. `misses`: "collector: reason" → count."""

    samples: list[Sample] = field(default_factory=list)
    misses: Counter[str] = field(default_factory=Counter)
    ticks: int = 0
    cost_s: float = 0.0

    def table(self, phases: Sequence[Phase]) -> pd.DataFrame:
        """time_s, node, metric, unit, value, phase; phase "" outside every phase."""
        table = pd.DataFrame(
            [(s.time_s, s.node, s.metric, s.unit, float(s.value)) for s in self.samples],
            columns=["time_s", "node", "metric", "unit", "value"],
        )
        table["phase"] = ""
        for phase in phases:
            inside = (table["time_s"] >= phase.start_s) & (table["time_s"] <= phase.end_s)
            table.loc[inside, "phase"] = phase.name
        return table

    def facts(self) -> dict[str, Any]:
        """What sampling itself cost, and what it could not read."""
        return {
            "ticks": self.ticks,
            "cost_s_per_tick": round(self.cost_s / self.ticks, 6) if self.ticks else None,
            "misses": dict(self.misses),
        }


def watched(
    cluster: Cluster, disks: Disks, clients: Sequence[Node], machine: Machine
) -> tuple[Node, ...]:
    """All nodes to sample. `host` is the machine that they share, or of several the clients'."""
    servers = [volume.server for volume in disks.volumes if volume.server is not None]
    facts = machine.facts()
    host = Node("host", "host", cpus=float(facts.cpus), memory_bytes=facts.memory_bytes or None)
    return (*cluster.nodes, *clients, *servers, host)


@contextmanager
def sampling(
    nodes: Sequence[Node], collectors: Sequence[Collector], clock: Clock, every_s: float = 1.0
) -> Iterator[Readings]:
    """Samples `nodes` until the block ends."""
    readings = Readings()
    stop = threading.Event()

    def loop() -> None:
        due = clock.monotonic()
        while not stop.wait(max(0.0, due - clock.monotonic())):
            read_once(nodes, collectors, readings, clock)
            due = max(due + every_s, clock.monotonic())

    thread = threading.Thread(target=loop, name="sampler", daemon=True)
    thread.start()
    try:
        yield readings
    finally:
        stop.set()
        thread.join(timeout=5)


def read_once(
    nodes: Sequence[Node], collectors: Sequence[Collector], readings: Readings, clock: Clock
) -> None:
    """Does one tick of all collectors. What a collector gave before it failed is kept."""
    started = clock.monotonic()
    now_s = clock.now()
    for collector in collectors:
        try:
            for sample in collector.read(nodes, now_s):
                readings.samples.append(sample)
        except Exception as error:  # whatever it is, the others and the next tick go on
            readings.misses[f"{collector.name}: {type(error).__name__}: {error}"] += 1
    readings.ticks += 1
    readings.cost_s += clock.monotonic() - started
