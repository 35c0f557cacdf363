"""The sampler reads every collector once a second, on its own thread, and never fails a run.

Before each tick all machines of the nodes are asked at once for what they have. If a collector or a
machine fails, the reason and the number of misses are kept; the run goes on. Ticks are due at fixed
instants: a late one is not followed by a burst.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pandas as pd

from orchestrator.errors import TierbenchError
from orchestrator.model import Cluster, Node, Phase, Sample
from orchestrator.parts import Collector, Disks
from orchestrator.platforms.common.machines import ClockOffset, ReadAtOnce
from orchestrator.powers import Clock, Machine, Platform

MACHINES_S = 2.5  # how long a tick waits for machines


@dataclass
class Readings:
    """What the sampler has gathered. `misses`: "collector: reason" → count. `clocks`: machine
    elsewhere → how much later its clock is than this computer's, by which samples are timed."""

    samples: list[Sample] = field(default_factory=list)
    misses: Counter[str] = field(default_factory=Counter)
    ticks: int = 0
    cost_s: float = 0.0
    clocks: dict[str, ClockOffset] = field(default_factory=dict)

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
        clocks = {name: asdict(offset) for name, offset in self.clocks.items()}
        return {
            "ticks": self.ticks,
            "cost_s_per_tick": round(self.cost_s / self.ticks, 6) if self.ticks else None,
            "misses": dict(self.misses),
            **({"clocks": clocks} if clocks else {}),
        }


def watched(
    cluster: Cluster, disks: Disks, clients: Sequence[Node], platform: Platform
) -> tuple[Node, ...]:
    """All nodes to sample, each with the name of its machine. `host` is the machine that they
    share; of several, each that has one of them is a node too."""
    servers = [volume.server for volume in disks.volumes if volume.server is not None]
    nodes = [_placed(node, platform) for node in (*cluster.nodes, *clients, *servers)]
    machines = platform.machines()
    used = machines_of(nodes, machines) or machines[:1]
    return (*nodes, *(_host(machine, alone=len(used) == 1) for machine in used))


def _placed(node: Node, platform: Platform) -> Node:
    """A machine that cannot be told is "": telemetry is then missing, and no other's is taken."""
    if node.container is not None:
        with suppress(TierbenchError, OSError):
            return replace(node, machine=platform.machine_of(node.container).name)
    return node


def machines_of(nodes: Iterable[Node], machines: Iterable[Machine]) -> tuple[Machine, ...]:
    names = {node.machine for node in nodes}
    return tuple(machine for machine in machines if machine.name in names)


def _host(machine: Machine, alone: bool) -> Node:
    node = Node("host" if alone else f"host-{machine.name}", "host", machine=machine.name)
    with suppress(OSError):
        facts = machine.facts()
        return replace(node, cpus=float(facts.cpus), memory_bytes=facts.memory_bytes or None)
    return node


@contextmanager
def sampling(
    nodes: Sequence[Node],
    collectors: Sequence[Collector],
    clock: Clock,
    machines: Sequence[Machine] = (),
    every_s: float = 1.0,
) -> Iterator[Readings]:
    """Samples `nodes`, which run on `machines`, until the block ends."""
    readings = Readings()
    stop = threading.Event()
    pool = ThreadPoolExecutor(max(1, len(machines)), thread_name_prefix="machine")

    def loop() -> None:
        due, ended = clock.monotonic(), False
        while not ended:  # at least once, however short the block is
            started = clock.monotonic()
            _refresh(machines, pool, readings)
            read_once(nodes, collectors, readings, clock)
            readings.cost_s += clock.monotonic() - started
            due = max(due + every_s, clock.monotonic())
            ended = stop.wait(max(0.0, due - clock.monotonic()))

    thread = threading.Thread(target=loop, name="sampler", daemon=True)
    thread.start()
    try:
        yield readings
    finally:
        stop.set()
        thread.join(timeout=5)
        pool.shutdown(wait=False, cancel_futures=True)


def _refresh(machines: Sequence[Machine], pool: ThreadPoolExecutor, readings: Readings) -> None:
    """Asks all machines at once. One that fails, or takes too long, is a miss."""
    asked = {pool.submit(machine.refresh): machine for machine in machines}
    done, _ = wait(asked, timeout=MACHINES_S)
    for future, machine in asked.items():
        error = future.exception() if future in done else TimeoutError("no answer yet")
        if error is not None:
            readings.misses[f"machine {machine.name}: {error}"] += 1
        elif isinstance(machine, ReadAtOnce) and (offset := machine.clock_offset()):
            readings.clocks[machine.name] = offset


def read_once(
    nodes: Sequence[Node], collectors: Sequence[Collector], readings: Readings, clock: Clock
) -> None:
    """Does one tick of all collectors. What a collector gave before it failed is kept."""
    now_s = clock.now()
    for collector in collectors:
        try:
            for sample in collector.read(nodes, now_s):
                readings.samples.append(sample)
        except Exception as error:  # whatever it is, the others and the next tick go on
            readings.misses[f"{collector.name}: {type(error).__name__}: {error}"] += 1
    readings.ticks += 1
