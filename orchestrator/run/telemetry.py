"""The sampler reads every collector once a second, on its own thread, and never fails a run.

Before each tick all machines of the nodes are asked at once for what they have. If a collector or a
machine fails, the reason and the number of misses are kept; the run goes on. Ticks are due at fixed
instants: a late one is not followed by a burst. A hundred nodes leave ten million samples an hour,
so memory holds only the last of them, and a file the others.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from orchestrator.errors import TierbenchError
from orchestrator.model import Cluster, Node, Phase, Sample
from orchestrator.parts import Collector, Disks
from orchestrator.platforms.common.machines import ClockOffset, ReadAtOnce
from orchestrator.powers import Clock, Machine, Platform

MACHINES_S = 2.5  # how long a tick waits for machines

_ROW = np.dtype([("time_s", "<f8"), ("value", "<f8"), ("series", "<u4")])
_PART = 2**18  # samples: 5 MB in the file
_Series = tuple[str, str, str]  # node, metric, unit


class Readings:
    """What the sampler has gathered. `misses`: "collector: reason" → count. `clocks`: machine
    elsewhere → how much later its clock is than this computer's, by which samples are timed.

    Samples beyond a `part` of so many are in a file in `folder` that has no name and ends with this
    program. One thread may add while another reads.
    """

    def __init__(
        self, samples: Iterable[Sample] = (), folder: Path | None = None, part: int = _PART
    ) -> None:
        self.misses: Counter[str] = Counter()
        self.ticks, self.cost_s = 0, 0.0
        self.clocks: dict[str, ClockOffset] = {}
        self._folder, self._part = folder, part
        self._numbers: dict[_Series, int] = {}
        self._times_s, self._values, self._series = array("d"), array("d"), array("I")
        self._file: IO[bytes] | None = None
        self._parts_in_file = 0
        self._lock = threading.Lock()
        for sample in samples:
            self.add(sample)

    def add(self, sample: Sample) -> None:
        """OSError if memory is full and the file takes no more: then the sample is not kept."""
        series = (sample.node, sample.metric, sample.unit)
        with self._lock:
            if len(self._series) == self._part:
                self._spill()
            self._times_s.append(sample.time_s)
            self._values.append(sample.value)
            self._series.append(self._numbers.setdefault(series, len(self._numbers)))

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
            weakref.finalize(self, self._file.close)
        left = self._in_memory().tobytes()
        end = (self._parts_in_file + 1) * len(left)
        while left:  # at its own place: what a full disk took of an earlier attempt is written over
            left = left[os.pwrite(self._file.fileno(), left, end - len(left)) :]
        self._parts_in_file += 1
        self._times_s, self._values, self._series = array("d"), array("d"), array("I")

    def _in_memory(self) -> np.ndarray:
        rows = np.empty(len(self._series), _ROW)
        rows["time_s"], rows["value"], rows["series"] = self._times_s, self._values, self._series
        return rows

    def _parts(self) -> Iterator[tuple[Sequence[_Series], np.ndarray]]:
        """What has been added so far, in parts, of which the last may be empty; the `series` of a
        row is a place in the sequence beside it."""
        with self._lock:
            last, whole, names = self._in_memory(), self._parts_in_file, list(self._numbers)
        for number in range(whole):
            assert self._file is not None
            size = self._part * _ROW.itemsize
            yield names, np.frombuffer(os.pread(self._file.fileno(), size, number * size), _ROW)
        yield names, last

    def samples(self, metrics: Collection[str] | None = None) -> Iterator[Sample]:
        """In the order in which they were added; without `metrics` those of all."""
        for names, rows in self._parts():
            wanted = [metrics is None or metric in metrics for _, metric, _ in names]
            kept = rows[np.array(wanted, dtype=bool)[rows["series"]]] if names else rows
            for time_s, value, series in kept.tolist():
                node, metric, unit = names[series]
                yield Sample(time_s, node, metric, unit, value)

    def tables(self, phases: Sequence[Phase]) -> Iterator[pd.DataFrame]:
        """time_s, node, metric, unit, value, phase, in parts, of which there is at least one; phase
        "" outside every phase."""
        for names, rows in self._parts():
            columns = zip(*names, strict=True) if names else ((), (), ())
            node, metric, unit = (
                pd.Series(column, dtype=str).take(rows["series"]).array for column in columns
            )
            times_s = rows["time_s"]
            phase = np.zeros(len(rows), dtype=np.intp)
            for number, one in enumerate(phases, start=1):
                phase[(times_s >= one.start_s) & (times_s <= one.end_s)] = number
            phase_names = pd.Series(["", *(one.name for one in phases)], dtype=str)
            yield pd.DataFrame(
                {
                    "time_s": times_s,
                    "node": node,
                    "metric": metric,
                    "unit": unit,
                    "value": rows["value"],
                    "phase": phase_names.take(phase).array,
                }
            )

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
            return replace(node, machine=platform.container(node.container).find_machine().name)
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
    folder: Path | None = None,
) -> Iterator[Readings]:
    """Samples `nodes`, which run on `machines`, until the block ends. `folder`: where samples are
    kept until then."""
    readings = Readings(folder=folder)
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
                readings.add(sample)
        except Exception as error:  # whatever it is, the others and the next tick go on
            readings.misses[f"{collector.name}: {type(error).__name__}: {error}"] += 1
    readings.ticks += 1
