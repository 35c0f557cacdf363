"""What several clients left → one table of transactions, each of them once, and one group of facts.

Pure. Rows are the clients' own: only their start is shifted, where a client's clock was found to be
another. So figures are those of one client that did all of it (docs/METHOD.md)."""

import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from orchestrator.errors import UNREADABLE, LoadError
from orchestrator.facts import GeneratorFacts

_CATEGORIES = ("type", "sqlstate")


@contextmanager
def reading(generator: str) -> Iterator[None]:
    """While a run's raw files are read. LoadError if they are not as the generator writes them."""
    try:
        with np.errstate(invalid="raise"):
            yield
    except UNREADABLE as error:
        what = f"what {generator} left cannot be read: {type(error).__name__}: {error}"
        advice = "look at the raw files of the run: they may be cut"
        raise LoadError(what, advice, traceback.format_exc()) from error


def one_table(
    several: Sequence[pd.DataFrame], shifts_s: Sequence[float]
) -> pd.DataFrame:
    """All rows, in order of start. `shifts_s`: what to take off each table's times."""
    columns: dict[str, Any] = {
        name: union_categoricals([table[name] for table in several])
        if name in _CATEGORIES
        else np.concatenate([table[name].to_numpy() for table in several])
        for name in several[0].columns
    }
    if any(shifts_s):
        columns["start_s"] -= np.repeat(shifts_s, [len(table) for table in several])
    return pd.DataFrame(columns).sort_values(
        "start_s", kind="stable", ignore_index=True
    )


def one_of(
    facts: Mapping[str, GeneratorFacts], notes: Mapping[str, Mapping[str, Any]]
) -> GeneratorFacts:
    """Counts and rates are summed; the warm-up, which all had at once, the size of a transaction,
    and what all say alike are kept; the rest is said by client. `notes`: of each; its clock is
    `shifted_s` ahead."""
    clients: dict[str, dict[str, Any]] = {}
    flat: list[dict[str, Any]] = []
    for name, own in facts.items():
        began_s = float(notes[name]["began_s"])
        if own.began_s is not None:
            began_s = own.began_s - float(notes[name]["shifted_s"])
        count = own.recorded_transactions
        clients[name] = {
            **notes[name],
            "began_s": began_s,
            "recorded_transactions": count,
        }
        flat.append(
            {**own.recorded(), "began_s": None, "errors": own.more.get("errors")}
        )
    keys = dict.fromkeys(key for own in flat for key in own)
    together = {
        key: _together(key, [own.get(key) for own in flat], list(facts)) for key in keys
    }
    known = {key: value for key, value in together.items() if value is not None}
    begins_s = [client["began_s"] for client in clients.values()]
    skew_s = max(begins_s) - min(begins_s)
    return GeneratorFacts.read({**known, "start_skew_s": skew_s, "clients": clients})


def _together(key: str, values: list[Any], named: Sequence[str]) -> Any:
    if key == "errors":
        return sum_errors(entry for errors in values if errors for entry in errors)
    if any(value is None for value in values):
        return None
    if key in ("warmup_s", "bytes_per_transaction"):
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


def sum_errors(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Counts by kind, type and SQLSTATE, each with the first message."""
    totals: dict[tuple[Any, ...], dict[str, Any]] = {}
    for entry in entries:
        key = tuple(entry.get(name) for name in ("kind", "type", "sqlstate"))
        total = totals.setdefault(key, {**entry, "count": 0})
        total["count"] += entry["count"]
    return list(totals.values())
