"""Consistency conditions: SQL beside a workload that checks whether its data are still sound.

If one is broken, the run's throughput is void; if one cannot be evaluated, the run is doubted.
Format of the file (workloads/tpcc/consistency.sql): blocks headed
`-- name: c01; when: always; holds: <text>`, each with one statement that returns the number of
rows that break the condition. Before them, `-- rows of <table>: <condition>` says which rows of a
table belong to the warehouses `:warehouses`; the first such table is the warehouses' own.

Each statement is a transaction of its own: the load has stopped, so all see the same data, and no
database must keep old rows for longer than one statement takes."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator import errors, model, powers
from orchestrator.system import at_once, sql

_HEADER = re.compile(r"^-- name: (\w+); when: (\w+); holds: (.*)$", re.MULTILINE)
_ROWS_OF = re.compile(r"^-- rows of (\w+): (.*)$", re.MULTILINE)
# The word of a condition that holds only before the first transaction; others have "always".
LOADED = "loaded"

# The most warehouses that are checked: the specification (3.3.2, comment 2) is content with four.
# Twenty are 6 million order lines, which take seconds where they are in memory. No query spills
# more than the 1 GB of temporary files that YugabyteDB allows.
MOST_WAREHOUSES = 20
# YugabyteDB keeps old rows for 900 s: a statement that takes longer fails there in any case.
_STATEMENT_S = 900.0
_AT_ONCE = 4  # conditions: each is one session, and reads whole tables


@dataclass(frozen=True)
class Condition:
    """A condition on the rows of a database. A check sets one of its last two fields.

    `violations`: how many rows break the condition. `problem`: why the condition could not be
    evaluated.
    """

    name: str
    holds: str
    statement: str
    violations: int | None = None
    problem: str | None = None

    def recorded(self) -> dict[str, Any]:
        values: dict[str, Any] = {"name": self.name, "holds": self.holds}
        if self.violations is not None:
            values["violations"] = self.violations
        if self.problem is not None:
            values["problem"] = self.problem
        return values


@dataclass(frozen=True)
class ConsistencyOutcome:
    """The checked conditions, and for how many of the `warehouses` they were."""

    conditions: tuple[Condition, ...]
    warehouses_checked: int
    warehouses: int

    @property
    def broken(self) -> str:
        """Names every broken condition; "" if there is none."""
        texts: list[str] = []
        for condition in self.conditions:
            if condition.violations:
                texts.append(
                    f"{condition.name} ({condition.holds}): {condition.violations} rows"
                )
        return "; ".join(texts)

    @property
    def problems(self) -> str:
        """Names every condition that could not be evaluated, and why; "" if there is none."""
        texts: list[str] = []
        for condition in self.conditions:
            if condition.problem:
                texts.append(f"{condition.name}: {condition.problem}")
        return "; ".join(texts)


def conditions(text: str, fresh: bool) -> tuple[Condition, ...]:
    """The conditions in a consistency file: of just loaded data (`fresh`), or of data at any
    time."""
    headers = list(_HEADER.finditer(text))
    if not headers:
        return ()
    ends = [header.start() for header in headers[1:]]
    ends.append(len(text))
    kept: list[Condition] = []
    for header, end in zip(headers, ends, strict=True):
        name, when, holds = header.groups()
        statement = text[header.end() : end].strip().removesuffix(";")
        if fresh or when != LOADED:
            kept.append(Condition(name, holds, statement))
    return tuple(kept)


def rows_of(text: str) -> dict[str, str]:
    """Table → which of its rows belong to `:warehouses`, from the head of a consistency file."""
    return dict(_ROWS_OF.findall(text))


def sample(warehouses: Sequence[int], seed: int) -> list[int]:
    """The first, the last, and others drawn by `seed`; all if there are no more than allowed."""
    if len(warehouses) <= MOST_WAREHOUSES:
        return list(warehouses)
    first, *others, last = warehouses
    drawn = random.Random(seed).sample(others, MOST_WAREHOUSES - 2)
    return [first, *sorted(drawn), last]


def restricted(
    statement: str, rows: Mapping[str, str], warehouses: Sequence[int]
) -> str:
    """The statement for some warehouses: CTEs, named like the tables, hide the other rows."""
    numbers = ", ".join(str(number) for number in warehouses)
    ctes: list[str] = []
    for table, condition in rows.items():
        if re.search(rf"\b{table}\b", statement):
            columns = _columns_used(statement, condition)
            where = condition.replace(":warehouses", numbers)
            # The name inside means the table, in a WITH that is not recursive.
            ctes.append(f"{table} AS (SELECT {columns} FROM {table} WHERE {where})")
    return f"WITH {', '.join(ctes)}\n{statement}"


def _columns_used(statement: str, condition: str) -> str:
    """The columns of a table that the statement uses: those with the prefix of its `condition`."""
    # Other columns are left out, because PostgreSQL 11, and so YugabyteDB, keeps a CTE's rows.
    prefix = condition.split("_")[0]
    used = set(re.findall(rf"\b{prefix}_\w+", statement))
    return ", ".join(sorted(used))


def check(
    text: str,
    endpoint: model.Endpoint,
    *,
    fresh: bool,
    seed: int = 1,
    connect: sql.Connect = sql.session,
) -> ConsistencyOutcome:
    """Evaluates the conditions, a few at once; `fresh`: also those of a data set just loaded.
    RunError if the warehouses cannot be read."""
    tables = rows_of(text)
    at = sql.local(endpoint)
    present = _warehouses(tables, at, connect)
    chosen = sample(present, seed)

    def evaluated(condition: Condition) -> Condition:
        statement = condition.statement
        if len(chosen) < len(present):
            statement = restricted(statement, tables, chosen)
        try:
            with connect(at, _STATEMENT_S) as session:
                (row,) = session.rows(statement)
        except errors.RunError as error:
            return replace(condition, problem=error.what)
        (violations,) = row.values()
        return replace(condition, violations=int(violations))

    # The last takes longest: begun last, it would go on alone when all others have ended.
    longest_first = conditions(text, fresh)[::-1]
    checked = at_once.each(evaluated, longest_first, _AT_ONCE)
    return ConsistencyOutcome(tuple(checked[::-1]), len(chosen), len(present))


def _warehouses(
    tables: Mapping[str, str], at: sql.Address, connect: sql.Connect
) -> list[int]:
    """All that are loaded. The first of `tables` is their own."""
    table = next(iter(tables))
    key = tables[table].split()[0]
    with connect(at, _STATEMENT_S) as session:
        rows = session.rows(f"SELECT {key} AS id FROM {table} ORDER BY 1")
    return [int(row["id"]) for row in rows]


def verify(
    text: str,
    cluster: model.Cluster,
    seed: int,
    world: powers.World,
    *,
    fresh: bool,
    connect: sql.Connect = sql.session,
) -> dict[str, Any]:
    """Checks the data after a run, or, `fresh`, as they were loaded, and returns facts. LoadError
    naming every broken condition."""
    which = "the data are still"
    if fresh:
        which = "what was loaded is"
    world.progress.step(f"checking that {which} consistent")
    try:
        first = cluster.endpoints[0]
        outcome = check(text, first, fresh=fresh, seed=seed, connect=connect)
    except errors.RunError as error:
        unchecked = [
            replace(condition, problem=error.what)
            for condition in conditions(text, fresh)
        ]
        outcome = ConsistencyOutcome(tuple(unchecked), 0, 0)
    # Broken conditions void the run; those that cannot be evaluated are only doubted.
    if outcome.broken:
        if fresh:
            raise _not_consistent_as_loaded(outcome.broken)
        raise _no_longer_consistent(outcome.broken)
    if fresh and outcome.problems:
        world.progress.note(
            f"loaded, though some conditions could not be evaluated: {outcome.problems}"
        )
    return {
        "consistency": [condition.recorded() for condition in outcome.conditions],
        "warehouses_checked": outcome.warehouses_checked,
        "warehouses": outcome.warehouses,
    }


def _not_consistent_as_loaded(broken: str) -> errors.LoadError:
    return errors.LoadError(
        f"what was loaded is not consistent, so it is not used: {broken}",
        advice="this is a fault of the database, its disk, or the loader: keep the logs",
    )


def _no_longer_consistent(broken: str) -> errors.LoadError:
    return errors.LoadError(
        f"the database is no longer consistent, so its figures are void: {broken}",
        advice="this is a fault of the database, its disk, or this program: keep the logs",
    )
