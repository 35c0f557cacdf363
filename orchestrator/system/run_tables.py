"""The tables of a run on disk: its seconds, its transactions and its samples.

The libraries of tables take longer to import than plan and records take to read. So this module is
imported where a table is asked for.
"""

import io
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from orchestrator.keys import plain_files
from orchestrator.metrics import INTERVAL_COLUMNS
from orchestrator.system import files, parquet, run_folders
from orchestrator.system.stored_json import in_form

SAMPLED_TEXTS = ("node", "metric", "unit", "phase")  # columns of samples.parquet
# A table takes long to make, and each record that is read without its tables needs one.
_NO_INTERVALS = pd.DataFrame(columns=list(INTERVAL_COLUMNS))
_MOST_INTERVALS_BYTES = 2**30  # a row a second, of some hundred bytes
parts = parquet.parts


def save(
    folder: Path,
    intervals: pd.DataFrame | None,
    latencies: Iterable[pd.DataFrame] | None,
    samples: Iterable[pd.DataFrame] | None,
) -> None:
    """Saves those that a run has. NotWrittenError."""
    if intervals is not None:
        rows = intervals.to_csv(index=False, float_format="%.14g")
        files.write_text(folder / run_folders.INTERVALS, rows)
    if latencies is not None:
        parquet.write(folder / run_folders.TRANSACTIONS, latencies)
    if samples is not None:
        parquet.write(folder / run_folders.SAMPLES, samples)


def is_table(file: Path) -> bool:
    """Whether there is one; its end says what is in it. CutError."""
    with in_form(file):
        return plain_files.is_file(file) and parquet.rows(file) >= 0


def intervals(file: Path) -> pd.DataFrame:
    """The seconds of a run (`RunData.intervals`). CutError: its last line ends like every other
    unless it was cut, and all have as many fields."""
    with in_form(file):
        text = plain_files.read(file, _MOST_INTERVALS_BYTES).decode()
        commas = {line.count(",") for line in text.splitlines()}
        if not text.endswith("\n") or len(commas) > 1:
            raise ValueError("a line is not whole")
        table = pd.read_csv(io.StringIO(text))
        for name in INTERVAL_COLUMNS:
            column = table[name]
            if name != "phase":
                column.to_numpy(dtype=float)
        return table


def no_intervals() -> pd.DataFrame:
    """The intervals of a run that left none."""
    return _NO_INTERVALS.copy()
