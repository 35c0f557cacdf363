"""The statements that took most time, as the servers counted them."""

from collections.abc import Iterable, Iterator, Sequence

import pandas as pd

from orchestrator import facts, units
from orchestrator.analysis.figures.statements import pooled
from orchestrator.model import Record
from orchestrator.report.blocks import (
    Block,
    Cell,
    Paragraph,
    Part,
    Row,
    Section,
    Table,
    heading,
    table_of,
)
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.wording import sentence
from orchestrator.texts import foreign_text

_OF_STATEMENT = {
    "calls": "Calls/s",
    "ms": "Mean, ms",
    "read_ms": "Reading, ms",
    "share": "Of all time, %",
    "blocks_read": "Blocks read per call",
    "wal_bytes": "Bytes of WAL per call",
    "storage_requests": "Storage requests per call",
}
# So many statements of each tier are shown, and so many characters of each.
_MOST = 10
_LONGEST = 160


def section(index: ReportIndex) -> tuple[Section, ...]:
    """What the servers counted of each, and why others did not; empty where none was asked."""
    rows: list[Row] = []
    # Most tiers have the same reason, which is said once.
    reasons: dict[Paragraph, None] = {}
    for load in index.workloads:
        for tier in index.tiers:
            records = [run.record for run in index.finished(tier, load.name)]
            rows += _statement_rows(f"{load.name}, {tier}", records)
            reasons |= dict.fromkeys(_not_counted(records))
    return _statement_sections(rows, reasons)


def _statement_sections(
    rows: Sequence[Row], reasons: Iterable[Paragraph]
) -> tuple[Section, ...]:
    blocks: list[Block] = []
    if rows:
        blocks.append(_statement_table(rows))
    # A missing table without a reason would seem to say that no statement took time.
    blocks += reasons
    if not blocks:
        return ()
    return (Section("statements", "Statements", (Part("", tuple(blocks)),)),)


def _statement_table(rows: Sequence[Row]) -> Table:
    about = (
        "The statements that took most time, with their share of it. The servers counted them "
        "over the measured windows of a tier's finished runs. Blocks read were not in the "
        "server's own cache. `#` stands for the number that ends a name. Texts are the server's, "
        "without constants."
    )
    return table_of(rows, ("Statement",), (about,))


def _not_counted(records: Iterable[Record]) -> Iterator[Paragraph]:
    """Why there are no counts of a run, for each that lacks them."""
    for record in records:
        group = facts.group(record.facts, "statements")
        if "not_counted_in" in group:
            yield _counts_nothing(str(group["not_counted_in"]))
        elif "not_read" in group:
            yield Paragraph(sentence(str(group["not_read"])), "Not counted")


def _counts_nothing(database: str) -> Paragraph:
    text = (
        f"`pg_stat_statements` counts nothing in the database {database}. PostgreSQL counts "
        "statements if `shared_preload_libraries` has it. Set it in the profile of a cluster "
        "that is set up here. Other clusters need its extension in their "
        "`maintenance_database` too."
    )
    return Paragraph(text, "Not counted")


def _statement_rows(title: str, records: Sequence[Record]) -> Iterator[Row]:
    """Below the title those that took most time; nothing if none was counted."""
    table, window_s = pooled(records)
    if table.empty:
        return
    yield heading(title)
    # `pooled` has them by their time, the longest first.
    shown = _means_of_call(table, window_s).head(_MOST).rename(columns=_OF_STATEMENT)
    for query, values in shown.iterrows():
        yield _statement_row(str(query), values)


def _statement_row(query: str, values: pd.Series) -> Row:
    statement = foreign_text.shortened(query, _LONGEST)
    row: dict[str, Cell | str] = {"Statement": statement}
    for column, value in values.items():
        row[str(column)] = _number(value)
    return row


def _means_of_call(table: pd.DataFrame, window_s: float) -> pd.DataFrame:
    """Means of a call, with calls a second and the share of all time in percent."""
    # Sums over all calls become means of one.
    means = table.div(table["calls"], axis=0)
    calls_per_s = table["calls"] / window_s
    # Shares are of the statements that records keep: the fifty of each run that took most time.
    share_pct = 100 * table["ms"] / table["ms"].sum()
    return means.assign(calls=calls_per_s, share=share_pct)[list(_OF_STATEMENT)]


def _number(value: float) -> str:
    """Empty instead of 0: what is 0 throughout is no column."""
    if not value:
        return ""
    return units.format_number(value)
