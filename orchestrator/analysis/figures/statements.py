"""What each statement took in the measured window, from two readings of its servers' counts. Pure.

Releases name columns differently, and lack some: what is not there counts nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from orchestrator.facts import group
from orchestrator.keys.strict_yaml import shipped
from orchestrator.model import Record

FILE = "statements.json"  # with both readings, among the raw files
_KEPT = 50
_NUMBERED = re.compile(r"(?<=[a-z_])\d+\b")  # of `sbtest17`
Row = Mapping[str, Any]


def called(before: Iterable[Row], after: Iterable[Row]) -> Iterator[tuple[Row, Row]]:
    """Both counts of each statement that was called in between; the first are empty where it was
    not counted yet, or where its server had dropped it meanwhile."""
    key = shipped(__package__, "statements.yaml")["key"]
    known = {tuple(map(row.get, key)): row for row in before}
    for row in after:
        first = known.get(tuple(map(row.get, key)), {})
        if first.get("calls", 0) != row["calls"]:
            yield first if first.get("calls", 0) < row["calls"] else {}, row


def grown(pairs: Iterable[tuple[Row, Row]]) -> list[Any]:
    """The rows that a record keeps: of the statements that took most time. Those whose texts differ
    only by the number that ends a name are together."""
    counts = shipped(__package__, "statements.yaml")["counts"].items()
    rows = (
        {ours: sum(after.get(n, 0) - before.get(n, 0) for n in names) for ours, names in counts}
        | {"query": _NUMBERED.sub("#", after["query"])}
        for before, after in pairs
    )
    return _by_time(rows).head(_KEPT).reset_index().to_dict("records")


def pooled(records: Iterable[Record]) -> tuple[pd.DataFrame, float]:
    """Query → its counts over several runs together, most time first, and how long their windows
    were. Empty where no run has them."""
    of_runs = [group(record.facts, "statements") for record in records]
    table = _by_time(row for of_run in of_runs for row in of_run.get("most", ()))
    return table, sum(of_run.get("window_s", 0.0) for of_run in of_runs)


def _by_time(rows: Iterable[Row]) -> pd.DataFrame:
    counts = shipped(__package__, "statements.yaml")["counts"]
    table = pd.DataFrame(list(rows), columns=["query", *counts])
    return table.groupby("query").sum().sort_values("ms", ascending=False, kind="stable")
