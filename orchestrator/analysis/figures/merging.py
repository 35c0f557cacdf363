"""What several clients left → one table of transactions, each of them once, and one group of facts.

Pure. Rows are the clients' own: only their start is shifted, where a client's clock was found to be
another. So figures are those of one client that did all of it (docs/METHOD.md)."""

import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
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
    columns: dict[str, Any] = {}
    for name in several[0].columns:
        if name in _CATEGORIES:
            columns[name] = union_categoricals([table[name] for table in several])
        else:
            columns[name] = np.concatenate(
                [table[name].to_numpy() for table in several]
            )
    if any(shifts_s):
        columns["start_s"] -= np.repeat(shifts_s, [len(table) for table in several])
    table = pd.DataFrame(columns)
    return table.sort_values("start_s", kind="stable", ignore_index=True)


def one_of(
    facts: Mapping[str, GeneratorFacts], notes: Mapping[str, Mapping[str, Any]]
) -> GeneratorFacts:
    """The facts of all clients as those of one. `notes`: of each; its clock is `shifted_s`
    ahead."""
    clients: dict[str, dict[str, Any]] = {}
    for name, of_client in facts.items():
        clients[name] = {
            **notes[name],
            "began_s": _begin_s(of_client, notes[name]),
            "recorded_transactions": of_client.recorded_transactions,
        }
    begins_s = [client["began_s"] for client in clients.values()]
    return GeneratorFacts.read(
        {
            **_merged(facts),
            "start_skew_s": max(begins_s) - min(begins_s),
            "clients": clients,
        }
    )


def _begin_s(facts: GeneratorFacts, notes: Mapping[str, Any]) -> float:
    """When a client began, by this computer's clock."""
    if facts.began_s is None:
        return float(notes["began_s"])
    return facts.began_s - float(notes["shifted_s"])


def _merged(facts: Mapping[str, GeneratorFacts]) -> dict[str, Any]:
    """Key → the value for all clients, where there is one."""
    recorded: list[dict[str, Any]] = []
    for of_client in facts.values():
        errors = of_client.more.get("errors")
        recorded.append({**of_client.recorded(), "began_s": None, "errors": errors})
    keys: dict[str, None] = {}
    for values in recorded:
        keys |= dict.fromkeys(values)
    merged: dict[str, Any] = {}
    for key in keys:
        values_of_clients = [values.get(key) for values in recorded]
        value = _value_of_all(key, values_of_clients, list(facts))
        if value is not None:
            merged[key] = value
    return merged


def _value_of_all(key: str, values: list[Any], clients: Sequence[str]) -> Any:
    """Counts and rates are summed; the warm-up, which all had at once, the size of a transaction,
    and what all say alike are kept; the rest is said by client. None if a client does not say."""
    if key == "errors":
        return sum_errors(chain.from_iterable(errors for errors in values if errors))
    if any(value is None for value in values):
        return None
    if key in ("warmup_s", "bytes_per_transaction"):
        return max(values)
    if all(isinstance(value, bool) for value in values):
        return all(values)
    if all(_is_number(value) for value in values):
        return sum(values)
    if all(_is_list_of_numbers(value) for value in values):
        return [sum(column) for column in zip(*values, strict=True)]
    if all(value == values[0] for value in values):
        return values[0]
    return dict(zip(clients, values, strict=True))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_list_of_numbers(value: object) -> bool:
    return isinstance(value, list) and all(_is_number(element) for element in value)


def sum_errors(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Counts by kind, type and SQLSTATE, each with the first message."""
    totals: dict[tuple[Any, ...], dict[str, Any]] = {}
    for entry in entries:
        key = tuple(entry.get(name) for name in ("kind", "type", "sqlstate"))
        total = totals.setdefault(key, {**entry, "count": 0})
        total["count"] += entry["count"]
    return list(totals.values())
