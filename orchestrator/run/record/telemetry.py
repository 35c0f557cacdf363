"""The sampler reads every collector once a second, on its own thread, and never fails a run.

Before each tick all machines are asked at once. If a collector or a machine fails, the
reason and the number of misses are kept. Ticks are due at fixed instants: a late tick is not
followed by a burst.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from orchestrator import errors, parts
from orchestrator.model import Cluster, Node, Sample
from orchestrator.powers import Clock, Machine, Platform
from orchestrator.run.record.readings import Miss, Readings
from orchestrator.system import at_once

# Seconds that a tick waits for machines: a slower one costs ticks of all others.
MACHINES_S = 2.5


def watched(
    cluster: Cluster, disks: parts.Disks, clients: Sequence[Node], platform: Platform
) -> tuple[Node, ...]:
    """All nodes to sample, each with the name of its machine.

    `host` is the machine that they share; of several, each that has a node is a node too.
    """
    unplaced = (*cluster.nodes, *clients, *disks.servers)
    nodes = [_placed(node, platform) for node in unplaced]
    machines = platform.machines()
    # The first machine stands for all where no node's machine is known: else none would.
    used = machines_of(nodes, machines) or machines[:1]
    hosts = [_host(machine, is_alone=len(used) == 1) for machine in used]
    return (*nodes, *hosts)


def _placed(node: Node, platform: Platform) -> Node:
    """A machine that cannot be told is "": telemetry is then missing, and no other's is taken."""
    if node.container is None:
        return node
    with suppress(errors.TierbenchError, OSError):
        machine = platform.container(node.container).find_machine()
        return replace(node, machine=machine.name)
    return node


def machines_of(
    nodes: Iterable[Node], machines: Iterable[Machine]
) -> tuple[Machine, ...]:
    names = {node.machine for node in nodes}
    return tuple(machine for machine in machines if machine.name in names)


def _host(machine: Machine, is_alone: bool) -> Node:
    name = "host"
    if not is_alone:
        name = f"host-{machine.name}"
    node = Node(name, "host", machine=machine.name)
    with suppress(OSError):
        facts = machine.facts()
        return replace(
            node, cpus=float(facts.cpus), memory_bytes=facts.memory_bytes or None
        )
    return node


@contextmanager
def sampling(
    nodes: Sequence[Node],
    collectors: Sequence[parts.Collector],
    clock: Clock,
    machines: Sequence[Machine] = (),
    every_s: float = 1.0,
    folder: Path | None = None,
    hear: Callable[[Sample], None] | None = None,
) -> Iterator[Readings]:
    """Samples `nodes`, which run on `machines`, until the block ends.

    The block begins after the first samples, or `every_s` without. `folder`: where
    samples are kept until then. `hear`: is told of each.
    """
    readings = Readings(folder=folder, hear=hear)
    begun = threading.Event()
    stop = threading.Event()

    def loop() -> None:
        due = clock.monotonic()
        ended = False
        while not ended:  # one pass at least, however short the block is
            started = clock.monotonic()
            try:
                _refresh(machines, readings)
                read_once(nodes, collectors, readings, clock)
            except Exception as error:  # whatever it is, the next tick goes on
                readings.missed("sampler", error)
            readings.cost_s += clock.monotonic() - started
            begun.set()
            # A late tick moves those after it, so that no burst of readings follows.
            due = max(due + every_s, clock.monotonic())
            ended = clock.wait(stop, max(0.0, due - clock.monotonic()))

    thread = threading.Thread(target=loop, name="sampler", daemon=True)
    thread.start()
    # A run of a few seconds must not begin before its first samples.
    clock.wait(begun, every_s)
    try:
        yield readings
    finally:
        stop.set()
        # A collector that hangs must not hold up the run; the thread is a daemon.
        thread.join(timeout=5)


def _refresh(machines: Sequence[Machine], readings: Readings) -> None:
    """Asks all machines at once. One that fails, or takes too long, is a miss."""
    asked = {at_once.begun(machine.refresh, "machine"): machine for machine in machines}
    at_once.all_ended(asked, MACHINES_S)
    for call, machine in asked.items():
        error: BaseException | None = TimeoutError("no answer yet")
        if call.done():
            error = call.error()
        if error is not None:
            readings.misses[Miss(f"machine {machine.name}", "", str(error))] += 1
        elif machine.clock_offset:
            readings.clocks[machine.name] = machine.clock_offset


def read_once(
    nodes: Sequence[Node],
    collectors: Sequence[parts.Collector],
    readings: Readings,
    clock: Clock,
) -> None:
    """Does one tick of all collectors. What a collector gave before it failed is kept."""
    now_s = clock.now()
    for collector in collectors:
        try:
            for sample in collector.read(nodes, now_s):
                readings.add(sample)
        except Exception as error:  # whatever it is, the others and the next tick go on
            readings.missed(collector.name, error)
    readings.end_tick(now_s)
