"""Consistency conditions: SQL beside a workload that checks whether its data are still sound.

If one is broken, the run's throughput is void. Format of the file: blocks headed
`-- name: c01; when: always; holds: <text>`, each with one statement that returns the number of
rows that break the condition (workloads/tpcc/consistency.sql).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from orchestrator.errors import LoadError, RunError
from orchestrator.model import Cluster, Endpoint
from orchestrator.powers import World
from orchestrator.system import sql

_HEADER = re.compile(r"^-- name: (?P<name>\w+); when: (?P<when>\w+); holds: (?P<holds>.*)$")
LOADED = "loaded"


@dataclass(frozen=True)
class Condition:
    """`when`: "always", or "loaded" if it holds only before the first transaction."""

    name: str
    when: str
    holds: str
    statement: str


@dataclass(frozen=True)
class Checked:
    """One evaluated condition; it holds if `violations`, a number of rows, is 0."""

    name: str
    holds: str
    violations: int


def conditions(text: str) -> tuple[Condition, ...]:
    """Parses a consistency file."""
    return tuple(_blocks(text.splitlines()))


def _blocks(lines: Sequence[str]) -> Iterator[Condition]:
    header: re.Match[str] | None = None
    block: list[str] = []
    for line in [*lines, "-- name: end; when: never; holds: nothing"]:
        next_header = _HEADER.match(line)
        if next_header is None:
            block.append(line)
            continue
        if header is not None:
            statement = "\n".join(block).strip().removesuffix(";")
            yield Condition(header["name"], header["when"], header["holds"], statement)
        header, block = next_header, []


def check(text: str, endpoint: Endpoint, *, fresh: bool = False) -> tuple[Checked, ...]:
    """Evaluates the conditions in one snapshot; `fresh`: also those of a data set just loaded.

    LoadError if the database cannot answer.
    """
    try:
        with sql.session(sql.local(endpoint), statement_timeout_s=0) as session:
            session.rows("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return tuple(
                _evaluate(condition, session)
                for condition in conditions(text)
                if fresh or condition.when != LOADED
            )
    except RunError as error:
        what = f"the consistency conditions could not be evaluated: {error.what}"
        raise LoadError(what) from error


def _evaluate(condition: Condition, session: sql.Session) -> Checked:
    (row,) = session.rows(condition.statement)
    (violations,) = map(int, row.values())
    return Checked(condition.name, condition.holds, violations)


def verify(text: str, cluster: Cluster, world: World) -> dict[str, Any]:
    """Checks the data after a run and returns facts. LoadError naming every broken condition."""
    world.progress.step("checking that the data are still consistent")
    checks = check(text, cluster.endpoints[0])
    broken = [f"{c.name} ({c.holds}): {c.violations} rows" for c in checks if c.violations]
    if broken:
        raise LoadError(
            f"the database is no longer consistent, so its figures are void: {'; '.join(broken)}",
            advice="this is a fault of the database, its disk, or this program: keep the logs",
        )
    return {"consistency": [asdict(c) for c in checks]}
