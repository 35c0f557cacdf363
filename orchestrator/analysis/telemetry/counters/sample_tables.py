"""Where the samples of a run are, and reading them: more than memory should hold. Pure.

A hundred nodes leave nine million samples an hour. So they stay where they are kept: `Samples`
reads them, and `use/run_telemetry.py` says what stays in memory of them.

The libraries of tables are imported when a table is read, because most commands look at records
alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from orchestrator.metrics import SAMPLE_COLUMNS

if TYPE_CHECKING:
    import pandas as pd


class Samples:
    """Tables with time_s (Unix), node, metric, unit, value, phase: counters as read, no rates.

    `parts` reads them from the first on at each call; the text columns may be categories, which are
    then in alphabetical order in what is returned."""

    # Rows, or one node more: with what is computed from them some 600 MB.
    at_once = 2**21

    def __init__(self, parts: Callable[[], Iterable[pd.DataFrame]]) -> None:
        self.parts = parts

    def by_nodes(self) -> Iterator[pd.DataFrame]:
        """All of them, in tables that have all of some nodes each; none if there are none.

        They are read once, unless they are more than `at_once`."""
        rows = Counter[str]()
        held: list[pd.DataFrame] = []
        for part in self.parts():
            for node, count in part["node"].value_counts().items():
                rows[str(node)] += int(count)
            # Most runs have few: then what was read to be counted need not be read again.
            if rows.total() <= self.at_once:
                held.append(part)
            else:
                held = []
        if not rows:
            return
        if held:
            yield joined(held)
        else:
            yield from self._by_groups(rows)

    def _by_groups(self, rows: Counter[str]) -> Iterator[pd.DataFrame]:
        """The rows of a few nodes at a time: as many as have `at_once` rows.

        All parts are read for each.
        """
        groups: dict[int, list[str]] = {}
        total = 0
        for node, count in sorted(rows.items()):
            total += count
            # A node is never split, because steps of a counter need the sample before.
            groups.setdefault(total // self.at_once, []).append(node)
        # Reading all parts again costs time; holding them all would cost memory.
        for names in groups.values():
            yield joined(_rows_of_nodes(part, names) for part in self.parts())


def _rows_of_nodes(samples: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    return samples[samples["node"].isin(names)]


def joined(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """One table of several with the same columns; without any an empty one of samples."""
    import pandas as pd

    tables = list(parts)
    if not tables:
        return pd.DataFrame(columns=list(SAMPLE_COLUMNS))
    columns: dict[str, Any] = {}
    for name, kind in tables[0].dtypes.items():
        values = [table[name] for table in tables]
        if isinstance(kind, pd.CategoricalDtype):
            columns[str(name)] = _joined_texts(values)
        elif len(values) == 1:
            # Most runs have one table. Joining it to nothing would take a third of reading it.
            columns[str(name)] = values[0].array
        else:
            columns[str(name)] = pd.concat(values, ignore_index=True)
    return pd.DataFrame(columns)


def _joined_texts(parts: list[pd.Series[Any]]) -> pd.Categorical[Any]:
    """One column of several of categories, which are in alphabetical order in it."""
    import pandas as pd
    from pandas.api.types import union_categoricals

    if len(parts) == 1:
        column = pd.Categorical(parts[0])
        if column.categories.is_monotonic_increasing:
            return column
    return union_categoricals(parts, sort_categories=True)
