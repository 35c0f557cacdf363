"""Attempts that ended in an error, by class of SQLSTATE, as load generators counted them. Pure."""

from __future__ import annotations

from collections import Counter
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
    found: dict[str, Counter[tuple[str, str]]] = {}
    for run in runs:
        errors = results.generator(run.record).more.get("errors")
        for error in errors if isinstance(errors, list) else ():
            if isinstance(error, Mapping) and isinstance(count := error.get("count", 0), int):
                state = str(error.get("sqlstate") or "")
                found.setdefault(state[:2], Counter())[str(error.get("kind")), state] += count
    every = [_aborts(key, counts) for key, counts in found.items()]
    return tuple(sorted(every, key=lambda one: -(one.retried + one.failed)))


def _aborts(key: str, counts: Mapping[tuple[str, str], int]) -> Aborts:
    kinds, states = Counter[str](), Counter[str]()
    for (kind, state), count in counts.items():
        kinds[kind] += count
        states[state or "none given"] += count
    name = f"{key} {CLASSES[key]}" if key in CLASSES else key or "no SQLSTATE"
    return Aborts(name, kinds["retried"], kinds["failed"], states)
