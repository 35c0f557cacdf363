"""What each statement took in the measured window, from two readings of its servers' counts. Pure.
What a release does not count is zero."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from orchestrator import facts, model

_KEY = ["server", "statement", "query"]
_COUNTS = ["calls", "ms", "blocks_read", "read_ms", "wal_bytes", "storage_requests"]
_KEPT = 50
Rows = Iterable[Mapping[str, Any]]


def grown(before: Rows, after: Rows) -> list[Any]:
    """The rows that a record keeps: of the statements that took most time. Those whose texts differ
    only by the number that ends a name are together; one that its server dropped is left out."""
    readings = [
        pd.DataFrame(list(rows), columns=_KEY + _COUNTS) for rows in (before, after)
    ]
    first, last = (rows.set_index(_KEY) for rows in readings)
    table = last.sub(first, fill_value=0).reset_index()
    table["query"] = table["query"].str.replace(
        r"(?<=[a-z_])\d+\b", "#", regex=True
    )  # `sbtest17`
    return _by_time(table).head(_KEPT).reset_index().to_dict("records")


def pooled(records: Iterable[model.Record]) -> tuple[pd.DataFrame, float]:
    """Query → its counts in several runs together, most time first, and how long their windows
    were. Empty where no run has them."""
    of_runs = [facts.group(record.facts, "statements") for record in records]
    rows = [row for of_run in of_runs for row in of_run.get("most", ())]
    table = pd.DataFrame(rows, columns=["query", *_COUNTS])
    return _by_time(table), sum(of_run.get("window_s", 0.0) for of_run in of_runs)


def _by_time(table: pd.DataFrame) -> pd.DataFrame:
    sums = table[table["calls"] > 0].groupby("query")[_COUNTS].sum()
    return sums.sort_values("ms", ascending=False, kind="stable")
