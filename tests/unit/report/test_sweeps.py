"""How a report tells a load sweep, and tiers that do not serve the rate they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator import report
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.model import Measurement, Objective, Run, Workload
from orchestrator.report.exports import junit, openmetrics
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import factors, summary
from tests import loads

P99 = Objective("latency_p99_s", "all", 0.05)
TABLE = {
    "premium": ((100.0, 0.010), (380.0, 0.0105), (400.0, 0.040), (395.0, 0.160)),
    "ultra": ((200.0, 0.005), (780.0, 0.0052), (2900.0, 0.0055), (3000.0, 0.0213)),
}
SWEPT = loads.build(loads.swept("threads=1,4,16,64", (P99,)), loads.at_loads(TABLE))


def written(campaign: Results, folder: Path) -> str:
    return report.write(campaign, judge(campaign), folder).markdown.read_text()


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(SWEPT, tmp_path_factory.mktemp("swept"))


def test_a_sweep_has_its_knee_its_capacity_and_its_loads(text: str) -> None:
    section = text[text.index("point-select under several loads") :]
    assert "premium: at most 400/s from 1 thread to 64 threads; the knee is at 4" in section
    assert "proven to meet p99 \\< 50 ms up to 4 threads (380/s): at 16 threads it" in section
    for load in ("1 thread | 100<br>± 1.0 %", "4 threads | 380 **better**<br>+280 % (+273 to"):
        assert f"| {load}" in section.replace("\N{NO-BREAK SPACE}", " ")
    assert "ultra: at most 3,000/s" in section and "it misses p99 \\< 50 ms: 120 ms" in section


def test_a_sweep_is_answered_once_and_drawn_against_load(text: str) -> None:
    first_screen, ticket = text.split("## For the ticket")
    assert [part.count("depends on the load") for part in (first_screen, ticket)] == [1, 1]
    assert "charts/point-select-load-throughput.svg" in text
    assert "charts/point-select-load-p99.svg" in text


def test_a_chart_has_every_tier_at_every_load() -> None:
    index = ReportIndex(SWEPT, judge(SWEPT))
    for chart in factors.charts_of(index, index.verdict.sweeps[0]):
        assert chart.svg.count('aria-roledescription="point"') == 8


def test_where_a_tier_has_no_p99_the_average_is_drawn_of_all() -> None:
    """Runs of fewer than 1,000 transactions have none."""
    figures = loads.at_loads(TABLE)

    def some(run: Run, workload: Workload) -> Sequence[Measurement]:
        found = figures(run, workload)
        return found if run.profile == "ultra" else [m for m in found if m.metric != P99.metric]

    campaign = loads.build(loads.swept("threads=1,4,16,64"), some)
    index = ReportIndex(campaign, judge(campaign))
    _, latency = factors.charts_of(index, index.verdict.sweeps[0])
    assert "point-select-load-average" in latency.path and "Average latency" in latency.svg
    assert latency.svg.count('aria-roledescription="point"') == 8


def test_the_latency_of_an_overloaded_tier_is_neither_drawn_nor_compared(tmp_path: Path) -> None:
    def figures(run: Run, workload: Workload) -> list[Measurement]:
        rate = float(workload.options["arrival_rate"])
        served = min(rate, 1500.0 if run.profile == "premium" else 9000.0)
        return loads.flow(run, rate, served, 0.001)

    campaign = loads.build(loads.swept("rate=500,1000,2000"), figures)
    index = ReportIndex(campaign, judge(campaign))
    throughput, p99 = factors.charts_of(index, index.verdict.sweeps[0])
    assert throughput.svg.count('aria-roledescription="point"') == 6
    assert p99.svg.count('aria-roledescription="point"') == 5
    told = written(campaign, tmp_path)
    assert "not compared" in told and "overloaded: premium" in told
    assert "<br>overloaded |" in told and "| Value | Offered | Served |" in told


def test_a_sweep_of_one_tier_says_what_it_found() -> None:
    alone = loads.build(
        loads.swept("threads=1,4,16,64"), loads.at_loads(TABLE), profiles=["premium"]
    )
    index = ReportIndex(alone, judge(alone))
    (answer,) = summary.answers(index)
    assert "at most 400/s from 1 thread to 64 threads; the knee is at 4 threads" in answer.text
    assert report.console(alone, index.verdict)


def test_an_export_has_the_one_decision_and_no_change_of_an_overloaded_tier() -> None:
    def figures(run: Run, workload: Workload) -> list[Measurement]:
        served = min(1000.0, 800.0 if run.profile == "premium" else 9000.0)
        return loads.flow(run, 1000.0, served, 0.001)

    assert junit.text(SWEPT, judge(SWEPT)).count('name="which tier"') == 1
    campaign = loads.build([loads.at_rate(1000)], figures)
    verdict = judge(campaign)
    assert "better: not compared, as premium served too little" in junit.text(campaign, verdict)
    samples = openmetrics.text(campaign, verdict).splitlines()
    changes = [line for line in samples if line.startswith("tierbench_change_ratio{")]
    assert changes and not [line for line in changes if "latency" in line]
