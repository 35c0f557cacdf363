"""What `tierbench observe` judges: readings of files, of a server, and of disks while it waits."""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from orchestrator import units
from orchestrator.cli.common.app import App
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.extensions.observe import observation_files
from orchestrator.extensions.observe.commands import managed_prometheus, observe_nodes
from orchestrator.extensions.observe.commands.observe_options import Read, pieces_in
from orchestrator.extensions.observe.histories import files as histories, prometheus
from orchestrator.extensions.observe.judging import machine_reports
from orchestrator.extensions.observe.live import disk_readers, observing
from orchestrator.powers import GuardBeats
from orchestrator.run.record.readings import Miss
from orchestrator.system import http_client
from orchestrator.texts import prose


@dataclass(frozen=True)
class ObservedReadings:
    """Tables of readings.

    misses: what could not be read, in words. remarks: warnings about the readings, in words."""

    tables: Sequence[pd.DataFrame]
    misses: Sequence[str] = ()
    remarks: Sequence[str] = ()

    @property
    def devices(self) -> list[str]:
        names: set[str] = set()
        for table in self.tables:
            names |= set(table["device"].unique())
        return sorted(names)


def of_device(readings: ObservedReadings, pattern: str) -> pd.DataFrame:
    """The readings of devices whose whole name matches the pattern; all if it is empty."""
    named = re.compile(pattern or ".*")
    # The whole name, else `sda` would take its partitions with it.
    names = [name for name in readings.devices if named.fullmatch(name)]
    chosen: list[pd.DataFrame] = []
    for table in readings.tables:
        is_named = table["device"].isin(names)
        # A table of which all is wanted is not copied.
        if not is_named.all():
            table = table[is_named]
        chosen.append(table)
    if len(chosen) == 1:
        # Another copy of a week's readings would take 100 MB.
        return chosen[0]
    return pd.concat(chosen)


def no_such_disk(device: str, readings: ObservedReadings) -> UsageError:
    names = prose.listed(readings.devices)
    if not names:
        return UsageError(
            "no disk has two readings in a row, so nothing can be said of any disk",
            "read for longer, or give files with more readings",
        )
    if not device:
        return UsageError(
            f"every reading of {names} is impossible for a disk",
            "check how its counters were read: units, and sums or means",
        )
    return UsageError(
        f"there are no readings of {device}", f"there are some of {names}"
    )


def read(app: App, options: Read, folder: Path) -> ObservedReadings:
    """All readings: from files, from a Prometheus server, and live."""
    length_s = units.parse_seconds(options.last)
    end_s = app.clock.now()
    pieces = pieces_in(options.calibrate)
    if pieces:
        _check_pieces(options, pieces, length_s)
    remarks: list[str] = []

    def remark(text: str) -> None:
        app.progress.warn(text)
        remarks.append(text)

    tables = [histories.read(file, remark) for file in options.file or ()]
    if options.prometheus:
        tables.append(
            _server_readings(options.prometheus, options, end_s - length_s, end_s)
        )
    # Last, because it takes as long as --last says: a mistake in a file is told before.
    misses: list[str] = []
    if options.reads_live:
        misses = _read_live(app, options, folder, length_s, pieces)
        # A first reading that fails ends the observation at once, and nothing is in its folder.
        if not observation_files.live(folder):
            raise UnavailableError(
                f"nothing was read: {prose.listed(misses)}",
                "check that each server runs and answers this machine, and check --device. "
                "The first reading of each disk must be whole; later ones may fail",
            )
        tables.append(histories.read(folder))
    parts = machine_reports.apart(tables)
    if not parts.disks:
        raise UsageError(
            "these files report of machines alone",
            "give the metrics of their disks as another --file (docs/SOURCES.md)",
        )
    disks = parts.beside_disks()
    for machine in machine_reports.without_disks(parts.reports, disks):
        remark(machine_reports.fit_no_interval(machine))
    return ObservedReadings(disks, misses, remarks)


def _check_pieces(options: Read, pieces: observing.Pieces, length_s: float) -> None:
    """UsageError where pieces have no effect: nothing is read live, or they take most of the
    time."""
    count, piece_s = pieces
    if not options.reads_live or count * piece_s > length_s / 4:
        raise UsageError(
            f"--calibrate {options.calibrate} has no effect here",
            "--calibrate needs --exporter or --profile, and takes at most a "
            "quarter of --last. If the readings are in files, give the pieces "
            "as another --file",
        )


def _server_readings(
    url: str, options: Read, begin_s: float, end_s: float
) -> pd.DataFrame:
    # `.+` leaves out series without the label, which are of no disk.
    device = options.device or ".+"
    try:
        headers = managed_prometheus.headers(os.environ, url)
        get = partial(http_client.get_history, headers=headers)
        return prometheus.read(url, options.match, device, begin_s, end_s, get)
    except OSError as error:
        advice = f"check --prometheus, --match, and {managed_prometheus.TOKEN}"
        raise UnavailableError(str(error), advice) from error


def _read_live(
    app: App,
    options: Read,
    folder: Path,
    length_s: float,
    pieces: observing.Pieces | None,
) -> list[str]:
    """Reads into the folder until the time is over; returns in words what failed."""
    with ExitStack() as up:
        watched = observe_nodes.watched(app, options, up)
        disks = list(observing.of_disks(watched.nodes, options.device))
        names = prose.listed([disk.name for disk in disks])
        app.progress.note(
            f"reading {names} into {folder}; Ctrl-C ends it, and the same command goes on"
        )
        reading = disk_readers.of_disks(
            watched.machines, observing.EXPORTER_PATH, http_client.get_exporter
        )
        failed = observing.observe(
            folder,
            disks,
            length_s,
            app.clock,
            reading,
            watched.machines,
            pieces,
            look=ReadingGaps(app, watched.beats).look,
        )
    return _failures_in_words(failed)


def _failures_in_words(failed: Mapping[Miss, int]) -> list[str]:
    """`failed`: what could not be read → how often."""
    misses = []
    for miss, count in failed.items():
        times = prose.counted(count, "time")
        misses.append(f"{miss} ({times})")
    return misses


class ReadingGaps:
    """Says each reason why something cannot be read, once, and lets reading go on."""

    def __init__(self, app: App, beats: GuardBeats) -> None:
        self._app = app
        self._beats = beats
        self._warned: set[str] = set()

    def look(self, failed: Mapping[Miss, int]) -> None:
        """`failed`: what could not be read so far. Raises if the guard is lost."""
        # The guard is lost if another campaign has removed the agents: all would be gaps.
        self._beats.require()
        for miss in failed:
            # Of a machine that failed as a whole, each disk is a miss by itself.
            is_of_machine = not miss.kind
            # The warning leaves out who read, because one server may answer for several.
            if not is_of_machine and miss.reason not in self._warned:
                self._app.progress.warn(
                    f"{miss.reason}: the readings have a gap until it answers again. Check "
                    "that it runs and can be reached; reading goes on"
                )
                self._warned.add(miss.reason)
