"""What each run measured: a table per workload, and of its transaction types."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from orchestrator.analysis.conclusions import CellSummary
from orchestrator.design.slo import clause_of_type, format_objective
from orchestrator.model import Workload
from orchestrator.report.blocks import (
    Cell,
    Paragraph,
    Part,
    Row,
    Section,
    Table,
    table_of,
)
from orchestrator.report.report_index import ReportIndex

# Metric → title of its column.
_TITLES = {
    "latency_avg_s": "Average latency",
    "latency_p95_s": "p95",
    "latency_p99_s": "p99",
    "statement_latency_avg_s": "Latency per statement",
    "connection_wait_avg_s": "Wait for a connection",
    "nopm": "NOPM",
    "offered_per_s": "Offered",
    "served_per_s": "Served",
    "payload_bytes_per_s": "Payload",
    "node_payload_bytes_per_s": "Payload of a node",
    "throughput_per_s": "Transactions/s",
    "rebuild_s": "Rebuild",
    "rebuild_bytes_per_s": "Onto the rebuilt disk",
    "slow_share_pct": "Kept while a disk is slow",
    "recovery_s": "Recovery",
    "cpu_pct": "CPU",
}
# These stand there also if no run has them.
_ALWAYS = (
    "latency_avg_s",
    "latency_p95_s",
    "latency_p99_s",
    "throughput_per_s",
    "cpu_pct",
)
_TITLES_OF_TYPE = {
    "transactions": "Transactions",
    "throughput_per_s": "Transactions/s",
    "latency_avg_s": "Average latency",
    "latency_p90_s": "p90",
    "latency_p95_s": "p95",
    "latency_p99_s": "p99",
    "retries": "Retries",
    "rollbacks": "Rolled back",
    "failures": "Failed",
}


class _Column(NamedTuple):
    """`of_busiest`: the value is of the node that has most of it, not of all together."""

    title: str
    metric: str
    of_busiest: bool = False


def section(index: ReportIndex) -> Section:
    """One table per workload, tiers as rows."""
    about = Paragraph(" ".join(_about(index)))
    parts = [_workload_part(index, workload) for workload in index.workloads]
    return Section("measured", "Measured", (Part("", (about,)), *parts))


def _about(index: ReportIndex) -> Iterator[str]:
    """How to read the tables, as far as this campaign needs it."""
    if index.campaign.plan.repeats.repetitions > 1:
        yield (
            "Means over the repetitions. ± is half the 95 % interval of the mean, in percent of "
            "the mean. It takes two repetitions."
        )
    if _several_nodes(index):
        yield (
            "CPU is the mean of the database nodes, in percent of their limit. Disk figures are "
            "the sum of the nodes. Compare the busiest disk with a tier's limit."
        )
    else:
        yield "CPU is the database node's, in percent of its limit."
    if any(note.number is not None for note in index.footnotes):
        yield "Raised numbers are the notes on single runs, listed on the first screen."


def _several_nodes(index: ReportIndex) -> bool:
    return any(profile.cluster.nodes > 1 for profile in index.profiles)


def _workload_part(index: ReportIndex, workload: Workload) -> Part:
    name = workload.name
    columns = list(_columns(index, name))
    rows = [_tier_row(index, tier, name, columns) for tier in index.tiers]
    table = table_of(rows, ("Tier",), tuple(_remarks(index, workload)))
    tables = (table, *by_type(index, name))
    return Part(f"{name}: {workload.title}", tables)


def _remarks(index: ReportIndex, workload: Workload) -> Iterator[str]:
    statements = workload.statements_per_transaction
    if statements and statements > 1:
        yield f"A transaction is {statements} statements."
    runs = index.campaign.plan.runs
    yield from index.losses(run for run in runs if run.workload == workload.name)


def _columns(index: ReportIndex, workload: str) -> Iterator[_Column]:
    """NOPM, payload, the busiest disk and what else few have only if this workload has them."""
    for metric, title in _TITLES.items():
        if not _is_shown(index, workload, metric):
            continue
        # The latency shown is that of New-Orders alone if these are counted apart.
        is_of_new_order = index.figures.latency_scope(workload) != "all"
        if metric == "latency_avg_s" and is_of_new_order:
            title = "New-Order average latency"
        yield _Column(title, metric)
    yield from _disk_columns(index)


def _is_shown(index: ReportIndex, workload: str, metric: str) -> bool:
    # The data set decides too, so that the column stays where all runs are lost.
    if metric == "nopm":
        return index.figures.is_tpcc_derived(workload)
    # The figure of a single node is the payload, which has its column.
    if metric == "node_payload_bytes_per_s" and not _several_nodes(index):
        return False
    # An empty column of these says that runs are lost, and not that nobody asked.
    if metric in _ALWAYS:
        return True
    cells = [index.figures.cell(tier, workload, metric) for tier in index.tiers]
    return any(cell is not None for cell in cells)


def _disk_columns(index: ReportIndex) -> Iterator[_Column]:
    """Columns of all disks together, and of the busiest one."""
    yield _Column("Disk IOPS", "disk_iops")
    # A limit is that of one disk, so the sum of several nodes cannot be held against it.
    if _several_nodes(index):
        yield _Column("Busiest disk IOPS", "disk_iops", of_busiest=True)
    yield _Column("Disk bandwidth", "disk_bytes_per_s")


def _tier_row(
    index: ReportIndex, tier: str, workload: str, columns: Iterable[_Column]
) -> dict[str, Cell]:
    done = len(index.finished(tier, workload))
    planned = len(index.planned(tier, workload))
    n = f"n = {done}"
    # Fewer runs than planned must be seen beside the mean that they make.
    if done != planned:
        n = f"n = {done} of {planned}"
    notes = index.notes(workload, tier)
    row = {"Tier": Cell(tier, detail=n, tier=tier, notes=notes)}
    for column in columns:
        summary = _summary(index, tier, workload, column)
        row[column.title] = index.value_cell(
            tier, workload, summary, metric=column.metric
        )
    return row


def _summary(
    index: ReportIndex, tier: str, workload: str, column: _Column
) -> CellSummary | None:
    if column.of_busiest:
        return index.busiest(tier, workload, column.metric)
    return index.figures.cell(tier, workload, column.metric)


# ------------------------------------------------------------------ types of transactions


class _TypeOfTier(NamedTuple):
    tier: str
    scope: str


class _ClauseOfTier(NamedTuple):
    """`objective`: the clause, as for `--slo`."""

    tier: str
    objective: str


def by_type(index: ReportIndex, workload: str) -> tuple[Table, ...]:
    """One table, types down and their tiers below each; none if all transactions are of one type. A
    column says whether the SLO is met, if a clause of it is about one type."""
    types = index.transaction_types(workload)
    if not types:
        return ()
    judged = _judged(index, workload)
    rows: list[Row] = []
    for scope in types:
        rows.append(scope.replace("_", " "))
        for tier in index.tiers:
            rows.append(_type_row(index, workload, _TypeOfTier(tier, scope), judged))
    about = "Transactions, retries, rollbacks on purpose and failures are counts of one run."
    return (table_of(rows, ("Transaction", "SLO"), (about,)),)


def _type_row(
    index: ReportIndex,
    workload: str,
    place: _TypeOfTier,
    judged: Mapping[_TypeOfTier, str],
) -> dict[str, Cell]:
    tier = place.tier
    row = {"Transaction": Cell(tier, tier=tier)}
    row |= index.metric_cells(tier, workload, _TITLES_OF_TYPE, place.scope)
    row["SLO"] = Cell(judged.get(place, ""))
    return row


def _judged(index: ReportIndex, workload: str) -> Mapping[_TypeOfTier, str]:
    """Each clause of the SLO about a type of transactions, and whether it was proven to be met, by
    the decision; what that did not judge is open."""
    words = _words_of_clauses(index, workload)
    judged: dict[_TypeOfTier, str] = {}
    for objective in index.campaign.plan.workload(workload).slo:
        # Clauses about all transactions stand in the decision's table.
        if objective.scope == "all":
            continue
        text = format_objective(objective)
        # The row is of this type already.
        shown = clause_of_type(objective)
        for tier in index.tiers:
            # A tier without an offer was not judged, and is not said to miss it.
            word = words.get(_ClauseOfTier(tier, text), "open")
            place = _TypeOfTier(tier, objective.scope)
            before = ""
            if place in judged:
                before = f"{judged[place]}; "
            judged[place] = f"{before}{shown}: {word}"
    return judged


def _words_of_clauses(index: ReportIndex, workload: str) -> Mapping[_ClauseOfTier, str]:
    words: dict[_ClauseOfTier, str] = {}
    for decision in index.verdict.decisions:
        if decision.workload != workload:
            continue
        for offer in decision.offers:
            for result in offer.slo:
                # The decision keeps clauses in words, so they are found by their words.
                words[_ClauseOfTier(offer.tier, result.objective)] = result.word
    return words
