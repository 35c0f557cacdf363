"""The table by transaction type: whose values stand in it, and what is said of the SLO."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.analysis.verdicts import judge
from orchestrator.design.slo import parse
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import measured
from tests.campaigns import build_campaign
from tests.judged import judged_index

TIERS = ("premium", "ultra")
CAMPAIGN = build_campaign(
    profiles=TIERS, workloads=["tpcc", "insert"], repetitions=3, frames=False
)
INDEX = ReportIndex(CAMPAIGN, judge(CAMPAIGN))


def test_each_type_has_a_row_for_each_tier_with_the_values_of_that_type() -> None:
    (table,) = measured.by_type(INDEX, "tpcc")
    names = INDEX.transaction_types("tpcc")
    assert len(names) > 1 and "all" not in names
    heads = [row[0].text for row in table.rows if len(row) == 1]
    assert heads == [name.replace("_", " ") for name in names]
    assert [row[0].text for row in table.rows if len(row) > 1] == [
        "premium",
        "ultra",
    ] * len(names)
    column = [head.title for head in table.columns].index("Transactions/s")
    shown = [row[column].text for row in table.rows if len(row) > 1]
    assert len(set(shown)) > len(names), shown


def test_the_p90_of_each_type_is_shown_and_no_column_where_no_run_has_one() -> None:
    (table,) = measured.by_type(INDEX, "tpcc")
    column = [head.title for head in table.columns].index("p90")
    shown = [row[column] for row in table.rows if len(row) > 1]
    assert shown and not any(cell.missing for cell in shown)
    runs = []
    for run in CAMPAIGN.runs:
        kept = tuple(m for m in run.record.measurements if m.metric != "latency_p90_s")
        runs.append(replace(run, record=replace(run.record, measurements=kept)))
    before = replace(CAMPAIGN, runs=tuple(runs))
    (table,) = measured.by_type(judged_index(before), "tpcc")
    assert "p90" not in [head.title for head in table.columns]


def test_a_workload_of_one_type_has_no_such_table() -> None:
    assert measured.by_type(INDEX, "insert") == ()


def test_a_type_shows_its_own_clauses_of_the_slo_as_the_decision_found_them() -> None:
    slo = parse(
        "new_order p90 < 1 s, new_order p99 < 1 ms, payment p99 < 60 s, nopm > 1",
        "here",
    )
    workloads = tuple(
        replace(load, slo=slo if load.name == "tpcc" else ())
        for load in CAMPAIGN.plan.workloads
    )
    asked = replace(CAMPAIGN, plan=replace(CAMPAIGN.plan, workloads=workloads))
    (table,) = measured.by_type(judged_index(asked), "tpcc")
    assert table.columns[-1].title == "SLO"
    premium, ultra = (
        [row[-1].text for row in table.rows if row[0].tier == t] for t in TIERS
    )
    assert premium == ultra
    assert premium[:2] == ["p90 < 1 s: met; p99 < 1 ms: missed", "p99 < 60 s: met"]
    assert set(premium[2:]) == {""}


def test_without_clauses_about_a_type_there_is_no_such_column() -> None:
    (table,) = measured.by_type(INDEX, "tpcc")
    assert "SLO" not in [column.title for column in table.columns]
