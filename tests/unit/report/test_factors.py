"""How a report tells what is varied: horizons, laws or loads, then charts, and value by value."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator import report
from orchestrator.analysis.answers import sweeps
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.measure import concluding
from orchestrator.metrics import measured
from orchestrator.model import Measurement, Objective, Run, Workload
from orchestrator.report.blocks import Charts
from orchestrator.report.exports import junit, openmetrics
from orchestrator.report.rendering.terminal import TableView
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import (
    cards,
    factor_charts,
    factors,
    ticket,
)
from tests import loads
from tests.judged import judged_index

pytestmark = pytest.mark.draws

TABLES = "data=10,20,30,40 tables"
CLIFF = ((1000, 0.010), (1000, 0.010), (300, 0.033), (250, 0.040))
FLAT = ((1000, 0.010),) * 4


def index_of(text: str, *tiers: tuple[tuple[float, float], ...]) -> ReportIndex:
    table = dict(zip(("premium", "ultra"), tiers, strict=False))
    figures = loads.at_values(table, text)
    campaign = loads.build(loads.varied(text), figures, profiles=list(table))
    return judged_index(campaign)


def written(campaign: Results, folder: Path) -> str:
    return concluding.write_report(
        campaign, judge(campaign), folder
    ).markdown.read_text()


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(
        index_of(TABLES, CLIFF, FLAT).campaign, tmp_path_factory.mktemp("varied")
    )


def test_the_first_answer_is_how_far_each_tier_is_enough(text: str) -> None:
    screen, ticket_and_rest = text.split("## For the ticket")
    horizon = "premium is enough up to 20 tables (6 GiB a node, 6 × memory); at 30 tables it is not"
    assert screen.count(horizon) == 1
    assert horizon in ticket_and_rest.split("\n## ")[0]
    assert screen.index(horizon) < screen.index("point-select-at-10-tables")


@pytest.mark.parametrize("tiers", [("premium", "ultra"), ("premium",)])
@pytest.mark.parametrize("repetitions", [1, 2])
def test_several_loads_are_shown_however_often_and_on_how_many_tiers_they_ran(
    tiers: tuple[str, ...], repetitions: int
) -> None:
    """Of several loads together no run was made, so one repetition has no value of its own."""

    def figures(run: Run, workload: Workload) -> list[Measurement]:
        assert workload.varied is not None
        rate = workload.varied.number or 0.0
        return loads.flow(run, rate, min(rate, 1000.0), 0.01)

    campaign = loads.build(
        loads.swept("rate=500,2000"), figures, profiles=tiers, repetitions=repetitions
    )
    verdict = judge(campaign)
    assert report.console(campaign, verdict)
    charts = report.files(campaign, verdict)
    assert "charts/point-select-load-throughput.svg" in charts


def test_laws_and_knees_are_sentences(text: str) -> None:
    _, _, section = text.partition("## point-select at several values of tables")
    section = section.split("\n## ")[0].replace("\N{NO-BREAK SPACE}", " ")
    assert (
        "premium: transactions/s does not follow a single power of tables: it bends "
        "between 20 tables and 30"
    ) in (section)
    assert (
        "ultra: transactions/s hardly depends on tables: as tables^0.00 (-0.01 to 0.01)"
        in section
    )
    assert "| 30 tables | 300 **worse**<br>−70.0 % (−70.5 to −69.5 %) |" in section
    assert "charts/point-select-load-throughput.svg" in section


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ((100, 200, 400), "grows as nodes^1.00 (0.99 to 1.01): linear"),
        ((400, 200, 100), "falls as nodes^-1.00 (-1.01 to -0.99): inverse"),
        ((100, 141, 200), "grows as nodes^0.50 (0.49 to 0.51)"),
        ((100, 100, 100), "hardly depends on nodes: as nodes^0.00 (-0.01 to 0.01)"),
    ],
)
def test_a_law_is_told_with_its_interval_and_its_name(
    rates: tuple[float, ...], said: str
) -> None:
    index = index_of("nodes=1,2,4", tuple((rate, 0.01) for rate in rates))
    (answer,) = factors.answers(index)
    assert answer.tier == "" and f"transactions/s {said}" in answer.text


def tpcc(loads_of: tuple[Workload, ...]) -> ReportIndex:
    def figures(run: Run, workload: Workload) -> list[Measurement]:
        assert workload.varied is not None
        rate = 100.0 * float(workload.varied.value)
        return [*loads.closed(run, rate, 0.01), measured("nopm", 27 * rate)]

    campaign = loads.build(loads_of, figures, profiles=["premium"])
    return judged_index(campaign)


def test_the_chart_of_a_tpcc_factor_has_the_nopm_that_its_law_is_of() -> None:
    index = tpcc(loads.varied("nodes=1,2,4"))
    (answer,) = factors.answers(index)
    chart, _ = factor_charts.charts_of(index, *index.verdict.varied)
    assert "NOPM grows as nodes" in answer.text and "NOPM of point-select" in chart.svg


def test_the_chart_of_a_tpcc_sweep_has_all_transactions_as_its_capacity_has() -> None:
    index = tpcc(loads.swept("threads=1,4,16"))
    (of,) = index.verdict.sweeps
    chart, _ = factor_charts.charts_of(index, of)
    assert "at most 1,600 transactions/s" in sweeps.load_taken(of, *of.tiers)
    assert "Throughput of point-select" in chart.svg


def test_two_values_are_said_to_prove_no_law() -> None:
    (answer,) = factors.answers(
        index_of("replication_factor=1,3", ((900, 0.01), (300, 0.03)))
    )
    assert "falls as replication factor^-1.00" in answer.text
    assert "inverse; two values do not prove a law" in answer.text


def test_a_lone_tier_at_several_values_is_no_nothing() -> None:
    index = index_of("replication_factor=1,3", ((900, 0.01), (300, 0.03)))
    assert index.answer.sureness.word == "one tier"
    title = "For the ticket: It was measured at each value of what was varied"
    assert ticket.section(index).title == title


def test_a_table_has_a_row_for_each_value_and_each_nodes_share() -> None:
    index = index_of("nodes=1,2,4", ((100, 0.01), (180, 0.01), (320, 0.01)))
    (of,) = index.verdict.varied
    rows = factors.table(index, of, of.tiers[0]).rows
    assert [row[0].text for row in rows] == ["1 node", "2 nodes", "4 nodes"]
    assert [row[4].detail for row in rows] == [
        f"{pct} % of the first" for pct in (100, 90, 80)
    ]


def test_a_change_of_single_runs_stands_without_brackets() -> None:
    """One repetition gives no interval: the cell ended with `()`."""
    text = "data=10,20 tables"
    figures = loads.at_values({"premium": ((100, 0.01), (50, 0.02))}, text)
    campaign = loads.build(
        loads.varied(text), figures, profiles=["premium"], repetitions=1
    )
    index = judged_index(campaign)
    (varied,) = index.verdict.varied
    details = [
        cell.detail
        for row in factors.table(index, varied, varied.tiers[0]).rows
        for cell in row
    ]
    assert any("−50.0 %" in detail for detail in details)
    assert not any("()" in detail for detail in details)


def test_words_have_changes_and_no_chart() -> None:
    index = index_of("cache=cold,warm", ((100, 0.1), (400, 0.025)))
    (section,) = factors.sections(index)
    assert len(section.parts[0].blocks) == 2  # sentences; neither laws nor charts
    (answer,) = factors.answers(index)
    assert "transactions/s at warm cache +300 %, better" in answer.text.replace(
        "\N{NO-BREAK SPACE}", " "
    )


def test_the_terminal_shows_a_table_for_each_tier() -> None:
    index = index_of(TABLES, CLIFF, FLAT)
    parts = report.console(index.campaign, index.verdict)
    titles = [
        table.block.columns[0].title for table in parts if isinstance(table, TableView)
    ]
    assert titles.count("Value") == 2
    assert any(part.title == "How far it holds" for part in ticket.section(index).parts)


def test_an_interval_that_reaches_zero_is_cut_on_logarithmic_axes() -> None:
    """There is no zero there: all lines would lie at the upper end."""

    def figures(run: Run, workload: Workload) -> list[Measurement]:
        figure = {1: 900.0, 2: 100.0, 3: 110.0}[run.repetition]
        return [
            measured("throughput_per_s", figure),
            measured("latency_avg_s", 1 / figure),
        ]

    campaign = loads.build(loads.varied(TABLES), figures)
    (section,) = factors.sections(judged_index(campaign))
    (charts,) = (
        block for block in section.parts[0].blocks if isinstance(block, Charts)
    )
    throughput, latency = charts.rows
    for chart in (throughput, latency):
        assert chart.live is not None
        (points,) = (data for data in chart.live["datasets"].values())
        assert all(
            point["low"] == pytest.approx(point["value"] / 10) for point in points
        )


def test_a_stage_was_the_limit_only_where_the_change_is_proven() -> None:
    full, faster, slower = (746, 0.0100), (1020, 0.0073), (700, 0.0107)
    index = index_of("without=disk,network,commit", (full, faster, full, slower))
    (answer,) = factors.answers(index)
    disk, network, commit = answer.text.replace("\N{NO-BREAK SPACE}", " ").split(
        "; premium: "
    )
    assert disk.startswith(
        "premium: with the disk out of the path 1,020 instead of 746"
    )
    assert disk.endswith(
        " transactions/s (+36.7 %, +34.3 to +39.2 %): the disk was the limit"
    )
    assert network.endswith("the network was not the limit")
    assert commit.endswith("the sync of commits was not the limit.")


def test_a_rate_that_is_asked_for_leaves_the_latency_to_say_it() -> None:
    (answer,) = factors.answers(index_of("without=disk", ((60, 0.02), (60, 0.01))))
    text = answer.text.replace("\N{NO-BREAK SPACE}", " ")
    assert "out of the path 10 ms instead of 20 ms average latency" in text
    assert text.endswith("the disk took the time that was saved.")


def test_what_is_not_proven_is_open() -> None:
    def figures(run: Run, workload: Workload) -> list[Measurement]:
        assert workload.varied is not None
        noisy = (
            {1: 0.5, 2: 1.0, 3: 1.9}[run.repetition]
            if workload.varied.value == "disk"
            else 1
        )
        return [
            measured("throughput_per_s", 100.0 * noisy),
            measured("latency_avg_s", 0.01),
        ]

    campaign = loads.build(loads.varied("without=disk"), figures)
    (answer,) = factors.answers(judged_index(campaign))
    assert (
        "no difference is proven, so whether the disk was the limit is open"
        in answer.text
    )


def test_no_answer_on_tiers_is_made_of_runs_that_lack_a_stage() -> None:
    tiers = ((746, 0.0100), (1020, 0.0073)), ((1000, 0.0100), (1020, 0.0073))
    verdict = index_of("without=disk", *tiers).verdict
    full = "point-select-at-all-stages"
    assert {of.workload for of in verdict.decisions} == {full}
    assert {delta.workload for delta in verdict.deltas} == {full}
    (factor,) = verdict.varied
    assert [len(tier.steps) > 0 for tier in factor.tiers] == [True, True]
    assert not factor.horizons


# ------------------------------------------------------------------ sweeps

P99 = Objective("latency_p99_s", "all", 0.05)
TABLE = {
    "premium": ((100.0, 0.010), (380.0, 0.0105), (400.0, 0.040), (395.0, 0.160)),
    "ultra": ((200.0, 0.005), (780.0, 0.0052), (2900.0, 0.0055), (3000.0, 0.0213)),
}
SWEPT = loads.build(loads.swept("threads=1,4,16,64", (P99,)), loads.at_loads(TABLE))


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(SWEPT, tmp_path_factory.mktemp("swept"))


def test_a_sweep_has_its_knee_its_capacity_and_its_loads(swept: str) -> None:
    section = swept[swept.index("point-select under several loads") :]
    assert (
        "premium: at most 400 transactions/s from 1 thread to 64 threads; the knee is at 4"
        in section
    )
    assert (
        "proven to meet p99 \\< 50 ms up to 4 threads (380 transactions/s): at 16 threads it"
        in section
    )
    for load in (
        "1 thread | 100<br>± 1.0 %",
        "4 threads | 380 **better**<br>+280 % (+273 to",
    ):
        assert f"| {load}" in section.replace("\N{NO-BREAK SPACE}", " ")
    assert (
        "ultra: at most 3,000 transactions/s" in section
        and "it misses p99 \\< 50 ms: 120 ms" in section
    )


def test_how_to_read_a_sweep_is_said_of_a_sweep(swept: str) -> None:
    assert "The knee is the least load that has 95 %" in swept
    assert "The latency of a tier that is overloaded at a rate is not drawn" in swept
    assert "Powers are fitted to logarithms" not in swept


def test_a_sweep_is_answered_once_and_drawn_against_load(swept: str) -> None:
    screen, ticket_and_rest = swept.split("## For the ticket")
    assert [
        part.count("depends on the load") for part in (screen, ticket_and_rest)
    ] == [1, 1]
    assert "charts/point-select-load-throughput.svg" in swept
    assert "charts/point-select-load-p99.svg" in swept


def test_a_chart_has_every_tier_at_every_load() -> None:
    index = ReportIndex(SWEPT, judge(SWEPT))
    throughput, p99 = factor_charts.charts_of(index, index.verdict.sweeps[0])
    for chart in (throughput, p99):
        assert chart.svg.count('aria-roledescription="point"') == 8


def test_a_chart_of_latency_is_in_milliseconds_between_its_ends() -> None:
    index = ReportIndex(SWEPT, judge(SWEPT))
    (swept,) = index.verdict.sweeps
    _, latency = factor_charts.charts_of(index, swept)
    assert latency.live is not None
    drawn = {
        (point["tier"], point["load"]): point
        for point in latency.live["datasets"]["points"]
    }
    assert len(drawn) == 8
    for tier in index.tiers:
        for load, workload in zip(swept.numbers, swept.workloads, strict=True):
            cell = index.figures.cell(tier, workload, P99.metric)
            assert cell is not None
            point = drawn[tier, load]
            assert point["value"] == pytest.approx(1000 * cell.mean, rel=1e-4)
            assert point["low"] <= point["value"] <= point["high"]


def test_where_a_tier_has_no_p99_the_average_is_drawn_of_all() -> None:
    """Runs of fewer than 1,000 transactions have none."""
    figures = loads.at_loads(TABLE)

    def some(run: Run, workload: Workload) -> Sequence[Measurement]:
        found = figures(run, workload)
        return (
            found
            if run.profile == "ultra"
            else [m for m in found if m.metric != P99.metric]
        )

    campaign = loads.build(loads.swept("threads=1,4,16,64"), some)
    index = judged_index(campaign)
    _, latency = factor_charts.charts_of(index, index.verdict.sweeps[0])
    assert (
        "point-select-load-average" in latency.path and "Average latency" in latency.svg
    )
    assert latency.svg.count('aria-roledescription="point"') == 8


def test_the_latency_of_an_overloaded_tier_is_neither_drawn_nor_compared(
    tmp_path: Path,
) -> None:
    campaign = loads.build(loads.swept("rate=500,1000,2000"), loads.slow_premium)
    index = judged_index(campaign)
    throughput, p99 = factor_charts.charts_of(index, index.verdict.sweeps[0])
    assert throughput.svg.count('aria-roledescription="point"') == 6
    assert p99.svg.count('aria-roledescription="point"') == 5
    told = written(campaign, tmp_path)
    assert "not compared" in told and "overloaded: premium" in told
    assert "<br>overloaded |" in told and "| Value | Offered | Served |" in told


def test_a_sweep_of_one_tier_says_what_it_found() -> None:
    alone = loads.build(
        loads.swept("threads=1,4,16,64"), loads.at_loads(TABLE), profiles=["premium"]
    )
    index = judged_index(alone)
    (answer,) = cards.answers(index, with_pictures=False)[-1:]
    assert (
        "at most 400 transactions/s from 1 thread to 64 threads; the knee is at 4 threads"
        in answer.text
    )
    parts = report.console(alone, index.verdict)
    assert "the knee is at 4 threads" in " ".join([str(part) for part in parts])


def test_an_export_has_the_one_decision_and_no_change_of_an_overloaded_tier() -> None:
    def figures(run: Run, workload: Workload) -> list[Measurement]:
        served = min(1000.0, 800.0 if run.profile == "premium" else 9000.0)
        return loads.flow(run, 1000.0, served, 0.001)

    assert junit.text(SWEPT, judge(SWEPT)).count('name="which tier"') == 1
    campaign = loads.build([loads.at_rate(1000)], figures)
    verdict = judge(campaign)
    assert "better: not compared, as premium served too little" in junit.text(
        campaign, verdict
    )
    samples = openmetrics.text(campaign, verdict).splitlines()
    changes = [line for line in samples if line.startswith("tierbench_change_ratio{")]
    assert changes and not [line for line in changes if "latency" in line]


def test_a_price_in_a_table_is_for_the_nodes_of_its_value() -> None:
    """207.36 USD of six nodes stood in the row "a month, 3 nodes"."""
    text = "nodes=3,6"
    rates = ((1000.0, 0.010),) * 2
    figures = loads.at_values({"premium": rates, "ultra": rates}, text)
    campaign = loads.build(loads.varied(text), figures)
    files = report.files(campaign, judge(campaign))
    page = files["report.md"].replace("\N{NO-BREAK SPACE}", " ")
    assert "| a month, 3 nodes | 103.68 USD" in page
    assert "| a month, 6 nodes | 207.36 USD" in page
    assert "List prices of the disks of 6 nodes: " in page
    assert "| premium | 103.68 USD to 207.36 USD | enough | enough |" in page
    assert " · 3 to 6 nodes · " in page
