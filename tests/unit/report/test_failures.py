"""Retries, failures, SQLSTATE classes and isolation: whose they are, and what is not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.analysis.results import Results
from orchestrator.metrics import measured
from orchestrator.model import Measurement, Record
from orchestrator.report.blocks import Paragraph, Table
from orchestrator.report.sections import failures
from orchestrator.report.sections.failures import by_class
from tests.campaigns import build_campaign
from tests.judged import judged_index

ERRORS = [
    {
        "kind": "retried",
        "type": "payment",
        "sqlstate": "40001",
        "count": 30,
        "message": "x",
    },
    {"kind": "retried", "type": "new_order", "sqlstate": "40P01", "count": 5},
    {"kind": "failed", "type": "payment", "sqlstate": "40001", "count": 2},
    {"kind": "failed", "type": "payment", "sqlstate": "08006", "count": 1},
    {"kind": "failed", "type": "payment", "sqlstate": "", "count": 1},
]


def on_premium(record: Record) -> Record:
    """Premium's TPC-C-derived runs had retries and failures, and said their isolation."""
    if (record.run.profile, record.run.workload) != ("premium", "tpcc"):
        return record
    counted = {"retries": 35.0, "failures": 4.0}

    def figure(m: Measurement) -> Measurement:
        return measured(m.metric, counted[m.metric]) if m.metric in counted else m

    facts: dict[str, Any] = {**record.facts, "generator": {"errors": ERRORS}}
    facts["database"] = {
        **facts["database"],
        "execution": {"isolation": "repeatable read"},
    }
    return replace(
        record, facts=facts, measurements=tuple(map(figure, record.measurements))
    )


@pytest.fixture(name="campaign", scope="module")
def failing_campaign() -> Results:
    return build_campaign(
        profiles=["premium", "ultra"],
        workloads=["tpcc", "insert"],
        repetitions=2,
        missing=[("ultra", "insert")],
        frames=False,
        change=on_premium,
    )


def tables(campaign: Results) -> list[Table | Paragraph]:
    (section,) = failures.section(judged_index(campaign))
    return [block for part in section.parts for block in part.blocks]  # type: ignore[misc]


def texts(table: Table | Paragraph) -> list[list[str]]:
    assert isinstance(table, Table)
    return [[cell.text for cell in row] for row in table.rows]


def test_each_tier_has_its_counts_and_isolation_as_asked_and_in_effect(
    campaign: Results,
) -> None:
    counts, _ = tables(campaign)
    tpcc, premium, ultra, insert, _, lost = texts(counts)
    assert (tpcc, insert) == (["tpcc"], ["insert"])
    assert premium[2] == "35" and premium[4] == "4"
    assert premium[5:] == ["read committed", "repeatable read"]
    assert ultra[2] == "0" and ultra[4] == "0"
    assert ultra[5:] == ["read committed", "as asked"]
    assert [*lost[1:5], lost[6]] == ["missing"] * 5


def test_isolation_of_scripts_that_do_not_set_it_is_the_servers(
    campaign: Results,
) -> None:
    loads = tuple(
        replace(load, generator="sysbench-stock") for load in campaign.plan.workloads
    )
    stock = replace(campaign, plan=replace(campaign.plan, workloads=loads))
    assert texts(tables(stock)[0])[2][5:] == ["the server's default", "not read back"]


def test_errors_are_summed_over_runs_by_the_class_of_their_sqlstate(
    campaign: Results,
) -> None:
    runs = [run for run in campaign.runs if run.record.run.profile == "premium"]
    first, *others = by_class(runs)
    assert [*first.values()] == [
        "40 transaction rollback",
        "70",
        "4",
        "40001 (64), 40P01 (10)",
    ]
    given_up = {(one["Class"], one["Given up"]) for one in others}
    assert given_up == {("08 connection", "2"), ("no SQLSTATE", "2")}
    _, errors = tables(campaign)
    row = [
        "tpcc",
        "premium",
        "40 transaction rollback",
        "70",
        "4",
        "40001 (64), 40P01 (10)",
    ]
    assert texts(errors)[0] == row


def test_no_error_is_said_in_a_sentence_and_others_figures_have_no_section() -> None:
    clean = build_campaign(
        profiles=["ultra"], workloads=["insert"], repetitions=1, frames=False
    )
    assert tables(clean)[1] == Paragraph("No errors.")
    disk = tuple(replace(load, database="none") for load in clean.plan.workloads)
    alone = replace(clean, plan=replace(clean.plan, workloads=disk))
    assert failures.section(judged_index(alone)) == ()
