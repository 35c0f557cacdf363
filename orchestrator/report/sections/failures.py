"""What did not succeed at once: retries, failures and their errors, and the isolation in effect."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from orchestrator.analysis import results
from orchestrator.model import Workload
from orchestrator.report.blocks import (
    Cell,
    Paragraph,
    Part,
    Row,
    Section,
    Table,
    absent,
    table_of,
)
from orchestrator.report.report_index import ReportIndex

# Metric → title of its column.
_COUNTS = {
    "transactions": "Transactions",
    "retries": "Retries",
    "rollbacks": "Rolled back",
    "failures": "Failed",
}
# Each session of these generators sets a level; in others the server's default holds.
_ASK_FOR_LEVEL = ("sysbench", "benchbase")
_DEFAULT_LEVEL = "read committed"
_LEVELS = (_DEFAULT_LEVEL, "repeatable read", "serializable")


_ABOUT_COUNTS = (
    "Counts of one run's window, means over the repetitions. A retry repeats a transaction "
    "that the database refused. Rolled back are those that end so on purpose. Failed ones "
    "were given up and count neither as throughput nor in latency."
)


def section(index: ReportIndex) -> tuple[Section, ...]:
    """Empty where no transactions were run."""
    # A workload that names its own database runs the disk alone, and has no transactions.
    loads = [load for load in index.workloads if load.database is None]
    if not loads:
        return ()
    rows = _failures_rows(index, loads)
    counts = table_of(
        rows, ("Tier", "Isolation asked for", "In effect"), (_ABOUT_COUNTS,)
    )
    errors = Part("Errors by SQLSTATE", (_errors(index),))
    parts = (Part("", (counts,)), errors)
    return (Section("failures", "Retries, failures and isolation", parts),)


def _failures_rows(index: ReportIndex, loads: Sequence[Workload]) -> list[Row]:
    rows: list[Row] = []
    for load in loads:
        rows.append(load.name)
        rows += [_failures_row(index, tier, load) for tier in index.tiers]
    return rows


def _failures_row(index: ReportIndex, tier: str, load: Workload) -> dict[str, Cell]:
    notes = index.notes(load.name, tier)
    row = {"Tier": Cell(tier, tier=tier, notes=notes)}
    row |= index.metric_cells(tier, load.name, _COUNTS)
    row["Isolation asked for"] = Cell(_asked(load))
    row["In effect"] = _in_effect(index, tier, load)
    return row


def _asked(load: Workload) -> str:
    default = "the server's default"
    if load.generator in _ASK_FOR_LEVEL:
        default = _DEFAULT_LEVEL
    return str(load.options.get("isolation", default))


def _in_effect(index: ReportIndex, tier: str, load: Workload) -> Cell:
    """The isolation level as servers said it; more than one only if the runs of a cell differ."""
    runs = index.finished(tier, load.name)
    # A server may carry out another level: YugabyteDB 2.18 runs read committed as repeatable read.
    levels = _levels_told(runs)
    if levels:
        return Cell(", ".join(sorted(levels)))
    if not runs:
        return absent("missing")
    # PostgreSQL gives each level under its own name, so it need not be asked.
    database = index.campaign.plan.profile(tier).cluster.database
    if database == "postgresql" and _asked(load) in _LEVELS:
        return Cell("as asked")
    return absent("not read back")


def _levels_told(runs: Iterable[results.RunData]) -> set[str]:
    levels: set[str] = set()
    for run in runs:
        facts = results.database(run.record)
        execution = facts.execution or {}
        level = execution.get("isolation") or facts.more.get("isolation")
        if level:
            levels.add(str(level))
    return levels


# ------------------------------------------------------------------ errors

# The first two characters of an SQLSTATE are its class:
# https://www.postgresql.org/docs/current/errcodes-appendix.html
_CLASSES = {
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


def _errors(index: ReportIndex) -> Table | Paragraph:
    rows: list[Row] = []
    for load in index.workloads:
        for tier in index.tiers:
            head: dict[str, Cell | str] = {
                "Workload": load.name,
                "Tier": Cell(tier, tier=tier),
            }
            for counts in by_class(index.finished(tier, load.name)):
                rows.append({**head, **counts})
    # No row is good news, and said: silence could mean that nobody looked.
    if not rows:
        return Paragraph("No errors.")
    about = "Attempts of all finished runs together, warm-up included."
    return table_of(rows, ("Workload", "Tier", "Class", "SQLSTATE"), (about,))


def by_class(runs: Iterable[results.RunData]) -> Iterator[dict[str, str]]:
    """Cells of a row for each class, most frequent first, of whole runs, as they are counted."""
    counted = list(_errors_counted(runs))
    table = pd.DataFrame(counted, columns=["sqlstate", "kind", "count"])
    # An error of the client's own, such as a lost connection, has none.
    table = table.fillna({"sqlstate": ""})
    class_codes = table["sqlstate"].str[:2]
    classes = dict(list(table.groupby(class_codes, sort=False)))
    attempts = {key: errors["count"].sum() for key, errors in classes.items()}
    # Classes of as many attempts stay in the order in which they were counted.
    for key in sorted(classes, key=attempts.__getitem__, reverse=True):
        yield _class_cells(str(key), classes[key])


def _errors_counted(runs: Iterable[results.RunData]) -> Iterator[Any]:
    """sqlstate, kind and count of each error that a load generator wrote down."""
    for run in runs:
        errors = results.generator(run.record).more.get("errors")
        # Generators that count no single errors leave none.
        if isinstance(errors, list):
            yield from errors


def _class_cells(key: str, errors: pd.DataFrame) -> dict[str, str]:
    by_kind = errors.groupby("kind", sort=False)["count"].sum()
    by_state = errors.groupby("sqlstate", sort=False)["count"].sum()
    retried = by_kind.get("retried", 0)
    failed = by_kind.get("failed", 0)
    row = {"Class": _class_in_words(key)}
    row["Tried again"] = f"{retried:,}"
    row["Given up"] = f"{failed:,}"
    row["SQLSTATE"] = ", ".join(_counted_states(by_state))
    return row


def _counted_states(by_state: pd.Series) -> Iterator[str]:
    for state, count in by_state.items():
        code = state or "none given"
        yield f"{code} ({count:,})"


def _class_in_words(key: str) -> str:
    if key in _CLASSES:
        return f"{key} {_CLASSES[key]}"
    return key or "no SQLSTATE"
