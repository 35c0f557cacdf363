"""Errors of a load, counted."""

from collections.abc import Iterable, Mapping
from typing import Any


def sum_errors(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Counts by kind, type and SQLSTATE, each with the first message."""
    totals: dict[tuple[Any, ...], dict[str, Any]] = {}
    for entry in entries:
        key = (entry.get("kind"), entry.get("type"), entry.get("sqlstate"))
        total = totals.setdefault(key, {**entry, "count": 0})
        total["count"] += entry["count"]
    return list(totals.values())
