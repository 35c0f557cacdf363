"""What several clients left → one table of transactions, each of them once, and one group of facts.

Pure. Rows are the clients' own: only their start is shifted, where a client's clock was found to be
another. So figures are those of one client that did all of it (docs/METHOD.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from orchestrator.facts import GeneratorFacts

_CATEGORIES = ("type", "sqlstate")


def one_table(tables: Sequence[pd.DataFrame], shifts_s: Sequence[float]) -> pd.DataFrame:
    """All rows, in order of start. `shifts_s`: what to take off each table's times."""
    columns: dict[str, Any] = {
        name: union_categoricals([table[name] for table in tables])
        if name in _CATEGORIES
        else np.concatenate([table[name].to_numpy() for table in tables])
        for name in tables[0].columns
    }
    lengths = [len(table) for table in tables]
    if any(shifts_s):
        columns["start_s"] = columns["start_s"] - np.repeat(shifts_s, lengths)
    whole = pd.DataFrame(columns)
    return whole.sort_values("start_s", kind="stable", ignore_index=True)


def one_of(
    facts: Mapping[str, GeneratorFacts], notes: Mapping[str, Mapping[str, Any]]
) -> GeneratorFacts:
    """Counts and rates are summed; the warm-up, which all had at once, and what all say alike are
    kept; the rest is said by client. `notes`: what is known of each, with `shifted_s`, by which its
    clock is ahead."""
    named = list(facts)
    began_s = {
        name: float(notes[name]["began_s"])
        if one.began_s is None
        else one.began_s - float(notes[name]["shifted_s"])
        for name, one in facts.items()
    }
    clients = {
        name: {
            **notes[name],
            "began_s": began_s[name],
            "recorded_transactions": facts[name].recorded_transactions,
        }
        for name in named
    }
    flat = [
        {**one.recorded(), "began_s": None, "errors": one.more.get("errors")}
        for one in facts.values()
    ]
    keys = dict.fromkeys(key for one in flat for key in one)
    together = {key: _together(key, [one.get(key) for one in flat], named) for key in keys}
    found = {key: value for key, value in together.items() if value is not None}
    skew_s = max(began_s.values()) - min(began_s.values())
    return GeneratorFacts.read({**found, "start_skew_s": skew_s, "clients": clients})


def _together(key: str, values: list[Any], named: Sequence[str]) -> Any:
    if key == "errors":
        return _errors([one for one in values if one])
    if any(value is None for value in values):
        return None
    if key == "warmup_s":
        return max(values)
    if all(isinstance(value, bool) for value in values):
        return all(values)
    if all(_is_number(value) for value in values):
        return sum(values)
    if all(isinstance(value, list) and all(map(_is_number, value)) for value in values):
        return [sum(column) for column in zip(*values, strict=True)]
    if all(value == values[0] for value in values):
        return values[0]
    return dict(zip(named, values, strict=True))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _errors(lists: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Counts by kind, type and SQLSTATE, each with the first message."""
    totals: dict[tuple[Any, ...], dict[str, Any]] = {}
    for entry in (entry for one in lists for entry in one):
        key = tuple(entry.get(name) for name in ("kind", "type", "sqlstate"))
        total = totals.setdefault(key, {**entry, "count": 0})
        total["count"] += entry["count"]
    return list(totals.values())
