"""What did not succeed at once: retries, failures, errors by SQLSTATE, and isolation levels."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.analysis import results
from orchestrator.analysis.figures.aborts import by_class
from orchestrator.model import Workload
from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Paragraph, Part, Section, Table, numbers, texts
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections.summary import value_cell

_COUNTS = {
    "transactions": "Transactions",
    "retries": "Retries",
    "rollbacks": "Rolled back",
    "failures": "Failed",
}
_ASK_FOR_LEVEL = ("sysbench", "benchbase")  # each of their sessions sets it
_DEFAULT_LEVEL = "read committed"
_LEVELS = (_DEFAULT_LEVEL, "repeatable read", "serializable")


def section(index: ReportIndex) -> tuple[Section, ...]:
    """Empty where no transactions were run or counted here."""
    loads = [load for load in index.workloads if load.database is None]
    if index.published or not loads:
        return ()
    parts = (Part("", (_counts(index, loads),)), Part("Errors by SQLSTATE", (_errors(index),)))
    return (Section("failures", "Retries, failures and isolation", parts),)


def _counts(index: ReportIndex, loads: list[Workload]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for load in loads:
        rows.append((Cell(load.name, strong=True),))
        rows += [_count_row(index, tier, load) for tier in index.tiers]
    columns = (
        *texts("Tier"),
        *numbers(*_COUNTS.values()),
        *texts("Isolation asked for", "In effect"),
    )
    about = (
        "Counts of one run's window, means over the repetitions. A retry repeats a transaction "
        "that the database refused; rolled back are those that end so on purpose; failed ones were "
        "given up and count neither as throughput nor in latency."
    )
    return Table(columns, tuple(rows), remarks=(about,))


def _count_row(index: ReportIndex, tier: str, load: Workload) -> tuple[Cell, ...]:
    cells = (index.cell(tier, load.name, metric) for metric in _COUNTS)
    return (
        Cell(tier, tier=tier, notes=index.notes(load.name, tier)),
        *(value_cell(index, tier, load.name, cell, wording.value) for cell in cells),
        Cell(_asked(load)),
        _in_effect(index, tier, load),
    )


def _asked(load: Workload) -> str:
    default = _DEFAULT_LEVEL if load.generator in _ASK_FOR_LEVEL else "the server's default"
    return str(load.options.get("isolation", default))


def _in_effect(index: ReportIndex, tier: str, load: Workload) -> Cell:
    """As the servers said; more than one level only if the runs of a cell differ. PostgreSQL gives
    each level under its own name, so it need not be asked."""
    runs = index.finished(tier, load.name)
    facts = [results.database(run.record) for run in runs]
    levels = {
        str(level)
        for one in facts
        if (level := (one.execution or {}).get("isolation") or one.more.get("isolation"))
    }
    if levels:
        return Cell(", ".join(sorted(levels)))
    if not runs:
        return Cell("missing", missing=True)
    plain = index.campaign.plan.profile(tier).cluster.database == "postgresql"
    told = plain and _asked(load) in _LEVELS
    return Cell("as asked") if told else Cell("not read back", missing=True)


def _errors(index: ReportIndex) -> Table | Paragraph:
    rows = tuple(_error_rows(index))
    if not rows:
        return Paragraph("No load generator counted one.")
    columns = (
        *texts("Workload", "Tier", "Class"),
        *numbers("Tried again", "Given up"),
        *texts("SQLSTATE"),
    )
    about = "Attempts of all finished runs together, warm-up included."
    return Table(columns, rows, remarks=(about,))


def _error_rows(index: ReportIndex) -> Iterator[tuple[Cell, ...]]:
    for load in index.workloads:
        for tier in index.tiers:
            for one in by_class(index.finished(tier, load.name)):
                states = ", ".join(f"{state} ({count:,})" for state, count in one.states.items())
                yield (
                    Cell(load.name),
                    Cell(tier, tier=tier),
                    Cell(one.name),
                    Cell(f"{one.retried:,}"),
                    Cell(f"{one.failed:,}"),
                    Cell(states),
                )
