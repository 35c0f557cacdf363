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
summary.json     final state, number of requests, elapsed time: for cross-checks.

Ignored on purpose: "goodput" (all phases), `tp (req/s) scaled` (not a throughput), windows and
percentiles of the other files (computed here, from single transactions)."""

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.figures.transactions import COMMITTED, FAILED, ROLLED_BACK
from orchestrator.errors import LoadError
from orchestrator.keys import strict_yaml
from orchestrator.load_generators.benchbase.config import TYPES
from orchestrator.system import files

ATTEMPTS = "attempts.tsv"
HISTOGRAMS = "histograms.json"

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
    facts |= {
        "recorded_transactions": len(table),
        "recorded_failures": int((table["outcome"] == FAILED).sum()),
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
    placed = attempts.assign(row=_place(rows, attempts))
    outside = placed["row"] < 0
    unplaced = int((outside & _during(attempts, rows)).sum())
    facts = {
        "outcomes_known": bool(histograms)
        and dict(Counter(zip(attempts["kind"], attempts["type"], strict=True)))
        == _tally(histograms)
        and unplaced <= _MAX_UNPLACED_SHARE * len(attempts),
        "attempts_outside_window": int(outside.sum()) - unplaced,
        "attempts_unplaced": unplaced,
    }
    if facts["outcomes_known"]:
        certain = placed[~outside]
    else:
        certain = placed[:0]
    return _settle(rows, certain), facts


# ------------------------------------------------------------------ files


def _only(out: Path, ending: str) -> Path:
    files = sorted(out.glob(f"*.{ending}"))
    if len(files) == 1:
        return files[0]
    advice = "look at benchbase.out there: it says why BenchBase wrote none"
    if files:
        advice = (
            "the folder holds the results of several executions: read them one by one"
        )
    raise LoadError(f"{out} holds {len(files)} files *.{ending}, not one", advice)


def summary(out: Path) -> dict[str, Any]:
    """What BenchBase says of a run as a whole; empty if it wrote none."""
    if any(out.glob("*.summary.json")):
        return files.content(_only(out, "summary.json"))
    return {}


def _read_raw(file: Path) -> pd.DataFrame:
    columns: Mapping[str, str] = strict_yaml.shipped(__package__, "tpcc.yaml")[
        "columns"
    ]
    small = {"Transaction Name": "category", "Worker Id (start number)": "int32"}
    raw = pd.read_csv(file, usecols=list(columns), dtype=small).rename(columns=columns)
    unknown = set(raw["type"]) - set(_OURS)
    if unknown:
        raise LoadError(
            f"{file.name} holds transactions of unknown types: {sorted(unknown)}"
        )
    if raw.isna().any(axis=None) or (raw[["start_s", "latency_us"]] < 0).any(axis=None):
        raise LoadError(f"{file.name} has rows that are cut, or of a time below zero")
    raw = raw.sort_values("start_s", kind="stable", ignore_index=True)
    return pd.DataFrame(
        {
            "start_s": raw["start_s"].astype(np.float64),
            "latency_s": raw["latency_us"].to_numpy() * 1e-6,
            # BenchBase does not record how long a transaction waited for a free terminal.
            "queue_s": np.full(len(raw), np.nan),
            "type": pd.Categorical(
                raw["type"].map(_OURS), categories=list(_OURS.values())
            ),
            "terminal": raw["terminal"],
        }
    )


_LINE = re.compile(
    r"(?P<time>\S+)\t\D*(?P<terminal>\d+)\D*\t"
    r"(?:.*occurred during \[)?(?P<name>[\w.]+)/\d+(?P<text>.*)"
)
_DETAILS = re.compile(
    r"(?:attempt \[(\d+)\], max retry attempts \[(\d+)\], )?sql state \[(\w+)\]"
)


def _read_attempts(file: Path) -> pd.DataFrame:
    """Attempts that did not commit: time_s, terminal, type, kind, number, last, sqlstate. `number`:
    of a refused attempt, counted from 0 in its transaction; −1 for others, for which it is unknown.
    `last`: no further attempt was made. LoadError if a connection was lost."""
    if file.is_file():
        lines = file.read_text().splitlines()
    else:
        lines = []
    columns = ["time", "terminal", "type", "kind", "number", "last", "sqlstate"]
    table = pd.DataFrame(list(_attempts(lines)), columns=columns, dtype=object)
    times = pd.to_datetime(table.pop("time"), format="%Y-%m-%dT%H:%M:%S.%f")
    table.insert(
        0, "time_s", times.to_numpy(dtype="datetime64[ms]").astype(np.int64) / 1e3
    )
    return table.astype({"terminal": np.int64, "number": np.int64, "last": bool})


def _attempts(lines: list[str]) -> Iterator[tuple[str, int, str, str, int, bool, str]]:
    for line in lines:
        match = _LINE.match(line)
        kind = next((kind for word, kind in _KINDS.items() if word in line), None)
        if match is None or kind is None or "SQL connection exception" in line:
            raise LoadError(
                "BenchBase lost its connection to the database: its figures would "
                "describe the outage",
                advice="look at the database's log among the raw files of the run",
                evidence=line,
            )
        details = _DETAILS.search(match["text"])
        attempt, most, sqlstate = details.groups() if details else (None, None, "")
        if _LOST_CONNECTION.fullmatch(str(sqlstate)):
            raise LoadError(
                "BenchBase lost its connection to the database: its figures would "
                "describe the outage",
                advice="look at the database's log among the raw files of the run",
                evidence=line,
            )
        if kind == "refused" and attempt and most:
            number = int(attempt)
        else:
            number = -1
        last = number < 0 or number + 1 >= int(most or 0)
        name = match["name"].rpartition(".")[2]
        name = _OURS.get(name, name)
        terminal = int(match["terminal"])
        yield match["time"], terminal, name, kind, number, last, str(sqlstate)


# ------------------------------------------------------------------ which row an attempt belongs to


def _place(rows: pd.DataFrame, attempts: pd.DataFrame) -> np.ndarray:
    """Returns the row of each attempt; −1 if its transaction was outside the measured window.
    Places twice: a transaction ends just after its last attempt, so the first pass measures how far
    the clocks are apart, which the second pass corrects."""
    placed = _place_within(_CLOCKS_APART_S, rows, attempts)
    ends = attempts["last"].to_numpy() & (placed >= 0)
    end_s = (rows["start_s"] + rows["latency_s"]).to_numpy()[placed[ends]]
    apart_s = end_s - attempts["time_s"].to_numpy()[ends]
    near = np.abs(apart_s) <= _CLOCKS_APART_S  # the others were delayed in between
    if not near.any():
        return placed
    moved = attempts.assign(time_s=attempts["time_s"] + np.median(apart_s[near]))
    return _place_within(_STAMPS_APART_S, rows, moved)


def _place_within(
    tolerance_s: float, rows: pd.DataFrame, attempts: pd.DataFrame
) -> np.ndarray:
    row_terminals = rows["terminal"].to_numpy()
    terminals = attempts["terminal"].to_numpy()
    placed = np.full(len(attempts), -1)
    for terminal in np.intersect1d(terminals, row_terminals):
        own_rows = np.flatnonzero(row_terminals == terminal)
        own = np.flatnonzero(terminals == terminal)
        places = _place_in_order(tolerance_s, rows.iloc[own_rows], attempts.iloc[own])
        placed[own] = np.where(places < 0, -1, own_rows[places])
    return placed


def _place_in_order(
    tolerance_s: float, rows: pd.DataFrame, attempts: pd.DataFrame
) -> np.ndarray:
    """Places the attempts of one terminal, whose transactions do not overlap. Each transaction has
    one row. So an attempt that begins a transaction belongs to the first row of its type, after the
    row used last, that covers its time; the following attempts belong to the same row. Times alone
    would be ambiguous at a row's boundary."""
    start_s = rows["start_s"].to_numpy()
    end_s = start_s + rows["latency_s"].to_numpy()
    kinds = rows["type"].astype(str).to_numpy()
    placed: list[int] = []
    latest = -1
    repeats = ""
    columns = (attempts[name] for name in ("time_s", "type", "number", "last"))
    for time_s, kind, number, last in zip(*columns, strict=True):
        covered = (
            bool(placed) and placed[-1] >= 0 and time_s <= end_s[latest] + tolerance_s
        )
        if number > 0 or (number < 0 and kind == repeats and covered):
            if placed:
                row = placed[-1]
            else:
                row = -1
        else:
            first = max(latest + 1, int(np.searchsorted(end_s, time_s - tolerance_s)))
            begun = int(np.searchsorted(start_s, time_s + tolerance_s, side="right"))
            row = next((at for at in range(first, begun) if kinds[at] == kind), -1)
            latest = max(latest, row)
        placed.append(row)
        repeats = kind
        if last:
            repeats = ""
    return np.array(placed)


def _settle(rows: pd.DataFrame, attempts: pd.DataFrame) -> pd.DataFrame:
    """Adds outcome, retries and the last error's SQLSTATE to `rows`."""
    outcome = np.full(len(rows), COMMITTED, dtype=np.uint8)
    row = attempts["row"].to_numpy()
    kind = attempts["kind"].to_numpy()
    refused = kind == "refused"
    final = attempts["last"].to_numpy()
    outcome[row[kind == "rolled back"]] = ROLLED_BACK
    outcome[row[final & (kind != "rolled back")]] = FAILED
    retries = np.bincount(row[refused & ~final], minlength=len(rows))
    failed = attempts[kind != "rolled back"]
    of_rows = failed["sqlstate"].astype(str).to_numpy()
    names = np.unique([*of_rows, ""])
    codes = np.zeros(len(rows), dtype=np.int16)  # of "", which comes first
    codes[failed["row"].to_numpy()] = np.searchsorted(names, of_rows)
    states = pd.Categorical.from_codes(codes, pd.Index(names.tolist(), dtype=str))
    return rows.assign(outcome=outcome, retries=retries, sqlstate=states)


def _during(attempts: pd.DataFrame, rows: pd.DataFrame) -> pd.Series:
    """Whether an attempt lies between the first and the last row of its terminal, so that it must
    have a row. A transaction that spans the window's begin or end has none."""
    ended_s = rows["start_s"] + rows["latency_s"]
    begin_s = rows.groupby("terminal")["start_s"].min() + _CLOCKS_APART_S
    end_s = ended_s.groupby(rows["terminal"]).max() - _CLOCKS_APART_S
    time_s = attempts["time_s"]
    terminal = attempts["terminal"]
    return (time_s > terminal.map(begin_s)) & (time_s < terminal.map(end_s))


# ------------------------------------------------------------------ counts


def _tally(histograms: Mapping[str, Any]) -> dict[tuple[str, str], int]:
    return {
        (kind, name): count
        for key, kind in _LOST.items()
        for name, count in _histogram(histograms, key).items()
        if count
    }


def _histogram(histograms: Mapping[str, Any], key: str) -> dict[str, int]:
    """One of BenchBase's histograms: our type → count."""
    entries = histograms.get(key, {}).get("HISTOGRAM", {})
    names = {name: name.rpartition("/")[0].rpartition(".")[2] for name in entries}
    return {
        _OURS.get(names[name], names[name]): int(count)
        for name, count in entries.items()
    }


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
    return [
        max(0, count - lost),
        min(count, _histogram(histograms, "completed").get(name, 0)),
    ]
