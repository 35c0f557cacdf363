"""Attempts that ended in an error, by class of SQLSTATE, as load generators counted them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orchestrator.analysis import results
from orchestrator.analysis.results import RunData

# The first two characters of an SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html
CLASSES = {
    "08": "connection",
    "22": "data",
    "23": "integrity constraint",
    "25": "transaction state",
    "40": "transaction rollback",
    "42": "syntax or access",
    "53": "resources",
    "54": "program limit",
    "55": "object state",
    "57": "operator",
    "58": "system",
    "XX": "internal",
}


@dataclass(frozen=True)
class Aborts:
    """Of one class, in all given runs together. `states`: each SQLSTATE with its count."""

    name: str
    retried: int
    failed: int
    states: Mapping[str, int]


def by_class(runs: Iterable[RunData]) -> tuple[Aborts, ...]:
    """Most frequent first. Whole runs, warm-up included, because they are counted like that."""
    found: dict[str, dict[tuple[str, str], int]] = {}
    for run in runs:
        for error in _errors(run):
            state, kind = str(error.get("sqlstate") or ""), str(error.get("kind"))
            of_class = found.setdefault(state[:2], {})
            count = error.get("count")
            if isinstance(count, int):
                of_class[kind, state] = of_class.get((kind, state), 0) + count
    every = [_aborts(key, counts) for key, counts in found.items()]
    return tuple(sorted(every, key=lambda one: -(one.retried + one.failed)))


def _errors(run: RunData) -> list[Mapping[str, object]]:
    listed = results.generator(run.record).more.get("errors")
    return [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []


def _aborts(key: str, counts: Mapping[tuple[str, str], int]) -> Aborts:
    states: dict[str, int] = {}
    for (_, state), count in counts.items():
        states[state or "none given"] = states.get(state or "none given", 0) + count
    return Aborts(
        f"{key} {CLASSES[key]}" if key in CLASSES else key or "no SQLSTATE",
        sum(count for (kind, _), count in counts.items() if kind == "retried"),
        sum(count for (kind, _), count in counts.items() if kind == "failed"),
        states,
    )
