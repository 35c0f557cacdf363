"""What the sampler has gathered: in memory the last minute, all else in files.

A hundred nodes leave ten million samples an hour.
"""

import shutil
import threading
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orchestrator.model import Phase, Sample
from orchestrator.powers import ClockOffset
from orchestrator.system import files, parquet

# Samples in memory, and seconds of them, at most: what a killed program loses.
_PART = 2**18
_PART_S = 60.0


class _Series(NamedTuple):
    """What samples of one series have in common."""

    node: str
    metric: str
    unit: str


class Miss(NamedTuple):
    """What could not be read. who: a collector, a machine, or the sampler; empty if nobody else
    reads. kind: the class of the error, empty for a machine that failed as a whole.
    """

    who: str
    kind: str
    reason: str

    def __str__(self) -> str:
        """The form that records have: `sessions: OSError: terminating connection`."""
        return ": ".join(filter(None, self))


class Readings:
    """What the sampler has gathered. One thread may add while another reads.

    `misses`: what could not be read → how often. `clocks`: machine elsewhere → how much later its
    clock is than this computer's. Samples are timed by this computer's clock.

    Samples of each minute, or of each `part` of so many, go to a file in `folder`. A program that
    is killed then loses only the samples of its last minute. Without a folder memory holds all
    samples.
    """

    def __init__(
        self,
        folder: Path | None = None,
        part: int = _PART,
        hear: Callable[[Sample], None] | None = None,
    ) -> None:
        self.misses: Counter[Miss] = Counter()
        self.ticks = 0
        self.cost_s = 0.0
        self.clocks: dict[str, ClockOffset] = {}
        self._folder = folder
        self._part = part
        self._hear = hear
        self._numbers: dict[_Series, int] = {}
        # Arrays, and a number for each series: a hundred nodes leave ten million samples an hour.
        self._times_s = array("d")
        self._values = array("d")
        self._series = array("I")
        self._files: list[Path] = []
        # The latest moment at which the next part is written.
        self._due_s: float | None = None
        self._refused_s: float | None = None
        self._lock = threading.Lock()

    def add(self, sample: Sample) -> None:
        """OSError if memory is full and the disk takes no more: then the sample is not kept."""
        series = _Series(sample.node, sample.metric, sample.unit)
        with self._lock:
            is_full = len(self._series) >= self._part
            # All samples of a tick have one attempt.
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
        self.misses[Miss(who, type(error).__name__, str(error))] += 1

    def end_tick(self, now_s: float) -> None:
        """Writes what the last minute gave, if it is over; later if the disk has no room."""
        self.ticks += 1
        with self._lock, suppress(OSError):
            if self._folder and self._due_s is not None and now_s >= self._due_s:
                # The time is reset where the disk has no room, too: the next attempt is a minute
                # later.
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
        series = pd.DataFrame(
            list(self._numbers), columns=list(_Series._fields), dtype=str
        )
        numbers = np.array(self._series, dtype=np.intp)
        columns: dict[str, Any] = {"time_s": np.array(self._times_s)}
        for name in _Series._fields:
            columns[name] = series[name].take(numbers).array
        columns["value"] = np.array(self._values)
        return pd.DataFrame(columns)

    def _parts(self) -> Iterator[pd.DataFrame]:
        """What has been added so far, in parts; the last one may be empty."""
        with self._lock:
            # The copy alone is made under the lock: a reader of files would hold up the sampler.
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
                # A moment at which one phase ends and the next begins is of the later one.
                numbers[is_within] = number
            yield table.assign(phase=phase_names.take(numbers).array)

    def forget(self) -> None:
        """Removes the files: the run's own table has all of them."""
        with self._lock:
            if self._folder is not None:
                # A folder that cannot be removed costs room and nothing else.
                shutil.rmtree(self._folder, ignore_errors=True)

    def facts(self) -> dict[str, Any]:
        """What sampling itself cost, and what it could not read."""
        cost_s_per_tick: float | None = None
        if self.ticks:
            cost_s_per_tick = round(self.cost_s / self.ticks, 6)
        facts: dict[str, Any] = {
            "ticks": self.ticks,
            "cost_s_per_tick": cost_s_per_tick,
            "misses": {str(miss): count for miss, count in self.misses.items()},
        }
        if self.clocks:
            facts["clocks"] = {
                name: asdict(offset) for name, offset in self.clocks.items()
            }
        return facts
