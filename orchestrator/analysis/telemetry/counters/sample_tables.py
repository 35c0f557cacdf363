"""Where the samples of a run are, and reading them: more than memory should hold. Pure.

A hundred nodes leave nine million samples an hour. So they stay where they are kept: `Samples`
reads them, and `use/run_telemetry.py` says what stays in memory of them.

The libraries of tables are imported when a table is read, because most commands look at records
alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

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
        """So many nodes at a time as have `at_once` rows, all parts read for each."""
        groups: dict[int, list[str]] = {}
        total = 0
        for node, count in sorted(rows.items()):
            total += count
            groups.setdefault(total // self.at_once, []).append(node)
        for names in groups.values():
            yield joined(_of_nodes(part, names) for part in self.parts())


def _of_nodes(samples: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    return samples[samples["node"].isin(names)]


def joined(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """One table of several with the same columns; without any an empty one of samples."""
    import pandas as pd
    from pandas.api.types import union_categoricals

    tables = list(parts)
    if not tables:
        return pd.DataFrame(columns=list(SAMPLE_COLUMNS))
    texts = _categories(tables[0])
    numbers = [table.drop(columns=texts) for table in tables]
    whole = pd.concat(numbers, ignore_index=True)
    for name in texts:
        columns = [table[name] for table in tables]
        whole[name] = union_categoricals(columns, sort_categories=True)
    return whole[list(tables[0].columns)]


def _categories(table: pd.DataFrame) -> list[str]:
    kinds = table.dtypes
    return [str(name) for name in kinds[kinds == "category"].index]
