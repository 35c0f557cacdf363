"""The table of a workload's transaction types: count, rate and latency of each, and its SLO."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from orchestrator.planning.slo import format_objective
from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Table, numbers, texts
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections.summary import value_cell

_COLUMNS = {
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
_REMARK = "Transactions, retries, rollbacks on purpose and failures are counts of one run."

_Key = tuple[str, str]  # tier, transaction type


def tables(index: ReportIndex, workload: str) -> tuple[Table, ...]:
    """One table, types down and their tiers below each; none if all transactions are of one type.

    A column says whether the SLO is met, if a clause of it is about one type.
    """
    types = index.transaction_types(workload)
    if not types:
        return ()
    judged = _judged(index, workload)
    # What no type of any tier has, stored campaigns before there was a p90, is no column.
    shown = {
        metric: title
        for metric, title in _COLUMNS.items()
        if any(index.cell_of_type(tier, workload, metric, t) for tier in index.tiers for t in types)
    }
    rows: list[tuple[Cell, ...]] = []
    for name in types:
        rows.append((Cell(name.replace("_", " "), strong=True),))
        rows += [_row(index, tier, workload, name, shown, judged) for tier in index.tiers]
    heads = (*texts("Transaction"), *numbers(*shown.values()), *texts(*(["SLO"] if judged else ())))
    return (Table(heads, tuple(rows), remarks=(_REMARK,)),)


def _row(
    index: ReportIndex,
    tier: str,
    workload: str,
    name: str,
    metrics: Iterable[str],
    judged: Mapping[_Key, str],
) -> tuple[Cell, ...]:
    cells = (index.cell_of_type(tier, workload, metric, name) for metric in metrics)
    values = (value_cell(index, tier, workload, cell, wording.value) for cell in cells)
    slo = (Cell(judged.get((tier, name), "")),) if judged else ()
    return (Cell(tier, tier=tier), *values, *slo)


def _judged(index: ReportIndex, workload: str) -> dict[_Key, str]:
    """Tier and type → each clause of the SLO about that type, and whether it was proven to be met.

    As the decision found it; what it did not judge is open.
    """
    decision = next((one for one in index.verdict.decisions if one.workload == workload), None)
    words = {
        (offer.tier, result.objective): result.word
        for offer in (decision.offers if decision else ())
        for result in offer.slo
    }
    found: dict[_Key, list[str]] = {}
    for objective in index.campaign.plan.workload(workload).slo:
        if objective.scope == "all":
            continue
        clause = format_objective(objective)
        short = clause.removeprefix(f"{objective.scope} ")
        for tier in index.tiers:
            word = words.get((tier, clause), "open")
            found.setdefault((tier, objective.scope), []).append(f"{short}: {word}")
    return {key: "; ".join(clauses) for key, clauses in found.items()}
