"""The samples of a run, of which there may be far more than memory should hold. Pure.

A hundred nodes leave nine million an hour. So they stay where they are kept, and are read anew for
each question: some counters of all nodes, or all counters of some nodes at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property

import pandas as pd
from pandas.api.types import union_categoricals

from orchestrator.metrics import SAMPLE_COLUMNS

_AT_ONCE = 2**21  # rows: with what is computed from them some 600 MB


class Samples:
    """Tables with time_s (Unix), node, metric, unit, value, phase: counters as read, no rates.

    `parts` reads them from the first on at each call; the text columns may be categories, which
    are then in alphabetical order in what is returned.
    """

    def __init__(self, parts: Callable[[], Iterable[pd.DataFrame]]) -> None:
        self.parts = parts

    @staticmethod
    def held(table: pd.DataFrame) -> Samples:
        """Those of a table in memory."""
        return Samples(lambda: (table,))

    @cached_property
    def empty(self) -> bool:
        return all(part.empty for part in self.parts())

    def whole(self) -> pd.DataFrame:
        """All of them, which a small run has in one table."""
        return _joined(self.parts())

    def of_metrics(self, metrics: Collection[str]) -> pd.DataFrame:
        """Some counters, of all nodes."""
        return _joined(part[part["metric"].isin(list(metrics))] for part in self.parts())

    def by_nodes(self) -> Iterator[pd.DataFrame]:
        """All of them, in tables that have all of some nodes each."""
        for nodes in self._groups():
            yield _joined(part[part["node"].isin(nodes)] for part in self.parts())

    def _groups(self) -> Iterator[list[str]]:
        counts: Counter[str] = Counter()
        for part in self.parts():
            for node, count in part["node"].value_counts().items():
                counts[str(node)] += count
        group: list[str] = []
        rows = 0
        for node, count in sorted(counts.items()):
            if group and rows + count > _AT_ONCE:
                yield group
                group, rows = [], 0
            group.append(node)
            rows += count
        if group:
            yield group


def _joined(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    tables = list(parts)
    if not tables:
        return pd.DataFrame(columns=list(SAMPLE_COLUMNS))
    texts = [str(name) for name, kind in tables[0].dtypes.items() if kind == "category"]
    rest = pd.concat([table.drop(columns=texts) for table in tables], ignore_index=True)
    united = {
        name: union_categoricals([table[name] for table in tables], sort_categories=True)
        for name in texts
    }
    return rest.assign(**united)[list(tables[0].columns)]
