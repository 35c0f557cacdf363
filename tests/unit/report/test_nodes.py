"""The table of single nodes: every node of every tier, with the busiest marked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.analysis.results import Results
from orchestrator.metrics import measured
from orchestrator.report.blocks import Section, Table
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import nodes, priced_nodes
from orchestrator.tier import Price
from tests.campaigns import build_campaign, with_tier
from tests.judged import judged_index


def built(count: int) -> Results:
    return build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        repetitions=1,
        nodes=count,
        warmup_s=5.0,
        measure_s=20.0,
    )


def built_quickly() -> Results:
    return build_campaign(
        profiles=["premium"], workloads=["insert"], repetitions=1, frames=False
    )


@pytest.mark.parametrize(
    ("verified", "is_told"), [(False, True), (True, False), (None, False)]
)
def test_a_price_is_unverified_where_somebody_said_so(
    verified: bool | None, is_told: bool
) -> None:
    price = Price(10.0, "USD", "a region", "2026-11", "a list", verified)
    campaign = with_tier(built_quickly(), "premium", price=price)
    index = judged_index(campaign)
    assert priced_nodes.is_unverified(index, "premium") is is_told
    without = judged_index(with_tier(built_quickly(), "premium", price=None))
    assert not priced_nodes.is_unverified(without, "premium")


@pytest.fixture(scope="module")
def three() -> ReportIndex:
    campaign = built(3)
    return judged_index(campaign)


def table(sections: tuple[Section, ...]) -> Table:
    ((section,),) = (sections,)
    (part,) = section.parts
    (found,) = part.blocks
    assert isinstance(found, Table)
    return found


def test_each_node_of_each_tier_has_a_row_under_its_tier(three: ReportIndex) -> None:
    names = [row[0].text for row in table(nodes.section(three)).rows]
    of_tier = ["node-1", "node-2", "node-3"]
    assert names == ["premium", *of_tier, "ultra", *of_tier]


def test_the_disk_of_the_wal_has_its_columns_where_there_is_one(
    three: ReportIndex,
) -> None:
    titles = [column.title for column in table(nodes.section(three)).columns]
    assert not any("WAL" in title for title in titles)
    runs = tuple(
        replace(
            run,
            record=replace(
                run.record,
                measurements=(
                    *run.record.measurements,
                    *(
                        measured("wal_disk_iops", 100.0 * n, f"node-{n}")
                        for n in (1, 2, 3)
                    ),
                ),
            ),
        )
        for run in three.campaign.runs
    )
    campaign = replace(three.campaign, runs=runs)
    shown = table(nodes.section(judged_index(campaign)))
    place = [column.title for column in shown.columns].index("IOPS, WAL's disk")
    assert [row[place].text for row in shown.rows[1:4]] == ["100", "200", "300"]


def test_the_highest_of_a_tiers_nodes_is_marked_unless_another_looks_the_same(
    three: ReportIndex,
) -> None:
    shown, seen = table(nodes.section(three)), set()
    of_tier = ["node-1", "node-2", "node-3"]
    for number, title in enumerate(column.title for column in shown.columns[1:]):
        metric = next(name for name, word in nodes._OF_NODE.items() if word == title)
        for first in (1, 5):
            rows = shown.rows[first : first + 3]
            marked = [row[0].text for row in rows if row[number + 1].strong]
            texts = [row[number + 1].text for row in rows]
            tier = "premium" if first == 1 else "ultra"
            busiest = three.busiest(tier, "insert", metric)
            assert busiest is not None
            alone = texts.count(texts[of_tier.index(busiest.scope)]) == 1
            assert marked == ([busiest.scope] if alone else []), title
            seen |= {alone}
    assert seen == {True, False}, "both happen here"


def test_one_node_alone_is_not_shown_again() -> None:
    campaign = built(1)
    assert nodes.section(judged_index(campaign)) == ()


def test_a_tier_without_finished_runs_is_missing() -> None:
    campaign = build_campaign(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        repetitions=1,
        warmup_s=5.0,
        measure_s=20.0,
        failed=[2],
    )
    last = table(nodes.section(judged_index(campaign))).rows[-1]
    assert last[0].text == "ultra" and {cell.text for cell in last[1:]} == {"missing"}
