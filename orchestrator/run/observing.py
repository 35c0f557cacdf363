"""Reads counters of disks for hours or days, and nothing else: from node_exporter's pages.

What was read is in named files, a new one every ten minutes, so that a program that is killed loses
no more than that; the next one goes on in the same folder. Nothing is written on a node.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pandas as pd

from orchestrator.analysis.observed.demand import COLUMNS, Demand, of_readings
from orchestrator.errors import UNREADABLE
from orchestrator.powers import Clock
from orchestrator.system import at_once, http_client, parquet

PART_S = 600.0
_TIMEOUT_S = 2.0
_PATH = "/metrics?collect[]=diskstats&collect[]=time"
_LINE = re.compile(
    r'node_disk_(reads_completed|writes_completed|read_bytes|written_bytes)_total\{device="([^"]+)"'
    r"[^}]*\} (\S+)"
)
_CLOCK = re.compile(r"^node_time_seconds (\S+)", re.M)
_PLACES = ("reads_completed", "writes_completed", "read_bytes", "written_bytes")

Row = tuple[float | str, ...]  # of COLUMNS


@dataclass(frozen=True)
class Exporter:
    """A node's page, and the device there that counts."""

    node: str
    url: str
    device: str

    def row(self, page: str) -> Row:
        """LookupError if the page lacks the clock or the device."""
        if (clock := _CLOCK.search(page)) is None:
            raise LookupError("the page has no node_time_seconds: node_exporter's collector `time`")
        values = {
            name: value for name, device, value in _LINE.findall(page) if device == self.device
        }
        if missing := set(_PLACES) - values.keys():
            raise LookupError(f"the page has no {self.device} ({', '.join(sorted(missing))})")
        return (float(clock[1]), self.node, self.device, *(float(values[n]) for n in _PLACES))


@dataclass(frozen=True)
class ReadingPace:
    """How often is read: every `every_s`, and every second in `pieces` stretches of `each_s`, one
    at random in each part of the whole time."""

    length_s: float
    every_s: float = 1.0
    pieces: int = 0
    each_s: float = 0.0

    def next_s(self, since_s: float) -> float:
        """When the next reading is due after one at `since_s` from the begin."""
        due_s = (since_s // self.every_s + 1) * self.every_s
        if self.pieces:
            second_s, slot_s = float(since_s // 1 + 1), self.length_s / self.pieces
            for number in (int(since_s // slot_s), int(since_s // slot_s) + 1):
                room_s = max(0.0, slot_s - self.each_s)
                first_s = number * slot_s + random.Random(number).uniform(0, room_s) // 1
                if since_s < first_s + self.each_s:
                    due_s = min(due_s, max(first_s, second_s))
        return due_s


@dataclass
class Observing:
    """A live observation whose readings are in `folder`. misses: node and reason → how often."""

    folder: Path
    exporters: Sequence[Exporter]
    pace: ReadingPace
    clock: Clock
    get: Callable[[str, float], str] = http_client.get
    misses: Counter[str] = field(default_factory=Counter)

    def read(self) -> None:
        """Reads until the time is over, from when the first reading in the folder was made; what
        was read is kept also if it is interrupted."""
        self.folder.mkdir(parents=True, exist_ok=True)
        begin_s = min((float(f.stem.partition("-")[2]) for f in _parts(self.folder)), default=0.0)
        begin_s = begin_s or float(round(self.clock.now()))
        rows = list[Row]()
        part_s = now_s = self.clock.now()
        try:
            while now_s < begin_s + self.pace.length_s:
                rows += self._once()
                if now_s >= part_s + PART_S:
                    _keep(self.folder, part_s, rows)
                    rows, part_s = [], now_s
                due_s = begin_s + self.pace.next_s(now_s - begin_s)
                self.clock.sleep(max(0.0, due_s - self.clock.now()))
                now_s = self.clock.now()
        finally:
            _keep(self.folder, part_s, rows)

    def _once(self) -> Iterator[Row]:
        pages = [
            at_once.begun(partial(self.get, f"{each.url.rstrip('/')}{_PATH}", _TIMEOUT_S))
            for each in self.exporters
        ]
        for exporter, page in zip(self.exporters, pages, strict=True):
            try:
                yield exporter.row(page.result())
            except (OSError, *UNREADABLE) as error:
                self.misses[f"{exporter.node}: {error}"] += 1


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("part-*.parquet"))


def _keep(folder: Path, since_s: float, rows: Sequence[Row]) -> None:
    if rows:
        table = pd.DataFrame(rows, columns=COLUMNS)
        parquet.write(folder / f"part-{since_s:.0f}.parquet", [table])


def demands(folder: Path) -> list[Demand]:
    """What the readings of a folder say of each disk. ValueError if that is nothing."""
    parts = [table for file in _parts(folder) for table in parquet.parts(file)]
    if not parts:
        raise ValueError("nothing was read")
    return of_readings(pd.concat(parts))
