"""An observation: disks' counters read every second for hours or days, and its folder.

Of node_exporter's pages nothing but statistics is asked; of machines without it /proc/diskstats is
read, as in a run. Nothing is written on a node. What was read is in files, a new one every minute,
so that a program that is killed loses no more than that; the next one goes on in the same folder,
which docs/OBSERVE.md lists. A report follows from demand.parquet and the options alone.
"""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orchestrator import errors, parts, powers
from orchestrator.analysis.answers.record import Brief
from orchestrator.analysis.observed.answered_observation import (
    AnsweredObservation,
    CandidateAnswer,
    DiskRead,
)
from orchestrator.analysis.observed.demand import HOUR_S, QUANTITIES, Demand
from orchestrator.keys import strict_yaml
from orchestrator.model import DISK_DEVICE, NODE_EXPORTER, Node
from orchestrator.run import observation_folders
from orchestrator.run.telemetry import sampling
from orchestrator.system import files, parquet
from orchestrator.system.observation_files import DEMAND, FACTS, live
from orchestrator.units import csv_row, format_moment

EXPORTER_PATH = "/metrics?collect[]=diskstats&collect[]=time"
_OTHERS = re.compile(r"^https?://(?:[^@/]*@)?|/.*$")  # than host and port
COARSE_S = 15.0
LOOK_S = 5.0
_QUESTION = "Does this disk carry the load that was observed?"
_ROWS_AT_ONCE = 2**16  # of a table that is written
_READ = ("node", "device", "resolution_s", "coverage")
# Columns of candidates.csv.
_COLUMNS = (
    "candidate",
    "monthly",
    "currency",
    "region",
    "iops",
    "bytes_per_s",
    "word",
    "why",
    "at_least",
    "waits_least_pct",
    "waits_most_pct",
    "queues_least_pct",
    "queues_most_pct",
    "with_less_pct",
    "with_more_pct",
    "binding",
    "empty_least_s",
    "empty_most_s",
)

Pieces = tuple[int, float]  # how many, and the seconds of each
Look = Callable[[Mapping[str, int]], None]


def _look_away(misses: Mapping[str, int]) -> None:
    """Nobody waits for what failed so far."""


def of_disks(nodes: Iterable[Node], device: str) -> Iterator[Node]:
    """A node for each disk, called by the host and port of its exporter, or its machine, with the
    device behind. `device`: of each node, several with | between; "": those that hold its data.
    UsageError if none is known."""
    for node in nodes:
        url = node.sources.get(NODE_EXPORTER, "").rstrip("/")
        name = _OTHERS.sub("", url or node.machine)
        disks = _devices(node)
        if device:
            disks = device.split("|")
        if not disks:
            raise _no_device_to_read(name)
        for disk in disks:
            disk_node = replace(node, name=f"{name} {disk}", wal_device=None)
            if url:
                sources = {NODE_EXPORTER: url, DISK_DEVICE: disk}
                yield replace(disk_node, sources=sources)
            else:
                yield replace(disk_node, device=disk, sources={})


def _devices(node: Node) -> list[str]:
    """The devices that hold the node's data and its log."""
    devices = node.sources.get(DISK_DEVICE, "").split()
    if node.wal_device:
        devices.append(node.wal_device)
    return devices


def _no_device_to_read(node: str) -> errors.UsageError:
    return errors.UsageError(
        f"it is not known which disk of {node} to read",
        advice="name it with --device, as /proc/diskstats does",
    )


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
) -> Mapping[str, int]:
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
    if begun_s is None:
        begun_s = now_s
    end_s = begun_s + length_s
    if end_s <= now_s:
        raise _is_over(folder, end_s)
    if not live(folder):
        failure = _first_failure(collectors, disks, now_s)
        if failure is not None:
            return {failure: 1}
    reader = _DiskReader(folder, disks, machines, clock, collectors, look, Counter())
    if not pieces:
        with reader.reading(1.0):
            reader.wait_until(end_s)
        return reader.misses
    with reader.reading(COARSE_S):
        for piece in _pieces(begun_s, length_s, pieces):
            reader.read_piece(piece)
        reader.wait_until(end_s)
    return reader.misses


def _is_over(folder: Path, end_s: float) -> errors.UsageError:
    return errors.UsageError(
        f"the observation {folder} ended at {format_moment(end_s)}, so nothing is read",
        advice="judge it again with --file, or read into another folder",
    )


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
    misses: Counter[str]

    def read_piece(self, piece: Piece) -> None:
        """Waits for it, and reads every second until it ends. Of one that is over, or partly, what
        is left of it."""
        self.wait_until(piece.begin_s)
        if piece.end_s > self.clock.now():
            with self.reading(1.0):
                self.wait_until(piece.end_s)

    @contextmanager
    def reading(self, every_s: float) -> Iterator[None]:
        """Reads so often meanwhile, into a folder of its own."""
        name = f"{self.clock.now():.0f}-{every_s:.0f}"
        folder = files.make_folder(self.folder, "samples", name)
        with sampling(
            self.disks, self.collectors, self.clock, self.machines, every_s, folder
        ) as readings:
            self.misses.update(readings.misses)
            readings.misses = self.misses  # which is looked at meanwhile
            try:
                yield
            finally:
                *_, last = readings.tables([])
                tables = [table for table in [last] if len(table)]
                parquet.write(folder / "last.parquet", tables)

    def wait_until(self, until_s: float) -> None:
        """Looks at what failed meanwhile."""
        left_s = until_s - self.clock.now()
        while left_s > 0:
            self.clock.sleep(min(left_s, LOOK_S))
            self.look(self.misses)
            left_s = until_s - self.clock.now()


# ------------------------------------------------------------------ what came of it


def keep_readings(folder: Path, read: pd.DataFrame) -> None:
    """Keeps what was judged. `read`: INTERVALS. NotWrittenError."""
    with files.keeping("this observation"):
        files.make_folder(folder)
        parquet.write(folder / DEMAND, _in_parts(read))


def _in_parts(read: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The table piece by piece, because what writes it makes a copy. At least one piece."""
    for first in range(0, max(1, len(read)), _ROWS_AT_ONCE):
        yield read.iloc[first : first + _ROWS_AT_ONCE]


def write(
    folder: Path,
    observed: AnsweredObservation,
    hour: Mapping[str, float],
    options: Mapping[str, Any],
    texts: Mapping[str, str],
    brief: Brief,
) -> None:
    """Keeps what was found, beside the readings. NotWrittenError.

    hour: the busiest one; options: what was asked for; texts: path in the folder → profiles and
    report; brief: the answer.
    """
    with files.keeping("this observation"):
        files.make_folder(folder)
        rows = [csv_row(row(answer)) for answer in observed.answers]
        table = pd.DataFrame(rows)
        files.write_text(folder / "candidates.csv", table.to_csv(index=False))
        hours = [
            answer.on.hours.assign(candidate=answer.purchase.name)
            for answer in observed.answers
        ]
        parquet.write(folder / "hours.parquet", [pd.concat(hours)])
        files.write_json(folder / FACTS, _facts(observed, hour, options, brief))
        files.write_below(folder, texts)


def _facts(
    observed: AnsweredObservation,
    hour: Mapping[str, float],
    options: Mapping[str, Any],
    brief: Brief,
) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "answer": asdict(brief),
        "options": dict(options),
        "read": [_read_facts(disk) for disk in observed.disks],
        "busiest_hour": {name: _or_none(rate) for name, rate in hour.items()},
        "refused": observed.refused,
        "reached": {cap.name: cap.base for cap in observed.source},
        "reported": {cap.name: cap.base for cap in observed.reported},
    }


def _read_facts(disk: DiskRead) -> dict[str, Any]:
    return {name: getattr(disk, name) for name in _READ}


def _or_none(value: float) -> float | None:
    """JSON has no NaN."""
    if np.isnan(value):
        return None
    return value


def busiest_hour(demands: Sequence[Demand]) -> dict[str, float]:
    """What all disks together were asked in it, which is the load that a campaign should have:
    reads, writes and bytes per second. Reads NaN: `writes` has them too."""
    hour_tables: list[pd.DataFrame] = []
    for demand in demands:
        hour_tables.append(_hours(demand))
        demand.forget()
    hours = pd.concat(hour_tables)
    ios_of_disks = hours[["reads", "writes"]].sum(axis=1)
    ios = ios_of_disks.groupby(level=0).sum()
    busiest_s = float(ios.index.to_numpy()[ios.argmax()])
    disks = hours.loc[[busiest_s]]
    # Of each disk by the time in which it was read.
    rates = disks[list(QUANTITIES)].div(disks["read_s"], axis=0)
    total = rates.sum(skipna=False)
    busiest = {"begin_s": busiest_s}
    for name in QUANTITIES:
        busiest[f"{name}_per_s"] = float(total[name])
    return busiest


def _hours(demand: Demand) -> pd.DataFrame:
    """A row for each hour, by its begin: the seconds that were read in it, and QUANTITIES, NaN
    where no value is known."""
    steps = pd.DataFrame(demand.amounts.T, columns=list(QUANTITIES))
    steps.insert(0, "read_s", demand.step_s)
    hour_s = demand.begin_s // HOUR_S * HOUR_S
    return steps.groupby(hour_s).sum(min_count=1)


def row(answer: CandidateAnswer) -> dict[str, Any]:
    """A candidate as a flat row of candidates.csv."""
    tier = answer.purchase.tier
    on = answer.on
    values: dict[str, Any] = {
        "candidate": answer.purchase.name,
        "iops": tier.limits.iops,
        "bytes_per_s": tier.limits.bytes_per_s,
        "word": answer.word,
        "why": answer.why,
        "at_least": answer.at_least,
        "waits_least_pct": _percent(on.waits.least),
        "waits_most_pct": _percent(on.waits.most),
        "queues_least_pct": _percent(on.queues.least),
        "queues_most_pct": _percent(on.queues.most),
        "with_less_pct": _percent(on.less),
        "with_more_pct": _percent(on.more),
        "binding": on.binding,
    }
    if tier.price:
        values["monthly"] = tier.price.monthly
        values["currency"] = tier.price.currency
        values["region"] = tier.price.region
    if on.empty_s:
        values["empty_least_s"] = on.empty_s.least
        values["empty_most_s"] = on.empty_s.most
    return {name: values.get(name) for name in _COLUMNS}


def _percent(share: float) -> float | None:
    if np.isnan(share):
        return None
    return 100 * share


@dataclass(frozen=True)
class NextCampaign:
    """What is worth a campaign. `texts`: path in the observation's folder → profile, and the
    command that measures them, which is `command`; it is empty without any."""

    texts: Mapping[str, str]
    command: str


def next_campaign(
    folder: Path, observed: AnsweredObservation, cluster_of: Mapping[str, str]
) -> NextCampaign:
    """cluster_of: provider → one of profiles/clusters."""
    texts = dict[str, str]()
    for pair in observed.worth.values():
        for answer in pair:
            cluster = cluster_of[answer.purchase.provider]
            texts[_profile_path(answer)] = _profile(answer, cluster)
    command = ""
    if texts:
        command = _compare([str(folder / path) for path in texts])
    texts["profiles/compare.sh"] = f"{command}\n"
    return NextCampaign(texts, command)


def _profile_path(answer: CandidateAnswer) -> str:
    """Called by the candidate, in what every shell takes as it is."""
    stem = re.sub("[^a-z0-9]+", "-", answer.purchase.name.lower()).strip("-")
    return f"profiles/{stem}.yaml"


def _profile(answer: CandidateAnswer, cluster: str) -> str:
    content = {
        "question": _QUESTION,
        "cluster": cluster,
        "tier": dict(answer.purchase.keys),
    }
    return strict_yaml.written(content)


def _compare(profiles: Sequence[str]) -> str:
    return shlex.join(
        [
            "tierbench",
            "compare",
            "--profiles",
            ",".join(profiles),
            "--workloads",
            "tpcc",
        ]
    )
