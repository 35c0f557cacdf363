"""What each statement took in the measured window, from two readings of its servers' counts. Pure.
What a release does not count is zero."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from orchestrator import facts, model

_KEY = ["server", "statement", "query"]
_COUNTS = ["calls", "ms", "blocks_read", "read_ms", "wal_bytes", "storage_requests"]
# The report shows ten; runs of a cell are added up, and may differ in which these are.
_KEPT = 50
Rows = Iterable[Mapping[str, Any]]


def grown(before: Rows, after: Rows) -> list[Any]:
    """The rows that a record keeps: of the statements that took most time. Those whose texts differ
    only by the number that ends a name are together; one that its server dropped is left out."""
    first = _reading(before)
    last = _reading(after)
    # A statement that only one reading has counts from zero. One that its server dropped meanwhile
    # gets a negative count of calls, by which it is left out.
    table = last.sub(first, fill_value=0).reset_index()
    # sysbench numbers its tables: `sbtest17`. A statement on each of them is the same work.
    number_at_end = r"(?<=[a-z_])\d+\b"
    table["query"] = table["query"].str.replace(number_at_end, "#", regex=True)
    most_time = _by_time(table).head(_KEPT)
    return most_time.reset_index().to_dict("records")


def _reading(rows: Rows) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=_KEY + _COUNTS).set_index(_KEY)


def pooled(records: Iterable[model.Record]) -> tuple[pd.DataFrame, float]:
    """Query → its counts in several runs together, most time first, and how long their windows
    were. Empty where no run has them."""
    rows: list[Mapping[str, Any]] = []
    windows_s: list[float] = []
    for record in records:
        statements = facts.group(record.facts, "statements")
        rows += statements.get("most", ())
        windows_s.append(statements.get("window_s", 0.0))
    table = pd.DataFrame(rows, columns=["query", *_COUNTS])
    return _by_time(table), sum(windows_s)


def _by_time(table: pd.DataFrame) -> pd.DataFrame:
    sums = table[table["calls"] > 0].groupby("query")[_COUNTS].sum()
    return sums.sort_values("ms", ascending=False, kind="stable")
