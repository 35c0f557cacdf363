"""The sampler reads every collector once a second, on its own thread, and never fails a run.

Before each tick all machines are asked at once. If a collector or a machine fails, the
reason and the number of misses are kept. Ticks are due at fixed instants: a late tick is not
followed by a burst. A hundred nodes leave ten million samples an hour, of which memory holds
the last minute's.
"""

import shutil
import threading
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orchestrator import errors, parts
from orchestrator.model import Cluster, Node, Phase, Sample
from orchestrator.powers import Clock, ClockOffset, Machine, Platform
from orchestrator.system import at_once, files, parquet

MACHINES_S = 2.5  # how long a tick waits for machines

# Samples in memory, and seconds of them, at most.
_PART = 2**18
_PART_S = 60.0


class _Series(NamedTuple):
    """What samples of one series have in common."""

    node: str
    metric: str
    unit: str


class Readings:
    """What the sampler has gathered. One thread may add while another reads.

    `misses`: "collector: reason" → count. `clocks`: machine elsewhere → how much later its
    clock is than this computer's, by which samples are timed.

    Samples of each minute, or of each `part` of so many, go to a file of their own in
    `folder`, so that a program that is killed leaves all but those of its last minute;
    without a folder memory holds them all.
    """

    def __init__(
        self,
        folder: Path | None = None,
        part: int = _PART,
        hear: Callable[[Sample], None] | None = None,
    ) -> None:
        self.misses: Counter[str] = Counter()
        self.ticks = 0
        self.cost_s = 0.0
        self.clocks: dict[str, ClockOffset] = {}
        self._folder = folder
        self._part = part
        self._hear = hear
        self._numbers: dict[_Series, int] = {}
        self._times_s = array("d")
        self._values = array("d")
        self._series = array("I")
        self._files: list[Path] = []
        self._due_s: float | None = None  # when the next part is written, at the latest
        self._refused_s: float | None = None
        self._lock = threading.Lock()

    def add(self, sample: Sample) -> None:
        """OSError if memory is full and the disk takes no more: then the sample is not kept."""
        series = _Series(sample.node, sample.metric, sample.unit)
        with self._lock:
            is_full = len(self._series) >= self._part
            # One attempt for all samples of a tick.
            if is_full and sample.time_s == self._refused_s:
                raise OSError("the disk has no room for samples")
            if self._folder and is_full:
                self._refused_s = sample.time_s
                self._spill(self._folder)
            self._times_s.append(sample.time_s)
            self._values.append(sample.value)
            self._series.append(self._numbers.setdefault(series, len(self._numbers)))
        if self._hear is not None:
            self._hear(sample)

    def missed(self, who: str, error: Exception) -> None:
        kind = type(error).__name__
        self.misses[f"{who}: {kind}: {error}"] += 1

    def end_tick(self, now_s: float) -> None:
        """Writes what the last minute gave, if it is over; later if the disk has no room."""
        self.ticks += 1
        with self._lock, suppress(OSError):
            if self._folder and self._due_s is not None and now_s >= self._due_s:
                self._due_s = None
                self._spill(self._folder)
        self._due_s = self._due_s or now_s + _PART_S

    def _spill(self, folder: Path) -> None:
        files.make_folder(folder)
        file = folder / f"{len(self._files) + 1:05}.parquet"
        # A sync would delay the next tick.
        parquet.write(file, [self._in_memory()], lasting=False)
        self._files.append(file)
        self._times_s = array("d")
        self._values = array("d")
        self._series = array("I")

    def _in_memory(self) -> pd.DataFrame:
        numbers = np.array(self._series, dtype=np.intp)
        nodes = [series.node for series in self._numbers]
        metrics = [series.metric for series in self._numbers]
        units = [series.unit for series in self._numbers]
        return pd.DataFrame(
            {
                "time_s": np.array(self._times_s),
                "node": pd.Series(nodes, dtype=str).take(numbers).array,
                "metric": pd.Series(metrics, dtype=str).take(numbers).array,
                "unit": pd.Series(units, dtype=str).take(numbers).array,
                "value": np.array(self._values),
            }
        )

    def _parts(self) -> Iterator[pd.DataFrame]:
        """What has been added so far, in parts; the last one may be empty."""
        with self._lock:
            last = self._in_memory()
            files = list(self._files)
        for file in files:
            yield from parquet.parts(file)
        yield last

    def samples(self, metrics: Collection[str] | None = None) -> Iterator[Sample]:
        """The samples of these `metrics`, else all, in the order in which they were added."""
        for table in self._parts():
            if metrics is not None:
                table = table[table["metric"].isin(list(metrics))]
            for row in table.itertuples(index=False, name=None):
                yield Sample(*row)

    def tables(self, phases: Sequence[Phase]) -> Iterator[pd.DataFrame]:
        """time_s, node, metric, unit, value, phase, in one or more parts.

        `phase` is "" outside every phase.
        """
        names = [phase.name for phase in phases]
        phase_names = pd.Series(["", *names], dtype=str)
        for table in self._parts():
            numbers = np.zeros(len(table), dtype=np.intp)
            time_s = table["time_s"]
            for number, phase in enumerate(phases, start=1):
                is_within = (time_s >= phase.start_s) & (time_s <= phase.end_s)
                numbers[is_within] = number
            yield table.assign(phase=phase_names.take(numbers).array)

    def forget(self) -> None:
        """Removes the files: the run's own table has all of them."""
        with self._lock:
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)

    def facts(self) -> dict[str, Any]:
        """What sampling itself cost, and what it could not read."""
        cost_s_per_tick: float | None = None
        if self.ticks:
            cost_s_per_tick = round(self.cost_s / self.ticks, 6)
        facts: dict[str, Any] = {
            "ticks": self.ticks,
            "cost_s_per_tick": cost_s_per_tick,
            "misses": dict(self.misses),
        }
        if self.clocks:
            facts["clocks"] = {
                name: asdict(offset) for name, offset in self.clocks.items()
            }
        return facts


def watched(
    cluster: Cluster, disks: parts.Disks, clients: Sequence[Node], platform: Platform
) -> tuple[Node, ...]:
    """All nodes to sample, each with the name of its machine.

    `host` is the machine that they share; of several, each that has a node is a node too.
    """
    unplaced = (*cluster.nodes, *clients, *disks.servers)
    nodes = [_placed(node, platform) for node in unplaced]
    machines = platform.machines()
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
        while not ended:  # at least once, however short the block is
            started = clock.monotonic()
            try:
                _refresh(machines, readings)
                read_once(nodes, collectors, readings, clock)
            except Exception as error:  # whatever it is, the next tick goes on
                readings.missed("sampler", error)
            readings.cost_s += clock.monotonic() - started
            begun.set()
            due = max(due + every_s, clock.monotonic())
            ended = stop.wait(max(0.0, due - clock.monotonic()))

    thread = threading.Thread(target=loop, name="sampler", daemon=True)
    thread.start()
    begun.wait(every_s)
    try:
        yield readings
    finally:
        stop.set()
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
            readings.misses[f"machine {machine.name}: {error}"] += 1
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
