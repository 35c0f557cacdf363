"""Reads BenchBase's files into the table of transactions.py. Pure.

raw.csv          every transaction that began and ended in the measured window, warm-up excluded:
                 type, start (Unix seconds, though its header says microseconds), latency over all
                 attempts, terminal. It does not say how a transaction ended: intended rollbacks
                 and transactions given up after their last attempt have rows like any other.
attempts.tsv     one line per attempt that did not commit, of all phases, from BenchBase's own
                 logger (workloads/benchbase/log4j.properties). A line belongs to the row of its
                 terminal and type that covers its time; from that follows how each row ended.
histograms.json  commits, rollbacks, refused attempts and errors per type, over all phases. Only
                 compared with attempts.tsv; if they disagree, outcomes are unknown.
summary.json     final state, number of requests, elapsed time: for cross-checks."""

import re
from collections import Counter
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orchestrator.analysis.figures.transactions import COMMITTED, FAILED, ROLLED_BACK
from orchestrator.errors import LoadError
from orchestrator.extensions.benchbase.config import TYPES
from orchestrator.facts import FactRule, WeightedMean
from orchestrator.keys import shipped_yaml
from orchestrator.load_generators.common import program_output
from orchestrator.system import files

ATTEMPTS = "attempts.tsv"
HISTOGRAMS = "histograms.json"
# How facts that only BenchBase has become one where several clients have them.
FACT_RULES: Mapping[str, FactRule | WeightedMean] = {
    "outcomes_known": "all true",
    "attempts_outside_window": "sum",
    "attempts_unplaced": "sum",
    "benchbase_measured_requests": "sum",
    "new_orders_committed": "sum",
}

# How far the clocks of raw.csv and attempts.tsv may be apart. Both are cut to whole milliseconds:
# attempts one by one, raw.csv by one offset, which can be computed from its last attempts.
_CLOCKS_APART_S = 0.005
_STAMPS_APART_S = 0.001
# If more attempts than this have no row, a clock was set during the run.
_MAX_UNPLACED_SHARE = 0.01
_LOST = {"aborted": "rolled back", "rejected": "refused", "unexpected": "error"}
_KINDS = {"Aborted": "rolled back", "Retryable": "refused", "not be retried": "error"}
_OURS: Mapping[str, str] = {kind["name"]: kind["ours"] for kind in TYPES}
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# SQLSTATE of a connection that failed, and of a server that ends or only begins.
_LOST_CONNECTION = re.compile(r"08...|57P0[123]")


def plain(text: str) -> str:
    """Removes the escape sequences that make a terminal's letters bold."""
    return _ESCAPES.sub("", text)


def read_table(out: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table of transactions.py in order of start, and facts about how it was read. If outcomes
    are unknown, `outcomes_known` is False, all rows count as committed, and `new_orders_committed`
    has the certain range. LoadError if there is nothing to read, or if a connection was lost."""
    rows = _read_raw(_only(out, "raw.csv"))
    attempts = _read_attempts(out / ATTEMPTS)
    histograms = files.content(out / HISTOGRAMS)
    table, facts = _with_outcomes(rows, attempts, histograms)
    totals = summary(out)
    failures = int((table["outcome"] == FAILED).sum())
    # Left out on purpose: "goodput" is of all phases, and `tp (req/s) scaled` is no throughput.
    # Windows and percentiles of other files are computed here, from single transactions.
    facts |= {
        "recorded_transactions": len(table),
        "recorded_failures": failures,
        "benchbase_measured_requests": totals.get("Measured Requests"),
        "final_state": totals.get("Final State"),
        "errors": _count_errors(attempts),
    }
    if not facts["outcomes_known"]:
        facts["new_orders_committed"] = _new_orders_between(rows, histograms)
        facts["recorded_failures"] = None
    return table.drop(columns="terminal"), facts


def _with_outcomes(
    rows: pd.DataFrame, attempts: pd.DataFrame, histograms: Mapping[str, Any]
) -> tuple[pd.DataFrame, dict[str, Any]]:
    placed = attempts.assign(row=_rows_of_attempts(rows, attempts))
    outside = placed["row"] < 0
    unplaced = int((outside & _must_have_a_row(attempts, rows)).sum())
    few_unplaced = unplaced <= _MAX_UNPLACED_SHARE * len(attempts)
    outcomes_known = few_unplaced and _agree(attempts, histograms)
    facts = {
        "outcomes_known": outcomes_known,
        "attempts_outside_window": int(outside.sum()) - unplaced,
        "attempts_unplaced": unplaced,
    }
    certain = placed[:0]
    if outcomes_known:
        certain = placed[~outside]
    return _with_results(rows, certain), facts


def _agree(attempts: pd.DataFrame, histograms: Mapping[str, Any]) -> bool:
    """Whether both say the same of attempts that did not commit, by kind and type."""
    if not histograms:
        return False
    logged = Counter(zip(attempts["kind"], attempts["type"], strict=True))
    return dict(logged) == _uncommitted_by_histograms(histograms)


# ------------------------------------------------------------------ files


def _only(out: Path, ending: str) -> Path:
    """The one file of this ending. LoadError if there is none, or if there are several."""
    matching = sorted(out.glob(f"*.{ending}"))
    if len(matching) == 1:
        return matching[0]
    advice = "look at benchbase.out there: it says why BenchBase wrote none"
    if matching:
        advice = (
            "the folder holds the results of several executions: read them one by one"
        )
    raise LoadError(f"{out} holds {len(matching)} files *.{ending}, not one", advice)


def summary(out: Path) -> dict[str, Any]:
    """What BenchBase says of a run as a whole; empty if it wrote none."""
    if any(out.glob("*.summary.json")):
        return files.content(_only(out, "summary.json"))
    return {}


def _read_raw(file: Path) -> pd.DataFrame:
    columns: Mapping[str, str] = shipped_yaml.shipped(__package__, "tpcc.yaml")[
        "columns"
    ]
    small = {"Transaction Name": "category", "Worker Id (start number)": "int32"}
    raw = pd.read_csv(file, usecols=list(columns), dtype=small).rename(columns=columns)
    unknown = set(raw["type"]) - set(_OURS)
    if unknown:
        raise program_output.raw_file_error(
            file, f"holds transactions of unknown types: {sorted(unknown)}"
        )
    is_cut = raw.isna().any(axis=None)
    if is_cut or (raw[["start_s", "latency_us"]] < 0).any(axis=None):
        raise program_output.raw_file_error(
            file, "has rows that are cut, or of a time below zero"
        )
    raw = raw.sort_values("start_s", kind="stable", ignore_index=True)
    types = pd.Categorical(raw["type"].map(_OURS), categories=list(_OURS.values()))
    figures = {
        # Seconds, though the file's header says microseconds.
        "start_s": raw["start_s"].astype(np.float64),
        "latency_s": raw["latency_us"].to_numpy() * 1e-6,
        # BenchBase does not record how long a transaction waited for a free terminal.
        "queue_s": np.full(len(raw), np.nan),
        "type": types,
        "terminal": raw["terminal"],
    }
    return pd.DataFrame(figures)


_LINE = re.compile(
    r"(?P<time>\S+)\t\D*(?P<terminal>\d+)\D*\t"
    r"(?:.*occurred during \[)?(?P<name>[\w.]+)/\d+(?P<text>.*)"
)
_DETAILS = re.compile(
    r"(?:attempt \[(\d+)\], max retry attempts \[(\d+)\], )?sql state \[(\w+)\]"
)


class _Attempt(NamedTuple):
    """One that did not commit. `number`: of a refused one, counted from 0 in its transaction; −1
    for others, for which it is unknown. `last`: no further attempt was made."""

    time: str
    terminal: int
    type: str
    kind: str
    number: int
    last: bool
    sqlstate: str


def _read_attempts(file: Path) -> pd.DataFrame:
    """Attempts that did not commit, as `_Attempt` has them, but `time_s` in the place of `time`.
    LoadError if a connection was lost."""
    attempts: list[_Attempt] = []
    if file.is_file():
        attempts = [
            _attempt(line) for line in file.read_text(encoding="utf-8").splitlines()
        ]
    table = pd.DataFrame(attempts, columns=list(_Attempt._fields), dtype=object)
    times = pd.to_datetime(table.pop("time"), format="%Y-%m-%dT%H:%M:%S.%f")
    times_ms = times.to_numpy(dtype="datetime64[ms]").astype(np.int64)
    table.insert(0, "time_s", times_ms / 1e3)
    return table.astype({"terminal": np.int64, "number": np.int64, "last": bool})


def _attempt(line: str) -> _Attempt:
    match = _LINE.match(line)
    kind = _kind(line)
    if match is None or kind is None or "SQL connection exception" in line:
        raise _lost_connection(line)
    attempt = ""
    most = ""
    sqlstate = ""
    details = _DETAILS.search(match["text"])
    if details:
        attempt = details[1] or ""
        most = details[2] or ""
        sqlstate = details[3]
    if _LOST_CONNECTION.fullmatch(sqlstate):
        raise _lost_connection(line)
    # The line has the number in its transaction only if the attempt was refused.
    number = -1
    if kind == "refused" and attempt and most:
        number = int(attempt)
    name = match["name"].rpartition(".")[2]
    return _Attempt(
        time=match["time"],
        terminal=int(match["terminal"]),
        type=_OURS.get(name, name),
        kind=kind,
        number=number,
        last=number < 0 or number + 1 >= int(most),
        sqlstate=sqlstate,
    )


def _kind(line: str) -> str | None:
    """How an attempt ended, by BenchBase's words."""
    for word, kind in _KINDS.items():
        if word in line:
            return kind
    return None


def _lost_connection(line: str) -> LoadError:
    return LoadError(
        "BenchBase lost its connection to the database: its figures would "
        "describe the outage",
        advice="look at the database's log among the raw files of the run",
        evidence=line,
    )


# ------------------------------------------------------------------ which row an attempt belongs to


def _rows_of_attempts(rows: pd.DataFrame, attempts: pd.DataFrame) -> np.ndarray:
    """Returns the row of each attempt; −1 if its transaction was outside the measured window."""
    # Twice, because a transaction ends just after its last attempt. So the first pass measures how
    # far the clocks are apart, and the second one corrects that.
    placed = _rows_within(_CLOCKS_APART_S, rows, attempts)
    ends = attempts["last"].to_numpy() & (placed >= 0)
    ends_of_rows_s = (rows["start_s"] + rows["latency_s"]).to_numpy()
    end_s = ends_of_rows_s[placed[ends]]
    apart_s = end_s - attempts["time_s"].to_numpy()[ends]
    near = np.abs(apart_s) <= _CLOCKS_APART_S  # the others were delayed in between
    if not near.any():
        return placed
    moved = attempts.assign(time_s=attempts["time_s"] + np.median(apart_s[near]))
    return _rows_within(_STAMPS_APART_S, rows, moved)


def _rows_within(
    tolerance_s: float, rows: pd.DataFrame, attempts: pd.DataFrame
) -> np.ndarray:
    """The row of each attempt, if clocks are at most `tolerance_s` apart; −1 for none."""
    terminals_of_rows = rows["terminal"].to_numpy()
    terminals_of_attempts = attempts["terminal"].to_numpy()
    placed = np.full(len(attempts), -1)
    for terminal in np.intersect1d(terminals_of_attempts, terminals_of_rows):
        row_numbers = np.flatnonzero(terminals_of_rows == terminal)
        attempt_numbers = np.flatnonzero(terminals_of_attempts == terminal)
        places = _rows_in_order(
            tolerance_s, rows.iloc[row_numbers], attempts.iloc[attempt_numbers]
        )
        placed[attempt_numbers] = np.where(places < 0, -1, row_numbers[places])
    return placed


def _rows_in_order(
    tolerance_s: float, rows: pd.DataFrame, attempts: pd.DataFrame
) -> np.ndarray:
    """Places the attempts of one terminal, whose transactions do not overlap, in their order."""
    spans = _Spans(rows, tolerance_s)
    placed: list[int] = []
    latest_row = -1
    unfinished_type = ""  # of the transaction that may go on
    columns = attempts[["time_s", "type", "number", "last"]]
    for time_s, kind, number, last in columns.itertuples(index=False):
        row_before = -1
        if placed:
            row_before = placed[-1]
        is_covered = row_before >= 0 and spans.has_begun_before_end_of(
            latest_row, time_s
        )
        # Each transaction has one row. An attempt that begins one belongs to the first row of its
        # type that covers its time, after the row used last. The following attempts belong to the
        # same row. Times alone would be ambiguous at a row's boundary.
        goes_on = number < 0 and kind == unfinished_type and is_covered
        if number > 0 or goes_on:
            row = row_before
        else:
            row = spans.first_after(latest_row, time_s, kind)
            latest_row = max(latest_row, row)
        placed.append(row)
        unfinished_type = kind
        if last:
            unfinished_type = ""
    return np.array(placed)


class _Spans:
    """When the transactions of one terminal began and ended, in their order. `tolerance_s`: how far
    the clocks of attempts and of rows may be apart."""

    def __init__(self, rows: pd.DataFrame, tolerance_s: float) -> None:
        self._start_s = rows["start_s"].to_numpy()
        self._end_s = self._start_s + rows["latency_s"].to_numpy()
        self._types = rows["type"].astype(str).to_numpy()
        self._tolerance_s = tolerance_s

    def has_begun_before_end_of(self, row: int, time_s: float) -> bool:
        return bool(time_s <= self._end_s[row] + self._tolerance_s)

    def first_after(self, latest: int, time_s: float, kind: str) -> int:
        """The first row of this type behind the latest that covers the time; −1 if none does."""
        ended = np.searchsorted(self._end_s, time_s - self._tolerance_s)
        begun = np.searchsorted(self._start_s, time_s + self._tolerance_s, side="right")
        for row in range(max(latest + 1, int(ended)), int(begun)):
            if self._types[row] == kind:
                return row
        return -1


def _with_results(rows: pd.DataFrame, attempts: pd.DataFrame) -> pd.DataFrame:
    """Adds outcome, retries and the last error's SQLSTATE to `rows`."""
    row = attempts["row"].to_numpy()
    kind = attempts["kind"].to_numpy()
    final = attempts["last"].to_numpy()
    rolled_back = kind == "rolled back"
    outcome = np.full(len(rows), COMMITTED, dtype=np.uint8)
    outcome[row[rolled_back]] = ROLLED_BACK
    outcome[row[final & ~rolled_back]] = FAILED
    repeated = (kind == "refused") & ~final
    retries = np.bincount(row[repeated], minlength=len(rows))
    states = _last_states(attempts[~rolled_back], len(rows))
    return rows.assign(outcome=outcome, retries=retries, sqlstate=states)


def _last_states(attempts: pd.DataFrame, rows: int) -> pd.Categorical:
    """The SQLSTATE of the last of these attempts of each row; "" without one."""
    sqlstates = attempts["sqlstate"].astype(str).to_numpy()
    names = np.unique([*sqlstates, ""])
    codes = np.zeros(rows, dtype=np.int16)  # the code of "", which comes first
    codes[attempts["row"].to_numpy()] = np.searchsorted(names, sqlstates)
    return pd.Categorical.from_codes(codes, pd.Index(names.tolist(), dtype=str))


def _must_have_a_row(attempts: pd.DataFrame, rows: pd.DataFrame) -> pd.Series:
    """Whether an attempt lies between the first and the last row of its terminal, so that it must
    have a row."""
    # A transaction that spans the window's begin or end has no row.
    ended_s = rows["start_s"] + rows["latency_s"]
    begin_s = rows.groupby("terminal")["start_s"].min() + _CLOCKS_APART_S
    end_s = ended_s.groupby(rows["terminal"]).max() - _CLOCKS_APART_S
    time_s = attempts["time_s"]
    terminal = attempts["terminal"]
    return (time_s > terminal.map(begin_s)) & (time_s < terminal.map(end_s))


# ------------------------------------------------------------------ counts


def _uncommitted_by_histograms(
    histograms: Mapping[str, Any],
) -> dict[tuple[str, str], int]:
    """Kind and type → how many attempts ended so."""
    counts: dict[tuple[str, str], int] = {}
    for key, kind in _LOST.items():
        for name, count in _histogram(histograms, key).items():
            if count:
                counts[kind, name] = count
    return counts


def _histogram(histograms: Mapping[str, Any], key: str) -> dict[str, int]:
    """One of BenchBase's histograms: our type → count."""
    counts: dict[str, int] = {}
    entries = histograms.get(key, {}).get("HISTOGRAM", {})
    for entry, count in entries.items():
        name = entry.rpartition("/")[0].rpartition(".")[2]
        counts[_OURS.get(name, name)] = int(count)
    return counts


def _count_errors(attempts: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Counts the attempts of all phases that ended in an error, by type and SQLSTATE."""
    bad = attempts[attempts["kind"] != "rolled back"]
    bad = bad.assign(kind=np.where(bad["last"], "failed", "retried"))
    counts = bad.groupby(["kind", "type", "sqlstate"]).size()
    return counts.reset_index(name="count").to_dict("records")


def _new_orders_between(
    rows: pd.DataFrame, histograms: Mapping[str, Any]
) -> list[int | None]:
    """The fewest, if known, and most that can have committed, by counts over all phases."""
    name = "new_order"
    count = int((rows["type"] == name).sum())
    if not histograms:
        return [None, count]
    lost = sum(_histogram(histograms, key).get(name, 0) for key in _LOST)
    completed = _histogram(histograms, "completed").get(name, 0)
    return [max(0, count - lost), min(count, completed)]
