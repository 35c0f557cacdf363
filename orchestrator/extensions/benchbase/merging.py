"""What several clients left → one table of transactions, each of them once.

Pure. Rows are the clients' own: only their start is shifted, where a client's clock was found to be
another. So figures are those of one client that did all of it (docs/research/RULES.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

_CATEGORIES = ("type", "sqlstate")


def one_table(
    several: Sequence[pd.DataFrame], shifts_s: Sequence[float]
) -> pd.DataFrame:
    """All rows, in order of start. `shifts_s`: what to take off each table's times."""
    import pandas as pd
    from pandas.api.types import union_categoricals

    rows_of_clients: list[int] = []
    for table in several:
        rows_of_clients.append(len(table))
    columns: dict[str, Any] = {}
    for name in several[0].columns:
        parts: list[Any] = []
        for table in several:
            parts.append(table[name])
        if name in _CATEGORIES:
            columns[name] = union_categoricals(parts)
        else:
            columns[name] = np.concatenate(parts)
    if any(shifts_s):
        columns["start_s"] -= np.repeat(shifts_s, rows_of_clients)
    table = pd.DataFrame(columns)
    # Stable: transactions of one moment stay in the order of the clients, in each reading alike.
    return table.sort_values("start_s", kind="stable", ignore_index=True)
