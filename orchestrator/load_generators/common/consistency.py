"""Consistency conditions: SQL beside a workload that says whether a database is still sound.

A throughput from a database that breaks one is void. Format of the file: blocks headed
`-- name: c01; when: always; holds: <text>`, each one statement that returns the number of rows
that break it (workloads/tpcc/consistency.sql).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.errors import LoadError, RunError
from orchestrator.model import Endpoint
from orchestrator.system import sql

_HEADER = re.compile(r"^-- name: (?P<name>\w+); when: (?P<when>\w+); holds: (?P<holds>.*)$")
LOADED = "loaded"


@dataclass(frozen=True)
class Condition:
    """`when`: "always", or "loaded" for what holds only before the first transaction."""

    name: str
    when: str
    holds: str
    statement: str


@dataclass(frozen=True)
class Checked:
    """One condition as found; it holds where `violations` is 0."""

    name: str
    holds: str
    violations: int


def conditions(text: str) -> tuple[Condition, ...]:
    """The blocks of a consistency file."""
    return tuple(_blocks(text.splitlines()))


def _blocks(lines: Sequence[str]) -> Iterator[Condition]:
    header: re.Match[str] | None = None
    block: list[str] = []
    for line in [*lines, "-- name: end; when: never; holds: nothing"]:
        found = _HEADER.match(line)
        if found is None:
            block.append(line)
            continue
        if header is not None:
            statement = "\n".join(block).strip().removesuffix(";")
            yield Condition(header["name"], header["when"], header["holds"], statement)
        header, block = found, []


def check(text: str, endpoint: Endpoint, *, fresh: bool = False) -> tuple[Checked, ...]:
    """Evaluates the conditions in one snapshot; `fresh`: also those of a data set just loaded.

    LoadError where the database cannot answer.
    """
    asked = [one for one in conditions(text) if fresh or one.when != LOADED]
    try:
        with sql.session(sql.local(endpoint), statement_timeout_s=0) as session:
            session.rows("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return tuple(_evaluate(one, session) for one in asked)
    except RunError as error:
        what = f"the consistency conditions could not be evaluated: {error.what}"
        raise LoadError(what) from error


def _evaluate(condition: Condition, session: sql.Session) -> Checked:
    (row,) = session.rows(condition.statement)
    (violations,) = map(int, row.values())
    return Checked(condition.name, condition.holds, violations)


def raise_if_broken(found: Sequence[Checked]) -> None:
    """LoadError naming every broken condition."""
    broken = [one for one in found if one.violations]
    if broken:
        raise LoadError(
            "the database is no longer consistent, so its figures are void: "
            + "; ".join(f"{one.name} ({one.holds}): {one.violations} rows" for one in broken),
            advice="this is a fault of the database, its disk, or this program: keep the logs",
        )
