"""The table by transaction type: whose values stand in it, and what is said of isolation."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.analysis.verdicts import judge
from orchestrator.report import transaction_types
from orchestrator.report.report_index import ReportIndex
from tests.campaigns import build_campaign

CAMPAIGN = build_campaign(
    profiles=["premium", "ultra"], workloads=["tpcc", "insert"], repetitions=2, frames=False
)
INDEX = ReportIndex(CAMPAIGN, judge(CAMPAIGN))


def test_each_type_has_a_row_for_each_tier_with_the_values_of_that_type() -> None:
    (table,) = transaction_types.tables(INDEX, "tpcc")
    names = INDEX.transaction_types("tpcc")
    assert len(names) > 1 and "all" not in names
    heads = [row[0].text for row in table.rows if len(row) == 1]
    assert heads == [name.replace("_", " ") for name in names]
    assert [row[0].text for row in table.rows if len(row) > 1] == ["premium", "ultra"] * len(names)
    column = [head.title for head in table.columns].index("Transactions/s")
    shown = [row[column].text for row in table.rows if len(row) > 1]
    assert len(set(shown)) > len(names), shown


def test_a_workload_of_one_type_has_no_such_table() -> None:
    assert transaction_types.tables(INDEX, "insert") == ()


def test_isolation_is_told_as_asked_for_and_as_the_servers_have_it() -> None:
    (table,) = transaction_types.tables(INDEX, "tpcc")
    assert table.remarks[0].endswith("Isolation asked for: read committed.")
    assert len(table.remarks) == 1
    runs = [
        replace(run, record=replace(run.record, facts={"database": {"isolation": "serializable"}}))
        for run in CAMPAIGN.runs
    ]
    told = ReportIndex(replace(CAMPAIGN, runs=tuple(runs)), INDEX.verdict)
    (table,) = transaction_types.tables(told, "tpcc")
    assert table.remarks[1:] == ("In effect: serializable.",)
