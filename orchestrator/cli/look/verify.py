"""`tierbench verify`: whether a stored campaign's figures are those of its raw files.

Each file is held against its checksum, then each link is made again: raw files → `record.json` and
`latencies.parquet`, by the reader that made them; `latencies.parquet` → throughput and percentiles,
by counting alone; and `record.json` → the cells of `verdict.json`. Nothing is written but, if that
was asked for, when it was done."""

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from orchestrator import __version__
from orchestrator.analysis import results, verdicts
from orchestrator.analysis.figures.transactions import COMMITTED, FAILED
from orchestrator.analysis.statistics import stats
from orchestrator.errors import (
    UNREADABLE,
    CutError,
    NotInstalledError,
    TierbenchError,
    UnavailableError,
    UsageError,
)
from orchestrator.load_generators import load_generators
from orchestrator.metrics import DELIVERY, NEW_ORDER, PERCENTILES
from orchestrator.model import Measurement, Record
from orchestrator.parts import Result
from orchestrator.run.clients import several_clients
from orchestrator.system import (
    campaign_writing,
    file_checksums,
    run_folders,
    store,
    stored_json,
)
from orchestrator.texts.prose import counted

# Sums of floating-point numbers in another order differ in their last digits.
_ROUNDING = 1e-9
Figures = Mapping[tuple[str, str], float]  # (metric, scope) → value


class Check(NamedTuple):
    """What was checked, where, and the differences that were found, in words."""

    where: str
    checked: str
    differences: list[str]


def checks(folder: Path) -> Iterator[Check]:
    """The checks of each run's files, then of its figures, then of the verdict.

    One bad file hides nothing of the others.
    """
    yield from _check_files(folder)
    try:
        campaign = store.load(folder)
    except CutError as error:
        yield Check("plan.json", "nothing is counted again", [error.what])
        return
    _check_measured(campaign, folder)
    cut = list(results.left_out(campaign))
    if cut:
        yield Check("files", "not all can be read", cut)
    # A run that failed has no figures.
    for run in campaign.runs:
        if run.record.outcome == "done":
            yield _check_run(run, folder)
    checked, differences = _check_verdict(campaign, folder / "verdict.json")
    yield Check("verdict.json", checked, differences)


def _check_measured(campaign: results.Results, folder: Path) -> None:
    """UsageError if figures were entered as others published them."""
    for note in campaign.plan.notes:
        if note.kind == "published figures":
            raise UsageError(
                f"{folder} has figures that others published, and no raw files of theirs",
                f"`tierbench report {folder}` says where they are from",
            )


def _check_files(folder: Path) -> Iterator[Check]:
    """Each run's files against their checksums; records of earlier releases have none."""
    for record in run_folders.recorded(folder / "runs"):
        sums = file_checksums.recorded_checksums(record)
        if sums:
            count = counted(len(sums), "file")
            unlike = [
                str(difference) for difference in file_checksums.differences(record)
            ]
            yield Check(
                f"runs/{record.parent.name}",
                f"{count} held against the checksums of record.json",
                unlike,
            )


def keep(folder: Path, differences: int, now_s: float) -> None:
    """Keeps in the folder that its figures were counted again, for its reports to say so.
    UnavailableError if that cannot be written."""
    checksum = store.checksum(folder)
    verified = results.Verified(now_s, differences, checksum, __version__)
    try:
        campaign_writing.save_verified(folder, verified)
    except OSError as error:
        raise UnavailableError(
            f"the result cannot be written to {folder}: {error.strerror}",
            "the result is shown above; leave out --keep, or verify a copy",
        ) from error


def _check_run(run: results.RunData, folder: Path) -> Check:
    """How the record differs from its raw files. `folder`: of the campaign."""
    where = f"runs/{run.record.run.slug}"
    window = results.measured_window(run.record)
    try:
        if window is None:
            # One of UNREADABLE, so it is said below as of a file that was cut.
            raise ValueError("record.json has no measured window")
        read = _read_again(run.record, folder / where / "raw", window)
    except NotInstalledError as error:
        # What cannot be counted again is not verified, so it counts as a difference.
        return Check(where, "not counted again", [error.what])
    except (TierbenchError, OSError, RecursionError, *UNREADABLE) as error:
        wrong = f"raw/ is missing or cut: {error}"
        return Check(where, "not counted again", [wrong])
    checked, unlike = _compared(run, read, window)
    return Check(where, checked, unlike)


def _compared(
    run: results.RunData, read: Result, window: tuple[float, float]
) -> tuple[str, list[str]]:
    """What was counted again, and what is unlike the record."""
    stored = _by_key(run.record.measurements)
    again = _by_key(read.measurements)
    checked = f"{counted(len(again), 'figure')} counted again from raw/"
    unlike = list(_unlike("record.json", stored, "raw/", again))
    # Some generators keep no record of each transaction: only their figures are compared.
    if read.latencies is None:
        return checked, unlike
    count = sum(len(table) for table in read.latencies)
    checked += f", {counted(count, 'transaction')} of latencies.parquet"
    # A table that cannot be read hides nothing of what its raw files say.
    try:
        unlike += _unlike_transactions(run, stored, window, count)
    except CutError as error:
        unlike.append(error.what)
    return checked, unlike


def _read_again(record: Record, raw: Path, window: tuple[float, float]) -> Result:
    """What the load generator's own reader makes of the raw files now."""
    generator = load_generators()[record.workload.generator]
    return several_clients.read(generator, record.workload, raw, *window)


def _by_key(measurements: Iterable[Measurement]) -> Figures:
    return {(figure.metric, figure.scope): figure.value for figure in measurements}


def _unlike(file: str, stored: Figures, source: str, again: Figures) -> Iterator[str]:
    """The figures that are not the same, but for the rounding of a sum in another order."""
    # Keys of both sides count: a figure that one lacks becomes NaN, which is close to no number.
    for key in dict.fromkeys((*stored, *again)):
        in_file = stored.get(key, math.nan)
        anew = again.get(key, math.nan)
        if not math.isclose(in_file, anew, rel_tol=_ROUNDING):
            metric, scope = key
            yield (
                f"{file}: {metric} ({scope}) is {_in_words(in_file)}, but "
                f"{_in_words(anew)} from {source}"
            )


def _in_words(figure: float) -> str:
    if math.isnan(figure):
        return "none"
    return f"{figure:.10g}"


# ------------------------------------------------------------------ the table of transactions


class _Counts:
    """What is counted in the table of transactions, part by part.

    A percentile is held to its definition (nearest rank): fewer transactions than its rank are
    faster, and at least as many are as fast or faster."""

    def __init__(self, stored: Figures, window: tuple[float, float]) -> None:
        self._begin_s, self._end_s = window
        # A pool's wait for a connection is a figure of its own, and no part of a latency.
        self._without_waits = ("connection_wait_avg_s", "all") in stored
        # Latency at a rate is of what was due within the window, whenever it ended. What ends late
        # would else be left out, and a disk that stalls would look fast.
        self._at_a_rate = ("offered_per_s", "all") in stored
        self.percentiles: dict[str, float] = {}
        for name in PERCENTILES:
            if (name, "all") in stored:
                self.percentiles[name] = stored[name, "all"]
        self.faster = dict.fromkeys(self.percentiles, 0)
        self.as_fast = dict.fromkeys(self.percentiles, 0)
        self.rows = 0
        self.ranked = 0
        self._served = 0
        self._timed = 0
        self._new_orders = 0
        self._latencies_s = 0.0

    def add(self, table: pd.DataFrame) -> None:
        self.rows += len(table)
        # Failed transactions are counted apart, and are no throughput.
        good = table[table["outcome"] != FAILED]
        ended = self._within(good, good["start_s"] + good["latency_s"])
        self._served += len(ended)
        # NOPM counts commits alone: the specification has one New-Order in a hundred roll back.
        is_order = (ended["type"] == NEW_ORDER) & (ended["outcome"] == COMMITTED)
        self._new_orders += int(is_order.sum())
        timed = ended
        if self._at_a_rate:
            timed = self._within(good, good["start_s"])
        self._timed += len(timed)
        latency_s = timed["latency_s"] - self._waits_s(timed)
        self._latencies_s += float(latency_s.to_numpy().sum())
        self._rank(latency_s[self._is_ranked(table, timed)].to_numpy())

    def figures(self) -> Figures:
        """The figures that can be made again by counting alone."""
        window_s = self._end_s - self._begin_s
        figures: dict[tuple[str, str], float] = {}
        figures["throughput_per_s", "all"] = self._served / window_s
        figures["nopm", "all"] = self._new_orders / window_s * 60
        # The sum is 0 as well if there are no transactions.
        figures["latency_avg_s", "all"] = self._latencies_s / max(self._timed, 1)
        return figures

    def _within(
        self, table: pd.DataFrame, moment_s: "pd.Series[float]"
    ) -> pd.DataFrame:
        """The rows whose moment is in the window."""
        is_within = (moment_s >= self._begin_s) & (moment_s < self._end_s)
        return table.loc[is_within]

    def _waits_s(self, timed: pd.DataFrame) -> Any:
        """The part of a latency that is not counted: a wait for a connection of the pool."""
        if self._without_waits:
            return timed["queue_s"]
        return 0.0

    def _is_ranked(self, table: pd.DataFrame, timed: pd.DataFrame) -> Any:
        """Percentiles of a load with new orders are without its deliveries, which TPC-C defers."""
        unranked = ""
        if NEW_ORDER in set(table["type"]):
            unranked = DELIVERY
        return (timed["type"] != unranked).to_numpy()

    def _rank(self, latencies_s: Any) -> None:
        self.ranked += len(latencies_s)
        for name, value in self.percentiles.items():
            # The transaction that is the percentile may differ from it in the last digit.
            below = latencies_s < value * (1 - _ROUNDING)
            not_above = latencies_s <= value * (1 + _ROUNDING)
            self.faster[name] += int(below.sum())
            self.as_fast[name] += int(not_above.sum())


def _unlike_transactions(
    run: results.RunData, stored: Figures, window: tuple[float, float], count: int
) -> Iterator[str]:
    """How the table of transactions differs from raw files with `count`, and from the record."""
    counts = _Counts(stored, window)
    # Part by part, because there may be more of them than memory holds.
    for table in run.transactions():
        counts.add(table)
    if counts.rows != count:
        rows = counted(counts.rows, "transaction")
        yield f"latencies.parquet has {rows}, but raw/ has {count}"
    again = {}
    in_record = {}
    # A load has not all of these: only one with new orders has NOPM.
    for key, value in counts.figures().items():
        if key in stored:
            again[key] = value
            in_record[key] = stored[key]
    yield from _unlike("record.json", in_record, "latencies.parquet", again)
    yield from _misplaced_percentiles(counts)


def _misplaced_percentiles(counts: _Counts) -> Iterator[str]:
    """The percentiles of the record that have another rank among the transactions."""
    for name, value in counts.percentiles.items():
        # No transactions have no rank. With one there, none is as fast, which is a difference.
        rank = stats.rank(max(counts.ranked, 1), PERCENTILES[name])
        faster = counts.faster[name]
        as_fast = counts.as_fast[name]
        if not faster < rank <= as_fast:
            yield (
                f"record.json: {name} (all) is {value:.10g}. In latencies.parquet "
                f"it would be rank {rank} of {counts.ranked}: {faster} are faster, "
                f"and {as_fast} as fast or faster"
            )


# ------------------------------------------------------------------ the verdict


def _check_verdict(campaign: results.Results, file: Path) -> tuple[str, list[str]]:
    """Its cells, from the records as they are stored."""
    try:
        stored = _flat(stored_json.plain(file)["cells"])
    except (CutError, OSError, *UNREADABLE) as error:
        differences = [f"verdict.json: {error}"]
        return "cannot be read: `tierbench analyze` makes it again", differences
    try:
        again = verdicts.cells(campaign)
    except CutError as error:
        return "its cells cannot be made again", [error.what]
    made_anew = _flat([vars(cell) for cell in again])
    differences = list(_unlike("verdict.json", stored, "the records", made_anew))
    count = counted(len(again), "cell")
    return f"{count} made again from the records", differences


def _flat(cells: Iterable[Mapping[str, Any]]) -> Figures:
    """The mean of each, and the value of each of its runs. `UNREADABLE` for what is no cell."""
    figures = {}
    for cell in cells:
        name = f"{cell['profile']} × {cell['workload']}, {cell['metric']}"
        scope = str(cell["scope"])
        figures[name, scope] = float(cell["mean"])
        for place, value in enumerate(cell["values"], start=1):
            figures[f"{name} of run {place}", scope] = float(value)
    return figures
