"""An observation: disks' counters read every second for hours or days, and its folder.

Of node_exporter's pages nothing but statistics is asked; of machines without it /proc/diskstats is
read, as in a run. Nothing is written on a node. What was read is in files, a new one every minute,
so that a program that is killed loses no more than that; the next one goes on in the same folder,
which docs/OBSERVE.md lists.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from orchestrator import errors, parts, powers
from orchestrator.counter_sources import DISK_DEVICE, NODE_EXPORTER, data_devices
from orchestrator.extensions.observe import observation_folders
from orchestrator.model import Node
from orchestrator.run.record.readings import Miss
from orchestrator.run.record.telemetry import sampling
from orchestrator.system import files, parquet
from orchestrator.units import format_moment

EXPORTER_PATH = "/metrics?collect[]=diskstats&collect[]=time"
# All but host and port, so that no password in an address becomes a name.
_BESIDE_HOST = re.compile(r"^https?://(?:[^@/]*@)?|/.*$")
COARSE_S = 15.0
LOOK_S = 5.0

Pieces = tuple[int, float]  # the number of pieces, and the seconds of each
Look = Callable[[Mapping[Miss, int]], None]


def _look_away(misses: Mapping[Miss, int]) -> None:
    """Nobody waits for what failed so far."""


def of_disks(nodes: Iterable[Node], device: str) -> Iterator[Node]:
    """A node for each disk, called by the host and port of its exporter, or its machine, with the
    device behind. `device`: of each node, several with | between; "": those that hold its data.
    UsageError if none is known."""
    for node in nodes:
        url = node.sources.get(NODE_EXPORTER, "").rstrip("/")
        name = _BESIDE_HOST.sub("", url or node.machine)
        disks = _devices(node)
        if device:
            disks = device.split("|")
        if not disks:
            raise errors.UsageError(
                f"the disk of {name} to read is not known",
                advice="name it with --device, as /proc/diskstats does",
            )
        for disk in disks:
            # Each of its disks is a node here, so that of the log would be read twice.
            disk_node = replace(node, name=f"{name} {disk}", wal_device=None)
            if url:
                sources = {NODE_EXPORTER: url, DISK_DEVICE: disk}
                yield replace(disk_node, sources=sources)
            else:
                yield replace(disk_node, device=disk, sources={})


def _devices(node: Node) -> list[str]:
    """The devices that hold the node's data and its log."""
    devices = data_devices(node.sources)
    if node.wal_device:
        devices.append(node.wal_device)
    return devices


# ------------------------------------------------------------------ reading


class Piece(NamedTuple):
    """A stretch of an observation that is read second by second, in Unix time."""

    begin_s: float
    end_s: float


def observe(
    folder: Path,
    disks: Sequence[Node],
    length_s: float,
    clock: powers.Clock,
    collectors: Sequence[parts.Collector],
    machines: Sequence[powers.Machine] = (),
    pieces: Pieces | None = None,
    look: Look = _look_away,
) -> Mapping[Miss, int]:
    """Reads until that time is over since the first reading in the folder; what was read is kept
    also if it is interrupted.

    Returns what failed → how often; at once where a first reading fails, because a wrong address or
    device would be told after a week.

    collectors: what reads a page of `EXPORTER_PATH` and /proc/diskstats. machines: of disks without
    an exporter. pieces: all that is read every second, and the rest
    every COARSE_S; without them all is. look: what is called meanwhile with what failed so far, and
    may end it.
    """
    now_s = clock.now()
    begun_s = observation_folders.begun_s(folder)
    # A failure counts only before the first reading. Later it is a gap, and may come back.
    if begun_s is None:
        failure = _first_failure(collectors, disks, now_s)
        if failure is not None:
            return {Miss("", "", failure): 1}
        # An exporter may take a while. The folder's name and the end have to be of one moment:
        # otherwise the next command would find some time left, and go on in a night that is over.
        now_s = clock.now()
        begun_s = now_s
    end_s = begun_s + length_s
    if end_s <= now_s:
        raise errors.UsageError(
            f"the observation {folder} ended at {format_moment(end_s)}, so nothing is read",
            advice="judge it again with --file, or read into another folder",
        )
    reader = _DiskReader(
        folder=folder,
        disks=disks,
        machines=machines,
        clock=clock,
        collectors=collectors,
        look=look,
        misses=Counter(),
    )
    if not pieces:
        with reader.reading(1.0, now_s):
            reader.wait_until(end_s)
        return reader.misses
    with reader.reading(COARSE_S, now_s):
        for piece in _pieces(begun_s, length_s, pieces):
            reader.read_piece(piece)
        reader.wait_until(end_s)
    return reader.misses


def _first_failure(
    collectors: Sequence[parts.Collector], disks: Sequence[Node], now_s: float
) -> str | None:
    """What a reading of all disks fails with."""
    try:
        for collector in collectors:
            list(collector.read(disks, now_s))
    except OSError as error:
        return str(error)
    return None


def _pieces(begun_s: float, length_s: float, pieces: Pieces) -> Iterator[Piece]:
    """One in each of as many equal parts, at random."""
    count, piece_s = pieces
    part_s = length_s / count
    # Drawn, and the same each time: at equal distances all would miss one minute of each hour.
    drawn_s = np.random.default_rng(1).random(count) * (part_s - piece_s)
    begins_s = begun_s + np.arange(count) * part_s + drawn_s
    for begin_s in begins_s.tolist():
        yield Piece(begin_s, begin_s + piece_s)


@dataclass(frozen=True)
class _DiskReader:
    """What reads disks, and what failed so far → how often."""

    folder: Path
    disks: Sequence[Node]
    machines: Sequence[powers.Machine]
    clock: powers.Clock
    collectors: Sequence[parts.Collector]
    look: Look
    misses: Counter[Miss]

    def read_piece(self, piece: Piece) -> None:
        """Waits for it, and reads every second until it ends. Of one that is over, or partly, what
        is left of it."""
        self.wait_until(piece.begin_s)
        if piece.end_s > self.clock.now():
            with self.reading(1.0, self.clock.now()):
                self.wait_until(piece.end_s)

    @contextmanager
    def reading(self, every_s: float, begin_s: float) -> Iterator[None]:
        """Reads so often meanwhile, from this Unix time on, into a folder of its own."""
        # The name tells `begun_s` when the observation began, and of which interval the
        # readings are. Rounded to seconds, it could tell of a beginning half a second too late.
        name = f"{begin_s:.3f}-{every_s:.0f}"
        folder = files.make_folder(self.folder, "samples", name)
        with sampling(
            self.disks, self.collectors, self.clock, self.machines, every_s, folder
        ) as readings:
            self.misses.update(readings.misses)
            readings.misses = self.misses  # the misses are looked at meanwhile
            try:
                yield
            finally:
                # All tables but the last are in files of their own already.
                *_, last = readings.tables([])
                tables = [table for table in [last] if len(table)]
                parquet.write(folder / "last.parquet", tables)

    def wait_until(self, until_s: float) -> None:
        """Looks at what failed meanwhile."""
        left_s = until_s - self.clock.now()
        while left_s > 0:
            # Sleeps are short, so that what fails is seen while it can still be mended.
            self.clock.sleep(min(left_s, LOOK_S))
            self.look(self.misses)
            left_s = until_s - self.clock.now()
