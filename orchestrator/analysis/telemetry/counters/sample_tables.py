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
        rows = 0
        held: list[pd.DataFrame] = []
        for part in self.parts():
            rows += len(part)
            if rows > self.at_once:
                # Few runs have so many: their nodes are counted before any is read again.
                held.clear()
                yield from self._by_groups()
                return
            held.append(part)
        if rows:
            yield joined(held)

    def _by_groups(self) -> Iterator[pd.DataFrame]:
        """The rows of a few nodes at a time: as many as have `at_once` rows.

        All parts are read for each.
        """
        rows = self._rows_by_node()
        groups: dict[int, list[str]] = {}
        total = 0
        for node, count in sorted(rows.items()):
            total += count
            # A node is never split, because steps of a counter need the sample before.
            groups.setdefault(total // self.at_once, []).append(node)
        # Reading all parts again costs time; holding them all would cost memory.
        for names in groups.values():
            yield joined(_rows_of_nodes(part, names) for part in self.parts())

    def _rows_by_node(self) -> Counter[str]:
        rows = Counter[str]()
        for part in self.parts():
            for node, count in part["node"].value_counts().items():
                rows[str(node)] += int(count)
        return rows


def _rows_of_nodes(samples: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    return samples[samples["node"].isin(names)]


def joined(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """One table of several with the same columns; without any an empty one of samples."""
    import pandas as pd

    tables = list(parts)
    if not tables:
        return pd.DataFrame(columns=list(SAMPLE_COLUMNS))
    # Most runs have one table. Joining it to nothing would take a third of reading it.
    if len(tables) == 1 and _is_in_order(tables[0]):
        return tables[0]
    columns: dict[str, Any] = {}
    for name, kind in tables[0].dtypes.items():
        values = [table[name] for table in tables]
        if isinstance(kind, pd.CategoricalDtype):
            columns[str(name)] = _joined_texts(values)
        elif len(values) == 1:
            columns[str(name)] = values[0].array
        else:
            columns[str(name)] = pd.concat(values, ignore_index=True)
    return pd.DataFrame(columns)


def _is_in_order(table: pd.DataFrame) -> bool:
    """Whether its rows are numbered from 0, and its categories are in alphabetical order."""
    import pandas as pd

    if not table.index.equals(pd.RangeIndex(len(table))):
        return False
    for kind in table.dtypes:
        if isinstance(kind, pd.CategoricalDtype) and not _is_sorted(kind.categories):
            return False
    return True


def _is_sorted(categories: pd.Index[Any]) -> bool:
    # They are few. `is_monotonic_increasing` makes an index of them first.
    names = categories.tolist()
    return names == sorted(names)


def _joined_texts(parts: list[pd.Series[Any]]) -> pd.Categorical[Any]:
    """One column of several of categories, which are in alphabetical order in it."""
    import pandas as pd
    from pandas.api.types import union_categoricals

    if len(parts) > 1:
        return union_categoricals(parts, sort_categories=True)
    column = pd.Categorical(parts[0])
    if _is_sorted(column.categories):
        return column
    return _in_order(column)


def _in_order(column: pd.Categorical[Any]) -> pd.Categorical[Any]:
    """The column with its categories in alphabetical order. pandas takes five times as long, and
    each run has four such columns."""
    import numpy as np
    import pandas as pd

    order = np.argsort(column.categories.to_numpy(dtype=object))
    places = np.empty(len(order) + 1, dtype=column.codes.dtype)
    places[order] = np.arange(len(order))
    # The code of a value that is missing is -1: it is the last place, which stands for itself.
    places[-1] = -1
    return pd.Categorical.from_codes(
        places[column.codes], column.categories.take(order), validate=False
    )
